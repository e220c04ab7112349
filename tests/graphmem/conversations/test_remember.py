"""Remembering messages on a real Neo4j."""

import asyncio
import random
import uuid
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace
from neo4j.exceptions import IncompleteCommit

from graphmem.client import Graphmem
from graphmem.conversations import remember as writing
from graphmem.conversations.remember import (
    LOCK_CONVERSATIONS,
    NewBatch,
    prepare_batches,
    remember_prepared,
)
from graphmem.conversations.types import NewMessage, Remembered
from graphmem.errors import ConversationNotFound, InvalidInput, TooLarge, Unavailable
from graphmem.memories.write import write
from graphmem.runtime import Runtime

WRITERS, BATCHES = 16, 3


@pytest.fixture
async def conversation(memory: Graphmem) -> str:
    """An open conversation of this test's client."""
    return (await memory.open_conversation("c")).id


async def test_ids_come_in_the_batch_s_order(memory: Graphmem, conversation: str, say):
    contents = [f"Message number {place}." for place in range(20)]
    random.Random(1).shuffle(contents)
    ids = (await memory.remember("c", [say(content) for content in contents])).ids

    assert [(await memory.memory(id)).text for id in ids] == contents


async def test_places_and_links_go_on_over_batches_and_sessions(
    memory: Graphmem, conversation: str, say, shape
):
    await memory.remember("c", [say("0", "a"), say("1", "b"), say("2", "a")])
    await memory.remember("c", [say("3", "b"), say("4", "c")])
    await memory.remember("c", [say("5", "a")])

    found = await shape(memory.client_id)
    found.check()
    texts = {name: [m.text for m in messages] for name, messages in found.by_session.items()}
    assert texts == {"a": ["0", "2", "5"], "b": ["1", "3"], "c": ["4"]}
    assert {m.text: m.position for m in found.messages} == {str(n): n for n in range(6)}


async def test_the_same_external_id_again_changes_nothing_and_gives_the_same_id(
    memory: Graphmem, conversation: str, say, shape
):
    first = await memory.remember("c", [say("one", external_id="x"), say("two", external_id="y")])
    before = await shape(memory.client_id)
    again = await memory.remember(
        "c", [say("other", "b", external_id="y"), say("other", "b", external_id="x")]
    )

    assert again.ids == first.ids[::-1]
    assert await shape(memory.client_id) == before


async def test_known_ones_between_new_ones_leave_no_gap(
    memory: Graphmem, conversation: str, say, shape
):
    known = (await memory.remember("c", [say("one", external_id="x")])).ids[0]
    ids = (
        await memory.remember("c", [say("two"), say("other", external_id="x"), say("three")])
    ).ids

    found = await shape(memory.client_id)
    found.check()
    assert ids[1] == known
    assert [m.text for m in found.by_session["a"]] == ["one", "two", "three"]


async def test_the_same_external_id_within_a_batch_is_one_message_the_first(
    memory: Graphmem, conversation: str, say, shape
):
    ids = (
        await memory.remember(
            "c", [say("first", external_id="x"), say("between"), say("again", external_id="x")]
        )
    ).ids

    found = await shape(memory.client_id)
    found.check()
    assert ids[0] == ids[2]
    assert [m.text for m in found.by_session["a"]] == ["first", "between"]


async def test_an_external_id_belongs_to_its_conversation(memory: Graphmem, conversation: str, say):
    await memory.open_conversation("d")
    one = await memory.remember("c", [say(external_id="x")])
    other = await memory.remember("d", [say(external_id="x")])

    assert one.ids != other.ids


