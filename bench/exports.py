"""How fast a client is exported and imported, and how much memory that takes.

    python -m bench.exports --memories 100000 --out exports.json

One client on a private Neo4j of the run's own: messages in sessions of fifty, joined to their sessions and to
each other, with vectors near those of real embeddings. It is exported, and imported under another name, each
as the commands do it, in this process. Its memory is looked at while they work; the driver, the model
and the store are there before. Rates depend on the machine: the report has that of plain writes of the same
messages, with vectors and without embedding them, as a measure of it.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from bench.graph import SESSIONS
from bench.latency import say
from bench.reporting import arguments, report
from bench.store import corpus, fill
from graphmem import config
from graphmem.cli.export import open_from, write_pages
from graphmem.client import Graphmem
from graphmem.exports.lines import check
from graphmem.exports.load import load
from graphmem.runtime import Runtime, running

CLIENT, COPY = "bench", "bench-copy"
OUT_BAR, IN_BAR, MEGABYTES_BAR = 5_000, 800, 100
"""The least memories a second out and in, and the greatest growth of the process."""

LOOK_SECONDS = 0.05
WARMED = 2_000
"""Memories of another client that are exported and imported before anything is measured."""


class Growth:
    """The growth of this process while something is at work."""

    megabytes = 0.0


@asynccontextmanager
async def growing() -> AsyncIterator[Growth]:
    """Watch this process for the length of the block."""
    process, growth = psutil.Process(), Growth()
    before = process.memory_info().rss

    async def watch() -> None:
        while True:
            more = (process.memory_info().rss - before) / 1e6
            growth.megabytes = max(growth.megabytes, round(more, 1))
            await asyncio.sleep(LOOK_SECONDS)

    watching = asyncio.create_task(watch())
    try:
        yield growth
    finally:
        watching.cancel()


async def measure(
    runtime: Runtime, client_id: str, copy: str, memories: int, folder: Path
) -> dict[str, Any]:
    """Export and import a client; return the rates and the growth."""
    path = folder / f"{client_id}.jsonl"
    async with growing() as exporting:
        began = time.perf_counter()
        with open_from(path, 0) as file:
            await write_pages(await Graphmem(runtime, client_id).export(), file)
        out = time.perf_counter() - began
    checked = check(path)
    async with growing() as importing:
        began = time.perf_counter()
        await load(path, runtime.context(copy))
        back = time.perf_counter() - began
    return {
        "nodes": checked.end.nodes,
        "edges": checked.end.edges,
        "megabytes of the file": round(checked.size / 1e6, 1),
        "memories a second out": round(memories / out),
        "memories a second in": round(memories / back),
        "megabytes of growth out": exporting.megabytes,
        "megabytes of growth in": importing.megabytes,
    }


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("exports", __doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="graphmem-exports-") as name:
        folder = Path(name)
        settings = config.load({}, data_dir=folder / "data", neo4j_start_seconds=600)
        async with running(settings) as runtime:
            made_of = await corpus(runtime.embedder)
            await fill(runtime, made_of, "warm", WARMED, 3)
            await measure(runtime, "warm", "warm-copy", WARMED, folder)
            began = time.perf_counter()
            await fill(runtime, made_of, CLIENT, given.memories, 5)
            written = given.memories / (time.perf_counter() - began)
            await runtime.graph.execute(SESSIONS, client_id=CLIENT)
            say(f"{given.memories} memories")
            found = await measure(runtime, CLIENT, COPY, given.memories, folder)
    rates = (found["memories a second out"], found["memories a second in"])
    growth = max(found["megabytes of growth out"], found["megabytes of growth in"])
    result = {
        "memories": given.memories,
        **found,
        "memories a second of plain writes": round(written),
        "in to plain writes": round(rates[1] / written, 2),
        "load of the machine": os.getloadavg(),
        "bars": {"out": OUT_BAR, "in": IN_BAR, "megabytes": MEGABYTES_BAR},
        "passed": rates[0] >= OUT_BAR and rates[1] >= IN_BAR and growth < MEGABYTES_BAR,
    }
    report(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
