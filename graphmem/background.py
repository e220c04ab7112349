"""Background work of a process: the code of each kind of job, and the worker that runs it."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import get_args

from graphmem.accesses import forget_old_reads
from graphmem.clients import drop_old_counts
from graphmem.context import random_id
from graphmem.contexts.context import SWEEP, sweep_contexts
from graphmem.conversations.remember import IDLE, SEGMENT, SUMMARIZE_SESSIONS
from graphmem.entities.aliases import ALIASES, find_new_aliases, queue_aliases
from graphmem.episodes.consolidate import CONSOLIDATE, consolidate
from graphmem.episodes.segment import segment
from graphmem.errors import ConversationNotFound, LegalHold
from graphmem.forgetting.expiry import EXPIRE, delete_expired, queue_expired
from graphmem.graph.driver import Graph, Transaction
from graphmem.jobs.outbox import Claim, Due, Effect, queue_alone
from graphmem.jobs.worker import STOP_SECONDS, Handler, Outcome, Worker
from graphmem.memories.passages import PASSAGES_JOB, cut_memories, queue_passages
from graphmem.memories.write import NAMES_JOB, find_due_names, queue_names
from graphmem.model.times import present
from graphmem.observing.logs import Failing, traced
from graphmem.observing.metrics import FORGOTTEN, JOBS_ENDED, WORKER_CRASHES, begin_at_zero
from graphmem.reembedding import INSTALLATION, REEMBED, Reembedding, advance, queue
from graphmem.reviews.review import REVIEW_JOB, review_conversation
from graphmem.runs.starting import SWEEP_RUNS
from graphmem.runs.sweep import forget_runs, sweep as sweep_runs
from graphmem.runtime import Runtime
from graphmem.sessions.summarize import summarize_grown

RETAIN = "retain"
"""The kind of the job that deletes expired records."""

RETAIN_FIRST = timedelta(minutes=10)
RETAIN_EVERY = timedelta(days=1)
"""The delay of that job after a start, and its interval."""

RECORDS = ("reads", "runs", "operations")

Work = Callable[[Claim, Runtime], Awaitable[Effect | None]]
"""Does one kind of job; the effect that it returns is committed together with the job's completion."""


async def _sweep_contexts(held: Claim, runtime: Runtime) -> None:
    await sweep_contexts(runtime.context(held.client_id, in_background=True))


async def _sweep_runs(_held: Claim, runtime: Runtime) -> None:
    await sweep_runs(now=present(), graph=runtime.graph)


async def _delete_old_records(_held: Claim, runtime: Runtime) -> None:
    """Delete records of all clients that are older than the settings allow; memories written by runs stay."""
    now, settings, counted = present(), runtime.settings, dict.fromkeys(RECORDS, 0)
    await drop_old_counts(now=now, graph=runtime.graph)
    if settings.keep_accesses_days:
        before = now - timedelta(days=settings.keep_accesses_days)
        counted["reads"] = await forget_old_reads(before=before, graph=runtime.graph)
    if settings.keep_runs_days:
        before = now - timedelta(days=settings.keep_runs_days)
        forgotten = await forget_runs(before=before, graph=runtime.graph)
        counted |= {"runs": forgotten.runs, "operations": forgotten.operations}
    for what, records in counted.items():
        FORGOTTEN.labels(what).inc(records)
    if any(counted.values()):
        log.info(
            "old records are deleted: %(reads)d reads, %(runs)d runs, %(operations)d operations",
            counted,
        )


async def _review(held: Claim, runtime: Runtime) -> Effect:
    shares = await runtime.vocabulary.shares(held.client_id)

    async def effect(transaction: Transaction) -> None:
        await review_conversation(
            transaction,
            held.decoded()["conversation_id"],
            client_id=held.client_id,
            now=present(),
            shares=shares,
        )

    return effect


async def _segment(held: Claim, runtime: Runtime) -> None:
    """Segment an idle conversation; runs of messages that may still grow wait for the next time."""
    now = present()
    made = await segment(
        held.key, runtime.context(held.client_id, in_background=True), leave_growing=True
    )
    if made.left:
        await _queue_again(held, runtime, now + IDLE, conversation_id=held.key)


async def _summarize(held: Claim, runtime: Runtime) -> None:
    """Summarize the due sessions of a conversation; the others once they are idle."""
    next_at = await summarize_grown(held.key, runtime.context(held.client_id, in_background=True))
    if next_at is not None:
        await _queue_again(held, runtime, next_at, conversation_id=held.key, earliest=True)


async def _consolidate(held: Claim, runtime: Runtime) -> None:
    """Consolidate all open episodes of a conversation, one batch at a time."""
    done = None
    while done is None or done.consolidated:
        done = await consolidate(held.key, runtime.context(held.client_id, in_background=True))


async def _find_aliases(held: Claim, runtime: Runtime) -> None:
    """Find the aliases of a client's new names."""
    await find_new_aliases(runtime.context(held.client_id, in_background=True))


