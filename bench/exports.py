"""How fast a client is exported and imported, with how much memory, and how long writes wait for a backup.

    python -m bench.exports --memories 100000 --out exports.json

One client on a private Neo4j of the run's own: messages in sessions of fifty, joined to their sessions and to
each other, with vectors near those of real embeddings. It is exported, and imported under another name, each
as the commands do it, in this process. Its memory is looked at while they work; the driver, the model
and the store are there before. Rates depend on the machine: the report has that of plain writes of the same
messages, with vectors and without embedding them, and the time of ten million additions in Python as
measures of it, and the processor time that this process and Neo4j took for each memory.

Then a backup is made as `graphmem backup` does while 200 messages a second are written, ten in each
transaction, begun at their moments whether or not those before have ended. Its pause is the longest time
that one of them took; a write that was refused is counted.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from msgspec import Struct, field

from bench.graph import SESSIONS
from bench.latency import say
from bench.reporting import arguments, report
from bench.store import Corpus, corpus, fill, memories
from graphmem import config
from graphmem.cli.backup import _back_up
from graphmem.cli.export import open_from, write_pages
from graphmem.client import Graphmem
from graphmem.config import Settings
from graphmem.errors import Unavailable
from graphmem.exports.lines import check
from graphmem.exports.load import load
from graphmem.memories.write import Prepared, write
from graphmem.runtime import Runtime, running
from graphmem.server.private import status

CLIENT, COPY, WRITER = "bench", "bench-copy", "bench-writer"
OUT_BAR, IN_BAR, MEGABYTES_BAR, PAUSE_BAR = 5_000, 800, 100, 5.0
"""The least memories a second out and in, the greatest growth of the process, the longest wait of a write."""

WRITES = 200
WRITTEN_AT_ONCE = 10
"""The messages that are written each second beside the backup, and those of one transaction."""

BESIDE_SECONDS = 5.0
"""How long they are written before it and after it."""

ADDITIONS = 10_000_000

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


class Spent(Struct):
    """The processor time that a block took, in seconds, and its length."""

    seconds: float = 0.0
    here: float = 0.0
    neo4j: float = 0.0

    def each(self, number: int) -> dict[str, int]:
        """Return the microseconds for each of a number of memories."""
        return {
            "of this process": round(1e6 * self.here / number),
            "of Neo4j": round(1e6 * self.neo4j / number),
        }


@contextmanager
def spending(settings: Settings) -> Iterator[Spent]:
    """Measure the length of a block, and the processor time that it takes."""
    record = status(settings.data_dir)
    assert record is not None
    pair = (psutil.Process(), psutil.Process(record.pid))
    spent = Spent()
    before = [sum(one.cpu_times()[:2]) for one in pair]
    began = time.perf_counter()
    yield spent
    spent.seconds = time.perf_counter() - began
    spent.here, spent.neo4j = (
        sum(one.cpu_times()[:2]) - then for one, then in zip(pair, before, strict=True)
    )


def additions() -> float:
    """Return the seconds that ten million additions in Python take, a measure of the machine."""
    began, total = time.process_time(), 0
    for number in range(ADDITIONS):
        total += number
    return round(time.process_time() - began, 2)


async def measure(
    runtime: Runtime, client_id: str, copy: str, memories: int, folder: Path
) -> dict[str, Any]:
    """Export and import a client; return the rates and the growth."""
    path = folder / f"{client_id}.jsonl"
    async with growing() as exporting:
        with spending(runtime.settings) as out, open_from(path, 0) as file:
            await write_pages(await Graphmem(runtime, client_id).export(), file)
    checked = check(path)
    async with growing() as importing:
        with spending(runtime.settings) as back:
            await load(path, runtime.context(copy))
    return {
        "nodes": checked.end.nodes,
        "edges": checked.end.edges,
        "megabytes of the file": round(checked.size / 1e6, 1),
        "memories a second out": round(memories / out.seconds),
        "memories a second in": round(memories / back.seconds),
        "microseconds of processor a memory out": out.each(memories),
        "microseconds of processor a memory in": back.each(memories),
        "megabytes of growth out": exporting.megabytes,
        "megabytes of growth in": importing.megabytes,
    }


class Waits(Struct):
    """How long each write took, and how many were refused."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0


@asynccontextmanager
async def writing(runtime: Runtime, source: Iterator[Prepared]) -> AsyncIterator[Waits]:
    """Write `WRITES` messages a second for the length of the block."""
    waits, under_way = Waits(), set[asyncio.Task[None]]()

    async def write_some(some: list[Prepared]) -> None:
        began = time.perf_counter()
        try:
            await runtime.graph.write(partial(write, memories=some, client_id=WRITER))
        except Unavailable:
            waits.refused += 1
        waits.seconds.append(time.perf_counter() - began)

    async def begin_all() -> None:
        began = time.perf_counter()
        for number in count():
            await asyncio.sleep(began + number * WRITTEN_AT_ONCE / WRITES - time.perf_counter())
            task = asyncio.create_task(write_some(list(islice(source, WRITTEN_AT_ONCE))))
            under_way.add(task)
            task.add_done_callback(under_way.discard)

    beginning = asyncio.create_task(begin_all())
    try:
        yield waits
    finally:
        beginning.cancel()
        await asyncio.gather(*under_way)


async def back_up(runtime: Runtime, made_of: Corpus, folder: Path) -> dict[str, Any]:
    """Back the store up while it is written to; return how long writes waited."""
    source = memories(made_of, WRITER, 1_000_000, 9)
    async with writing(runtime, source) as waits:
        await asyncio.sleep(BESIDE_SECONDS)
        usual, rate = list(waits.seconds), len(waits.seconds) / BESIDE_SECONDS
        began = time.perf_counter()
        done = await _back_up(folder / "backup", runtime.settings)
        taken = time.perf_counter() - began
        await asyncio.sleep(BESIDE_SECONDS)
    return {
        "messages a second before": round(rate * WRITTEN_AT_ONCE),
        "refused writes": waits.refused,
        "seconds of the backup": round(taken, 1),
        "gigabytes of the backup": round(done.bytes / 1e9, 2),
        "seconds of the pause": round(done.paused_seconds, 2),
        "longest wait of a write, seconds": round(max(waits.seconds), 2),
        "longest wait before, seconds": round(max(usual), 2),
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
            backed_up = await back_up(runtime, made_of, folder)
            say("backed up")
            found = await measure(runtime, CLIENT, COPY, given.memories, folder)
    rates = (found["memories a second out"], found["memories a second in"])
    growth = max(found["megabytes of growth out"], found["megabytes of growth in"])
    pause = backed_up["longest wait of a write, seconds"]
    result = {
        "memories": given.memories,
        **found,
        "memories a second of plain writes": round(written),
        "in to plain writes": round(rates[1] / written, 2),
        "backup": backed_up,
        "load of the machine": os.getloadavg(),
        "seconds of ten million additions": additions(),
        "bars": {"out": OUT_BAR, "in": IN_BAR, "megabytes": MEGABYTES_BAR, "pause": PAUSE_BAR},
        "passed": {
            "out": rates[0] >= OUT_BAR,
            "in": rates[1] >= IN_BAR,
            "megabytes": growth < MEGABYTES_BAR,
            "pause": pause < PAUSE_BAR,
        },
    }
    report(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
