"""Jobs: claimed atomically, done once in effect, retried, given up, given back."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.errors import DiskFull, InvalidInput, Unavailable
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.jobs import outbox
from graphmem.jobs.outbox import (
    Claim,
    ClaimLost,
    Effect,
    Job,
    JobsAsked,
    claim,
    complete,
    enqueue,
    renew,
    show_jobs,
)
from graphmem.jobs.worker import Worker
from graphmem.observing.metrics import JOBS_ENDED
from graphmem.runtime import Runtime
from tests.scripted import ScriptedGraph

LONG = timedelta(minutes=5)


@pytest.fixture
def kind() -> str:
    """A kind of job that no other test's worker takes."""
    return f"kind-{uuid.uuid4().hex}"


async def queue(
    memory: Graphmem, kind: str, key: str, *, run_at: datetime | None = None, **payload: Any
) -> str:
    async def work(transaction: Transaction) -> str:
        return await enqueue(
            transaction,
            client_id=memory.client_id,
            id=str(uuid.uuid4()),
            kind=kind,
            key=key,
            payload=payload,
            now=datetime.now(UTC),
            run_at=run_at,
        )

    return await memory.runtime.graph.write(work)


async def shown(memory: Graphmem, **asked: Any) -> list[Job]:
    answer = await show_jobs(
        JobsAsked(**asked), client_id=memory.client_id, graph=memory.runtime.graph
    )
    return answer.jobs


async def claimed(runtime: Runtime, kind: str, lasting: timedelta = LONG) -> Claim | None:
    return await claim(
        [kind],
        lease=uuid.uuid4().hex,
        now=datetime.now(UTC),
        lasting=lasting,
        graph=runtime.graph,
    )


def marking(client_id: str) -> Callable[[Claim], Awaitable[Effect]]:
    """Return a handler whose effect leaves a node for each time that it was committed."""

    async def handler(held: Claim) -> Effect:
        async def effect(transaction: Transaction) -> None:
            await transaction._transaction.run(
                "CREATE (:JobMark {client_id: $client, key: $key})", client=client_id, key=held.key
            )

        return effect

    return handler


async def marks(graph: Graph, client_id: str) -> list[str]:
    rows = await graph.execute(
        "MATCH (mark:JobMark {client_id: $client}) RETURN mark.key AS key", client=client_id
    )
    return [row["key"] for row in rows]


async def test_a_job_is_done_once_and_shown(memory: Graphmem, kind: str) -> None:
    id = await queue(memory, kind, "a", number=7)
    seen: list[Any] = []

    async def handler(held: Claim) -> None:
        seen.append((held.client_id, held.key, held.decoded()))

    worker = Worker(memory.runtime.graph, {kind: handler})
    assert await worker.step()
    assert not await worker.step()
    assert seen == [(memory.client_id, "a", {"number": 7})]
    [job] = await shown(memory)
    assert (job.id, job.state, job.attempts, job.error) == (id, "done", 1, None)
    assert job.finished_at is not None


async def test_the_same_key_is_the_same_job(memory: Graphmem, kind: str) -> None:
    ids = {await queue(memory, kind, "a") for _ in range(3)}
    ids |= set(await asyncio.gather(*(queue(memory, kind, "a") for _ in range(8))))
    assert len(ids) == 1
    assert await queue(memory, kind, "b") not in ids


async def test_a_job_is_queued_with_what_causes_it_or_not_at_all(
    memory: Graphmem, kind: str
) -> None:
    async def work(transaction: Transaction) -> None:
        await enqueue(
            transaction,
            client_id=memory.client_id,
            id="x",
            kind=kind,
            key="a",
            payload={},
            now=datetime.now(UTC),
        )
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await memory.runtime.graph.write(work)
    assert await shown(memory) == []


async def test_what_is_not_due_waits(memory: Graphmem, kind: str) -> None:
    await queue(memory, kind, "later", run_at=datetime.now(UTC) + LONG)
    assert await claimed(memory.runtime, kind) is None


async def test_many_claim_and_each_job_goes_to_one(memory: Graphmem, kind: str) -> None:
    for number in range(10):
        await queue(memory, kind, str(number))
    claims = await asyncio.gather(*(claimed(memory.runtime, kind) for _ in range(40)))
    held = [one.id for one in claims if one]
    assert len(held) == len(set(held))
    while one := await claimed(memory.runtime, kind):
        held.append(one.id)
    assert len(held) == len(set(held)) == 10


async def test_a_dead_workers_job_comes_due_again_and_the_late_one_is_refused(
    memory: Graphmem, kind: str
) -> None:
    await queue(memory, kind, "a")
    graph = memory.runtime.graph
    first = await claimed(memory.runtime, kind, timedelta(0))
    second = await claimed(memory.runtime, kind)
    assert first is not None
    assert second is not None
    assert (first.id, second.attempts) == (second.id, 2)
    with pytest.raises(ClaimLost):
        await renew(first, until=datetime.now(UTC) + LONG, graph=graph)
    handler = marking(memory.client_id)
    with pytest.raises(ClaimLost):
        await complete(first, await handler(first), now=datetime.now(UTC), graph=graph)
    assert await marks(graph, memory.client_id) == []
    await complete(second, await handler(second), now=datetime.now(UTC), graph=graph)
    assert await marks(graph, memory.client_id) == ["a"]


