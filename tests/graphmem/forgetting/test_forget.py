"""Forgetting on a real Neo4j: nothing of it is left, the rest stays, and the receipt says how much went."""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import neo4j
import pytest

from graphmem.client import Graphmem
from graphmem.conversations import conversation as conversations
from graphmem.conversations.types import Deleted
from graphmem.errors import ConversationNotFound, InvalidInput, LegalHold, SpanNotFound
from graphmem.facts import remember
from graphmem.forgetting.forget import KEEP_HOLD
from graphmem.forgetting.types import REMAINS, Receipt
from graphmem.graph.driver import Graph, Transaction
from graphmem.memories.memory import refuse_on_hold
from graphmem.model.vocabulary import Kind
from graphmem.runtime import Runtime
from graphmem.sessions import digest
from graphmem.text.named_times import _times_in
from tests.expired import EXPIRE

SECRET = "Anna Petrova takes insulin every morning."
OTHER = "The boat leaves at noon."
THEN = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Told(msgspec.Struct):
    """A client with a secret in a message, with all that is made of it, and another message."""

    memory: Graphmem
    conversation: str
    session: str
    secret: str
    other: str


@pytest.fixture
async def told(memory: Graphmem, rival: Graphmem, runtime: Runtime) -> Told:
    for who in (rival, memory):
        conversation = str(uuid.uuid4())
        await who.open_conversation(conversation, title="About Anna Petrova")
        secret, other = (
            await who.remember(
                conversation,
                [
                    {
                        "session_id": "s",
                        "role": "user",
                        "content": text,
                        "tags": tags,
                        "occurred_at": moment,
                    }
                    for text, tags, moment in (
                        (SECRET, ["health"], THEN),
                        (OTHER, [], THEN.replace(month=10)),
                    )
                ],
            )
        ).ids
        await who.remember_episode(
            conversation, message_ids=[secret], title="Health", summary=SECRET
        )
        await who.remember_fact(SECRET, source_episode_ids=[secret], tags=["health"])
    [session] = (await memory.sessions(conversation)).sessions
    await memory.summarize_session(session.id)
    await memory.recall("What does Anna Petrova take?")
    if memory.runtime.recorder is not None:
        await memory.runtime.recorder.settle()
    return Told(memory, conversation, session.id, secret, other)


async def holding(graph: Graph, client_id: str, text: str) -> list[dict[str, Any]]:
    """Return every property of every node and edge of a client that holds a text: the raw scan."""
    rows = await graph.execute(
        "MATCH (node {client_id: $client_id}) OPTIONAL MATCH (node)-[edge]-() "
        "RETURN properties(node) AS node, collect(properties(edge)) AS edges, labels(node) AS labels",
        client_id=client_id,
    )
    return [row["labels"] for row in rows if text.lower() in str(row).lower()]


SELECTIONS: dict[str, Callable[[Told], dict[str, Any]]] = {
    "memory": lambda told: {"memory_ids": [told.secret]},
    "tag": lambda told: {"tags": ["health"]},
    "time": lambda told: {"until": THEN.replace(day=3)},
    "name": lambda told: {"name": "anna petrova"},
    "session": lambda told: {"session_id": told.session},
    "named session": lambda told: {"session_id": "s", "conversation_id": told.conversation},
    "conversation": lambda told: {"conversation_id": told.conversation},
}


WHOLE = frozenset({"session", "named session", "conversation"})
"""The selections that have all messages."""


def test_receipts_and_documents_name_the_files_and_later_backups_that_hold_forgotten_texts(
    repository: Path,
) -> None:
    """Neo4j marks what is deleted as free, and overwrites it some day."""
    places = " ".join(REMAINS)
    assert "the files of the store and of its indexes, until other data overwrites them" in places
    assert "backups made later that copy the files of the store" in places
    for name in ("SECURITY.md", "docs/guides/forget.md"):
        text = " ".join((repository / name).read_text("utf-8").split())
        assert "the files of the store and of its indexes" in text, name
        assert "made afterwards" in text, name


