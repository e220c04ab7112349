"""Background work: begun anew when it falls, ended in time, and never silently."""

import asyncio
import re
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import REGISTRY

import graphmem
from graphmem import background
from graphmem.background import RETAIN, WORK, Background
from graphmem.client import Graphmem
from graphmem.config import Settings
from graphmem.entities.aliases import ALIASES
from graphmem.errors import ConversationNotFound, Unavailable
from graphmem.graph.driver import Graph
from graphmem.graph.query import RowsWritten
from graphmem.jobs.outbox import Claim, Due, Job, enqueue, postpone_all
from graphmem.jobs.worker import Worker
from graphmem.runtime import Runtime
from tests.planted import plant

NAMING = ("We asked Anna.", "Yes, Anna Schmidt did.")


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


async def only(memory: Graphmem, **asked: Any) -> Job:
    [job] = (await memory.jobs(**asked)).jobs
    return job


async def test_it_does_what_it_knows(memory: Graphmem, kind: str) -> None:
    done: list[tuple[str, Runtime]] = []

    async def work(held: Claim, runtime: Runtime) -> None:
        done.append((held.key, runtime))

    await queue(memory, kind)
    running = Background(memory.runtime, {kind: work})
    running.start()
    async with asyncio.timeout(300):
        while (await only(memory)).state != "done":
            await asyncio.sleep(0.05)
    await running.end()
    assert done == [("k", memory.runtime)]


