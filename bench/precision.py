"""How many of the first three results are relevant: narrowed to sessions, and over everything.

    python -m bench.precision --out precision.json

Asks the 44 questions of `bench.narrowing_set` over its 44 sessions, whose summaries the product makes
itself, with the real embedding model. Results stand in the order of the answer: the best session first, in
it the best message first. Contextual search shows as hits only what matches, which may be fewer than three:
its precision is the relevant share of those that it shows, nothing shown counts as 0, and `shown` says how
many there are; `of three places` is the strict share, where a place that stays empty counts as wrong.
`global, by meaning` is what S5 compares with: the messages that lie nearest.
"""

import asyncio
import statistics
import uuid
from collections.abc import Iterable
from typing import Any

from bench import narrowing_set
from bench.quality import load, store, summarize
from bench.reporting import arguments, report
from graphmem.client import Graphmem
from graphmem.model.vocabulary import Ranking
from graphmem.runtime import Runtime

CUT = 3
NARROWED: dict[str, dict[str, Any]] = {
    "contextual, hard": {"narrowing": "hard"},
    "contextual, soft": {"narrowing": "soft"},
}
GLOBAL: dict[str, Ranking] = {"global, by meaning": "vector", "global, recall": "default"}


async def measure(runtime: Runtime) -> dict[str, Any]:
    """Load the set for a client of its own, ask everything in every way, and return the precisions."""
    conversation = narrowing_set.conversation()
    memory = Graphmem(runtime, f"precision-{uuid.uuid4().hex}")
    ids = await load(memory, conversation)
    await summarize(memory)
    relevant: dict[str, list[int]] = {name: [] for name in (*NARROWED, *GLOBAL)}
    shown: dict[str, list[int]] = {name: [] for name in relevant}
    for question in conversation["questions"]:
        evidence = set(question["evidence"])
        for name, options in NARROWED.items():
            first = [ids[id] for id in await narrowed(memory, question["text"], options)]
            relevant[name].append(len(evidence & set(first)))
            shown[name].append(len(first))
        for name, ranking in GLOBAL.items():
            found = await memory.recall(
                question["text"], limit=CUT, kinds=["message"], ranking=ranking
            )
            first = [item.external_id for item in found.items if item.external_id]
            relevant[name].append(len(evidence & set(first)))
            shown[name].append(len(first))
    return {
        "sessions": len(conversation["sessions"]),
        "questions": len(conversation["questions"]),
        f"precision@{CUT}": {
            name: percent(
                right / max(many, 1) for right, many in zip(rights, shown[name], strict=True)
            )
            for name, rights in relevant.items()
        },
        "of three places": {
            name: percent(right / CUT for right in rights) for name, rights in relevant.items()
        },
        "shown": {name: round(statistics.fmean(many), 2) for name, many in shown.items()},
    }


def percent(shares: Iterable[float]) -> float:
    """Return the mean of some shares in percent."""
    return round(100 * statistics.fmean(shares), 2)


async def narrowed(memory: Graphmem, question: str, options: dict[str, Any]) -> list[str]:
    """Return the ids of the first results of contextual search."""
    found = await memory.search_contextual(question, neighbours=0, **options)
    return [
        turn.id
        for context in found.contexts
        for turn in sorted(context.messages, key=lambda turn: -(turn.score or 0.0))
        if turn.hit
    ][:CUT]


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("precision", __doc__)
    given = parser.parse_args()
    async with store() as runtime:
        result = await measure(runtime)
    report(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