async def test_many_writers_at_once_make_no_gap_no_fork_and_no_duplicate(
    memory: Graphmem, conversation: str, say, shape
):
    """Overlapping sessions; each writer brings some external ids that its neighbours bring too."""

    async def write(writer: int) -> dict[str, str]:
        given: dict[str, str] = {}
        for batch in range(BATCHES):
            names = [f"{batch}-{(writer + place) % WRITERS}" for place in range(3)]
            new = [say(name, f"s{place % 2}", external_id=name) for place, name in enumerate(names)]
            new.append(say(f"own {writer} {batch}", f"s{writer % 3}"))
            ids = (await memory.remember("c", new)).ids
            given |= dict(zip(names, ids, strict=False))
        return given

    given = await asyncio.gather(*(write(writer) for writer in range(WRITERS)))

    found = await shape(memory.client_id)
    found.check()
    assert len(found.messages) == WRITERS * BATCHES * 2
    assert Counter(m.text.startswith("own") for m in found.messages)[True] == WRITERS * BATCHES
    stored = {m.external_id: m.id for m in found.messages if m.external_id}
    assert len(stored) == WRITERS * BATCHES
    assert all(stored[name] == id for answer in given for name, id in answer.items())


async def test_a_writer_that_waited_for_the_lock_reads_what_was_written_meanwhile(
    memory: Graphmem, conversation: str, runtime: Runtime, say
):
    await memory.remember("c", [say()])
    asked = {"id": "c", "session_names": ["a"], "external_ids": [], "ids": []}
    locking = {"client_id": memory.client_id, "conversations": [asked]}
    locked = asyncio.Event()

    async def first(transaction):
        await transaction.rows(LOCK_CONVERSATIONS, **locking)
        locked.set()
        await asyncio.sleep(0.3)
        moved = "MATCH (c:Conversation {client_id: $client_id}) SET c.next_position = 100"
        await transaction._transaction.run(moved, client_id=memory.client_id)

    async def second(transaction):
        return await transaction.rows(LOCK_CONVERSATIONS, **locking)

    async with asyncio.TaskGroup() as writers:
        writers.create_task(runtime.graph.write(first))
        await locked.wait()
        waited = writers.create_task(runtime.graph.write(second))
    assert waited.result()[0].next_position == 100


@pytest.mark.parametrize("call", ["remember", "delete"])
async def test_who_waited_for_a_conversation_that_was_deleted_meanwhile_finds_none(
    memory: Graphmem, conversation: str, runtime: Runtime, say, nodes_of, call: str
):
    asked = {"id": "c", "session_names": ["a"], "external_ids": [], "ids": []}
    locking = {"client_id": memory.client_id, "conversations": [asked]}
    locked = asyncio.Event()

    async def delete(transaction):
        await transaction.rows(LOCK_CONVERSATIONS, **locking)
        locked.set()
        await asyncio.sleep(0.3)
        gone = "MATCH (c:Conversation {client_id: $client_id}) DETACH DELETE c"
        await transaction._transaction.run(gone, client_id=memory.client_id)

    deleting = asyncio.create_task(runtime.graph.write(delete))
    await locked.wait()
    waiting = (
        memory.remember("c", [say()]) if call == "remember" else memory.delete_conversation("c")
    )
    with pytest.raises(ConversationNotFound):
        await waiting
    await deleting
    assert await nodes_of(memory.client_id) == 0


async def test_two_clients_have_the_same_ids_and_meet_nowhere(
    memory: Graphmem, rival: Graphmem, conversation: str, say, shape
):
    assert (await rival.open_conversation("c")).created
    ours = await memory.remember("c", [say("ours", external_id="x"), say("ours too")])
    theirs = await rival.remember("c", [say("theirs", external_id="x")])

    assert set(ours.ids).isdisjoint(theirs.ids)
    assert [m.text for m in (await shape(rival.client_id)).by_session["a"]] == ["theirs"]
    (await shape(memory.client_id)).check()
    (await shape(rival.client_id)).check()


