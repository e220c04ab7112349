"""Tell me more: the nearest first into the budget, in order, nothing twice."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.contextual import more_turns
from graphmem.contextual.more_turns import Middle, TurnSize, nearest, packed
from graphmem.contextual.types import MoreTurns
from graphmem.errors import InvalidInput, MemoryNotFound, SessionNotFound
from tests.told_sessions import BUG, tell

PLACES = """CYPHER 25
MATCH (message:Message {client_id: $client_id})
RETURN message.session_id AS session_id, message.id AS id, message.idx AS idx ORDER BY idx"""


async def places(memory: Graphmem, session_id: str) -> list[str]:
    rows = await memory.runtime.graph.execute(PLACES, client_id=memory.client_id)
    return [row["id"] for row in rows if row["session_id"] == session_id]


def at(more: MoreTurns) -> list[int]:
    return [turn.idx for turn in more.messages]


async def test_from_a_hit_earlier_later_even_later(memory: Graphmem) -> None:
    # S5.20 S5.33
    ids = await tell(memory)
    listed = await places(memory, ids["bug"])
    shown = listed[2:5]
    earlier = await memory.expand_context(memory_id=listed[3], direction="earlier", shown=shown)
    assert (at(earlier), earlier.more_earlier, earlier.more_later) == ([0, 1], False, True)
    assert (earlier.session_id, earlier.session_external_id) == (ids["bug"], "bug")
    tokens = memory.runtime.tokens
    budget = sum(tokens.count(BUG[place][1]) for place in (5, 6))
    later = await memory.expand_context(
        memory_id=listed[3], direction="later", shown=shown, max_tokens=budget
    )
    assert (at(later), later.tokens_used) == ([5, 6], budget)
    assert (later.more_later, later.omitted_total) == (True, 1)
    assert [one.id for one in later.omitted] == [listed[7]]
    even_later = await memory.expand_context(
        memory_id=listed[3], direction="later", shown=[*shown, *listed[5:7]]
    )
    assert (at(even_later), even_later.more_later) == ([7], False)
    around = await memory.expand_context(memory_id=listed[3], shown=[listed[3]])
    assert at(around) == [0, 1, 2, 4, 5, 6, 7]
    assert [turn.content for turn in around.messages] == [
        content for place, (_, content) in enumerate(BUG) if place != 3
    ]


async def test_from_a_session_on_from_what_was_shown(memory: Graphmem) -> None:
    ids = await tell(memory)
    listed = await places(memory, ids["bug"])
    whole = await memory.expand_context(session_id=ids["bug"], direction="later")
    assert at(whole) == list(range(8))
    on = await memory.expand_context(
        session_id=ids["bug"], direction="later", shown=[*listed[:3], "unknown"]
    )
    assert at(on) == [3, 4, 5, 6, 7]
    budget = memory.runtime.tokens.count(BUG[7][1])
    last = await memory.expand_context(
        session_id=ids["bug"], direction="earlier", max_tokens=budget
    )
    assert at(last) == [7]
    before = await memory.expand_context(
        session_id=ids["bug"], direction="earlier", shown=listed[6:]
    )
    assert at(before) == [0, 1, 2, 3, 4, 5]
    summary = await memory.summarize_session(ids["bug"])
    from_summary = await memory.expand_context(memory_id=summary.id)
    assert at(from_summary) == list(range(8))


async def test_it_tells_that_the_session_goes_on_beyond_those_examined(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await tell(memory, "bug")
    listed = await places(memory, ids["bug"])
    monkeypatch.setattr(more_turns, "LOOKED_AT", 2)
    for direction, expected in (("earlier", [1, 2]), ("later", [4, 5]), ("around", [1, 2, 4, 5])):
        asked: Any = {"memory_id": listed[3], "shown": [listed[3]], "direction": direction}
        more = await memory.expand_context(**asked)
        assert (at(more), more.more_earlier, more.more_later) == (expected, True, True)
    last = await memory.expand_context(memory_id=listed[2], shown=[listed[2], *listed[3:6]])
    assert (at(last), last.more_earlier, last.more_later) == ([0, 1, 6, 7], False, False)
    first = await memory.expand_context(session_id=ids["bug"])
    assert (at(first), first.more_earlier, first.more_later) == ([0, 1], False, True)


async def test_with_a_time_only_what_had_been_said_by_then_is_there(memory: Graphmem) -> None:
    ids = await tell(memory, "bug")
    listed = await places(memory, ids["bug"])
    fourth = datetime(2026, 3, 3, 9, 3, tzinfo=UTC)
    then = await memory.expand_context(memory_id=listed[1], shown=[listed[1]], as_of=fourth)
    assert (at(then), then.more_later) == ([0, 2, 3], False)
    asked: Any = {"session_id": ids["bug"], "direction": "later"}
    known = await memory.expand_context(**asked, known_as_of=datetime.now(UTC))
    assert at(known) == list(range(8))
    before = await memory.expand_context(**asked, known_as_of=datetime.now(UTC) - timedelta(days=1))
    assert (at(before), before.more_earlier, before.more_later) == ([], False, False)
    with pytest.raises(InvalidInput, match="as_of"):
        await memory.expand_context(**asked, as_of="2026-03-03T09:00:00")


async def test_what_is_foreign_looks_like_what_is_not_there(
    memory: Graphmem, rival: Graphmem
) -> None:
    ids = await tell(memory, "garden")
    [first, *_] = await places(memory, ids["garden"])
    for other, id in ((memory, "nothing"), (rival, first)):
        with pytest.raises(MemoryNotFound):
            await other.expand_context(memory_id=id)
    for other, id in ((memory, "nothing"), (rival, ids["garden"])):
        with pytest.raises(SessionNotFound):
            await other.expand_context(session_id=id)


async def test_it_needs_one_place_to_start_from(memory: Graphmem) -> None:
    asked: Any
    for asked in ({}, {"memory_id": "a", "session_id": "b"}):
        with pytest.raises(InvalidInput, match="memory_id"):
            await memory.expand_context(**asked)
    made = await memory.add_reference(type="knowledge_base", target_id="kb", label="Pricing")
    with pytest.raises(InvalidInput, match="no session"):
        await memory.expand_context(memory_id=made.id)


def test_the_nearest_come_first_and_a_misfit_is_passed_over() -> None:
    sizes = [TurnSize(str(idx), idx, 10) for idx in (0, 1, 3, 4, 7)]
    middle = Middle("s", 3, 3)
    assert [one.idx for one in nearest(sizes, middle, "around")] == [3, 4, 1, 0, 7]
    assert [one.idx for one in nearest(sizes, middle, "earlier")] == [1, 0]
    assert [one.idx for one in nearest(sizes, middle, "later")] == [4, 7]
    taken, omitted = packed([TurnSize("a", 1, 5), TurnSize("b", 2, 9), TurnSize("c", 3, 4)], 9)
    assert ([one.id for one in taken], [one.id for one in omitted]) == (["a", "c"], ["b"])
