"""Opening and deleting conversations on a real Neo4j."""

import asyncio
from datetime import UTC, datetime

import pytest

from graphmem.client import Graphmem
from graphmem.conversations import conversation as conversations
from graphmem.conversations.types import Conversation, Deleted
from graphmem.errors import ConversationNotFound, InvalidInput, MemoryNotFound
from graphmem.jobs.outbox import enqueue
from graphmem.memories.write import prepare, write
from tests.planted import draft

NOW = datetime(2026, 3, 1, tzinfo=UTC)
REVIEW = """CYPHER 25
MATCH (memory:Memory {client_id: $client_id, id: $memory_id})
CREATE (review:Review {client_id: $client_id, id: $id, conversation_id: $conversation_id, query: 'q',
  at: datetime('2026-03-01T09:00:00Z'), state: 'pending'})
CREATE (review)-[:RETURNED {rank: 1, score: 0.5}]->(memory)"""


async def test_it_is_opened_once_and_keeps_its_title(memory: Graphmem):
    assert await memory.open_conversation("c", title="Harbour") == Conversation(
        id="c", title="Harbour", created=True
    )
    assert await memory.open_conversation("c") == Conversation(id="c", title="Harbour")
    assert (await memory.open_conversation("c", title="Port")).title == "Port"


async def test_an_id_is_made_where_none_is_given(memory: Graphmem):
    one, other = await memory.open_conversation(), await memory.open_conversation()

    assert one.created
    assert one.id != other.id


@pytest.mark.parametrize("id", ["", "with space", "x" * 129, "ä", "line\n"])
async def test_an_id_of_other_characters_is_refused(memory: Graphmem, id: str):
    with pytest.raises(InvalidInput, match=r"^id: "):
        await memory.open_conversation(id)


async def test_opened_by_many_at_once_it_is_one(memory: Graphmem, nodes_of):
    await asyncio.gather(*(memory.open_conversation("c") for _ in range(16)))

    assert await nodes_of(memory.client_id) == 1


async def test_a_deletion_takes_everything_and_counts_it(
    memory: Graphmem, rival: Graphmem, say, nodes_of
):
    for graphmem in (memory, rival):
        await graphmem.open_conversation("c")
        await graphmem.remember("c", [say("1", "a"), say("2", "b"), say("3", "a")])

    deleted = await memory.delete_conversation("c")

    assert deleted == Deleted(conversations=1, sessions=2, memories=3)
    assert await nodes_of(memory.client_id) == 0
    # A conversation that is written to has two jobs: what is done when it becomes idle.
    assert await nodes_of(rival.client_id) == 1 + 2 + 3 + 2
    assert (await memory.recall("The harbour light")).items == []


async def test_a_deletion_leaves_the_client_s_other_conversations(
    memory: Graphmem, say, shape, nodes_of
):
    for id in ("c", "d"):
        await memory.open_conversation(id)
        await memory.remember(id, [say("1"), say("2")])

    await memory.delete_conversation("c")

    assert await nodes_of(memory.client_id) == 1 + 1 + 2 + 2
    (await shape(memory.client_id, "d")).check()