@pytest.mark.parametrize("whose", ["nobody's", "another client's"])
async def test_a_foreign_conversation_is_as_unknown_as_none(
    memory: Graphmem, rival: Graphmem, say, whose: str, nodes_of
):
    if whose == "another client's":
        await rival.open_conversation("c")

    with pytest.raises(ConversationNotFound, match=r"^no conversation 'c'$"):
        await memory.remember("c", [say()])
    assert await nodes_of(memory.client_id) == 0


@pytest.mark.usefixtures("bulk_data")
async def test_a_thousand_messages_in_one_call(memory: Graphmem, conversation: str, say, shape):
    new = [say(f"No. {place}", f"s{place % 7}") for place in range(1000)]
    ids = (await memory.remember("c", new)).ids

    found = await shape(memory.client_id)
    found.check()
    placed = {m.id: m.position for m in found.messages}
    assert [placed[id] for id in ids] == list(range(1000))


@pytest.mark.parametrize("count", [0, 1001])
async def test_no_message_and_more_than_a_thousand_are_refused(
    memory: Graphmem, conversation: str, say, count: int
):
    with pytest.raises(InvalidInput, match=r"^messages: "):
        await memory.remember("c", [say()] * count)


async def test_what_has_returned_is_searchable_by_meaning_and_by_words(
    memory: Graphmem, conversation: str, say
):
    for place in range(20):
        word = f"quillon{uuid.uuid4().hex[:8]}"
        id = (await memory.remember("c", [say(f"The keeper {place} hid the {word}.")])).ids[0]
        found = await memory.recall(f"Who hid the {word}?", limit=200)

        ranks = {item.id: item.ranks for item in found.items}[id]
        assert ranks["bm25"] == 1
        assert "vector" in ranks


async def test_a_lost_answer_does_not_double(
    memory: Graphmem, conversation: str, say, shape, monkeypatch: pytest.MonkeyPatch
):
    """The commit arrives, its answer does not: the batch is tried again and finds itself."""
    import neo4j

    commit = neo4j.AsyncTransaction.commit
    lost: list[bool] = []

    async def losing(transaction):
        await commit(transaction)
        if not lost:
            lost.append(True)
            raise IncompleteCommit("the connection broke")

    monkeypatch.setattr(neo4j.AsyncTransaction, "commit", losing)
    ids = (await memory.remember("c", [say("1"), say("2", external_id="x")])).ids
    monkeypatch.undo()

    found = await shape(memory.client_id)
    found.check()
    assert lost
    assert [m.id for m in found.by_session["a"]] == ids


async def test_a_failing_embedder_leaves_nothing_behind(
    memory: Graphmem, runtime: Runtime, say, nodes_of, monkeypatch: pytest.MonkeyPatch
):
    await memory.open_conversation("c")

    def fail(texts):
        if any("poison" in text for text in texts):
            raise RuntimeError("no memory left")
        return [[1.0] + [0.0] * (runtime.embedder.model.dimensions - 1) for _ in texts]

    monkeypatch.setattr(runtime.embedder.model, "embed", fail)
    with pytest.raises(Unavailable, match="the embedding model failed"):
        await memory.remember("c", [say(f"fine {n}") for n in range(40)] + [say("poison")])
    assert await nodes_of(memory.client_id) == 1


async def test_a_failure_in_the_middle_of_the_transaction_leaves_nothing_behind(
    memory: Graphmem, say, nodes_of, monkeypatch: pytest.MonkeyPatch
):
    await memory.open_conversation("c")

    async def half(transaction, memories, *, client_id):
        await write(transaction, memories[:1], client_id=client_id)
        raise RuntimeError("in the middle")

    monkeypatch.setattr(writing, "write", half)
    with pytest.raises(RuntimeError, match="in the middle"):
        await memory.remember("c", [say(), say()])
    assert await nodes_of(memory.client_id) == 1


