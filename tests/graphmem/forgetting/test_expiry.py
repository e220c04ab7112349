"""Expired memories on a real Neo4j: no way of reading finds them, and a job deletes them."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from graphmem.client import Graphmem
from graphmem.errors import LegalHold, MemoryNotFound
from graphmem.forgetting import expiry
from graphmem.forgetting.expiry import Expiries, delete_expired, queue_expired
from graphmem.graph.driver import Graph
from graphmem.model.times import present
from graphmem.runtime import Runtime
from tests.expired import expire_all

SECRET = "The shed opens with the word marzipan."
QUESTION = "Which word opens the shed?"
ALWAYS = "2098-01-01T00:00:00Z"


class Told(msgspec.Struct):
    """A client with a secret in a message, a fact and a reference, and what was made of the message."""

    memory: Graphmem
    conversation: str
    ids: list[str]
    kept: str


@pytest.fixture
async def told(memory: Graphmem, runtime: Runtime) -> Told:
    conversation = str(uuid.uuid4())
    await memory.open_conversation(conversation)
    texts = ["We met in Ghent.", SECRET, "Then it rained."]
    said = [{"session_id": "s", "role": "user", "content": text} for text in texts]
    first, secret, last = (await memory.remember(conversation, said)).ids
    await memory.remember_episode(
        conversation, message_ids=[first, secret, last], title="Shed", summary=SECRET
    )
    session = (await memory.sessions(conversation)).sessions[0]
    await memory.summarize_session(session.id)
    fact = await memory.remember_fact(SECRET, conversation_id=conversation)
    fact2 = await memory.supersede_fact(fact.id, f"{SECRET} Indeed.")
    card = await memory.add_reference(type="offer", target_id="shed", label="Shed")
    await memory.put_content(card.id, SECRET)
    for id in (secret, fact2.id, card.id):
        await memory.annotate(id, expires_at=present() + timedelta(hours=1))
    await expire_all(memory.client_id, runtime.graph)
    return Told(memory, conversation, [secret, fact.id, fact2.id, card.id], first)


async def _run_retrieve(told: Told) -> object:
    async with told.memory.run(agent_type="t", episode_id=str(uuid.uuid4())) as run:
        return await run.retrieve(QUESTION, max_tokens=500)


WAYS: dict[str, Callable[[Told], Awaitable[object]]] = {
    "recall": lambda told: told.memory.recall(QUESTION),
    "recall as of": lambda told: told.memory.recall(QUESTION, as_of=ALWAYS),
    "recall known": lambda told: told.memory.recall(QUESTION, known_as_of=ALWAYS),
    "recall superseded": lambda told: told.memory.recall(QUESTION, include_superseded=True),
    "search": lambda told: told.memory.search(QUESTION, include_superseded=True),
    "search all": lambda told: told.memory.search("*", max_results=50),
    "search exactly": lambda told: told.memory.search(
        "opens with the word", match="exact", conversation_id=told.conversation
    ),
    "spans": lambda told: told.memory.search_spans(QUESTION),
    "contextual": lambda told: told.memory.search_contextual(QUESTION, min_relevance=0.0),
    "retrieve_memory": lambda told: told.memory.retrieve_memory(
        QUESTION, told.conversation, detail="high"
    ),
    "hyde": lambda told: told.memory.hyde_retrieve(
        str(uuid.uuid4()), conversation_id=told.conversation, window=[QUESTION]
    ),
    "neighbours": lambda told: told.memory.neighbourhood(told.kept, depth=2),
    "messages": lambda told: told.memory.messages(told.conversation),
    "memories": lambda told: told.memory.memories(include_superseded=True),
    "references": lambda told: told.memory.references(),
    "summaries": lambda told: told.memory.summaries(),
    "runs": _run_retrieve,
    "themes": lambda told: told.memory.pattern("recurring_themes"),
    "timeline": lambda told: told.memory.pattern("timeline", {"name": "Ghent"}),
    "entities": lambda told: told.memory.entities(),
}
"""The ways of reading; each is the first after the expiry in its test."""


@pytest.mark.parametrize("way", WAYS)
async def test_no_way_of_reading_finds_what_has_expired(told: Told, way: str) -> None:
    answer = msgspec.json.encode(await WAYS[way](told)).decode()

    assert "marzipan" not in answer
    assert not [id for id in told.ids if id in answer]


async def test_a_deleted_message_leaves_the_others_joined(told: Told, runtime: Runtime) -> None:
    for id in told.ids:
        with pytest.raises(MemoryNotFound):
            await told.memory.memory(id)
    said = (await told.memory.messages(told.conversation)).messages
    assert [one.text for one in said] == ["We met in Ghent.", "Then it rained."]
    [row] = await runtime.graph.execute(
        "MATCH (:Message {client_id: $client_id, id: $first})-[:NEXT]->(next) "
        "RETURN collect(next.id) AS ids",
        client_id=told.memory.client_id,
        first=told.kept,
    )
    assert row["ids"] == [said[1].id]
    again = await told.memory.segment(told.conversation)
    assert again.messages == 2


async def test_the_job_deletes_without_any_read(
    told: Told, runtime: Runtime, rival: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphmem.memories.memory.EDGES_AT_ONCE", 1)
    kept = await rival.remember_fact(SECRET, expires_at=ALWAYS)
    graph, now = runtime.graph, present()
    await queue_expired(now=now, new_id=lambda: str(uuid.uuid4()), graph=graph)
    jobs = await graph.execute(
        "MATCH (job:Job {kind: 'expire'}) WHERE job.client_id IN $ids RETURN job.client_id AS id",
        ids=[told.memory.client_id, rival.client_id],
    )
    assert [row["id"] for row in jobs] == [told.memory.client_id]

    # The message, two versions of the fact, the reference and its span, the episode and the summary.
    assert await delete_expired(told.memory.client_id, now=now, graph=graph) == 7
    assert await delete_expired(told.memory.client_id, now=now, graph=graph) == 0
    assert (await rival.memory(kept.id)).text == SECRET


async def test_a_legal_hold_keeps_what_has_expired(told: Told, runtime: Runtime) -> None:
    """Who looked before the hold began is refused as well."""
    await told.memory.begin_hold("case 115")
    with pytest.raises(LegalHold, match="case 115"):
        await delete_expired(told.memory.client_id, now=present(), graph=runtime.graph)
    assert (await told.memory.memory(told.ids[0])).text == SECRET


async def test_a_memory_expires_at_its_time(memory: Graphmem) -> None:
    expires_at = present() + timedelta(seconds=4)
    kept = await memory.remember_fact(SECRET, expires_at=expires_at)
    if present() < expires_at:
        found = await memory.memories()
        assert [one.id for one in found.memories] == [kept.id] or present() >= expires_at
    await asyncio.sleep(max(0.0, (expires_at - present()).total_seconds()))
    assert (await memory.memories()).total == 0


async def test_a_process_looks_once_for_many_reads(told: Told, runtime: Runtime) -> None:
    looks = 0

    class Looking(Graph):
        async def rows(self, query: Any, **parameters: Any) -> Any:
            nonlocal looks
            looks += query is expiry.DUE_CLIENTS
            return await runtime.graph.rows(query, **parameters)

    looking = Looking(runtime.graph.driver, runtime.graph.database)
    expiries = Expiries(looking, now=lambda: present() - timedelta(days=1))
    await asyncio.gather(*(expiries.settle(told.memory.client_id, looking) for _ in range(20)))
    assert looks == 1
