"""A few statements at work at once, and those that do not end."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from graphmem.errors import TooManyStatements, Unavailable
from graphmem.graph.statements import (
    LOOK_SECONDS,
    MOST_PATIENCE_SECONDS,
    PATIENCE_SECONDS,
    AtWork,
    LostStatements,
    Statements,
)
from tests.scripted import ScriptedGraph

AT_WORK = "graph/statements_at_work"


class Watched(ScriptedGraph):
    """A scripted graph that may also be asked without patience."""

    def impatient(self) -> "Watched":
        return self


def at_work(*found: AtWork) -> Watched:
    return Watched({AT_WORK: found})


def lost(id: str) -> AtWork:
    return AtWork(id, 3.0, 60.0, terminated=True)


def running(id: str) -> AtWork:
    return AtWork(id, 3.0, 60.0, terminated=False)


@pytest.mark.parametrize(
    ("seconds", "terminated", "cut_off"),
    [(59.0, False, False), (65.0, False, False), (75.0, False, True), (1.0, True, True)],
)
def test_a_statement_is_cut_off_when_it_was_told_to_end_or_is_long_beyond_its_limit(
    seconds: float, terminated: bool, cut_off: bool
) -> None:
    assert AtWork("a", seconds, 60.0, terminated=terminated).is_cut_off is cut_off


async def test_so_many_are_let_in_and_the_next_is_told_when_to_come_again() -> None:
    statements, graph = Statements(2), at_work()
    async with AsyncExitStack() as stack:
        for id in ("a", "b"):
            await stack.enter_async_context(statements.admitted(id, graph))
        with pytest.raises(TooManyStatements, match="GRAPHMEM_CYPHER_AT_ONCE") as raised:
            await stack.enter_async_context(statements.admitted("c", graph))
    assert (raised.value.limit, raised.value.cut_off) == (2, 0)
    assert raised.value.retry_after > 0
    async with statements.admitted("c", graph):
        pass


async def test_those_that_were_cut_off_and_still_run_count_once_each() -> None:
    statements = Statements(3)
    graph = at_work(lost("a"), lost("a"), running("b"), running("mine"))
    async with statements.admitted("mine", graph):
        with pytest.raises(TooManyStatements, match="graphmem doctor") as raised:
            await statements.admitted("next", graph).__aenter__()
    assert raised.value.cut_off == 1


async def test_one_whose_caller_has_left_is_cut_off_before_the_server_says_so() -> None:
    statements, graph = Statements(1), at_work()
    async with statements.admitted("a", graph):
        pass
    with pytest.raises(TooManyStatements) as raised:
        await statements.admitted("b", at_work(running("a"))).__aenter__()
    assert raised.value.cut_off == 1
    with pytest.raises(TooManyStatements) as raised:
        await statements.admitted("b", at_work(running("another's"))).__aenter__()
    assert raised.value.cut_off == 0


async def test_who_was_refused_or_failed_takes_no_place() -> None:
    statements = Statements(1)
    for graph in (at_work(lost("a")), Watched({AT_WORK: Unavailable("away")})):
        with pytest.raises((TooManyStatements, Unavailable)):
            await statements.admitted("b", graph).__aenter__()
    with pytest.raises(LookupError):
        async with statements.admitted("b", at_work()):
            raise LookupError
    async with statements.admitted("b", at_work()):
        pass


async def test_a_statement_is_lost_when_it_goes_on_long_after_its_end() -> None:
    watch, graph = LostStatements(), at_work(lost("a"), running("b"))
    looks = [step * LOOK_SECONDS for step in range(1, 10)]
    found = [await watch.find(graph, now) for now in looks]
    first = next(now for now, ids in zip(looks, found, strict=True) if ids)
    assert PATIENCE_SECONDS <= first - looks[0] < PATIENCE_SECONDS + 2 * LOOK_SECONDS
    assert ["a"] in found


async def patience(watch: LostStatements, start: float, id: str) -> float:
    """Return how long a statement is at work, looked at again and again, until it counts as lost."""
    graph, now = at_work(lost(id)), start
    while not await watch.find(graph, now):
        now += LOOK_SECONDS
    return now - start


async def test_one_lost_statement_after_the_other_has_to_wait_longer_each_time() -> None:
    watch = LostStatements()
    waited = [await patience(watch, 1_000.0 * number, f"{number}") for number in range(1, 10)]
    assert waited[0] < waited[1] < waited[2] < waited[3]
    assert max(waited) <= MOST_PATIENCE_SECONDS + LOOK_SECONDS
    assert await patience(watch, 1_000_000.0, "later") == waited[0]


async def test_a_statement_that_ends_meanwhile_is_not_lost() -> None:
    watch = LostStatements()
    assert await watch.find(at_work(lost("a")), 100.0) == []
    assert await watch.find(at_work(), 110.0) == []
    assert await watch.find(at_work(lost("a")), 130.0) == []


async def test_it_looks_now_and_then_and_never_fails() -> None:
    watch, graph = LostStatements(), at_work(lost("a"))
    for _ in range(3):
        await watch.find(graph, 100.0)
    assert graph.names == [AT_WORK]
    assert await watch.find(Watched({AT_WORK: Unavailable("away")}), 200.0) == []


async def test_a_database_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hanging(*_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr("graphmem.graph.statements.LOOK_SECONDS", 0.01)
    graph = at_work()
    monkeypatch.setattr(graph, "rows", hanging)
    assert await LostStatements().find(graph, 100.0) == []