async def _cut_memories(held: Claim, runtime: Runtime) -> None:
    """Cut some of a client's long memories; the job comes due again while some are left."""
    if not await cut_memories(runtime.context(held.client_id, in_background=True)):
        await _queue_again(held, runtime, present(), earliest=True)


async def _find_names(held: Claim, runtime: Runtime) -> None:
    """Find the names in some of a client's old memories; the job comes due again while some are left."""
    if not await find_due_names(runtime.context(held.client_id, in_background=True)):
        await _queue_again(held, runtime, present(), earliest=True)


async def _queue_again(
    held: Claim,
    runtime: Runtime,
    run_at: datetime,
    *,
    conversation_id: str | None = None,
    earliest: bool = False,
) -> None:
    """Have a job come due again, also at once: others run in between."""
    again = Due(
        id=held.id,
        kind=held.kind,
        key=held.key,
        payload=held.decoded(),
        run_at=run_at,
        conversation_id=conversation_id,
        earliest=earliest,
    )
    await queue_alone(again, client_id=held.client_id, now=present(), graph=runtime.graph)


async def _reembed(held: Claim, runtime: Runtime) -> None:
    """Embed some memories with another model; the job comes due again while memories are left."""
    work = Reembedding(now=present, graph=runtime.graph, embedder=runtime.embedder)
    later = await advance(work)
    if later is not None:
        now = work.now()
        await runtime.graph.write(
            lambda transaction: queue(transaction, id=held.id, now=now, run_at=now + later)
        )


async def _delete_expired(held: Claim, runtime: Runtime) -> None:
    """Delete a client's expired memories, also if nobody reads anything of it."""
    with contextlib.suppress(LegalHold):
        await delete_expired(held.client_id, now=present(), graph=runtime.graph)


WORK: Mapping[str, Work] = {
    EXPIRE: _delete_expired,
    SWEEP: _sweep_contexts,
    REVIEW_JOB: _review,
    SEGMENT: _segment,
    SUMMARIZE_SESSIONS: _summarize,
    CONSOLIDATE: _consolidate,
    SWEEP_RUNS: _sweep_runs,
    RETAIN: _delete_old_records,
    ALIASES: _find_aliases,
    PASSAGES_JOB: _cut_memories,
    NAMES_JOB: _find_names,
    REEMBED: _reembed,
}
"""The code for each kind of job. A job of another kind waits for a process that has code for it."""

begin_at_zero(JOBS_ENDED, WORK, get_args(Outcome))

END_SECONDS = STOP_SECONDS + 3.0
"""The time that the worker has to end; then it is cancelled, and its job comes due again."""

NOTICE_EVERY = timedelta(seconds=5)
"""The interval at which new names and long memories are looked for: the writes of these queue nothing."""

NAMES_EVERY = timedelta(minutes=1)
"""The interval at which memories without names are looked for: only an upgrade or an import brings some."""


async def _queue_retention(*, now: datetime, new_id: Callable[[], str], graph: Graph) -> None:
    """Queue the deletion of expired records, soon after the start."""
    due = Due(id=new_id(), kind=RETAIN, key=RETAIN, run_at=now + RETAIN_FIRST, earliest=True)
    await queue_alone(due, client_id=INSTALLATION, now=now, graph=graph)


REGULAR: Mapping[str, tuple[Callable[..., Awaitable[None]], timedelta]] = {
    ALIASES: (queue_aliases, NOTICE_EVERY),
    PASSAGES_JOB: (queue_passages, NOTICE_EVERY),
    NAMES_JOB: (queue_names, NAMES_EVERY),
    EXPIRE: (queue_expired, NOTICE_EVERY),
    RETAIN: (_queue_retention, RETAIN_EVERY),
}
"""The functions that queue regular jobs, and their intervals."""

MOVING = timedelta(seconds=30)
"""The pause before a job of a client that is being moved is tried again."""

REST_SECONDS = 5.0
"""The time after readiness without jobs: the database plans their queries, and first questions would wait."""

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0

PREPARE_SECONDS = 20.0
"""The longest time that the preparation of background work delays the start."""

log = logging.getLogger(__name__)