async def test_more_memories_than_one_transaction_takes_are_all_deleted(
    memory: Graphmem, say, nodes_of, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(conversations, "DELETED_AT_ONCE", 3)
    await memory.open_conversation("c")
    await memory.remember("c", [say(str(place)) for place in range(10)])

    assert (await memory.delete_conversation("c")).memories == 10
    assert await nodes_of(memory.client_id) == 0


async def conclude(memory: Graphmem, conversation_id: str) -> None:
    """Add to a conversation what is made of it: an episode, a fact, a summary, a review, a job."""
    graph, client_id = memory.runtime.graph, memory.client_id
    drafts = [
        draft(
            client_id,
            kind,
            f"A {kind} about Ada Lovelace.",
            id=f"{conversation_id}-{kind}",
            conversation_id=conversation_id,
            occurred_at=NOW,
            created_at=NOW,
            valid_at=NOW,
        )
        for kind in ("episode", "fact")
    ]
    prepared = await prepare(drafts, embedder=memory.runtime.embedder, tokens=memory.runtime.tokens)
    await graph.write(lambda transaction: write(transaction, prepared, client_id=client_id))
    await graph.write(
        lambda transaction: enqueue(
            transaction,
            client_id=client_id,
            id=f"{conversation_id}-job",
            kind="conclude",
            key=conversation_id,
            payload={},
            now=NOW,
            conversation_id=conversation_id,
        )
    )
    await graph.execute(
        REVIEW,
        client_id=client_id,
        id=f"{conversation_id}-review",
        conversation_id=conversation_id,
        memory_id=f"{conversation_id}-episode",
    )


async def test_a_deletion_takes_what_was_made_of_it_and_leaves_what_others_mention(
    memory: Graphmem, rival: Graphmem, say, shape, nodes_of, monkeypatch: pytest.MonkeyPatch
):
    """Summaries, with all their versions, facts, episodes, reviews, jobs, entities."""
    monkeypatch.setattr(conversations, "DELETED_AT_ONCE", 2)
    for client in (memory, rival):
        for id in ("c", "d"):
            await client.open_conversation(id)
            await client.remember(id, [say(f"We met Ada Lovelace in {id}.md.")])
            await conclude(client, id)
            session = (await shape(client.client_id, id)).sessions[0]["id"]
            for text in ("Of Ada Lovelace.", "Of her machine."):
                await client.add_summary(type="session", target_id=session, text=text)
    before = await nodes_of(rival.client_id)

    deleted = await memory.delete_conversation("c")

    assert deleted == Deleted(conversations=1, sessions=1, memories=1 + 2 + 2)
    rows = await memory.runtime.graph.execute(
        "MATCH (node {client_id: $client_id}) UNWIND labels(node) AS label "
        "RETURN label, count(*) AS nodes",
        client_id=memory.client_id,
    )
    left = {row["label"]: row["nodes"] for row in rows}
    assert left == {
        "Conversation": 1,
        "Session": 1,
        "Memory": 5,
        "Message": 1,
        "Episode": 1,
        "Fact": 1,
        "Summary": 2,
        "Review": 1,
        "Job": 3,
        "Entity": 2,
    }
    assert (await memory.delete_conversation("d")).memories == 5
    assert await nodes_of(memory.client_id) == 0
    assert await nodes_of(rival.client_id) == before


async def test_an_empty_one_is_deleted_too(memory: Graphmem):
    await memory.open_conversation("c")

    assert await memory.delete_conversation("c") == Deleted(conversations=1)


@pytest.mark.parametrize("whose", ["nobody's", "another client's"])
async def test_a_foreign_one_is_as_unknown_as_none(
    memory: Graphmem, rival: Graphmem, say, nodes_of, whose: str
):
    if whose == "another client's":
        await rival.open_conversation("c")
        await rival.remember("c", [say()])

    before = await nodes_of(rival.client_id)
    with pytest.raises(ConversationNotFound, match=r"^no conversation 'c'$"):
        await memory.delete_conversation("c")
    assert await nodes_of(rival.client_id) == before


async def test_deleted_and_opened_again_it_begins_anew(memory: Graphmem, say, shape):
    await memory.open_conversation("c", title="Before")
    await memory.remember("c", [say("1"), say("2", external_id="x")])
    await memory.delete_conversation("c")

    assert await memory.open_conversation("c") == Conversation(id="c", created=True)
    await memory.remember("c", [say("3", external_id="x")])
    found = await shape(memory.client_id)
    found.check()
    assert [m.text for m in found.messages] == ["3"]


async def test_writing_opening_and_deleting_at_once_leave_no_orphan(
    memory: Graphmem, say, shape, nodes_of
):
    async def write(writer: int) -> int:
        refused = 0
        for batch in range(4):
            new = [say(f"{writer} {batch}", "a"), say(f"{writer} {batch}", f"s{writer}")]
            try:
                await memory.remember("c", new)
            except ConversationNotFound:
                refused += 1
        return refused

    async def delete() -> int:
        refused = 0
        for _ in range(4):
            try:
                await memory.delete_conversation("c")
            except ConversationNotFound:
                refused += 1
            await memory.open_conversation("c")
        return refused

    await memory.open_conversation("c")
    writers = [write(writer) for writer in range(6)]
    await asyncio.gather(*writers, *(delete() for _ in range(3)))

    found = await shape(memory.client_id)
    found.check()
    jobs = bool(found.messages)
    assert await nodes_of(memory.client_id) == 1 + len(found.sessions) + len(found.messages) + jobs
    await memory.delete_conversation("c")
    assert await nodes_of(memory.client_id) == 0


async def test_of_two_deletions_at_once_one_finds_nothing(memory: Graphmem, say, nodes_of):
    await memory.open_conversation("c")
    await memory.remember("c", [say(str(place)) for place in range(20)])

    answers = await asyncio.gather(
        *(memory.delete_conversation("c") for _ in range(4)), return_exceptions=True
    )

    done = [answer for answer in answers if isinstance(answer, Deleted)]
    others = [answer for answer in answers if not isinstance(answer, Deleted)]
    assert len(done) == 1
    assert all(isinstance(answer, ConversationNotFound) for answer in others)
    assert await nodes_of(memory.client_id) == 0


async def chain_of(memory: Graphmem, *conversations: str) -> list[str]:
    """Write versions of a fact, each in its conversation; return their ids."""
    for id in set(conversations):
        await memory.open_conversation(id)
    first = await memory.remember_fact(
        "The harbour plan has rate 1.", conversation_id=conversations[0]
    )
    ids = [first.id]
    for number, conversation_id in enumerate(conversations[1:], start=2):
        new = await memory.supersede_fact(
            ids[-1],
            f"The harbour plan has rate {number}.",
            conversation_id=conversation_id,
            reason=f"change {number}",
        )
        ids.append(new.id)
    return ids


async def check_chain(memory: Graphmem, left: dict[int, str]) -> None:
    """Assert that these versions, by their numbers, are one chain with one head, which alone is found."""
    *_, head = left.values()
    for id in left.values():
        chain = (await memory.versions(id)).versions
        assert {one.version: one.id for one in chain} == left
        assert [one.superseded_at is None for one in chain] == [one.id == head for one in chain]
        assert [one.superseded_at for one in chain[:-1]] == [one.created_at for one in chain[1:]]
        numbers = list(left)[1:]
        assert [one.reason for one in chain[1:]] == [f"change {number}" for number in numbers]
    every = [await memory.memory(id) for id in left.values()]
    assert [one.active for one in every] == [one.id == head for one in every]
    assert [one.invalid_at for one in every] == [*(one.valid_at for one in every[1:]), None]
    for one in every:
        at = one.valid_at
        for found in (
            await memory.search("harbour rate", source_types=["fact"], as_of=at),
            await memory.search("harbour rate", source_types=["fact"], known_as_of=one.created_at),
        ):
            assert [item.id for item in found.items] == [one.id]
    assert [item.id for item in (await memory.search("harbour rate")).items] == [head]
    by_words = await memory.recall("harbour rate", kinds=["fact"], ranking="bm25")
    assert [item.id for item in by_words.items] == [head]


@pytest.mark.parametrize(
    ("conversations", "deleted", "left"),
    [("ab", "a", [2]), ("ab", "b", [1]), ("abca", "b", [1, 3, 4]), ("abba", "b", [1, 4])],
)
async def test_versions_in_other_conversations_stay_one_chain(
    memory: Graphmem, conversations: str, deleted: str, left: list[int]
):
    ids = await chain_of(memory, *conversations)

    gone = await memory.delete_conversation(deleted)

    assert gone == Deleted(conversations=1, memories=conversations.count(deleted))
    await check_chain(memory, {number: ids[number - 1] for number in left})
    for number in {*range(1, len(ids) + 1)}.difference(left):
        with pytest.raises(MemoryNotFound):
            await memory.memory(ids[number - 1])
    newer = await memory.supersede_fact(ids[left[-1] - 1], "The harbour plan is free.")
    assert newer.version == left[-1] + 1


async def test_a_correction_that_is_deleted_ends_no_version_any_more(memory: Graphmem):
    await memory.open_conversation("corrections")
    first = await memory.remember_fact("The lamp is red.", valid_at="2025-01-01T00:00:00Z")
    second = await memory.supersede_fact(
        first.id, "The lamp is blue.", valid_at="2025-03-01T00:00:00Z"
    )
    await memory.supersede_fact(
        second.id,
        "The lamp is green.",
        valid_at="2025-02-01T00:00:00Z",
        conversation_id="corrections",
    )
    red, blue = [await memory.memory(id) for id in (first.id, second.id)]
    assert red.invalid_at == datetime(2025, 2, 1, tzinfo=UTC)
    assert blue.invalid_at == blue.valid_at

    await memory.delete_conversation("corrections")

    red, blue = [await memory.memory(id) for id in (first.id, second.id)]
    assert (red.invalid_at, blue.invalid_at) == (blue.valid_at, None)
    then = await memory.memories(as_of="2025-02-15T00:00:00Z")
    assert [one.id for one in then.memories] == [first.id]


async def test_conversations_of_one_chain_can_be_deleted_at_once(memory: Graphmem):
    for name in "xyz":
        conversations = [f"{name}{number}" for number in range(4)]
        ids = await chain_of(memory, *conversations)

        await asyncio.gather(*(memory.delete_conversation(id) for id in conversations[1:]))

        await check_chain(memory, {1: ids[0]})
        await memory.delete_conversation(conversations[0])
