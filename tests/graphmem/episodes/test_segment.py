"""Segmenting: no message is lost or doubled, however often it is begun, killed or overtaken."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from graphmem.background import WORK
from graphmem.client import Graphmem
from graphmem.conversations.remember import IDLE, SEGMENT
from graphmem.episodes import segment as segmentation
from graphmem.episodes.remember import write_episode
from graphmem.episodes.segment import segment
from graphmem.jobs.outbox import Claim, Job
from graphmem.jobs.worker import Worker
from graphmem.prompts.rendering import describe
from graphmem.runtime import Runtime
from tests.expired import expire_all

HELD = """CYPHER 25
MATCH (message:Message {client_id: $client_id})
OPTIONAL MATCH (message)-[:PART_OF]->(episode:Episode {client_id: $client_id})
RETURN message.id AS id, message.position AS position, collect(episode.id) AS episodes
ORDER BY position"""
EPISODES = """CYPHER 25
MATCH (episode:Episode {client_id: $client_id})
RETURN episode.id AS id, episode.title AS title, episode.text AS text, episode.surprise AS surprise,
  COUNT { (episode)-[:NEXT]->(:Episode) } AS followers, COUNT { (:Episode)-[:NEXT]->(episode) } AS before
ORDER BY episode.end_at"""
AGED = """CYPHER 25
MATCH (session:Session {client_id: $client_id})
SET session.last_active_at = session.last_active_at - duration({hours: 1})"""
DUE = """CYPHER 25
MATCH (job:Job {client_id: $client_id})
WHERE job.kind <> 'summarize'
SET job.run_at = datetime() - duration('PT1M')"""


@pytest.fixture
def seed(repository: Path) -> list[dict[str, Any]]:
    """The seed story's first sessions."""
    lines = (repository / "seed" / "messages.jsonl").read_text(encoding="utf-8").splitlines()
    said = [json.loads(line) for line in lines[:70]]
    return [
        {name: value for name, value in one.items() if name != "conversation_id"} for one in said
    ]


async def held(memory: Graphmem) -> list[dict[str, Any]]:
    return await memory.runtime.graph.execute(HELD, client_id=memory.client_id)


async def episodes(memory: Graphmem) -> list[dict[str, Any]]:
    return await memory.runtime.graph.execute(EPISODES, client_id=memory.client_id)


async def job(memory: Graphmem) -> Job:
    [one] = (await memory.jobs(kind=SEGMENT)).jobs
    return one


async def check(memory: Graphmem) -> None:
    """Assert that every message is in exactly one episode, and that these are one chain."""
    assert all(len(one["episodes"]) == 1 for one in await held(memory))
    made = await episodes(memory)
    assert [one["followers"] for one in made] == [1] * (len(made) - 1) + [0]
    assert [one["before"] for one in made] == [0] + [1] * (len(made) - 1)


async def test_a_conversation_becomes_episodes_that_hold_each_message_once(
    memory: Graphmem, seed
) -> None:
    await memory.open_conversation("c")
    await memory.remember("c", seed)
    made = await memory.segment("c")
    assert made.messages == len(seed)
    assert len(made.episodes) >= 4
    await check(memory)
    found = await episodes(memory)
    assert all(one["title"] and one["text"] for one in found)
    assert {one["surprise"] for one in found[:1]} == {0.5}
    assert (await memory.segment("c")).episodes == []


