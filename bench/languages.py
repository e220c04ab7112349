"""How well paraphrased questions are answered in eight languages, all in one client.

    python -m bench.languages --out languages.json

One client has the eight conversations of `bench/language_set`, 40 messages each, each in another language,
and is asked in the language of the message that answers, in other words than its own. hit@k is the share of
questions of which that message is among the first k of everything that the client has. The store should be
fresh: other clients' words count in the index too. The model is that of `GRAPHMEM_EMBEDDING_MODEL`.

The files of the set are written like those of `bench.paraphrases`.
"""

import asyncio
import statistics
import uuid
from pathlib import Path
from typing import Any

from bench.paraphrases import CUTS, RANKINGS, Paraphrase, conversations, hits, paraphrases
from bench.quality import load, store
from bench.reporting import arguments, report
from graphmem.client import Graphmem
from graphmem.model.vocabulary import Ranking
from graphmem.runtime import Runtime

SET = Path(__file__).with_name("language_set")

ENGLISH = "en"


async def place(memory: Graphmem, asked: Paraphrase, ranking: Ranking) -> int | None:
    """Return the place of the message that answers; None beyond the last cut."""
    answer = await memory.recall(asked.text, limit=CUTS[-1], ranking=ranking)
    order = [item.external_id for item in answer.items]
    return order.index(asked.answer) + 1 if asked.answer in order else None


async def measure(runtime: Runtime, folder: Path = SET) -> dict[str, Any]:
    """Load the set for one client, ask everything with each ranking, and return the shares in percent."""
    told = conversations(folder)
    memory = Graphmem(runtime, f"languages-{uuid.uuid4().hex}")
    for one in told:
        await load(memory, one)
    asked = list(paraphrases(told))
    figures = {}
    for name, ranking in RANKINGS.items():
        places = [await place(memory, one, ranking) for one in asked]
        figures[name] = shares(asked, places)
    return {
        "model": runtime.embedder.model.name,
        "messages": sum(len(each["messages"]) for one in told for each in one["sessions"]),
        "questions": len(asked),
        "without a shared word": sum(not one.shares_word for one in asked),
        "rankings": figures,
    }


def shares(asked: list[Paraphrase], places: list[int | None]) -> dict[str, dict[str, float]]:
    """Return hit@k of each language, and the mean of all but English."""
    by_language: dict[str, list[int | None]] = {}
    for one, found in zip(asked, places, strict=True):
        by_language.setdefault(one.conversation, []).append(found)
    figures = {
        language: {f"hit@{k}": hits(found, k) for k in CUTS}
        for language, found in by_language.items()
    }
    others = [each for language, each in figures.items() if language != ENGLISH]
    figures["mean without English"] = {
        cut: round(statistics.fmean(each[cut] for each in others), 2) for cut in others[0]
    }
    return figures


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("languages", __doc__)
    parser.add_argument("--data", type=Path, default=SET, help="the folder of the set")
    given = parser.parse_args()
    async with store() as runtime:
        result = await measure(runtime, given.data)
    report(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
