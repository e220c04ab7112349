"""A statement that Neo4j cannot interrupt is seen at work, and ended by a restart of the private server."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from graphmem import config
from graphmem.config import Settings
from graphmem.doctor import server
from graphmem.errors import SetupError, TookTooLong, TooManyStatements, Unavailable
from graphmem.exploring.running import run_statement
from graphmem.exploring.types import CypherAsked, Sender, Table
from graphmem.graph.driver import Graph
from graphmem.graph.query import RowsWritten
from graphmem.graph.statements import STATEMENTS_AT_WORK, Statements
from graphmem.jobs.afterwards import Afterwards
from graphmem.runtime import database
from graphmem.server.private import status
from tests.scripted import inline

ENDLESS = """
UNWIND range(1, 30000) AS number
WITH collect(number) AS list
RETURN reduce(s = 0, a IN list | reduce(t = s, b IN list | reduce(u = t, c IN list | u + c))) AS x
"""
"""Years in one expression; no word tells how long the list is."""

WRITE = inline(
    "CYPHER 25 MERGE (n:Note {i: $i}) RETURN count(*) AS written", RowsWritten, writes=True
)


@pytest_asyncio.fixture
async def settings(tmp_path: Any, own_server: None) -> Settings:
    """A data folder of the test's own."""
    environ = {"GRAPHMEM_CACHE_DIR": os.environ.get("GRAPHMEM_CACHE_DIR", "")}
    return config.load(environ, data_dir=tmp_path / "data", neo4j_start_seconds=600)


@pytest_asyncio.fixture
async def graph(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Graph]:
    """The database of a private server that is watched often and with little patience."""
    monkeypatch.setattr("graphmem.graph.statements.LOOK_SECONDS", 1.0)
    monkeypatch.setattr("graphmem.graph.statements.PATIENCE_SECONDS", PATIENCE)
    try:
        async with database(settings) as started:
            yield started
    except SetupError as problem:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no private Neo4j: {problem}")


PATIENCE = 20.0
"""Long enough for all that the test looks at while the statement is at work, also on a busy machine."""


async def ask(graph: Graph, query: str, statements: Statements, afterwards: Afterwards) -> Table:
    sent = CypherAsked(query=query, timeout_ms=30_000)
    sender = Sender(id=str(uuid.uuid4()), client_id="lost", at=datetime.now(UTC))
    return await run_statement(
        sent, sender, graph=graph, afterwards=afterwards, statements=statements
    )


async def severity(graph: Graph) -> str:
    """Return the severity of the one finding about statements."""
    [finding] = await server.statements(graph, private=True)
    return finding.severity


async def write_until(ended: asyncio.Event, graph: Graph, written: list[int]) -> None:
    """Write one note after the other, as a caller that heeds `Retry-After`."""
    for number in range(1_000_000):
        while not ended.is_set():
            with suppress(Unavailable):
                await graph.change(WRITE, i=number)
                written.append(number)
                break
            await asyncio.sleep(0.2)
        if ended.is_set():
            return
        await asyncio.sleep(0.05)


async def test_it_is_told_of_and_ended_by_a_restart_that_writers_survive(
    graph: Graph, settings: Settings
) -> None:
    before = status(settings.data_dir)
    statements, ended, written = Statements(1), asyncio.Event(), list[int]()
    async with Afterwards() as afterwards:
        # A server that has just started plans its first statements for seconds, which can be interrupted.
        for _ in range(3):
            await ask(graph, ENDLESS.replace("30000", "3"), statements, afterwards)
        writer = asyncio.create_task(write_until(ended, graph, written))
        with pytest.raises(TookTooLong):
            await ask(graph, ENDLESS, statements, afterwards)
        with pytest.raises(TooManyStatements) as raised:
            await ask(graph, "RETURN 1", statements, afterwards)
        assert raised.value.cut_off == 1
        async with asyncio.timeout(400):
            # Another process hears of it from the server, which looks for such statements now and then.
            while await severity(graph) != "warning":
                await asyncio.sleep(0.1)
            while status(settings.data_dir) in (None, before):
                await asyncio.sleep(0.2)
            reached = len(written)
            while len(written) < reached + 20:
                await asyncio.sleep(0.1)
        ended.set()
        await writer
        assert await graph.rows(STATEMENTS_AT_WORK) == []
        assert (await ask(graph, "RETURN 1 AS x", statements, afterwards)).rows == [{"x": 1}]
    found = await graph.execute("MATCH (n:Note) RETURN collect(DISTINCT n.i) AS numbers")
    assert set(written) <= set(found[0]["numbers"])
