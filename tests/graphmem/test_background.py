"""Background work: begun anew when it falls, ended in time, and never silently."""

import asyncio
import time
import uuid
from datetime import UTC, datetime

import pytest
from prometheus_client import REGISTRY

from graphmem import background
from graphmem.background import Background
from graphmem.jobs.outbox import Claim, Swept, enqueue
from graphmem.jobs.worker import Worker
from graphmem.model.job import Job
from graphmem.runtime import Runtime
from graphmem.service import Graphmem


@pytest.fixture
def kind() -> str:
    """A kind of job that no other test's worker takes."""
    return f"kind-{uuid.uuid4().hex}"


async def queue(memory: Graphmem, kind: str) -> None:
    await memory.runtime.graph.write(
        lambda transaction: enqueue(
            transaction,
            client_id=memory.client_id,
            id=str(uuid.uuid4()),
            kind=kind,
            key="k",
            payload={},
            now=datetime.now(UTC),
        )
    )


async def only(memory: Graphmem, **asked: str) -> Job:
    [job] = (await memory.jobs(**asked)).jobs
    return job


async def test_it_does_what_it_knows(memory: Graphmem, kind: str) -> None:
    done: list[tuple[str, Runtime]] = []

    async def work(held: Claim, runtime: Runtime) -> None:
        done.append((held.key, runtime))

    await queue(memory, kind)
    running = Background(memory.runtime, {kind: work})
    running.start()
    async with asyncio.timeout(30):
        while (await only(memory)).state != "done":
            await asyncio.sleep(0.05)
    await running.ended()
    assert done == [("k", memory.runtime)]


async def test_without_anything_to_do_it_only_sweeps(runtime: Runtime) -> None:
    asked: list[str] = []

    class Watched:
        async def write(self, work):
            asked.append("write")
            return [Swept(0)]

    worker = Worker(Watched(), {}, poll_seconds=0.01)  # type: ignore[arg-type]
    task = asyncio.create_task(worker.run())
    await asyncio.sleep(0.2)
    worker.stop()
    await task
    assert asked == ["write"]


@pytest.mark.parametrize("problem", [RuntimeError("sesame"), asyncio.CancelledError()])
async def test_a_worker_that_falls_is_told_and_started_anew(
    problem: BaseException,
    runtime: Runtime,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs: list[int] = []
    again = asyncio.Event()

    async def run(self: Worker) -> None:
        runs.append(1)
        if len(runs) < 3:
            raise problem
        again.set()
        await self._stopping.wait()

    monkeypatch.setattr(Worker, "run", run)
    before = REGISTRY.get_sample_value("graphmem_worker_crashes_total")
    running = Background(runtime, pause=0.01)
    running.start()
    await asyncio.wait_for(again.wait(), 5)
    await running.ended()
    assert len(runs) == 3
    assert REGISTRY.get_sample_value("graphmem_worker_crashes_total") - before == 2
    told = [one.getMessage() for one in caplog.records if one.name == "graphmem.background"]
    assert [line.split(":")[0] for line in told] == [
        "the worker fell and starts anew in 0.01 s",
        "the worker fell and starts anew in 0.02 s",
    ]
    assert type(problem).__name__ in told[0]
    assert "sesame" not in caplog.text


async def test_a_stop_does_not_wait_for_the_pause_after_a_fall(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(self: Worker) -> None:
        raise RuntimeError

    monkeypatch.setattr(Worker, "run", run)
    running = Background(runtime, pause=50)
    running.start()
    await asyncio.sleep(0.05)
    began = time.monotonic()
    await running.ended()
    assert time.monotonic() - began < 2


async def test_a_job_that_cancels_itself_does_not_end_the_worker(
    memory: Graphmem, kind: str
) -> None:
    async def work(held: Claim, runtime: Runtime) -> None:
        if held.key == "k":
            raise asyncio.CancelledError

    await queue(memory, kind)
    running = Background(memory.runtime, {kind: work}, pause=0.01)
    running.start()
    async with asyncio.timeout(30):
        while (await only(memory)).attempts == 0:
            await asyncio.sleep(0.05)
    await asyncio.sleep(0.3)
    assert running._task is not None
    assert not running._task.done()
    await running.ended()


async def test_a_worker_that_does_not_end_is_cut_off(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def run(self: Worker) -> None:
        await asyncio.sleep(3600)

    monkeypatch.setattr(Worker, "run", run)
    monkeypatch.setattr(background, "END_SECONDS", 0.1)
    running = Background(runtime)
    running.start()
    await asyncio.sleep(0.01)
    began = time.monotonic()
    await running.ended()
    assert time.monotonic() - began < 2
    assert "cut off" in caplog.text


async def test_what_never_started_ends_too(runtime: Runtime) -> None:
    await Background(runtime).ended()


async def test_a_worker_that_is_cancelled_from_outside_ends(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(self: Worker) -> None:
        await asyncio.sleep(3600)

    monkeypatch.setattr(Worker, "run", run)
    running = Background(runtime, pause=0.01)
    running.start()
    await asyncio.sleep(0.01)
    assert running._task is not None
    running._task.cancel()
    await asyncio.wait([running._task], timeout=1)
    assert running._task.cancelled()