async def test_a_failure_is_retried_later_and_given_up_in_the_end(
    memory: Graphmem, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "FIRST_PAUSE", timedelta(0))
    await queue(memory, kind, "a")

    async def handler(held: Claim) -> None:
        raise ZeroDivisionError("the text of a memory")

    worker = Worker(memory.runtime.graph, {kind: handler})
    while await worker.step():
        pass
    [job] = await shown(memory)
    assert (job.state, job.attempts, job.error) == (
        "dead",
        outbox.MOST_ATTEMPTS,
        "ZeroDivisionError",
    )
    assert await shown(memory, state="done") == []
    assert [one.id for one in await shown(memory, state="dead", kind=kind)] == [job.id]


async def test_an_effect_that_fails_leaves_nothing_behind(memory: Graphmem, kind: str) -> None:
    await queue(memory, kind, "a")
    handler = marking(memory.client_id)

    async def broken(held: Claim) -> Effect:
        async def effect(transaction: Transaction) -> None:
            await (await handler(held))(transaction)
            raise ZeroDivisionError

        return effect

    await Worker(memory.runtime.graph, {kind: broken}).step()
    assert await marks(memory.runtime.graph, memory.client_id) == []
    [job] = await shown(memory)
    assert (job.state, job.attempts, job.error) == ("queued", 1, "ZeroDivisionError")
    assert job.run_at > datetime.now(UTC)


async def test_a_job_whose_lease_always_ends_is_given_up(memory: Graphmem, kind: str) -> None:
    await queue(memory, kind, "a")
    for _ in range(outbox.MOST_ATTEMPTS):
        assert await claimed(memory.runtime, kind, timedelta(0))
    last = await claimed(memory.runtime, kind, timedelta(0))
    assert last is not None
    assert last.state == "dead"
    [job] = await shown(memory)
    assert (job.state, job.error) == ("dead", "LeaseExpired")


async def test_a_lease_is_kept_while_the_work_goes_on(memory: Graphmem, kind: str) -> None:
    await queue(memory, kind, "a")
    begun: list[str] = []
    end = asyncio.Event()

    async def slow(held: Claim) -> None:
        begun.append(held.key)
        await end.wait()

    workers = [
        Worker(memory.runtime.graph, {kind: slow}, lease=timedelta(seconds=3)) for _ in range(2)
    ]
    first = asyncio.create_task(workers[0].step())
    await asyncio.sleep(3.5)
    assert not await workers[1].step()
    end.set()
    await first
    assert begun == ["a"]


@pytest.mark.parametrize(
    ("problem", "told", "outcome"),
    [
        (ClaimLost("a"), "was lost to another worker", "lost"),
        (ZeroDivisionError(), "could not be renewed and ends: ZeroDivisionError", "cut"),
    ],
    ids=["lost", "failed"],
)
async def test_why_a_lease_is_kept_no_longer_is_logged(
    memory: Graphmem,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    problem: Exception,
    told: str,
    outcome: str,
) -> None:
    """The work is cancelled; another worker takes it up when the lease has ended."""
    await queue(memory, kind, "a")
    cancelled: list[str] = []

    async def endless(held: Claim) -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.append(held.key)
            raise

    async def failing(*_: Any, **__: Any) -> None:
        raise problem

    monkeypatch.setattr("graphmem.jobs.worker.renew", failing)
    ended = JOBS_ENDED.labels(kind, outcome)
    assert await Worker(memory.runtime.graph, {kind: endless}, lease=timedelta(seconds=0.6)).step()

    assert cancelled == ["a"]
    assert [told in one.message for one in caplog.records if kind in one.message] == [True]
    assert ended._value.get() == 1
    await asyncio.sleep(0.6)
    again = await claimed(memory.runtime, kind)
    assert again is not None
    assert again.attempts == 2


@pytest.mark.parametrize("ends", [True, False], ids=["settled", "renewed"])
async def test_a_job_that_is_deleted_while_it_runs_is_not_lost_to_another_worker(
    memory: Graphmem, kind: str, caplog: pytest.LogCaptureFixture, ends: bool
) -> None:
    await queue(memory, kind, "a")

    async def deleted(held: Claim) -> None:
        await memory.runtime.graph.execute("MATCH (job:Job {id: $id}) DELETE job", id=held.id)
        if not ends:
            await asyncio.sleep(3600)

    caplog.set_level("INFO", "graphmem.jobs")
    worker = Worker(memory.runtime.graph, {kind: deleted}, lease=timedelta(seconds=0.6))
    assert await worker.step()
    [told] = [one.message for one in caplog.records if kind in one.message]
    assert "was deleted meanwhile" in told
    assert JOBS_ENDED.labels(kind, "deleted")._value.get() == 1
    assert JOBS_ENDED.labels(kind, "lost")._value.get() == 0