@pytest.mark.parametrize("selection", SELECTIONS)
async def test_nothing_is_left_of_a_selection(
    told: Told, rival: Graphmem, runtime: Runtime, selection: str
) -> None:
    asked = SELECTIONS[selection](told)
    memory, graph = told.memory, runtime.graph
    counted = await memory.forget(**asked, dry_run=True)
    assert not (await memory.verify_forgotten(text=SECRET)).forgotten

    receipt = await memory.forget(**asked)

    assert receipt.memories["message"] == (2 if selection in WHOLE else 1)
    # The summary of the session is made of the message too.
    assert {kind: receipt.memories[kind] for kind in ("episode", "fact", "summary")} == {
        "episode": 1,
        "fact": 1,
        "summary": 1,
    }
    assert receipt.embeddings == receipt.total + receipt.passages
    assert (counted.memories, counted.reads) == (receipt.memories, receipt.reads)
    assert (counted.conversations, counted.sessions) == (receipt.conversations, receipt.sessions)
    assert receipt.sessions == (selection in WHOLE)
    for gone in ({"text": SECRET}, {"text": SECRET.upper()}, {"id": told.secret}):
        verified = await memory.verify_forgotten(**gone)
        assert (verified.forgotten, verified.places) == (True, [])
    assert await holding(graph, memory.client_id, SECRET) == []
    assert await holding(graph, memory.client_id, told.secret) == []
    left = {one.text for one in (await memory.memories()).memories}
    assert left == (set() if selection in WHOLE else {OTHER})
    assert not (await rival.verify_forgotten(text=SECRET)).forgotten
    assert (await memory.forget(**asked)).total == 0


READS = "MATCH (access:Access {client_id: $client_id}) RETURN count(*) AS reads"


async def reads_of(memory: Graphmem) -> int:
    if memory.runtime.recorder is not None:
        await memory.runtime.recorder.settle()
    [row] = await memory.runtime.graph.execute(READS, client_id=memory.client_id)
    return row["reads"]


@pytest.mark.parametrize("selection", ["memory", "name", "conversation"])
async def test_many_reads_go_in_transactions_of_their_own(
    told: Told, monkeypatch: pytest.MonkeyPatch, selection: str
) -> None:
    """They may have more edges than one transaction can delete."""
    for number in range(5):
        await told.memory.recall(f"What is taken every morning, {number}?")
        await told.memory.recall(f"Where is Anna Petrova, {number}?", kinds=["span"])
    assert await reads_of(told.memory) == 11
    batches: list[int] = []
    rows = Transaction.rows

    async def noting(transaction: Transaction, query: Any, **parameters: Any) -> Any:
        found = await rows(transaction, query, **parameters)
        if query.name in {"memories/erase_reads", "forgetting/erase_named_reads"}:
            batches.append(found[0].written)
        return found

    monkeypatch.setattr(Transaction, "rows", noting)
    for module in ("memories.memory", "forgetting.forget"):
        monkeypatch.setattr(f"graphmem.{module}.READS_AT_ONCE", 2)
    asked = SELECTIONS[selection](told)
    counted = await told.memory.forget(**asked, dry_run=True)
    assert (await reads_of(told.memory), batches) == (11, [])

    receipt = await told.memory.forget(**asked)

    assert receipt.reads == counted.reads == (11 if selection == "name" else 6)
    assert await reads_of(told.memory) == 11 - receipt.reads
    assert sum(batches) == receipt.reads
    assert max(batches) == 2


async def test_a_receipt_counts_all_reads_of_a_conversation(told: Told) -> None:
    """Those of its memories, that repeat a text, and that have found nothing."""
    asked: list[tuple[str, Kind]] = [
        ("What is taken?", "message"),
        (SECRET, "span"),
        ("Who sails?", "reference"),
    ]
    for query, kind in asked:
        await told.memory.recall(query, conversation_id=told.conversation, kinds=[kind])
    before = await reads_of(told.memory)

    counted = await told.memory.forget(conversation_id=told.conversation, dry_run=True)
    assert await reads_of(told.memory) == before
    receipt = await told.memory.forget(conversation_id=told.conversation)

    assert counted.reads == receipt.reads == before - await reads_of(told.memory) == 4


