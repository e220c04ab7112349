"""Listing conversations, sessions and messages on a real Neo4j."""

import itertools
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.conversations.show import LAST_PLACE, _place
from graphmem.conversations.types import MessagesAsked
from graphmem.errors import ConversationNotFound, InvalidInput
from graphmem.model.pages import listing

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)

Page = Callable[..., Awaitable[Any]]


async def pages(read: Page, name: str, **asked: Any) -> list[Any]:
    """Return the rows of all pages of a list."""
    rows, cursor = [], None
    while True:
        found = await read(**asked, cursor=cursor)
        rows += getattr(found, name)
        assert len(rows) <= found.total
        cursor = found.cursor
        if cursor is None:
            return rows


async def test_conversations_come_latest_first_with_their_counts(
    memory: Graphmem, rival: Graphmem, say
) -> None:
    for id in ("a", "b", "c"):
        await memory.open_conversation(id, title=f"Title {id}")
    await rival.open_conversation("d")
    await memory.remember("b", [say("1", "x"), say("2", "y"), say("3", "x")])

    first = await memory.conversations(limit=2)

    assert [(one.id, one.title) for one in first.conversations] == [
        ("c", "Title c"),
        ("b", "Title b"),
    ]
    assert [(one.sessions, one.messages) for one in first.conversations] == [(0, 0), (2, 3)]
    assert first.conversations[0].last_active_at is None
    assert first.conversations[1].last_active_at is not None
    assert first.total == 3
    rest = await memory.conversations(limit=2, cursor=first.cursor)
    assert ([one.id for one in rest.conversations], rest.cursor) == (["a"], None)


async def test_sessions_come_latest_first_with_the_number_of_their_messages(
    memory: Graphmem, say
) -> None:
    await memory.open_conversation("c")
    for day, session in enumerate(("x", "y", "z")):
        moment = NOON + timedelta(days=day)
        await memory.remember("c", [say("1", session, occurred_at=moment)] * (day + 1))

    found = await pages(memory.sessions, "sessions", conversation_id="c", limit=1)

    assert [(one.external_id, one.messages) for one in found] == [("z", 3), ("y", 2), ("x", 1)]
    assert [one.started_at.day for one in found] == [4, 3, 2]
    assert (await memory.sessions("c")).total == 3


async def test_messages_are_read_back_as_they_were_said(memory: Graphmem, say) -> None:
    long = "The keeper counts the lights of the harbour. " * 2_000
    await memory.open_conversation("c")
    ids = (
        await memory.remember(
            "c", [say(long, "x", name="Mara", external_id="chat-1", importance=0.9), say("2", "y")]
        )
    ).ids

    first, second = (await memory.messages("c")).messages

    assert (first.id, second.id) == tuple(ids)
    assert (first.text, first.name, first.external_id) == (long, "Mara", "chat-1")
    assert (first.importance, first.session_external_id, first.position) == (0.9, "x", 0)
    assert second.external_id is None


@pytest.mark.parametrize("session", [None, "x", "y"])
@pytest.mark.parametrize("order", ["oldest", "newest"])
async def test_messages_come_in_either_order_of_all_or_one_session(
    order: Any, session: str | None, memory: Graphmem, say
) -> None:
    await memory.open_conversation("c")
    await memory.remember("c", [say(str(place), "xy"[place % 2]) for place in range(7)])
    expected = [str(n) for n in range(7) if session is None or "xy"[n % 2] == session]

    found = await pages(
        memory.messages, "messages", conversation_id="c", session_id=session, order=order, limit=2
    )

    texts = [one.text for one in found]
    assert texts == (expected if order == "oldest" else expected[::-1])
    assert (await memory.messages("c", session_id=session)).total == len(expected)


async def test_the_order_is_that_of_adding_and_not_of_the_times(memory: Graphmem) -> None:
    said = [
        {"role": "user", "content": day, "occurred_at": f"2026-03-{day}T09:00:00Z"}
        for day in ("03", "01", "02")
    ]
    await memory.remember("c", said, create=True)

    assert [one.text for one in (await memory.messages("c")).messages] == ["03", "01", "02"]
    newest = (await memory.messages("c", order="newest")).messages
    assert [one.text for one in newest] == ["02", "01", "03"]


async def test_a_session_may_be_named_by_its_own_id(memory: Graphmem, say) -> None:
    await memory.open_conversation("c")
    await memory.remember("c", [say("1", "x"), say("2", "y")])
    session = next(one for one in (await memory.sessions("c")).sessions if one.external_id == "y")

    assert [one.text for one in (await memory.messages("c", session_id=session.id)).messages] == [
        "2"
    ]
    empty = await memory.messages("c", session_id="unheard-of")
    assert (empty.messages, empty.total, empty.cursor) == ([], 0, None)


async def test_a_period_narrows_the_messages_and_their_number(memory: Graphmem, say) -> None:
    await memory.open_conversation("c")
    await memory.remember(
        "c", [say(str(n), occurred_at=NOON + timedelta(hours=n)) for n in range(6)]
    )

    found = await memory.messages(
        "c", since=NOON + timedelta(hours=2), until=NOON + timedelta(hours=5), limit=2
    )

    assert [one.text for one in found.messages] == ["2", "3"]
    assert found.total == 3


async def test_unknown_and_foreign_conversations_look_the_same(
    memory: Graphmem, rival: Graphmem
) -> None:
    await rival.open_conversation("c")
    for read in (memory.sessions, memory.messages):
        with pytest.raises(ConversationNotFound, match=r"^no conversation 'c'$"):
            await read("c")


async def test_a_cursor_goes_with_its_list(memory: Graphmem, say) -> None:
    for id in ("c", "d"):
        await memory.open_conversation(id)
        await memory.remember(id, [say("1"), say("2")])
    cursor = (await memory.messages("c", limit=1)).cursor

    assert len((await memory.messages("c", limit=5, cursor=cursor)).messages) == 1
    with pytest.raises(InvalidInput, match=r"^cursor: "):
        await memory.messages("d", cursor=cursor)
    with pytest.raises(InvalidInput, match=r"^cursor: "):
        await memory.messages("c", order="newest", cursor=cursor)


@pytest.mark.parametrize("number", [str(LAST_PLACE + 1), str(2**64), "9" * 5_000, "-1", "²"])
def test_a_forged_cursor_is_refused(number: str) -> None:
    listed = listing(MessagesAsked(), "c")
    last = MessagesAsked(cursor=listed.sealed(str(LAST_PLACE)))
    assert _place(listed, last) == LAST_PLACE
    with pytest.raises(InvalidInput, match=r"^cursor: is not one that this list has given"):
        _place(listed, MessagesAsked(cursor=listed.sealed(number)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("order", ["oldest", "newest"])
async def test_beside_writes_and_deletions_nothing_comes_twice_and_nothing_is_missing(
    order: Any, seed: int, memory: Graphmem, say
) -> None:
    chance = random.Random(seed)
    await memory.open_conversation("c")
    there = list((await memory.remember("c", [say(str(n)) for n in range(30)])).ids)
    throughout, seen, cursor = set(there), [], None

    for turn in itertools.count():
        found = await memory.messages("c", order=order, limit=4, cursor=cursor)
        seen += [one.id for one in found.messages]
        cursor = found.cursor
        if cursor is None or turn > 30:
            break
        gone = chance.choice(sorted(throughout))
        await memory.delete_memory(gone)
        throughout.discard(gone)
        await memory.remember("c", [say(f"later {turn}")])

    assert len(set(seen)) == len(seen)
    assert throughout <= set(seen)
    assert cursor is None