async def test_stopping_gives_back_what_does_not_end(memory: Graphmem, kind: str) -> None:
    await queue(memory, kind, "a")
    begun = asyncio.Event()

    async def endless(held: Claim) -> None:
        begun.set()
        await asyncio.sleep(3600)

    worker = Worker(memory.runtime.graph, {kind: endless}, poll_seconds=0.05, stop_seconds=0.1)
    running = asyncio.create_task(worker.run())
    await begun.wait()
    worker.stop()
    await asyncio.wait_for(running, 30)
    [job] = await shown(memory)
    assert (job.state, job.attempts) == ("queued", 0)


async def test_a_reason_to_wait_is_logged_once_until_there_is_another(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker asks each second: its log would take the last room of a full disk."""
    full, away = [DiskFull(100, 256), DiskFull(99, 256)], Unavailable("no answer")
    coming = [*full, away, away, *[None] * outbox.CLAIM_TRIES, away]

    def claims(**_: Any) -> list[Any]:
        problem = coming.pop(0)
        if not coming:
            worker.stop()
        if problem is not None:
            raise problem
        return []

    graph = ScriptedGraph({"jobs/claim": claims, "jobs/sweep": [RowsWritten(0)]})
    worker = Worker(graph, {kind: marking("x")}, poll_seconds=0)
    await asyncio.wait_for(worker.run(), 30)

    told = [one.message for one in caplog.records if one.levelname == "WARNING"]
    wait = "jobs wait for the database: {}"
    assert told == [wait.format(full[0]), wait.format(away), wait.format(away)]


async def test_two_workers_share_the_work_without_doubling_it(memory: Graphmem, kind: str) -> None:
    for number in range(60):
        await queue(memory, kind, str(number))
    handlers = {kind: marking(memory.client_id)}
    workers = [Worker(memory.runtime.graph, handlers, poll_seconds=0.05) for _ in range(2)]
    running = [asyncio.create_task(worker.run()) for worker in workers]
    async with asyncio.timeout(300):
        while len(await shown(memory, state="done", limit=200)) < 60:
            await asyncio.sleep(0.1)
    for worker in workers:
        worker.stop()
    await asyncio.gather(*running)
    assert sorted(await marks(memory.runtime.graph, memory.client_id)) == sorted(
        map(str, range(60))
    )


async def test_the_list_goes_on_with_a_cursor_and_shows_no_other_client(
    memory: Graphmem, rival: Graphmem, kind: str
) -> None:
    for number in range(5):
        await queue(memory, kind, str(number))
    await queue(rival, kind, "foreign")
    graph, client_id = memory.runtime.graph, memory.client_id
    keys: list[str] = []
    cursor = None
    while True:
        page = await show_jobs(JobsAsked(limit=2, cursor=cursor), client_id=client_id, graph=graph)
        keys += [job.key for job in page.jobs]
        cursor = page.cursor
        if cursor is None:
            break
    assert keys == ["4", "3", "2", "1", "0"]
    with pytest.raises(InvalidInput, match="cursor"):
        await show_jobs(JobsAsked(cursor="nonsense"), client_id=client_id, graph=graph)


def test_pauses_double_up_to_ten_minutes() -> None:
    assert [outbox.pause(n).total_seconds() for n in (1, 2, 3, 8, 40)] == [2, 4, 8, 256, 600]


async def test_the_sweep_removes_what_was_done_long_ago(memory: Graphmem, kind: str) -> None:
    await queue(memory, kind, "old")
    await Worker(memory.runtime.graph, {kind: marking(memory.client_id)}).step()
    graph = memory.runtime.graph
    assert isinstance(outbox.SWEEP, Query)
    await outbox.sweep(now=datetime.now(UTC) + timedelta(days=1), graph=graph)
    assert len(await shown(memory)) == 1
    await outbox.sweep(now=datetime.now(UTC) + timedelta(days=8), graph=graph)
    assert await shown(memory) == []


async def test_the_sweep_goes_on_until_nothing_old_is_left(
    memory: Graphmem, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        await queue(memory, kind, str(number))
    doing = Worker(memory.runtime.graph, {kind: marking(memory.client_id)})
    while await doing.step():
        pass
    monkeypatch.setattr(outbox, "SWEPT_AT_ONCE", 2)
    monkeypatch.setattr(outbox, "KEPT", -timedelta(minutes=1))
    sweeping = Worker(memory.runtime.graph, {}, poll_seconds=3600)
    running = asyncio.create_task(sweeping.run())
    async with asyncio.timeout(30):
        while await shown(memory):
            await asyncio.sleep(0.05)
    sweeping.stop()
    await running