async def test_an_empty_session_goes_only_with_its_own_conversation(told: Told) -> None:
    memory = told.memory
    await memory.open_conversation("another")
    await memory.forget(memory_ids=[told.secret, told.other])

    wrong: dict[str, Any] = {"session_id": told.session, "conversation_id": "another"}
    counted = await memory.forget(**wrong, dry_run=True)
    elsewhere = await memory.forget(**wrong)
    assert counted.sessions == elsewhere.sessions == 0
    assert (await memory.sessions(told.conversation)).total == 1

    gone = await memory.forget(session_id=told.session, conversation_id=told.conversation)
    assert (gone.sessions, (await memory.sessions(told.conversation)).total) == (1, 0)


@pytest.mark.parametrize(
    "condition",
    [
        {"conversation_id": "another"},
        {"session_id": "another"},
        {"tags": ["another"]},
        {"since": THEN.replace(year=THEN.year + 1)},
        {"name": "Zebulon Quillfeather"},
    ],
    ids=lambda condition: next(iter(condition)),
)
async def test_an_id_is_forgotten_only_if_the_other_condition_holds(
    told: Told, condition: dict[str, Any]
) -> None:
    await told.memory.open_conversation("another")
    asked: dict[str, Any] = {"memory_ids": [told.secret], **condition}

    counted = await told.memory.forget(**asked, dry_run=True)
    receipt = await told.memory.forget(**asked)

    assert counted.memories == receipt.memories == {}
    assert (await told.memory.memory(told.secret)).text == SECRET


async def test_a_name_takes_questions_and_titles_along(told: Told, runtime: Runtime) -> None:
    receipt = await told.memory.forget(name="Anna Petrova")
    assert (receipt.reads, receipt.titles) == (1, 1)
    assert receipt.entities
    assert await holding(runtime.graph, told.memory.client_id, "petrova") == []
    assert (await told.memory.verify_forgotten(text="Petrova")).forgotten


async def test_a_reference_goes_with_a_part_of_its_content(memory: Graphmem) -> None:
    card = await memory.add_reference(type="offer", target_id="shed", label="Shed")
    await memory.put_content(card.id, SECRET)
    receipt = await memory.forget(name="Anna Petrova")
    assert receipt.memories == {"reference": 1, "span": 1}


async def test_the_records_of_a_run_lose_the_ids(memory: Graphmem, runtime: Runtime) -> None:
    async with memory.run(agent_type="tester", episode_id="e") as run:
        secret = await run.write(type="log", content=SECRET)
        other = await run.write(type="log", content=OTHER)
        asked: dict[str, Any] = {
            "query": f"{SECRET} {OTHER}",
            "max_tokens": 200,
            "operation_id": "o",
        }
        first = await run.retrieve(**asked)
        await run.peek(secret.spans[0].id)
        written = {span.id for one in (secret, other) for span in one.spans}
        assert {one.span_id for one in first.spans} == written
        gone = [secret.id, *(span.id for span in secret.spans)]
        assert not (await memory.verify_forgotten(id=gone[1])).forgotten

        await memory.forget(memory_ids=[secret.id])

        for id in gone:
            assert (await memory.verify_forgotten(id=id)).forgotten
            assert not await holding(runtime.graph, memory.client_id, id)
        # A repetition still answers with the rest, and says that something is gone.
        again = await run.retrieve(**asked)
        assert [one.span_id for one in again.spans] == [span.id for span in other.spans]
        assert [(one.span_id, one.reason) for one in again.omitted] == [("forgotten", "deleted")]


