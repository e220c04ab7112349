"""The pulse of a database, without one: what it answers decides whether it is restarted, and when."""

import asyncio
import socket
from typing import Any

import pytest
from neo4j import AsyncGraphDatabase
from neo4j.exceptions import DatabaseError

from graphmem.errors import Unavailable
from graphmem.graph import inspection
from graphmem.graph.driver import Graph
from graphmem.graph.inspection import FAILED_SECONDS, LOOK_SECONDS, SILENT_SECONDS, Pulse
from tests.scripted import ScriptedGraph

GOOD = [inspection.Answered(1)]


def failed() -> Unavailable:
    problem = Unavailable("the database failed")
    problem.__cause__ = DatabaseError("it panicked")
    return problem


class Database(ScriptedGraph):
    """A database that answers, fails, is away, or is silent."""

    def __init__(self) -> None:
        super().__init__({"graph/answers": GOOD})
        self.silent = False

    def impatient(self) -> Graph:
        return self

    async def rows(self, query: Any, **parameters: Any) -> Any:
        if self.silent:
            await asyncio.sleep(1e6)
        return await super().rows(query, **parameters)


async def looked(database: Database, seconds: float, *, begin: float = 0.0) -> list[str]:
    """Return the reasons that a pulse gives within so many seconds, one second after the other."""
    heart = Pulse()
    found = [await heart.lost(database, begin + second) for second in range(int(seconds))]
    return [one for one in found if one]


async def test_a_database_that_answers_is_asked_seldom_and_left_alone():
    database = Database()

    assert await looked(database, 100) == []
    assert len(database.asked) == 100 / LOOK_SECONDS


async def test_one_that_has_failed_is_lost_soon():
    database = Database()
    database.answers["graph/answers"] = failed()

    assert await looked(database, FAILED_SECONDS) == []
    assert "failed" in (await looked(database, FAILED_SECONDS + LOOK_SECONDS))[0]


async def test_one_that_is_away_is_the_business_of_the_process():
    database = Database()
    database.answers["graph/answers"] = Unavailable("the database does not answer")

    assert await looked(database, 1_000) == []


@pytest.mark.parametrize("listens", [True, False])
async def test_one_that_takes_a_connection_and_does_not_greet_is_silent(listens: bool):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        if not listens:
            mute.close()
        driver = AsyncGraphDatabase.driver(
            f"bolt://127.0.0.1:{port}",
            connection_timeout=0.1,
            connection_acquisition_timeout=0.2,
        )
        graph = Graph(driver, "neo4j", apart=driver)
        try:
            assert await Pulse().is_lost(graph) is listens
        finally:
            await driver.close()


async def test_one_that_is_silent_is_lost_later(monkeypatch: pytest.MonkeyPatch):
    database = Database()
    database.silent = True
    monkeypatch.setattr(inspection, "LOOK_SECONDS", 0.01)

    heart = Pulse()
    assert await heart.lost(database, 0.0) is None
    assert await heart.lost(database, SILENT_SECONDS - 1) is None
    assert "not answered" in str(await heart.lost(database, SILENT_SECONDS + 1))


async def test_one_that_answers_after_it_was_suspended_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
):
    database, heart = Database(), Pulse()
    database.silent = True
    monkeypatch.setattr(inspection, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(inspection, "CONFIRM_SECONDS", 0.01)
    await heart.lost(database, 0.0)
    assert await heart.is_lost(database)

    await heart.lost(database, 1.0)
    database.silent = False
    assert not await heart.is_lost(database)

    database.silent = True
    assert await heart.lost(database, SILENT_SECONDS + 2) is None


async def test_a_failure_that_passes_is_forgotten():
    database, heart = Database(), Pulse()
    for second, answer in ((0, failed()), (6, GOOD), (12, failed()), (18, failed())):
        database.answers["graph/answers"] = answer
        assert await heart.lost(database, second) is None
    assert await heart.lost(database, 24)
