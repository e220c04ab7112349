"""Workers killed in the middle of a conversation's work: another one goes on, and nothing is lost or doubled.

Each works in a process of its own, with the real embedder and a language model's server that stops answering
just when it is to be killed.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from graphmem.client import Graphmem
from graphmem.conversations.remember import SEGMENT
from graphmem.episodes.consolidate import CONSOLIDATE, EPISODES_AT_ONCE
from graphmem.jobs.outbox import enqueue
from graphmem.prompts.rendering import INSTRUCTIONS as TELLING
from tests.stub_llm import StubModel, stub_model

LEASE_SECONDS = 3.0
PATIENCE = 150
"""How long a busy machine may take, in seconds."""

NAMES = [
    "Anker",
    "Boje",
    "Dock",
    "Ebbe",
    "Flut",
    "Gezeit",
    "Hafen",
    "Insel",
    "Jolle",
    "Kai",
    "Leine",
    "Mole",
    "Netz",
    "Orkan",
    "Pier",
    "Queste",
]
HELD = """CYPHER 25
MATCH (message:Message {client_id: $client_id})
RETURN message.position AS position,
  COLLECT { MATCH (message)-[:PART_OF]->(e:Episode {client_id: $client_id}) RETURN e.id } AS episodes
ORDER BY position"""
MADE = """CYPHER 25
MATCH (episode:Episode {client_id: $client_id})
RETURN episode.id AS id, episode.title AS title, episode.consolidated_at IS NOT NULL AS done,
  COUNT { (episode)-[:NEXT]->(:Episode {client_id: $client_id}) } AS followers,
  COUNT { (:Fact {client_id: $client_id})-[:DERIVED_FROM]->(episode) } AS facts
ORDER BY episode.end_at"""
IDLE = """CYPHER 25
MATCH (session:Session {client_id: $client_id})
SET session.last_active_at = session.last_active_at - duration({hours: 1})"""
MINE = """CYPHER 25
MATCH (job:Job {client_id: $client_id, kind: $kind, key: 'c'})
SET job.kind = $mine, job.run_at = datetime() - duration('PT1M')"""
JOB = "MATCH (job:Job {client_id: $client_id, kind: $mine}) RETURN job.state AS state"


pytestmark = pytest.mark.usefixtures("killed_processes")


@pytest_asyncio.fixture
async def stub() -> AsyncIterator[StubModel]:
    """A language model that tells episodes, and finds one fact in what it is shown."""

    def answer(body: dict[str, Any]) -> str:
        number = len(model.asked) - 1
        if body["messages"][0]["content"] == TELLING:
            return json.dumps({"title": f"Call {number}", "summary": f"Of {NAMES[number % 16]}."})
        fact = f"The light of {NAMES[number]} is kept by {NAMES[-1 - number]}"
        return json.dumps({"actions": [{"action": "new", "fact": fact, "category": "experience"}]})

    async with stub_model() as model:
        model.answer = answer
        yield model


@asynccontextmanager
async def working(
    memory: Graphmem, stub: StubModel, kind: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Have a worker in a process of its own."""
    settings = memory.runtime.settings
    assert settings.neo4j_uri is not None
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("conversation_laborer.py")),
        kind,
        mine(memory, kind),
        str(LEASE_SECONDS),
        stdout=asyncio.subprocess.PIPE,
        env=os.environ
        | {
            "GRAPHMEM_NEO4J_URI": settings.neo4j_uri,
            "GRAPHMEM_NEO4J_USER": settings.neo4j_user,
            "GRAPHMEM_NEO4J_PASSWORD": settings.neo4j_password,
            "GRAPHMEM_LLM_URL": stub.url,
            "GRAPHMEM_LLM_MODEL": "small",
        },
    )
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"ready\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def mine(memory: Graphmem, kind: str) -> str:
    """Return this test's own name of a kind of job, which no other worker takes."""
    return f"{kind}-{memory.client_id}"