async def test_a_part_of_a_word_is_no_name(memory: Graphmem) -> None:
    kept = await memory.remember_fact("The annual report is late")
    assert (await memory.forget(name="Ann")).total == 0
    assert await memory.memory(kept.id)
    assert (await memory.forget(name="ANNUAL REPORT")).total == 1
    await memory.remember_fact(f"then {json.dumps('rené')} came")
    await memory.remember_fact("then rene\u0301 came")
    assert (await memory.forget(name="Rene")).total == 0


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("GROSSMANN", "großmann"),
        ("Steffi", "steﬃ"),
        ("René", "rene\u0301"),
        ("O'Neill", "o’neill"),
        ("Mara Lindqvist", "mara\nlindqvist"),
        ("mara  lindqvist", "Mara\u00a0Lindqvist"),
        ("José Muñoz", json.dumps("José Muñoz")),
        ("Mara Lindqvist", json.dumps("Mara\tLindqvist")),
        ("Mara Lindqvist", json.dumps("Call\nMara Lindqvist")),
        ("анна", json.dumps("Анна")),
        ("田中 一郎", json.dumps("田中\u3000一郎")),
        ("Hello world", "hello\x85world"),
        ("Mara Lindqvist", "mail to mara.lindqvist@example.org"),
        ("Mara Lindqvist", "/home/mara_lindqvist/notes"),
        ("王小明", "昨天王小明说他喜欢喝龙井茶。"),
        ("田中一郎", "昨日は田中一郎と会いました。"),
        ("김민수", "어제 김민수가 전화했다."),
        ("สมชาย", "เมื่อวานสมชายมาที่นี่"),
    ],
)
async def test_a_name_is_found_however_it_is_written(
    memory: Graphmem, name: str, written: str
) -> None:
    await memory.remember_facts([{"fact": f"then {written} came"}, {"fact": "Silence was kept"}])
    assert not (await memory.verify_forgotten(text=name)).forgotten
    assert (await memory.forget(name=name)).total == 1
    assert (await memory.verify_forgotten(text=written)).forgotten
    assert [one.text for one in (await memory.memories()).memories] == ["Silence was kept"]


async def test_a_long_text_is_found_as_it_is_given(memory: Graphmem) -> None:
    text = "a b\u00e9 " * 2_500
    await memory.remember("c", [{"role": "user", "content": f"Say {text} {text}"}], create=True)
    assert not (await memory.verify_forgotten(text=text[:10_000].upper())).forgotten
    assert (await memory.verify_forgotten(text=f"{text[:9_000]} is it")).forgotten
    assert not (await memory.verify_forgotten(text=text[:1_000])).forgotten


async def test_blanks_between_words_are_matched_without_end(memory: Graphmem) -> None:
    said = f"Mara {' ' * 100_000} Lindqvist"
    await memory.remember("c", [{"role": "user", "content": f"{said} came"}], create=True)
    assert not (await memory.verify_forgotten(text="Mara Lindqvist")).forgotten
    assert (await memory.forget(name="Mara Lindqvist")).total == 1


async def titled_episode(memory: Graphmem, name: str) -> None:
    said = [{"role": "user", "content": "The lawyer calls on Monday."}]
    told = await memory.remember("c", said, create=True)
    await memory.remember_episode(
        "c", message_ids=told.ids, title=f"Divorce of {name}", summary="A call"
    )


async def tagged_fact(memory: Graphmem, name: str) -> None:
    await memory.remember_fact("The lawyer calls on Monday.", tags=[name])


async def superseded_fact(memory: Graphmem, name: str) -> None:
    fact = await memory.remember_fact("The plan costs 49.")
    await memory.supersede_fact(fact.id, "The plan costs 59.", reason=f"{name} asked for it")


async def annotated_message(memory: Graphmem, name: str) -> None:
    said = [{"role": "user", "content": "Is it late?", "metadata": {"from": name}}]
    await memory.remember("c", said, create=True)


@pytest.mark.parametrize("make", [titled_episode, tagged_fact, superseded_fact, annotated_message])
async def test_a_name_is_found_wherever_a_memory_holds_it(
    memory: Graphmem, make: Callable[[Graphmem, str], Awaitable[None]]
) -> None:
    await make(memory, "Petra Quist")
    await memory.remember_fact("Silence was kept", tags=["Petra"], metadata={"from": "Quist"})
    assert not (await memory.verify_forgotten(text="Petra Quist")).forgotten
    assert (await memory.forget(name="petra quist")).total
    assert (await memory.verify_forgotten(text="Petra Quist")).forgotten
    assert "Silence was kept" in {one.text for one in (await memory.memories()).memories}