async def test_a_kill_at_any_step_loses_and_doubles_nothing(
    memory: Graphmem, seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.open_conversation("c")
    await memory.remember("c", seed)
    calls = 0

    async def killed(*args: Any, **more: Any) -> None:
        nonlocal calls
        calls += 1
        await write_episode(*args, **more)
        if calls % 2 == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(segmentation, "write_episode", killed)
    deaths = 0
    while True:
        try:
            await segment("c", memory.runtime.context(memory.client_id))
            break
        except KeyboardInterrupt:
            deaths += 1
    assert deaths > 2
    await check(memory)


async def test_several_at_once_and_messages_meanwhile(memory: Graphmem, seed) -> None:
    await memory.open_conversation("c")
    await memory.remember("c", seed[:35])

    async def more() -> None:
        for one in seed[35:]:
            await memory.remember("c", [one])

    await asyncio.gather(memory.segment("c"), memory.segment("c"), more())
    await memory.segment("c")
    found = await held(memory)
    assert len(found) == len(seed)
    assert all(len(one["episodes"]) == 1 for one in found)


async def test_a_message_deleted_or_put_into_an_episode_meanwhile_is_left_alone(
    memory: Graphmem, seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.open_conversation("c")
    ids = (await memory.remember("c", seed[:18])).ids
    once: list[str] = []

    async def interrupted(*args: Any, **more: Any) -> Any:
        if not once:
            once.append("done")
            await memory.delete_memory(ids[1])
            await memory.remember_episode("c", message_ids=ids[3:6], title="Mine", summary="Mine.")
        return await describe(*args, **more)

    monkeypatch.setattr(segmentation, "describe", interrupted)
    await memory.segment("c")
    found = {one["id"]: one["episodes"] for one in await held(memory)}
    assert len(found) == 17
    assert all(len(holding) == 1 for holding in found.values())
    assert len({found[id][0] for id in ids[3:6]}) == 1
    assert found[ids[3]][0] not in {found[ids[0]][0], found[ids[8]][0]}


async def test_another_client_s_conversation_of_the_same_name_is_untouched(
    memory: Graphmem, rival: Graphmem, seed
) -> None:
    for one in (memory, rival):
        await one.open_conversation("c")
        await one.remember("c", seed[:8])
    await memory.segment("c")
    await check(memory)
    assert await episodes(rival) == []


async def test_each_write_moves_the_one_job_on(memory: Graphmem, say) -> None:
    await memory.open_conversation("c")
    began = datetime.now(UTC)
    await memory.remember("c", [say()])
    first = await job(memory)
    assert (first.state, first.key) == ("queued", "c")
    assert timedelta(0) <= first.run_at - began - IDLE < timedelta(minutes=1)
    await memory.remember("c", [say("More.")])
    second = await job(memory)
    assert (second.id, second.run_at > first.run_at) == (first.id, True)


async def test_the_job_segments_what_is_idle_and_is_queued_again_by_the_next_message(
    memory: Graphmem, runtime: Runtime, say
) -> None:
    await memory.open_conversation("c")
    await memory.remember("c", [say(f"The harbour light number {n} is red.") for n in range(3)])
    await runtime.graph.execute(AGED, client_id=memory.client_id)
    await done(memory)
    assert (await job(memory)).state == "done"
    await check(memory)
    await memory.remember("c", [say("And one more light.")])
    again = await job(memory)
    assert (again.state, again.attempts) == ("queued", 0)


async def test_what_arrives_while_the_job_runs_is_segmented_later(
    memory: Graphmem, runtime: Runtime, say
) -> None:
    await memory.open_conversation("c")
    await memory.remember("c", [say()])
    await runtime.graph.execute(AGED, client_id=memory.client_id)

    async def meanwhile(claim: Claim) -> None:
        await WORK[SEGMENT](claim, runtime)
        await memory.remember("c", [say("Too late for this time.")])

    await done(memory, meanwhile)
    again = await job(memory)
    assert (again.state, again.attempts) == ("queued", 0)
    assert again.run_at > datetime.now(UTC) + IDLE / 2
    assert [len(one["episodes"]) for one in await held(memory)] == [1, 0]


async def test_a_session_that_is_not_idle_keeps_its_tail_and_its_job(memory: Graphmem, say) -> None:
    await memory.open_conversation("c")
    await memory.remember("c", [say()])
    await done(memory)
    again = await job(memory)
    assert (again.state, again.run_at > datetime.now(UTC)) == ("queued", True)
    assert await episodes(memory) == []


async def expired(memory: Graphmem, id: str) -> None:
    await memory.annotate(id, expires_at="2098-01-01T00:00:00Z")
    await expire_all(memory.client_id, memory.runtime.graph)
    await memory.memories()


async def forgotten(memory: Graphmem, id: str) -> None:
    await memory.forget(memory_ids=[id])


@pytest.mark.parametrize("end", [Graphmem.delete_memory, expired, forgotten])
async def test_an_episode_that_ends_itself_is_not_made_again(
    memory: Graphmem, say, end: Any
) -> None:
    await memory.open_conversation("c")
    first = await memory.remember_episode("c", messages=[say("The ferry is late.")])
    await memory.remember("c", [say("The harbour light is red."), say("It shines all night.")])
    [gone] = (await memory.segment("c")).episodes
    await end(memory, gone)
    assert (await job(memory)).run_at > datetime.now(UTC)
    assert (await memory.segment("c")).episodes == []

    # Nor where its session is looked through again, for another episode.
    await memory.remember("c", [say("And a boat came.")])
    await memory.forget(memory_ids=first.message_ids)
    assert (await memory.segment("c")).messages == 1
    assert [len(one["episodes"]) for one in await held(memory)] == [0, 0, 1]


async def done(memory: Graphmem, handler: Any = None) -> None:
    """Make the client's job due, and do it without taking those of other tests."""
    graph = memory.runtime.graph
    mine = f"{SEGMENT}-{memory.client_id}"
    await graph.execute(f"{DUE}, job.kind = $mine", client_id=memory.client_id, mine=mine)
    own = handler or (lambda claim: WORK[SEGMENT](claim, memory.runtime))

    async def work_on(claim: Claim) -> None:
        # Named again as it is: what it does may ask for it anew.
        await graph.execute(
            "CYPHER 25 MATCH (job:Job {client_id: $client_id, id: $id}) SET job.kind = $kind",
            client_id=claim.client_id, id=claim.id, kind=SEGMENT,
        )  # fmt: skip
        await own(replace(claim, kind=SEGMENT))

    assert await Worker(graph, {mine: work_on}).step()
