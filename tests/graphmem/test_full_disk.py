"""A disk that fills: writes are refused before, reads go on, and all is well once there is room."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
from msgspec import Struct

from graphmem import config
from graphmem.client import Graphmem
from graphmem.config import Settings
from graphmem.errors import DiskFull, SetupError, Unavailable
from graphmem.graph.query import RowsWritten
from graphmem.runtime import Runtime, Watch, running
from graphmem.server import folder
from tests.scripted import inline
from tests.small_disk import fill

MEGABYTE = 1_000_000


class Numbers(Struct, frozen=True):
    """The numbers that were found."""

    numbers: list[int]


class Disk:
    """A disk whose free space a test sets, and the graph that is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free = 0
        self.refused: list[DiskFull | None] = []
        monkeypatch.setattr(folder, "free_bytes", lambda data_dir: self.free * MEGABYTE)
        graph: Any = SimpleNamespace(refuse_writes=self.refused.append)
        server: Any = SimpleNamespace(uri="bolt://127.0.0.1:1")
        self.watch = Watch(server, graph, config.load({}, disk_margin_mb=100))

    def look(self, free: int) -> DiskFull | None:
        """Return what the graph is told with so many MB free."""
        self.free = free
        self.watch._look_at_disk()
        return self.refused[-1]


def test_writes_are_refused_below_the_margin_until_there_is_clearly_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    disk = Disk(monkeypatch)

    assert disk.look(100) is None
    full = disk.look(99)
    assert full is not None
    assert "99 MB" in str(full)
    assert "100 MB" in str(full)
    assert disk.look(105)
    assert disk.look(110) is None
    assert disk.look(105) is None
    assert len([one for one in caplog.records if one.levelname == "WARNING"]) == 2


async def test_a_refused_write_says_so_and_reads_go_on(memory: Graphmem, runtime: Runtime):
    await memory.remember_fact("The ferry sails at nine.")
    runtime.graph.refuse_writes(DiskFull(12, 256))
    try:
        with pytest.raises(DiskFull, match="12 MB free"):
            await memory.remember_fact("The ferry sails at ten.")
        [item] = (await memory.recall("When does the ferry sail?")).items
        assert item.text == "The ferry sails at nine."
    finally:
        runtime.graph.refuse_writes(None)
    await memory.remember_fact("The ferry sails at ten.")


@pytest.fixture
def on_small_disk(small_disk: Path) -> Settings:
    """Settings of a private server on that disk, without a margin: the disk may really fill."""
    environ = {"GRAPHMEM_CACHE_DIR": os.environ.get("GRAPHMEM_CACHE_DIR", "")}
    return config.load(
        environ, data_dir=small_disk / "data", neo4j_start_seconds=600, disk_margin_mb=0
    )


@pytest_asyncio.fixture
async def cramped(on_small_disk: Settings) -> AsyncIterator[Runtime]:
    """A graphmem on that disk."""
    try:
        async with running(on_small_disk) as started:
            yield started
    except SetupError as problem:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no private Neo4j: {problem}")


BALLAST = inline(
    "CYPHER 25 CREATE (one:Ballast {number: $number, text: $text}) RETURN count(one) AS written",
    RowsWritten,
    writes=True,
    name="ballast",
)
FOUND = inline(
    "CYPHER 25 MATCH (one:Ballast) WHERE size(one.text) = $size RETURN collect(one.number) AS numbers",
    Numbers,
    name="found",
)
TEXT = "There is hardly any room. " * 20_000


async def written(work: Awaitable[Any]) -> bool:
    """Tell whether something could be written."""
    try:
        async with asyncio.timeout(60):
            await work
    except (Unavailable, TimeoutError):
        return False
    return True


async def test_a_full_disk_loses_nothing_and_is_left_behind_without_a_restart_by_hand(
    cramped: Runtime, on_small_disk: Settings
):
    memory, graph = Graphmem(cramped, "lea"), cramped.graph
    fact = await memory.remember_fact("The first note is kept.")
    filler = fill(on_small_disk.data_dir.parent)
    # Transaction logs are laid out ahead: it takes some writes until the database notices.
    acknowledged = []
    for number in range(1_000):
        if not await written(graph.change(BALLAST, number=number, text=TEXT)):
            break
        acknowledged.append(number)
    assert len(acknowledged) < 1_000
    filler.unlink()

    async with asyncio.timeout(600):
        while not await written(memory.remember_fact("There is room again.")):
            await asyncio.sleep(1)
    [found] = await graph.rows(FOUND, size=len(TEXT))
    assert set(found.numbers) >= set(acknowledged)
    assert (await memory.memory(fact.id)).text == "The first note is kept."