LONG_WORDS = ("All work and no play. " * 50_000)[:1_000_000]
HUGE_TEXT = {
    "a megabyte": LONG_WORDS,
    "a megabyte of four-byte characters": "\U0001f6a2" * 250_000,
    "350,000 characters without a space": "x" * 350_000,
    "350,000 different characters": "".join(chr(0x4E00 + n % 20_000) for n in range(330_000)),
}
ANY_TEXT = {
    "NUL": "before\0after",
    "only NUL": "\0",
    "right to left": "שלום \u202e אבג",
    "Lucene": '+scope_words:(x) OR *:* AND NOT "a~2" ^5 [a TO z] {!} \\',
    "Cypher": "`}) DETACH DELETE n // $client_id",
    "line breaks": "\r\n\n## 2026-01-01\u2028x\n",
}


@pytest.mark.usefixtures("bulk_data")
@pytest.mark.parametrize("text", HUGE_TEXT.values(), ids=HUGE_TEXT)
async def test_a_huge_text_is_kept_as_it_is(memory: Graphmem, conversation: str, say, text: str):
    id = (await memory.remember("c", [say(text)])).ids[0]

    assert (await memory.memory(id)).text == text


@pytest.mark.parametrize("text", ANY_TEXT.values(), ids=ANY_TEXT)
async def test_any_text_is_kept_as_it_is(memory: Graphmem, conversation: str, say, text: str):
    id = (await memory.remember("c", [say(text)])).ids[0]

    assert (await memory.memory(id)).text == text


async def test_any_text_of_the_fields_beside_it_is_kept_too(
    memory: Graphmem, conversation: str, say
):
    new = say("x", "s\0 '`", name="\u202e\0", external_id='"}) //')
    kept = await memory.memory((await memory.remember("c", [new])).ids[0])

    assert (kept.session_external_id, kept.name, kept.external_id) == (
        "s\0 '`",
        "\u202e\0",
        '"}) //',
    )


async def test_what_the_model_cannot_see_is_reported_and_found_by_its_words(
    memory: Graphmem, conversation: str, say
):
    long = f"{'The tide table of May is long. ' * 400} Its last word is zugunruhe."
    remembered = await memory.remember("c", [say("short"), say(long), say("short again")])

    assert remembered.embedding_truncated == [remembered.ids[1]]
    assert (await memory.memory(remembered.ids[1])).embedding_truncated
    assert not (await memory.memory(remembered.ids[0])).embedding_truncated
    found = await memory.recall("zugunruhe", ranking="bm25", max_tokens=20_000)
    assert [item.id for item in found.items] == [remembered.ids[1]]


BAD = {
    "lone surrogate": ({"content": "half \ud83d"}, "content", InvalidInput),
    "lone surrogate in a name": ({"name": "\udc00"}, "name", InvalidInput),
    "lone surrogate in a session": ({"session_id": "\udc00"}, "session_id", InvalidInput),
    "lone surrogate in an external id": ({"external_id": "\udc00"}, "external_id", InvalidInput),
    "blank": ({"content": " \n\t\u3000"}, "content", InvalidInput),
    "blank session": ({"session_id": "  "}, "session_id", InvalidInput),
    "empty": ({"content": ""}, "content", InvalidInput),
    "a byte too long": ({"content": "x" * 1_000_001}, "content", TooLarge),
    "a byte too long in UTF-8": ({"content": "é" * 500_001}, "content", TooLarge),
    "no role": ({"role": "narrator"}, "role", InvalidInput),
    "importance": ({"importance": 1.5}, "importance", InvalidInput),
    "no zone": ({"occurred_at": datetime(2026, 3, 1)}, "occurred_at", InvalidInput),
    "no zone in text": ({"occurred_at": "2026-03-01T09:00:00"}, "occurred_at", InvalidInput),
    "too early": ({"occurred_at": datetime(1, 1, 1, tzinfo=UTC)}, "occurred_at", InvalidInput),
    "too late": (
        {"occurred_at": datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-14)))},
        "occurred_at",
        InvalidInput,
    ),
    "future": (
        {"occurred_at": datetime.now(UTC) + timedelta(hours=1)},
        "occurred_at",
        InvalidInput,
    ),
    "unknown field": ({"colour": "red"}, "colour", InvalidInput),
}


