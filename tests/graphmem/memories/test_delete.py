"""Deleting one memory on a real Neo4j, and what every deletion answers whose commit's answer was lost."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.conversations import conversation
from graphmem.conversations.types import Deleted
from graphmem.errors import (
    ContextNotFound,
    ConversationNotFound,
    LinkNotFound,
    MemoryNotFound,
    PartOfContent,
)
from graphmem.forgetting import forget
from graphmem.runtime import Runtime
from tests.thorough import THOROUGH

ENTITIES = """CYPHER 25
MATCH (entity:Entity {client_id: $client_id})
RETURN entity.normalized AS normalized, COUNT { (entity)<-[:MENTIONS]-() } AS mentioned"""


@pytest.fixture
def mentioned(runtime: Runtime):
    """Return what reads how many memories mention each of a client's entities."""

    async def read(memory: Graphmem) -> dict[str, int]:
        rows = await runtime.graph.execute(ENTITIES, client_id=memory.client_id)
        return {row["normalized"]: row["mentioned"] for row in rows}

    return read


@pytest.fixture
async def five(memory: Graphmem, say) -> list[str]:
    """The ids of five messages of one session."""
    await memory.open_conversation("c")
    return (await memory.remember("c", [say(str(place)) for place in range(5)])).ids


async def test_its_neighbours_are_joined_and_its_idx_stays_unused(
    memory: Graphmem, five: list[str], say, shape
):
    assert await memory.delete_memory(five[2]) == Deleted(memories=1)

    await memory.remember("c", [say("5")])
    found = await shape(memory.client_id)
    found.check(gaps=True)
    assert [m.idx for m in found.by_session["a"]] == [0, 1, 3, 4, 5]
    with pytest.raises(MemoryNotFound):
        await memory.memory(five[2])


async def test_neighbours_that_go_one_after_another_leave_one_chain(
    memory: Graphmem, five: list[str], shape
):
    for id in (five[1], five[3], five[2]):
        await memory.delete_memory(id)

    found = await shape(memory.client_id)
    found.check(gaps=True)
    assert [m.id for m in found.by_session["a"]] == [five[0], five[4]]


async def test_after_the_last_one_is_gone_the_next_follows_the_one_before(
    memory: Graphmem, five: list[str], say, shape
):
    await memory.delete_memory(five[4])
    await memory.remember("c", [say("5")])

    found = await shape(memory.client_id)
    found.check(gaps=True)
    assert [m.idx for m in found.by_session["a"]] == [0, 1, 2, 3, 5]


async def test_a_session_whose_messages_are_all_gone_goes_on(
    memory: Graphmem, five: list[str], say, shape
):
    for id in five:
        await memory.delete_memory(id)
    await memory.remember("c", [say("5"), say("6")])

    found = await shape(memory.client_id)
    found.check(gaps=True)
    assert [(m.idx, m.position) for m in found.by_session["a"]] == [(5, 5), (6, 6)]


async def test_its_external_id_may_come_again_as_a_new_message(memory: Graphmem, say, shape):
    await memory.open_conversation("c")
    old = (await memory.remember("c", [say("old", external_id="x")])).ids[0]
    await memory.delete_memory(old)
    new = (await memory.remember("c", [say("new", external_id="x")])).ids[0]

    assert new != old
    assert (await memory.memory(new)).text == "new"


async def test_it_is_not_found_any_more(memory: Graphmem, say):
    await memory.open_conversation("c")
    id = (await memory.remember("c", [say("The heron sleeps on the crane.")])).ids[0]
    await memory.delete_memory(id)

    assert (await memory.recall("Where does the heron sleep?")).items == []


@pytest.mark.parametrize("whose", ["nobody's", "another client's"])
async def test_a_foreign_one_is_as_unknown_as_none(
    memory: Graphmem, rival: Graphmem, say, whose: str
):
    id = "nothing"
    if whose == "another client's":
        await rival.open_conversation("c")
        id = (await rival.remember("c", [say()])).ids[0]

    with pytest.raises(MemoryNotFound, match=f"^no memory '{id}'$"):
        await memory.delete_memory(id)
    if whose == "another client's":
        assert (await rival.memory(id)).id == id


async def test_deleting_beside_writing_leaves_one_chain(
    memory: Graphmem, five: list[str], say, shape
):
    """Whatever comes first: the tail that a writer would link to may be going at this moment."""

    async def write() -> list[str]:
        return (await memory.remember("c", [say("new"), say("new too")])).ids

    for _ in range(5):
        tail = (await write())[-1]
        await asyncio.gather(memory.delete_memory(tail), write(), write())
    (await shape(memory.client_id)).check(gaps=True)