async def test_what_a_person_said_goes_with_the_name(memory: Graphmem) -> None:
    await memory.open_conversation("c")
    said = [
        {"role": "user", "name": "Mara Lindqvist", "content": "I take insulin twice a day."},
        {"role": "user", "name": "Tamara Lindqvist", "content": "The kettle leaks."},
        {"role": "assistant", "content": "Noted."},
    ]
    await memory.remember("c", [{"session_id": "s", **one} for one in said])
    assert (await memory.forget(name="mara lindqvist")).memories == {"message": 1}
    left = {one.text for one in (await memory.memories()).memories}
    assert left == {"The kettle leaks.", "Noted."}


async def test_what_a_person_said_under_another_name_goes_too(memory: Graphmem) -> None:
    said = [
        {"role": "user", "name": "Mimi", "content": "My heart is weak."},
        {"role": "user", "name": "Mimine", "content": "We should ask Mimi and Mara Lindqvist."},
        {"role": "user", "name": "Mimine", "content": "The kettle leaks."},
    ]
    await memory.remember("c", said, create=True)
    await memory.add_alias("Mimi", "Mara Lindqvist")
    assert (await memory.forget(name="Mara Lindqvist")).memories == {"message": 2}
    assert [one.text for one in (await memory.memories()).memories] == ["The kettle leaks."]


@pytest.mark.parametrize("name", [r"a\Eb", ".*", "(", "a\\", "$x", "C++", "Straße 5"])
async def test_a_name_is_no_pattern(memory: Graphmem, name: str) -> None:
    await memory.remember_facts([{"fact": f"It says {name} here"}, {"fact": "Silence was kept"}])
    assert (await memory.forget(name=name)).total == 1
    assert [one.text for one in (await memory.memories()).memories] == ["Silence was kept"]


async def test_what_is_left_is_made_anew(told: Told) -> None:
    await told.memory.forget(memory_ids=[told.secret])
    assert (await told.memory.segment(told.conversation)).messages == 1
    summary = await told.memory.summarize_session(told.session)
    assert "insulin" not in msgspec.json.encode(summary).decode()