@pytest.mark.parametrize(("fields", "name", "error"), BAD.values(), ids=BAD)
async def test_what_cannot_be_used_is_named_and_nothing_is_written(
    memory: Graphmem, say, nodes_of, fields, name: str, error: type[InvalidInput]
):
    await memory.open_conversation("c")
    with pytest.raises(error) as raised:
        await memory.remember("c", [say(), say() | fields])

    assert raised.value.field == f"messages[1].{name}"
    assert str(raised.value).startswith(f"messages[1].{name}: ")
    assert await nodes_of(memory.client_id) == 1


async def test_times_are_kept_in_utc_and_what_has_none_happened_on_arrival(
    memory: Graphmem, conversation: str, say
):
    east = datetime(2026, 3, 1, 9, 30, 0, 123456, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    before = datetime.now(UTC)
    ids = (await memory.remember("c", [say(occurred_at=east), say()])).ids
    given, arrived = [await memory.memory(id) for id in ids]

    assert given.occurred_at == given.valid_at == east
    assert given.occurred_at.utcoffset() == timedelta(0)
    assert before <= arrived.occurred_at == arrived.created_at <= datetime.now(UTC)
    assert (given.invalid_at, given.superseded_at) == (None, None)


async def test_idx_follows_arrival_not_the_time(memory: Graphmem, conversation: str, say, shape):
    early, late = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 6))
    await memory.remember("c", [say("late", occurred_at=late), say("early", occurred_at=early)])

    assert [m.text for m in (await shape(memory.client_id)).by_session["a"]] == ["late", "early"]


async def test_the_first_messages_may_open_their_conversation(memory: Graphmem, say):
    with pytest.raises(ConversationNotFound):
        await memory.remember("unopened", [say()])
    first = await memory.remember("unopened", [say("one", external_id="1")], create=True)
    again = await memory.remember(
        "unopened", [say("one", external_id="1"), say("two")], create=True
    )

    assert again.ids[0] == first.ids[0]
    found = await memory.messages("unopened")
    assert [one.text for one in found.messages] == ["one", "two"]


async def test_a_conversation_that_is_deleted_while_messages_arrive_is_opened_anew(
    memory: Graphmem, say, monkeypatch
):
    await memory.open_conversation("c")
    prepare, deletions = writing.prepare_batch, 2

    async def prepare_slowly(*args: Any, **options: Any) -> Any:
        nonlocal deletions
        prepared = await prepare(*args, **options)
        if deletions:
            deletions -= 1
            await memory.delete_conversation("c")
        return prepared

    monkeypatch.setattr(writing, "prepare_batch", prepare_slowly)
    with pytest.raises(ConversationNotFound):
        await memory.remember("c", [say("lost")])
    await memory.open_conversation("c")
    await memory.remember("c", [say("kept")], create=True)
    assert [one.text for one in (await memory.messages("c")).messages] == ["kept"]


async def test_writers_that_open_the_same_conversation_at_once_share_it(memory: Graphmem, say):
    texts = [f"Message {number}." for number in range(8)]
    await asyncio.gather(*(memory.remember("c", [say(text)], create=True) for text in texts))

    found = await memory.messages("c")
    assert sorted(one.text for one in found.messages) == texts
    assert (await memory.conversations()).total == 1


async def test_a_conversation_is_not_opened_with_an_id_that_it_could_not_have(
    memory: Graphmem, say
):
    with pytest.raises(InvalidInput, match=r"conversation_id: .*1–128 of letters"):
        await memory.remember("no spaces", [say()], create=True)
    with pytest.raises(InvalidInput):
        await memory.remember("c", [say(" ")], create=True)
    assert (await memory.conversations()).total == 0