async def test_a_job_whose_conversation_is_gone_meanwhile_is_done(
    memory: Graphmem, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(held: Claim, runtime: Runtime) -> None:
        raise ConversationNotFound(held.key)

    await queue(memory, kind)
    running = Background(memory.runtime, {kind: work})
    running.start()
    async with asyncio.timeout(300):
        while (await only(memory)).state != "done":
            await asyncio.sleep(0.05)
    await running.end()
    assert "failed" not in caplog.text


@pytest.mark.parametrize("fails", [False, True])
async def test_preparing_begins_no_job_and_does_the_first_round_of_regular_work(
    memory: Graphmem, kind: str, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    rounds: list[Graph] = []

    async def queue_work(*, graph: Graph, **_: object) -> None:
        rounds.append(graph)
        if fails and len(rounds) == 1:
            raise RuntimeError

    async def work(held: Claim, runtime: Runtime) -> None:
        pass

    monkeypatch.setattr(background, "REGULAR", {kind: (queue_work, timedelta(hours=1))})
    await queue(memory, kind)
    running = Background(memory.runtime, {kind: work})
    await running.prepare()
    assert (await only(memory)).state == "queued"
    assert len(rounds) == 1

    running.start()
    async with asyncio.timeout(300):
        while (await only(memory)).state != "done":
            await asyncio.sleep(0.05)
    await running.end()
    assert len(rounds) == (2 if fails else 1)


async def test_why_regular_work_is_late_is_logged_once_until_it_is_queued(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rounds = [RuntimeError, None, RuntimeError, Unavailable, Unavailable]
    over = asyncio.Event()

    async def queue_work(**_: object) -> None:
        if reason := rounds.pop():
            raise reason("sesame")

    async def pause(self: Background, seconds: float) -> None:
        if not rounds:
            over.set()
            await self._stopping.wait()

    async def work(held: Claim, runtime: Runtime) -> None:
        pass

    monkeypatch.setattr(background, "REGULAR", {"tidy": (queue_work, timedelta(hours=1))})
    monkeypatch.setattr(Background, "_stops_within", pause)
    running = Background(runtime, {"tidy": work})
    running.start()
    await asyncio.wait_for(over.wait(), 30)
    await running.end()

    told = [one.getMessage() for one in caplog.records if one.name == "graphmem.background"]
    assert [re.findall(r"later: (\w+)", line) for line in told] == [
        ["Unavailable"],
        ["RuntimeError"],
        ["RuntimeError"],
    ]


async def test_a_rest_comes_before_the_first_job(
    memory: Graphmem, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    over = asyncio.Event()

    async def rest(self: Background, seconds: float) -> None:
        rests.append(seconds)
        await over.wait()

    async def work(held: Claim, runtime: Runtime) -> None:
        assert over.is_set()

    monkeypatch.setattr(Background, "_stops_within", rest)
    await queue(memory, kind)
    running = Background(memory.runtime, {kind: work}, rest=7.0)
    running.start()
    async with asyncio.timeout(300):
        while not rests:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.3)
        assert (await only(memory)).state == "queued"
        over.set()
        while (await only(memory)).state != "done":
            await asyncio.sleep(0.05)
    await running.end()
    assert rests == [7.0]


async def test_a_rest_ends_with_the_worker(memory: Graphmem, kind: str) -> None:
    async def work(held: Claim, runtime: Runtime) -> None:
        pytest.fail("the worker has stopped")

    await queue(memory, kind)
    running = Background(memory.runtime, {kind: work}, rest=3_600.0)
    running.start()
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await running.end()
    assert (await only(memory)).state == "queued"


async def test_without_anything_to_do_it_only_sweeps(runtime: Runtime) -> None:
    asked: list[str] = []

    class Watched:
        async def write(self, work):
            asked.append("write")
            return [RowsWritten(0)]

    worker = Worker(Watched(), {}, poll_seconds=0.01)  # type: ignore[arg-type]
    task = asyncio.create_task(worker.run())
    await asyncio.sleep(0.2)
    worker.stop()
    await task
    assert asked == ["write"]


def crashes() -> float:
    told = REGISTRY.get_sample_value("graphmem_worker_crashes_total")
    assert told is not None
    return told


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
    before = crashes()
    running = Background(runtime, pause=0.01)
    running.start()
    await asyncio.wait_for(again.wait(), 30)
    await running.end()
    assert len(runs) == 3
    assert crashes() - before == 2
    told = [one.getMessage() for one in caplog.records if one.name == "graphmem.background"]
    assert [line.split(":")[0] for line in told] == [
        "the worker crashed and is started again in 0.01 s",
        "the worker crashed and is started again in 0.02 s",
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
    await running.end()
    assert time.monotonic() - began < 30


async def test_a_job_that_cancels_itself_does_not_end_the_worker(
    memory: Graphmem, kind: str
) -> None:
    async def work(held: Claim, runtime: Runtime) -> None:
        if held.key == "k":
            raise asyncio.CancelledError

    await queue(memory, kind)
    running = Background(memory.runtime, {kind: work}, pause=0.01)
    running.start()
    async with asyncio.timeout(300):
        while (await only(memory)).attempts == 0:
            await asyncio.sleep(0.05)
    await asyncio.sleep(0.3)
    assert running._task is not None
    assert not running._task.done()
    await running.end()


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
    await running.end()
    assert time.monotonic() - began < 30
    assert "cut off" in caplog.text


async def test_a_worker_whose_end_is_cut_off_does_not_go_on(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = asyncio.Event()

    async def run(self: Worker) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    monkeypatch.setattr(Worker, "run", run)
    running = Background(runtime)
    running.start()
    await asyncio.sleep(0.01)
    ending = asyncio.create_task(running.end())
    await asyncio.sleep(0.01)
    assert not ended.is_set()
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert ended.is_set()


async def test_what_never_started_ends_too(runtime: Runtime) -> None:
    await Background(runtime).end()


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
    await running.end()


DECADES = 36_500
OLD = "1900-01-01T00:00:00Z"


async def aged(memory: Graphmem) -> None:
    """Leave a run and a read of a time that no other test knows."""
    run = await memory.run(agent_type="lead", episode_id="ep")
    await run.end("success")
    await memory.runtime.graph.execute(
        "CYPHER 25 MATCH (run:Run {client_id: $client}) SET run.ended_at = datetime($old)",
        client=memory.client_id,
        old=OLD,
    )
    await memory.runtime.graph.execute(
        "CYPHER 25 CREATE (:Access {client_id: $client, id: 'old', run_id: '', operation: 'recall', "
        "at: datetime($old), tokens: 0, duration_ms: 1.0, params: '{}', found: 0, shown: 0})",
        client=memory.client_id,
        old=OLD,
    )


async def kept(memory: Graphmem) -> tuple[int, int]:
    """Return how many runs and how many recorded reads a client has."""
    [row] = await memory.runtime.graph.execute(
        "CYPHER 25 RETURN COUNT { (:Run {client_id: $client}) } AS runs, "
        "COUNT { (:Access {client_id: $client, run_id: ''}) } AS reads",
        client=memory.client_id,
    )
    return row["runs"], row["reads"]


@pytest.mark.parametrize(
    ("days", "left"), [((0, 0), (1, 1)), ((DECADES, 0), (1, 0)), ((0, DECADES), (0, 1))]
)
async def test_what_is_old_goes_as_far_as_the_settings_say(
    memory: Graphmem,
    days: tuple[int, int],
    left: tuple[int, int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    await aged(memory)
    caplog.set_level("INFO", logger="graphmem.background")
    before = {what: forgotten(what) for what in background.RECORDS}
    settings = replace(memory.runtime.settings, keep_accesses_days=days[0], keep_runs_days=days[1])

    await WORK[RETAIN](held(), replace(memory.runtime, settings=settings))

    assert await kept(memory) == left
    assert forgotten("reads") - before["reads"] >= 1 - left[1]
    assert forgotten("runs") - before["runs"] >= 1 - left[0]
    told = [line for line in caplog.messages if line.startswith("old records are deleted")]
    assert len(told) == (1 if any(days) else 0)
    assert memory.client_id not in caplog.text
    await WORK[RETAIN](
        held(),
        replace(
            memory.runtime,
            settings=replace(settings, keep_accesses_days=DECADES, keep_runs_days=DECADES),
        ),
    )
    assert await kept(memory) == (0, 0)


async def test_the_deletion_of_what_is_old_is_queued_at_the_start_once_however_many_start(
    runtime: Runtime,
) -> None:
    # What a process of an earlier test has queued may have come due by now, and would be done at once.
    await runtime.graph.execute("MATCH (job:Job {client_id: '*', kind: 'retain'}) DELETE job")
    for _ in range(2):
        running = Background(runtime, {RETAIN: WORK[RETAIN]})
        running.start()
        async with asyncio.timeout(300):
            while not (queued := await retained(runtime)):
                await asyncio.sleep(0.05)
        await running.end()
        [run_at] = queued
        assert run_at.to_native() <= datetime.now(UTC) + background.RETAIN_FIRST
    assert await retained(runtime) == queued, "a start does not put it off"


async def retained(runtime: Runtime) -> list[Any]:
    rows = await runtime.graph.execute(
        "MATCH (job:Job {client_id: '*', kind: 'retain', state: 'queued'}) RETURN job.run_at AS at"
    )
    return [row["at"] for row in rows]


def forgotten(what: str) -> float:
    return REGISTRY.get_sample_value("graphmem_forgotten_total", {"what": what}) or 0.0


def held() -> Claim:
    return Claim(
        client_id="*", id="retain", kind=RETAIN, key=RETAIN, payload="{}",
        state="running", attempts=1, lease="l",
    )  # fmt: skip


async def test_new_names_are_noticed_and_their_aliases_found(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"kind": "fact", "text": text, "version": 1, "keywords": []} for text in NAMING]
    asked: list[int] = []

    async def queued(*, now: datetime, graph: Graph, **_: object) -> None:
        """Fail once; then queue this client's job only: others use the same database."""
        asked.append(1)
        if len(asked) == 1:
            raise RuntimeError("sesame")
        job = Due(id=str(uuid.uuid4()), kind=ALIASES, key=ALIASES, run_at=now, earliest=True)
        await graph.write(lambda tx: postpone_all(tx, [job], client_id=memory.client_id, now=now))

    often = {ALIASES: (queued, timedelta(seconds=0.05))}
    monkeypatch.setattr(background, "REGULAR", often)
    running = Background(memory.runtime, {ALIASES: background.WORK[ALIASES]})
    running.start()
    await plant(memory, *rows)
    async with asyncio.timeout(300):
        while (await memory.entities(name="anna")).entities[0].alias_of is None:
            await asyncio.sleep(0.05)
    await running.end()
    assert (await memory.jobs(kind=ALIASES)).jobs
    ended = len(asked)
    await asyncio.sleep(0.2)
    assert len(asked) == ended > 1, "it stops with the worker, and not when something fails"


async def test_who_does_not_know_aliases_does_not_notice_names(
    runtime: Runtime, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    async def queued(**_: object) -> None:
        asked.append(1)

    monkeypatch.setattr(background, "REGULAR", {ALIASES: (queued, background.NOTICE_EVERY)})
    running = Background(runtime, {kind: background.WORK[ALIASES]})
    running.start()
    await asyncio.sleep(0.1)
    await running.end()
    assert not asked, "nobody would do it"


@pytest.mark.parametrize("jobs", ["on", "off"])
async def test_an_open_graphmem_works_on_what_is_left_unless_others_do(
    memory: Graphmem, neo4j_settings: Settings, monkeypatch: pytest.MonkeyPatch, jobs: Any
) -> None:
    monkeypatch.setattr(background, "REST_SECONDS", 0.0)
    long = " ".join(f"Crate {n} holds bolts of the third size, and washers." for n in range(600))
    await memory.remember("c", [{"role": "user", "content": long}], create=True)
    assert await is_due(memory)

    async with graphmem.open(
        neo4j_uri=neo4j_settings.neo4j_uri, neo4j_password=neo4j_settings.neo4j_password, jobs=jobs
    ):
        if jobs == "on":
            async with asyncio.timeout(300):
                while await is_due(memory):
                    await asyncio.sleep(0.1)
        else:
            await asyncio.sleep(1.0)

    assert await is_due(memory) == (jobs == "off")


async def is_due(memory: Graphmem) -> bool:
    """Tell whether a memory lacks passages."""
    rows = await memory.runtime.graph.execute(
        "MATCH (one:Memory {client_id: $client_id, passages_due: true}) RETURN count(*) > 0 AS due",
        client_id=memory.client_id,
    )
    return bool(rows[0]["due"])
