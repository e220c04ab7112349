"""How much a hop finds: questions whose evidence lies in several passages, of which one names the other.

Passages are loaded as references, a client of their own, and every question is searched for with and
without a hop, and recalled. All-evidence@5 is the share of questions whose whole evidence is among the first
five.

A set is JSON:

    {name, passages: [{id, title, content}], questions: [{id, text, evidence: [passage id, …]}]}
"""

import asyncio
import random
import statistics
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from graphmem.client import Graphmem
from graphmem.model.vocabulary import SourceType
from graphmem.runtime import Runtime

CUT = 5
HOPS = (0, 1)
LOADED_AT_ONCE = 200
CALLERS = 4
RESAMPLES = 2_000
SOURCE_TYPE: SourceType = "knowledge_base"


class Found(Struct, frozen=True):
    """What share of a question's evidence is among the first: searched for, by the hops, and recalled."""

    recall: dict[int, float]
    recalled: float

    def whole(self, hops: int) -> bool:
        """Tell whether nothing is missing."""
        return self.recall[hops] == 1.0


async def load(memory: Graphmem, passages: Sequence[dict[str, Any]]) -> None:
    """Write every passage as a reference: its title the label, its content the description."""
    cards = [
        {
            "type": SOURCE_TYPE,
            "target_id": passage["id"],
            "label": passage["title"],
            "description": passage["content"],
        }
        for passage in passages
    ]
    for start in range(0, len(cards), LOADED_AT_ONCE):
        await memory.add_references(cards[start : start + LOADED_AT_ONCE])


SOURCES = (
    "CYPHER 25 MATCH (memory:Memory {client_id: $client_id}) "
    "RETURN memory.id AS id, memory.source_id AS source_id"
)


async def sources(memory: Graphmem) -> dict[str, str]:
    """Return the set's ids of a client's passages by ours."""
    rows = await memory.runtime.graph.execute(SOURCES, client_id=memory.client_id)
    return {row["id"]: row["source_id"] for row in rows}


async def ask(memory: Graphmem, question: dict[str, Any], ids: Mapping[str, str]) -> Found:
    """Search for one question, without a hop and with one, and recall it."""
    evidence = set(question["evidence"])
    recall = {}
    for hops in HOPS:
        answer = await memory.search(
            question["text"], source_types=[SOURCE_TYPE], max_results=CUT, max_hops=hops
        )
        recall[hops] = len(evidence & {item.source_id for item in answer.items}) / len(evidence)
    answered = await memory.recall(question["text"], limit=CUT, max_tokens=200_000)
    first = {ids[item.id] for item in answered.items}
    return Found(recall, len(evidence & first) / len(evidence))


async def measure(runtime: Runtime, data: dict[str, Any]) -> dict[str, Any]:
    """Load all passages, ask every question that has evidence, and return the report."""
    memory = Graphmem(runtime, f"passages-{uuid.uuid4().hex}")
    await load(memory, data["passages"])
    callers = asyncio.Semaphore(CALLERS)
    ids = await sources(memory)

    async def one(question: dict[str, Any]) -> Found:
        async with callers:
            return await ask(memory, question, ids)

    asked = [question for question in data["questions"] if question["evidence"]]
    return report(await asyncio.gather(*map(one, asked)))


def report(found: Sequence[Found]) -> dict[str, Any]:
    """Return the means in percent by the number of hops, and what the hop gains, with 95 % intervals."""
    gains = [one.whole(1) - one.whole(0) for one in found]
    return {
        "questions": len(found),
        "hops": {
            str(hops): {
                f"all evidence@{CUT}": percent([one.whole(hops) for one in found]),
                f"recall@{CUT}": percent([one.recall[hops] for one in found]),
                "interval": interval([one.whole(hops) for one in found]),
            }
            for hops in HOPS
        },
        "recalled": {
            f"all evidence@{CUT}": percent([one.recalled == 1.0 for one in found]),
            f"recall@{CUT}": percent([one.recalled for one in found]),
            "interval": interval([one.recalled == 1.0 for one in found]),
        },
        "gain": {f"all evidence@{CUT}": percent(gains), "interval": interval(gains)},
    }


def percent(values: Sequence[float]) -> float:
    """Return a mean in percent."""
    return round(100 * statistics.fmean(values), 2)


def interval(values: Sequence[float]) -> list[float]:
    """Return the 95 % interval of a mean in percent, by a bootstrap over the questions."""
    chance = random.Random(0)
    means = [percent(chance.choices(values, k=len(values))) for _ in range(RESAMPLES)]
    return [round(cut, 2) for cut in statistics.quantiles(means, n=40)[::38]]


def show(result: dict[str, Any]) -> None:
    """Print the figures as a table."""
    names = [f"all evidence@{CUT}", f"recall@{CUT}"]
    print(f"{'hops':6}" + "".join(f"{name:>18}" for name in names))
    for hops, figures in result["hops"].items():
        print(f"{hops:6}" + "".join(f"{figures[name]:>18.2f}" for name in names))
    print(f"{'recall':6}" + "".join(f"{result['recalled'][name]:>18.2f}" for name in names))
    print(f"{'gain':6}{result['gain'][names[0]]:>+18.2f}")