async def test_messages_of_a_framework_are_remembered_and_found(memory: Graphmem):
    said: list[dict[str, Any]] = [
        {
            "role": "human",
            "content": [{"type": "text", "text": "When does the ferry leave?"}],
            "occurred_at": "2026-03-01T23:00:00Z",
        },
        {
            "role": "ai",
            "content": None,
            "tool_calls": [{"function": {"name": "timetable", "arguments": '{"line": "Leeward"}'}}],
            "occurred_at": "2026-03-01T23:00:01Z",
        },
        {"role": "function", "content": "09:10", "occurred_at": 1772443800},
    ]
    await memory.remember("c", said, create=True)

    found = (await memory.messages("c")).messages
    assert [(one.role, one.text) for one in found] == [
        ("user", "When does the ferry leave?"),
        ("assistant", 'timetable({"line": "Leeward"})'),
        ("tool", "09:10"),
    ]
    names = {one.external_id for one in (await memory.sessions("c")).sessions}
    assert names == {"2026-03-01", "2026-03-02"}


async def test_batches_of_several_conversations_are_written_together(
    memory: Graphmem, runtime: Runtime, say, shape
):
    await memory.remember("c", [say("0"), say("1", external_id="1")], create=True)
    written = await remember_some(
        memory,
        new_batch("d", [say("0"), say("1")], title="Tides"),
        new_batch("c", [say("other", external_id="1"), say("2"), say("3", "b")]),
    )

    first, second = [await shape(memory.client_id, id) for id in ("c", "d")]
    first.check()
    second.check()
    assert [m.text for m in first.messages] == ["0", "1", "2", "3"]
    assert [m.text for m in second.messages] == ["0", "1"]
    assert written[1].ids == [m.id for m in first.messages[1:]]
    assert written[0].ids == [m.id for m in second.messages]
    conversations = (await memory.conversations()).conversations
    assert {one.id: one.title for one in conversations} == {"c": None, "d": "Tides"}


async def test_known_messages_change_the_title_alone(memory: Graphmem, say, shape):
    batch = new_batch("c", [say(external_id="1")], title="Tides")
    first = await remember_some(memory, batch)
    before = await shape(memory.client_id)
    again = await remember_some(memory, replace(batch, title="Harbour"))

    assert again == first
    assert await shape(memory.client_id) == before
    assert [one.title for one in (await memory.conversations()).conversations] == ["Harbour"]


async def test_of_several_batches_all_are_written_or_none(
    memory: Graphmem, say, monkeypatch, nodes_of
):
    async def fail(*arguments, **named):
        raise RuntimeError("at the end")

    monkeypatch.setattr(writing, "postpone_all", fail)
    with pytest.raises(RuntimeError, match="at the end"):
        await remember_some(memory, *(new_batch(id, [say()]) for id in "cd"))
    assert await nodes_of(memory.client_id) == 0


async def test_writers_of_the_same_conversations_in_another_order_do_not_deadlock(
    memory: Graphmem, say, shape
):
    async def write(ids: str) -> None:
        await remember_some(memory, *(new_batch(id, [say(id)]) for id in ids))

    await asyncio.gather(*(write("".join(random.Random(n).sample("cdef", 4))) for n in range(8)))

    for id in "cdef":
        found = await shape(memory.client_id, id)
        found.check()
        assert len(found.messages) == 8


def new_batch(id: str, messages: list[dict[str, Any]], title: str | None = None) -> NewBatch:
    return NewBatch(
        conversation_id=id,
        messages=convert(messages, list[NewMessage]),
        create=True,
        title=title,
    )


async def remember_some(memory: Graphmem, *batches: NewBatch) -> list[Remembered]:
    """Write batches in one transaction, without retries but those of the driver."""
    context = memory.runtime.context(memory.client_id)
    prepared = await prepare_batches(batches, context, now=context.now())
    return await remember_prepared(prepared, context)
