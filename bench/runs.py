"""What a run's budget costs: retrieving in a run against searching the same spans, in one run.

    python -m bench.runs --spans 100000 --out runs.json

One client on a private Neo4j of the run's own. In turns, at 1 and at 8 callers: a bare write of one
node; a search of the spans; the same question retrieved in a run, which holds tokens, searches, reads
the contents, charges and records. The bar: p50 of retrieve ≤ p50 of search + 4 × p50 of the bare write.
"""

import asyncio
import json
import time
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from bench.latency import Ask, interleaved, say
from bench.reporting import arguments, report
from bench.store import STATEMENT_ROWS, WRITERS, Corpus, corpus, memories, questions
from graphmem import config
from graphmem.client import Graphmem
from graphmem.memories.write import Prepared, write
from graphmem.runtime import Runtime, running

CLIENT = "runs"
SOURCE_SPANS = 50
CALLERS = (1, 8)
ASKED = 300
WARMED = 150
ROOM = 400
"""How many tokens a retrieval may take: ten to twenty of the spans."""

BARE_WRITE = "CYPHER 25 CREATE (:Bare {client_id: $client_id, place: $place})"
BARE, SEARCH, RETRIEVE = "bare write", "search", "retrieve in a run"


def spans(made_of: Corpus, number: int) -> Iterator[Prepared]:
    """Yield a client's spans, fifty of a source."""
    for place, memory in enumerate(memories(made_of, CLIENT, number, 5)):
        text = memory.draft.text
        draft = replace(
            memory.draft,
            kind="span",
            source_type="knowledge_base",
            source_id=f"source-{place // SOURCE_SPANS}",
            conversation_id="",
            session_id="",
            own={
                "start_byte": 0,
                "end_byte": len(text.encode()),
                "sha256": sha256(text.encode()).hexdigest(),
            },
        )
        yield replace(memory, draft=draft)


async def fill(runtime: Runtime, made_of: Corpus, number: int) -> None:
    """Write the spans, a few statements at a time."""
    source = spans(made_of, number)

    async def writer() -> None:
        while chunk := [span for _, span in zip(range(STATEMENT_ROWS), source, strict=False)]:
            await runtime.graph.write(partial(write, memories=chunk, client_id=CLIENT))

    await asyncio.gather(*(writer() for _ in range(WRITERS)))


async def asks(runtime: Runtime) -> dict[str, Ask]:
    """Return what is timed."""
    memory = Graphmem(runtime, CLIENT)
    budget = {"max_tokens": 10**9, "max_time_ms": 7 * 24 * 3_600_000, "max_retries": 0}
    run = await memory.run(agent_type="bench", episode_id="bench", budget=budget)
    driver, database = runtime.graph.driver, runtime.graph.database

    async def bare(question: str) -> None:
        async with driver.session(database=database) as session:
            await (await session.run(BARE_WRITE, client_id=CLIENT, place=1)).consume()

    async def search(question: str) -> None:
        found = await memory.search(question, source_types=["knowledge_base"], max_results=20)
        assert found.items

    async def retrieve(question: str) -> None:
        found = await run.retrieve(question, max_tokens=ROOM, source_types=["knowledge_base"])
        assert found.spans

    return {BARE: bare, SEARCH: search, RETRIEVE: retrieve}


async def measure(runtime: Runtime, number: int) -> dict[str, Any]:
    """Fill the store and time everything in turns."""
    made_of = await corpus(runtime.embedder)
    started = time.perf_counter()
    await fill(runtime, made_of, number)
    say(f"{number} spans: {time.perf_counter() - started:.0f} s")
    asked = questions(made_of, ASKED + WARMED)
    timed = await asks(runtime)
    await interleaved(timed, asked[:WARMED], 1)
    result: dict[str, Any] = {"spans": number, "callers": {}}
    for callers in CALLERS:
        figures = await interleaved(timed, asked[WARMED:], callers)
        median = {name: cuts["p50"] for name, cuts in figures.items()}
        bar = median[SEARCH] + 4 * median[BARE]
        result["callers"][callers] = {
            "milliseconds": figures,
            "search + 4 bare writes, p50": round(bar, 2),
            "retrieve to that": round(median[RETRIEVE] / bar, 2),
        }
        say(f"{callers} callers: {json.dumps(result['callers'][callers])}")
    return result


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("runs", __doc__)
    parser.add_argument("--spans", type=int, default=100_000)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="graphmem-runs-") as folder:
        settings = replace(config.load({}), data_dir=Path(folder) / "data")
        async with running(settings) as runtime:
            result = await measure(runtime, given.spans)
    report(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