async def test_neighbours_deleted_at_once_leave_one_chain(memory: Graphmem, five: list[str], shape):
    await asyncio.gather(*(memory.delete_memory(id) for id in five[1:4]))

    found = await shape(memory.client_id)
    found.check(gaps=True)
    assert [m.idx for m in found.by_session["a"]] == [0, 4]


READ_OFTEN = """CYPHER 25
MATCH (memory:Memory {client_id: $client_id, id: $id})
MERGE (access:Access {client_id: $client_id, id: 'often'})
WITH memory, access
UNWIND range(1, $times) AS rank
CREATE (access)-[:RETURNED {rank: rank, score: 0.5}]->(memory)
RETURN count(*) AS written"""


@pytest.mark.usefixtures("bulk_data")
async def test_a_memory_with_more_reads_than_a_transaction_deletes_is_deleted(
    memory: Graphmem, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    """An earlier version counts as well: a fact that every answer shows has hundreds of thousands."""
    each = 40_000 if THOROUGH else 4_000
    if not THOROUGH:
        monkeypatch.setattr("graphmem.memories.memory.EDGES_AT_ONCE", 5_000)
    first = await memory.remember_fact("The office is in Ghent.")
    await memory.supersede_fact(first.id, fact="The office is in Bruges.")
    for _ in range(8):
        [row] = await runtime.graph.execute(
            READ_OFTEN,
            client_id=memory.client_id,
            id=first.id,
            times=each,
        )
        assert row["written"] == each

    assert await memory.delete_memory(first.id) == Deleted(memories=2)

    assert (await memory.memories()).total == 0
    [left] = await runtime.graph.execute(
        "MATCH (access:Access {client_id: $client_id, id: 'often'}) RETURN COUNT { (access)--() } AS edges",
        client_id=memory.client_id,
    )
    assert left["edges"] == 0


async def test_deleted_by_many_at_once_it_is_gone_once(memory: Graphmem, five: list[str]):
    answers = await asyncio.gather(
        *(memory.delete_memory(five[2]) for _ in range(6)), return_exceptions=True
    )

    assert sum(isinstance(answer, Deleted) for answer in answers) == 1
    assert sum(isinstance(answer, MemoryNotFound) for answer in answers) == 5


DELETIONS: dict[
    str, tuple[Callable[[Graphmem, list[str]], Awaitable[Any]], Any, type[Exception]]
] = {
    "memory": (
        lambda memory, ids: memory.delete_memory(ids[0]),
        Deleted(memories=1),
        MemoryNotFound,
    ),
    "link": (lambda memory, ids: memory.unlink(ids[0], ids[1], "refines"), None, LinkNotFound),
    "conversation": (
        lambda memory, _: memory.delete_conversation("c"),
        Deleted(conversations=1, sessions=1, memories=5),
        ConversationNotFound,
    ),
    "context": (lambda memory, ids: memory.delete_context(ids[-1]), None, ContextNotFound),
}


@pytest.mark.parametrize("what", DELETIONS)
async def test_deleted_with_an_answer_that_was_lost_it_is_deleted(
    memory: Graphmem, five: list[str], lost_answers: Callable[[], None], what: str
):
    await memory.link(five[0], five[1], "refines")
    made = await memory.create_context(max_tokens=1_000)
    delete, answer, unknown = DELETIONS[what]
    lost_answers()

    assert await delete(memory, [*five, made.id]) == answer
    with pytest.raises(unknown):
        await delete(memory, [*five, made.id])


async def test_a_receipt_counts_what_was_forgotten_with_an_answer_that_was_lost(
    memory: Graphmem, five: list[str], lost_answers: Callable[[], None]
):
    lost_answers()

    assert (await memory.forget(memory_ids=five[:2])).memories == {"message": 2}
    assert (await memory.forget_client()).memories == {"message": 3}
    assert (await memory.forget_client()).total == 0


async def test_every_batch_counts_whose_answer_was_lost(
    memory: Graphmem, say, lost_answers: Callable[[], None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(conversation, "DELETED_AT_ONCE", 2)
    monkeypatch.setattr(forget, "ERASED_AT_ONCE", 2)
    monkeypatch.setattr(forget, "NODES_AT_ONCE", 2)
    for name in ("one", "two", "three"):
        await memory.remember(name, [say(f"{name} {i}") for i in range(5)], create=True)
    lost_answers()

    assert (await memory.delete_conversation("one")).memories == 5
    assert (await memory.forget(conversation_id="two")).total == 5
    rest = await memory.forget_client()
    assert (rest.total, rest.conversations, rest.sessions) == (5, 1, 1)


async def test_entities_go_with_the_last_memory_that_mentions_them(
    memory: Graphmem, rival: Graphmem, say, mentioned
):
    ids = {}
    for client in (memory, rival):
        await client.open_conversation("c")
        told = [say("We met Ada Lovelace in notes.md."), say("We met Ada Lovelace again.")]
        ids[client] = (await client.remember("c", told)).ids

    await memory.delete_memory(ids[memory][0])
    assert await mentioned(memory) == {"ada lovelace": 1}
    await memory.delete_memory(ids[memory][1])
    assert await mentioned(memory) == {}
    assert await mentioned(rival) == {"ada lovelace": 2, "notes.md": 1}


async def test_the_last_mentions_deleted_at_once_leave_no_entity(memory: Graphmem, say, mentioned):
    await memory.open_conversation("c")
    told = [say(f"We met Ada Lovelace, {place}.") for place in range(8)]
    ids = (await memory.remember("c", told)).ids

    await asyncio.gather(*(memory.delete_memory(id) for id in ids))

    assert await mentioned(memory) == {}


async def test_mentioning_beside_deleting_loses_no_mention(memory: Graphmem, say, mentioned):
    """The entity is gone, new and gone again while others are about to be joined to it."""
    kept = 0

    async def writer(place: int) -> None:
        nonlocal kept
        await memory.open_conversation(f"c{place}")
        for turn in range(6):
            told = [say("We met Ada Lovelace with Charles Babbage.")]
            id = (await memory.remember(f"c{place}", told)).ids[0]
            if turn == 5 and place % 2:
                kept += 1
            else:
                await memory.delete_memory(id)

    await asyncio.gather(*map(writer, range(6)))

    found = await mentioned(memory)
    assert found["ada lovelace"] == found["charles babbage"] == kept == 3


async def test_any_version_of_a_reference_takes_the_chain_and_all_its_spans(
    memory: Graphmem, rival: Graphmem, mentioned
):
    first, heads = {}, {}
    for client in (memory, rival):
        card = await client.add_reference(
            type="reference", target_id="log", label="Logbook", description="Of the Albatross."
        )
        await client.put_content(card.id, "We met Ada Lovelace. " * 100)
        changed = await client.put_content(card.id, "We met Charles Babbage. " * 100)
        first[client], heads[client] = card.id, changed.id
        assert heads[client] != first[client]
        assert len((await client.search_spans("Babbage")).items) > 1

    deleted = await memory.delete_memory(first[memory])

    assert deleted.memories > 2 + 4
    for id in (first[memory], heads[memory]):
        with pytest.raises(MemoryNotFound):
            await memory.memory(id)
    assert (await memory.search("*", max_results=50)).items == []
    assert await mentioned(memory) == {}
    assert (await rival.memory(heads[rival])).active
    assert len((await rival.search_spans("Babbage")).items) > 1


async def test_a_span_of_a_content_is_not_deleted_alone(memory: Graphmem, rival: Graphmem):
    card = await memory.add_reference(type="reference", target_id="log", label="Logbook")
    content = "We met Ada Lovelace. " * 100
    spans = (await memory.put_content(card.id, content)).spans
    await memory.put_content(card.id, f"{content}And left.")

    for span in spans[:2]:
        with pytest.raises(PartOfContent, match=card.id) as refused:
            await memory.delete_memory(span.id)
        assert refused.value.reference_id == card.id
        with pytest.raises(MemoryNotFound):
            await rival.delete_memory(span.id)

    assert (await memory.chunk(card.id, max_tokens=2_000)).content == content
    registered = await memory.register_span(
        source_type="offer", source_id="o", start_byte=0, end_byte=5, content="Hello"
    )
    assert (await memory.delete_memory(registered.id)).memories == 1


async def test_a_reference_deleted_beside_new_contents_is_gone_whole(memory: Graphmem, mentioned):
    """Whatever comes first: a new version must not outlive the chain that it belongs to."""
    for turn in range(3):
        card = await memory.add_reference(
            type="reference", target_id="log", label="Logbook", description="Of the Albatross."
        )
        await asyncio.gather(
            memory.put_content(card.id, f"We met Ada Lovelace, {turn}."),
            memory.put_content(card.id, f"We met Charles Babbage, {turn}."),
            memory.delete_memory(card.id),
            return_exceptions=True,
        )
        assert (await memory.search("*", max_results=50)).items == []
        assert await mentioned(memory) == {}