async def rows(memory: Graphmem, query: str, **more: Any) -> list[dict[str, Any]]:
    return await memory.runtime.graph.execute(query, client_id=memory.client_id, **more)


async def killed_and_gone_on_with(
    memory: Graphmem, stub: StubModel, kind: str, *, answers: int
) -> None:
    """Kill a worker that waits for one more answer than these, and let another one do the rest."""
    own = mine(memory, kind)
    await rows(memory, MINE, kind=kind, mine=own)
    answer = stub.answer
    assert callable(answer)

    def hangs(body: dict[str, Any]) -> str:
        if len(stub.asked) > answers:
            stub.misbehaviour = "hang"
        return answer(body)

    stub.answer = hangs
    async with asyncio.timeout(PATIENCE), working(memory, stub, kind) as first:
        while len(stub.asked) <= answers:
            await asyncio.sleep(0.02)
        first.kill()
        await first.wait()
    assert [one["state"] for one in await rows(memory, JOB, mine=own)] == ["running"]
    stub.answer, stub.misbehaviour = answer, None


async def finished(memory: Graphmem, stub: StubModel, kind: str) -> None:
    """Have another worker, until the job is done."""
    async with asyncio.timeout(PATIENCE), working(memory, stub, kind):
        while [one["state"] for one in await rows(memory, JOB, mine=mine(memory, kind))] != [
            "done"
        ]:
            await asyncio.sleep(0.1)


async def test_segmenting_goes_on_after_a_kill_and_no_message_is_lost_or_doubled(
    memory: Graphmem, rival: Graphmem, stub: StubModel
) -> None:
    for one in (memory, rival):
        await one.open_conversation("c")
    said = [
        {
            "session_id": f"s{place // 2}",
            "role": "user",
            "content": f"{name} was seen at sea today.",
        }
        for place, name in enumerate(NAMES)
    ]
    await memory.remember("c", said)
    await rival.remember("c", said)
    await rows(memory, IDLE)

    await killed_and_gone_on_with(memory, stub, SEGMENT, answers=3)
    partly = [len(one["episodes"]) for one in await rows(memory, HELD)]
    assert set(partly) == {0, 1}, "some are in an episode, and others are not"
    await finished(memory, stub, SEGMENT)

    held = await rows(memory, HELD)
    assert len(held) == len(NAMES)
    assert [len(one["episodes"]) for one in held] == [1] * len(NAMES)
    made = await rows(memory, MADE)
    assert len(made) == len(NAMES) // 2
    assert [one["followers"] for one in made] == [1] * (len(made) - 1) + [0]
    assert await rows(rival, MADE) == []


async def test_consolidating_goes_on_after_a_kill_and_each_episode_gives_its_facts_once(
    memory: Graphmem, stub: StubModel
) -> None:
    await memory.open_conversation("c")
    number = 2 * EPISODES_AT_ONCE + 2
    for place in range(number):
        said = [{"session_id": "s", "role": "user", "content": f"{NAMES[place]} has a new keeper."}]
        await memory.remember_episode("c", messages=said, title=NAMES[place], summary="A keeper.")
    await memory.runtime.graph.write(
        lambda transaction: enqueue(
            transaction,
            client_id=memory.client_id,
            id=f"job-{memory.client_id}",
            kind=CONSOLIDATE,
            key="c",
            payload={},
            now=datetime.now(UTC),
        )
    )

    await killed_and_gone_on_with(memory, stub, CONSOLIDATE, answers=1)
    partly = [one["done"] for one in await rows(memory, MADE)]
    assert sum(partly) == EPISODES_AT_ONCE
    await finished(memory, stub, CONSOLIDATE)

    made = await rows(memory, MADE)
    assert [one["done"] for one in made] == [True] * number
    assert [one["facts"] for one in made] == [1] * number
    assert len(stub.asked) == 4, "what was being asked at the kill was asked again, nothing else"
    facts = await memory.recall("Who keeps the light?", kinds=["fact"], limit=20)
    assert len(facts.items) == 3
