"""Postponing: one job of a key, due at the time that was asked for last, also while it runs."""

import asyncio
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from graphmem.client import Graphmem
from graphmem.jobs.outbox import Claim, Due, Job, postpone, postpone_all
from graphmem.jobs.worker import Worker

LATER = timedelta(minutes=30)


@pytest.fixture
def kind() -> str:
    """A kind of job that no other test's worker takes."""
    return f"kind-{uuid.uuid4().hex}"


async def asked(memory: Graphmem, kind: str, run_at: datetime) -> str:
    return await memory.runtime.graph.write(
        lambda transaction: postpone(
            transaction,
            client_id=memory.client_id,
            id=str(uuid.uuid4()),
            kind=kind,
            key="k",
            payload={},
            now=datetime.now(UTC),
            run_at=run_at,
        )
    )


async def only(memory: Graphmem) -> Job:
    [job] = (await memory.jobs()).jobs
    return job


async def test_the_last_time_counts_and_there_is_one(memory: Graphmem, kind: str) -> None:
    now = datetime.now(UTC)
    first = await asked(memory, kind, now)
    assert await asked(memory, kind, now + LATER) == first
    assert (await only(memory)).run_at == now + LATER
    assert not await Worker(memory.runtime.graph, {kind: _nothing}).step()
    ids = await asyncio.gather(*(asked(memory, kind, now) for _ in range(8)))
    assert set(ids) == {first}
    assert await Worker(memory.runtime.graph, {kind: _nothing}).step()
    assert (await only(memory)).state == "done"


async def test_one_that_has_ended_is_queued_anew(memory: Graphmem, kind: str) -> None:
    now = datetime.now(UTC)
    id = await asked(memory, kind, now)
    await Worker(memory.runtime.graph, {kind: _nothing}).step()
    assert await asked(memory, kind, now + LATER) == id
    job = await only(memory)
    assert (job.state, job.attempts, job.finished_at, job.run_at) == (
        "queued", 0, None, now + LATER,
    )  # fmt: skip


async def test_one_that_runs_is_queued_when_it_ends(memory: Graphmem, kind: str) -> None:
    now = datetime.now(UTC)
    await asked(memory, kind, now)

    async def busy(held: Claim) -> None:
        await asked(memory, kind, now + LATER)
        assert (await only(memory)).state == "running"

    await Worker(memory.runtime.graph, {kind: busy}).step()
    job = await only(memory)
    assert (job.state, job.attempts, job.run_at) == ("queued", 0, now + LATER)
    assert not await Worker(memory.runtime.graph, {kind: _nothing}).step()


async def test_a_failure_keeps_what_was_asked_for(memory: Graphmem, kind: str) -> None:
    await asked(memory, kind, datetime.now(UTC))

    async def broken(held: Claim) -> None:
        await asked(memory, kind, datetime.now(UTC) + LATER)
        raise ZeroDivisionError

    await Worker(memory.runtime.graph, {kind: broken}).step()
    job = await only(memory)
    assert (job.state, job.attempts, job.error) == ("queued", 1, "ZeroDivisionError")


async def _nothing(held: Claim) -> None:
    return None


async def test_what_asks_for_the_earliest_is_never_put_off(memory: Graphmem, kind: str) -> None:
    now = datetime.now(UTC)

    async def earliest(run_at: datetime) -> None:
        due = Due(id=str(uuid.uuid4()), kind=kind, key="k", run_at=run_at, earliest=True)
        await memory.runtime.graph.write(
            lambda transaction: postpone_all(
                transaction, [due], client_id=memory.client_id, now=now
            )
        )

    await earliest(now + LATER)
    await earliest(now + 2 * LATER)
    assert (await only(memory)).run_at == now + LATER
    await earliest(now)
    assert (await only(memory)).run_at == now

    async def work(held: Claim) -> None:
        await earliest(now + LATER)
        await earliest(now + 2 * LATER)

    assert await Worker(memory.runtime.graph, {kind: work}).step()
    job = await only(memory)
    assert (job.state, job.run_at) == ("queued", now + LATER)
