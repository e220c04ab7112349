"""Expired contexts are removed by a job, one for all that end in the same hour; the living stay."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from graphmem.background import WORK, Background
from graphmem.client import Graphmem
from graphmem.context import Context, random_id
from graphmem.contexts import context as contexts
from graphmem.contexts.context import (
    SWEEP,
    Added,
    CreateContextOptions,
    RetrievalContext,
    add_source,
    create_context,
    sweep_contexts,
)
from graphmem.errors import ContextNotFound, ItemNotFound
from graphmem.memories.chunk import ChunkSource
from tests.planted import plant, thread

LONG_AGO = datetime(2020, 1, 1, 7, 10, tzinfo=UTC)
"""So long that its jobs are due before any other test's."""


def at(memory: Graphmem, now: datetime, new_id: Callable[[], str] = random_id) -> Context:
    """Return the context of a use case that runs at a time."""
    context = memory.runtime.context(memory.client_id)
    return replace(context, now=lambda: now, new_id=new_id)


async def begin(memory: Graphmem, now: datetime, ttl_seconds: int = 60) -> RetrievalContext:
    options = CreateContextOptions(max_tokens=2000, ttl_seconds=ttl_seconds)
    return await create_context(options, at(memory, now))


async def add(
    memory: Graphmem, context: RetrievalContext, source: ChunkSource, now: datetime
) -> Added:
    return await add_source(context.id, source.id, source, at(memory, now))


async def kept(memory: Graphmem) -> set[str]:
    rows = await memory.runtime.graph.execute(
        "MATCH (one:Context {client_id: $client}) RETURN one.id AS id", client=memory.client_id
    )
    return {row["id"] for row in rows}


def source(id: str) -> ChunkSource:
    return ChunkSource(id=id, source_type="fact", label="Fact", text="Mara sails.")


async def test_the_job_removes_what_has_expired_and_leaves_the_living(
    memory: Graphmem, rival: Graphmem
):
    old = [await begin(memory, LONG_AGO, seconds) for seconds in (1, 60, 600)]
    living, theirs = await begin(memory, datetime.now(UTC)), await begin(rival, LONG_AGO)
    [id] = await plant(memory, thread())
    assert (await add(memory, old[1], source(id), LONG_AGO)).added
    assert await kept(memory) == {one.id for one in [*old, living]}

    [job] = (await memory.jobs(kind=SWEEP, state="queued", limit=2)).jobs[1:]
    assert job.run_at == LONG_AGO.replace(hour=8, minute=0)
    running = Background(memory.runtime, {SWEEP: WORK[SWEEP]})
    running.start()
    async with asyncio.timeout(300):
        while await kept(memory) != {living.id} or await kept(rival):
            await asyncio.sleep(0.1)
    await running.end()

    assert theirs.id not in await kept(rival)
    assert (await memory.memory(id)).id == id
    assert (await memory.context(living.id)).id == living.id


async def test_a_thousand_contexts_of_an_hour_are_one_job(memory: Graphmem, rival: Graphmem):
    now = datetime.now(UTC) + timedelta(days=400)
    await asyncio.gather(*(begin(memory, now.replace(minute=minute)) for minute in range(0, 58, 3)))
    await begin(memory, now.replace(minute=59), ttl_seconds=61)
    await begin(rival, now)

    jobs = (await memory.jobs(kind=SWEEP)).jobs
    assert len(jobs) == 2
    assert {job.run_at.minute for job in jobs} == {0}
    assert len((await rival.jobs(kind=SWEEP)).jobs) == 1


async def test_more_than_one_transaction_s_worth_is_removed_and_nobody_else_s(
    memory: Graphmem, rival: Graphmem, monkeypatch: pytest.MonkeyPatch
):
    # S1.64
    theirs = await begin(rival, LONG_AGO)
    monkeypatch.setattr(contexts, "SWEPT_AT_ONCE", 3)
    for _ in range(7):
        await begin(memory, LONG_AGO)
    alive = await begin(memory, datetime.now(UTC))

    assert await sweep_contexts(at(memory, datetime.now(UTC))) == 7
    assert await sweep_contexts(at(memory, datetime.now(UTC))) == 0
    assert await kept(memory) == {alive.id}
    assert await kept(rival) == {theirs.id}


async def test_a_context_expires_to_the_moment(memory: Graphmem):
    context = await begin(memory, LONG_AGO, ttl_seconds=60)
    [id] = await plant(memory, thread())

    assert (await add(memory, context, source(id), LONG_AGO + timedelta(seconds=59.999))).added
    with pytest.raises(ContextNotFound):
        await add(memory, context, source(id), LONG_AGO + timedelta(seconds=60))
    ends = LONG_AGO + timedelta(seconds=60)
    just_before = ends - timedelta(milliseconds=1)
    assert await sweep_contexts(at(memory, just_before)) == 0
    assert await sweep_contexts(at(memory, ends)) == 1


async def test_a_memory_that_has_gone_meanwhile_is_not_held(memory: Graphmem):
    context = await begin(memory, datetime.now(UTC))
    [id] = await plant(memory, thread())
    await memory.delete_memory(id)

    with pytest.raises(ItemNotFound):
        await add(memory, context, source(id), datetime.now(UTC))
    assert (await memory.context(context.id)).sections == []


@pytest.mark.parametrize("memory_id", ["", "x" * 300])
async def test_an_id_that_no_memory_can_have_is_an_unknown_one(memory: Graphmem, memory_id: str):
    context = await begin(memory, datetime.now(UTC))
    with pytest.raises(ItemNotFound):
        await memory.add_to_context(context.id, memory_id)


async def test_another_s_memory_is_never_held(memory: Graphmem, rival: Graphmem):
    # S1.64
    context = await begin(memory, datetime.now(UTC))
    [foreign] = await plant(rival, thread())

    with pytest.raises(ItemNotFound):
        await add(memory, context, source(foreign), datetime.now(UTC))
    assert (await memory.context(context.id)).remaining_tokens == context.remaining_tokens


async def test_a_context_begun_twice_after_a_lost_answer_is_one(memory: Graphmem):
    again = at(memory, datetime.now(UTC), lambda: "again")
    for _ in range(2):
        await create_context(CreateContextOptions(max_tokens=2000), again)

    assert await kept(memory) == {"ctx-again"}