class Background:
    """A worker beside the API: started once the API answers, restarted after a crash, and ended with it."""

    def __init__(
        self,
        runtime: Runtime,
        work: Mapping[str, Work] = WORK,
        *,
        pause: float = FIRST_PAUSE,
        rest: float = 0.0,
    ) -> None:
        handlers = {kind: _handler(one, runtime) for kind, one in work.items()}
        self._worker = Worker(runtime.graph, handlers)
        self._graph = runtime.graph
        self._regular = [kind for kind in REGULAR if kind in work]
        self._first_pause = pause
        self._rest = rest
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._beside: list[asyncio.Task[None]] = []
        self._queued: set[str] = set()

    async def prepare(self) -> None:
        """Queue the regular work for the first time, before readiness. Never raises.

        A database that has just started plans all these queries, and the first questions would wait for it.
        """
        try:
            async with asyncio.timeout(PREPARE_SECONDS):
                for kind in self._regular:
                    await self._queue(kind)
                    self._queued.add(kind)
                await self._worker.prepare()
        except Exception as problem:
            log.info("work in the background begins later: %s", traced(problem))

    def start(self) -> None:
        """Begin to work."""
        self._task = asyncio.create_task(self._kept(), name="worker")
        self._beside = [
            asyncio.create_task(self._repeat(kind), name=kind) for kind in self._regular
        ]

    def stop(self) -> None:
        """Take no more jobs; the one in progress may end."""
        self._stopping.set()
        self._worker.stop()

    async def end(self) -> None:
        """Stop, and wait at most `END_SECONDS` until the worker has ended."""
        self.stop()
        if self._task is None:
            return
        try:
            for beside in self._beside:
                beside.cancel()
                await asyncio.wait([beside])
            _, late = await asyncio.wait([self._task], timeout=END_SECONDS)
            if late:
                log.error("the worker does not end and is cut off; its job comes due again")
        finally:
            # Also where a second signal cuts this off: no job goes on in a database that is being closed.
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _repeat(self, kind: str) -> None:
        """Queue regular work at its interval; after a failure, retry soon.

        Why it is late is logged once, until the next success or another reason.
        """
        failing = Failing()
        while not self._stopping.is_set():
            pause = REGULAR[kind][1].total_seconds()
            try:
                if kind in self._queued:
                    self._queued.remove(kind)
                else:
                    await self._queue(kind)
                failing.works()
            except Exception as problem:
                reason = traced(problem)
                log.log(
                    failing.level(reason), "work of the kind %s is queued later: %s", kind, reason
                )
                pause = min(pause, LONGEST_PAUSE)
            await self._stops_within(pause)

    async def _queue(self, kind: str) -> None:
        queue_work, _ = REGULAR[kind]
        await queue_work(now=present(), new_id=random_id, graph=self._graph)

    async def _kept(self) -> None:
        """Run the worker, and restart it after a crash: at once at first, then after growing pauses."""
        pause = self._first_pause
        if self._rest:
            await self._stops_within(self._rest)
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                await self._worker.run()
            except (Exception, asyncio.CancelledError) as problem:
                # A job that cancels itself looks like a cancellation, but nobody requested one.
                if _is_cut_off():
                    raise
                WORKER_CRASHES.inc()
                if time.monotonic() - began > LONGEST_PAUSE:
                    pause = self._first_pause
                log.error(
                    "the worker crashed and is started again in %g s: %s", pause, traced(problem)
                )
                await self._stops_within(pause)
                pause = min(pause * 2, LONGEST_PAUSE)

    async def _stops_within(self, seconds: float) -> None:
        """Wait for so long, or until this stops."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


class Backgrounds:
    """A worker for each place of clients, beside the API."""

    def __init__(self, runtime: Runtime) -> None:
        self._places = runtime.places
        self._workers = [Background(runtime, rest=REST_SECONDS)]
        self._stopping = False

    async def prepare(self) -> None:
        """Do what the first questions would else wait for. Never raises."""
        await self._workers[0].prepare()

    async def start(self) -> None:
        """Begin to work, also at places that are opened later."""
        self._workers[0].start()
        if self._places is not None:
            await self._places.at_each(self._begin)

    async def _begin(self, runtime: Runtime) -> None:
        """Work at a place that was opened."""
        if not self._stopping:
            worker = Background(runtime)
            self._workers.append(worker)
            worker.start()

    def stop(self) -> None:
        """Take no more jobs; those in progress may end."""
        self._stopping = True
        for worker in self._workers:
            worker.stop()

    async def end(self) -> None:
        """Stop, and wait for all workers at the same time."""
        self.stop()
        await asyncio.gather(*(worker.end() for worker in self._workers))


@contextlib.asynccontextmanager
async def working(runtime: Runtime) -> AsyncIterator[None]:
    """Do background work for the length of a block, if the setting `jobs` leaves it to this process."""
    background = Backgrounds(runtime) if runtime.settings.jobs == "on" else None
    if background is not None:
        await background.start()
    try:
        yield
    finally:
        if background is not None:
            await background.end()


def _handler(work: Work, runtime: Runtime) -> Handler:
    async def handled(held: Claim) -> Effect | None:
        if held.client_id != INSTALLATION and not runtime.works_for(held.client_id):
            # The client is being moved, or has moved and left this job behind.
            await _queue_again(held, runtime, present() + MOVING)
            return None
        try:
            return await work(held, runtime)
        except ConversationNotFound:
            # It was deleted after the job was claimed: nothing is left to do.
            log.info("the conversation of job %s (%s) is gone", held.id, held.kind)
            return None

    return handled


def _is_cut_off() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