async def test_a_fact_that_is_being_written_goes_with_its_source(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Facts of another conversation: nothing but the source itself is locked by both."""
    for id in ("said", "concluded"):
        await memory.open_conversation(id)
    said = await memory.remember("said", [{"role": "user", "content": SECRET}])
    may_write, is_writing = asyncio.Event(), asyncio.Event()
    keep = remember.keep

    async def keep_later(*given: Any, **named: Any) -> Any:
        is_writing.set()
        await may_write.wait()
        return await keep(*given, **named)

    monkeypatch.setattr(remember, "keep", keep_later)
    fact: Any = {"fact": "Anna is ill.", "source_episode_ids": said.ids}
    writing = asyncio.create_task(memory.remember_facts([fact | {"conversation_id": "concluded"}]))
    await is_writing.wait()
    forgetting = asyncio.create_task(memory.forget(memory_ids=said.ids))
    await asyncio.wait({forgetting}, timeout=2)
    may_write.set()
    await writing
    assert (await forgetting).memories == {"message": 1, "fact": 1}
    assert (await memory.memories()).total == 0


async def test_the_end_of_a_legal_hold_deletes_what_has_expired(
    memory: Graphmem, runtime: Runtime
) -> None:
    kept = await memory.remember_fact(SECRET, expires_at=datetime(2099, 1, 1, tzinfo=UTC))
    await memory.begin_hold("case 117")
    await runtime.graph.execute(EXPIRE, client_id=memory.client_id)
    await memory.end_hold()
    left = await runtime.graph.execute("MATCH (m:Memory {id: $id}) RETURN m.id", id=kept.id)
    assert left == []


async def test_a_legal_hold_refuses_every_deletion(told: Told) -> None:
    memory = told.memory
    await memory.begin_hold("case 114")
    for deletion in (
        memory.forget(memory_ids=[told.secret]),
        memory.forget(name="nobody"),
        memory.forget_client(),
        memory.delete_memory(told.secret),
        memory.delete_conversation(told.conversation),
    ):
        with pytest.raises(LegalHold, match="case 114"):
            await deletion
    assert (await memory.memory(told.secret)).text == SECRET
    await memory.end_hold()
    await memory.delete_memory(told.secret)


async def test_a_legal_hold_keeps_the_text_of_a_span(memory: Graphmem) -> None:
    """The same text, as of a repeated request, and a text where there was none are no loss."""
    range_: dict[str, Any] = {"source_type": "offer", "source_id": "o", "start_byte": 0}
    secret = range_ | {"id": "a", "end_byte": len(SECRET), "content": SECRET}
    card = range_ | {"id": "b", "end_byte": len(OTHER)}
    await memory.register_spans([secret, card])
    await memory.begin_hold("case 116")

    for other in ({"end_byte": len(OTHER), "content": OTHER}, {"content": None}):
        with pytest.raises(LegalHold, match="case 116"):
            await memory.register_spans([card | {"id": "new"}, secret | other])
    await memory.register_spans([secret, card | {"content": OTHER}])

    assert (await memory.span_content("a")).content == SECRET
    assert (await memory.span_content("b")).content == OTHER
    with pytest.raises(SpanNotFound):
        await memory.span("new")
    await memory.end_hold()
    await memory.register_spans([secret | {"end_byte": len(OTHER), "content": OTHER}])
    assert (await memory.span_content("a")).content == OTHER


@pytest.mark.parametrize(("commits", "left"), [(1, 10), (4, 7), (13, 0), (14, 0)])
async def test_a_legal_hold_stops_a_deletion_under_way(
    memory: Graphmem, say: Any, monkeypatch: pytest.MonkeyPatch, commits: int, left: int
) -> None:
    """It begins after some transactions: of passages, of four times some memories, of records."""
    monkeypatch.setattr(conversations, "DELETED_AT_ONCE", 3)
    await memory.open_conversation("c")
    ids = (await memory.remember("c", [say(str(place)) for place in range(10)])).ids
    commit, deletion, done = neo4j.AsyncTransaction.commit, asyncio.current_task(), 0

    async def holding_then(transaction: neo4j.AsyncTransaction) -> None:
        nonlocal done
        await commit(transaction)
        if asyncio.current_task() is deletion:
            done += 1
            if done == commits:
                await memory.begin_hold("case 117")

    monkeypatch.setattr(neo4j.AsyncTransaction, "commit", holding_then)
    with pytest.raises(LegalHold, match="case 117"):
        await memory.delete_conversation("c")

    assert done == commits
    kept = [one.id for one in (await memory.memories()).memories]
    assert len(kept) == left
    assert set(kept) <= set(ids)
    assert [one.id for one in (await memory.conversations()).conversations] == ["c"]


async def test_a_first_legal_hold_waits_for_a_deletion_under_way(
    memory: Graphmem, nodes_of: Any
) -> None:
    """Also for a client of whom nothing is stored, and nothing is stored of it afterwards."""
    begun: list[asyncio.Task[None]] = []

    async def delete(transaction: Transaction) -> None:
        await refuse_on_hold(transaction, memory.client_id)
        begun.append(asyncio.create_task(memory.begin_hold("case 118")))
        await asyncio.wait(begun, timeout=1)
        assert not begun[0].done()

    await memory.runtime.graph.write(delete)
    await begun[0]
    with pytest.raises(LegalHold, match="case 118"):
        await memory.forget_client(dry_run=True)
    await memory.end_hold()
    await memory.forget_client()
    with pytest.raises(ConversationNotFound):
        await memory.delete_conversation("c")
    assert await nodes_of(memory.client_id) == 0


@pytest.mark.parametrize("known", [False, True])
async def test_a_deletion_waits_for_a_legal_hold_that_begins(memory: Graphmem, known: bool) -> None:
    """Whether the client has a node or not."""
    fact = await memory.remember_fact(SECRET)
    await memory.runtime.graph.execute(
        "MATCH (client:Client {client_id: $client_id}) DELETE client", client_id=memory.client_id
    )
    if known:
        await memory.end_hold()
    deletions: list[asyncio.Task[Deleted]] = []

    async def hold(transaction: Transaction) -> None:
        await transaction.rows(KEEP_HOLD, client_id=memory.client_id, reason="case 119")
        deletions.append(asyncio.create_task(memory.delete_memory(fact.id)))
        await asyncio.wait(deletions, timeout=1)
        assert not deletions[0].done()

    await memory.runtime.graph.write(hold)
    with pytest.raises(LegalHold, match="case 119"):
        await deletions[0]
    assert await memory.memory(fact.id)


async def test_a_client_is_forgotten_with_everything(
    told: Told, rival: Graphmem, runtime: Runtime
) -> None:
    memory, graph = told.memory, runtime.graph
    before = await rival.forget_client(dry_run=True)
    counted = await memory.forget_client(dry_run=True)
    receipt = await memory.forget_client()

    assert receipt.memories == counted.memories
    assert (receipt.conversations, receipt.sessions, receipt.reads) == (1, 1, 1)
    [row] = await graph.execute(
        "MATCH (node {client_id: $client_id}) RETURN count(node) AS nodes",
        client_id=memory.client_id,
    )
    assert row["nodes"] == 0
    assert (await rival.forget_client(dry_run=True)).memories == before.memories
    assert (await memory.forget_client()).total == 0


async def test_a_deleted_conversation_takes_its_questions_along(told: Told) -> None:
    kept = await told.memory.remember_fact("Anna Petrova sails")
    await told.memory.recall("Who is Anna Petrova, who takes insulin?")
    if told.memory.runtime.recorder is not None:
        await told.memory.runtime.recorder.settle()
    await told.memory.delete_conversation(told.conversation)
    assert (await told.memory.verify_forgotten(text="who takes insulin")).forgotten
    assert await told.memory.memory(kept.id)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"tags": ["a,b"]},
        {"since": "2026-01-01"},
        {"since": "2026-03-01T00:00:00Z", "until": "2026-02-01T00:00:00Z"},
        {"since": "2026-03-01T00:00:00Z", "until": "2026-03-01T01:00:00+01:00"},
    ],
)
async def test_a_selection_that_says_nothing_is_refused(memory: Graphmem, given: Any) -> None:
    with pytest.raises(InvalidInput):
        await memory.forget(**given)


async def test_a_job_under_way_writes_nothing_of_it(told: Told, runtime: Runtime) -> None:
    """A summary that was being made while its message was forgotten is not written."""
    reading, forgotten = asyncio.Event(), asyncio.Event()

    async def slow(*given: Any, **more: Any) -> Any:
        reading.set()
        await forgotten.wait()
        return await digest.digest_session(*given, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("graphmem.sessions.summarize.digest_session", slow)
        making = asyncio.create_task(told.memory.summarize_session(told.session))
        await reading.wait()
        await told.memory.forget(memory_ids=[told.secret])
        forgotten.set()
        await asyncio.wait([making])
    assert making.exception() is not None
    assert (await told.memory.verify_forgotten(text="insulin")).forgotten


def test_a_receipt_holds_no_text() -> None:
    types = {field.name for field in msgspec.structs.fields(Receipt)}
    assert not types & {"text", "name", "query", "ids"}


async def test_no_question_stays_in_the_process_with_its_times(told: Told) -> None:
    await told.memory.recall("What did Anna Petrova take yesterday?", max_tokens=200)
    assert _times_in.cache_info().currsize > 0
    await told.memory.forget(memory_ids=[told.secret])
    assert _times_in.cache_info().currsize == 0
