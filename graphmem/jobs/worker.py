"""The worker: claims jobs, runs them, extends its claims, and stops cleanly."""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Literal

from opentelemetry.trace import SpanKind

from graphmem.errors import Unavailable
from graphmem.graph.driver import Graph
from graphmem.jobs.outbox import (
    MOST_ATTEMPTS,
    Claim,
    ClaimLost,
    Effect,
    claim,
    complete,
    fail,
    give_back,
    is_deleted,
    renew,
    sweep,
)
from graphmem.model.times import present
from graphmem.observing.logs import Failing, about, traced
from graphmem.observing.metrics import JOB_SECONDS, JOBS_ENDED
from graphmem.observing.spans import Attributes, begun, span

LEASE = timedelta(seconds=30)
POLL_SECONDS = 1.0
SWEEP_SECONDS = 3_600.0
STOP_SECONDS = 5.0
"""The time that a running job has to end when the worker stops; then it is given back."""

Handler = Callable[[Claim], Awaitable[Effect | None]]
"""Does the work of a job; the effect that it returns is committed together with the job's completion."""

Outcome = Literal["done", "failed", "dead", "lost", "deleted", "given_back", "cut"]
"""The outcome of an attempt; `lost` is one whose job another worker has, `deleted` one whose job was deleted
meanwhile, `cut` one that ended without an answer of the database, or whose lease could not be renewed."""

log = logging.getLogger(__name__)


class Worker:
    """Runs one job after the other, for all clients; several workers share the jobs."""

    def __init__(
        self,
        graph: Graph,
        handlers: Mapping[str, Handler],
        *,
        lease: timedelta = LEASE,
        poll_seconds: float = POLL_SECONDS,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        self._graph = graph
        self._handlers = handlers
        self._lease = lease
        self._poll_seconds = poll_seconds
        self._stop_seconds = stop_seconds
        self._stopping = asyncio.Event()
        self._swept = float("-inf")

    async def prepare(self) -> None:
        """Sweep, and have the database plan the search for due jobs; none is begun. Raises `Unavailable`."""
        await self._sweep_now_and_then()
        # Of no kind, and as many: plans are kept by the types and sizes of parameters.
        await self._claim([""] * len(self._handlers))

    async def run(self) -> None:
        """Run due jobs until `stop`, and wait while the database is away.

        Why they wait is logged once, until the next success or another reason.
        """
        failing = Failing()
        while not self._stopping.is_set():
            try:
                # Batch by batch: neither jobs nor a stop wait for the end of a long sweep.
                sweeps = await self._sweep_now_and_then()
                idle = not await self.step() and not sweeps
                failing.works()
            except Unavailable as problem:
                # By its class: the sentence of a full disk has the free space, which changes.
                level = failing.level(type(problem))
                log.log(level, "jobs wait for the database: %s", problem)
                idle = True
            if idle:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), self._poll_seconds)

    def stop(self) -> None:
        """Take no more jobs; a running one may end, or is given back after a while."""
        self._stopping.set()

    async def step(self) -> bool:
        """Run one due job; return whether there was one."""
        if not self._handlers:
            return False
        held = await self._claim(list(self._handlers))
        if held is None:
            return False
        if held.state == "dead":
            log.error("job %s (%s) is given up: its lease ended too often", held.id, held.kind)
            JOBS_ENDED.labels(held.kind, "dead").inc()
            return True
        with about(client_id=held.client_id):
            await self._run_observed(held)
        return True

    async def _sweep_now_and_then(self) -> bool:
        """Sweep a batch if it is time; return whether the next one follows at once."""
        now = asyncio.get_running_loop().time()
        if now - self._swept <= SWEEP_SECONDS:
            return False
        if await sweep(now=present(), graph=self._graph):
            return True
        self._swept = now
        return False

    async def _claim(self, kinds: list[str]) -> Claim | None:
        return await claim(
            kinds,
            lease=uuid.uuid4().hex,
            now=present(),
            lasting=self._lease,
            graph=self._graph,
        )

    async def _run_observed(self, held: Claim) -> None:
        """Run a job in a trace of its own; count and time it."""
        outcome: Outcome = "cut"
        started = time.perf_counter()
        about_it: Attributes = {"graphmem.job": held.id, "graphmem.attempt": held.attempts}
        try:
            with span(
                f"job {held.kind}", about_it, kind=SpanKind.CONSUMER, parent=begun()
            ) as shown:
                try:
                    outcome = await self._run(held)
                except ClaimLost:
                    outcome = await self._lose(held)
                shown.set_attribute("graphmem.outcome", outcome)
        finally:
            JOBS_ENDED.labels(held.kind, outcome).inc()
            JOB_SECONDS.labels(held.kind).observe(time.perf_counter() - started)

    async def _run(self, held: Claim) -> Outcome:
        work = asyncio.ensure_future(self._handlers[held.kind](held))
        keeper = asyncio.create_task(self._keep(held))
        stopping = asyncio.create_task(self._wait_for_stop())
        try:
            await asyncio.wait({work, keeper, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return await self._settle(held, work)
            if keeper.done():
                problem = keeper.exception()
                if problem is None:
                    raise ClaimLost(held.id)
                log.error(
                    "the lease of job %s (%s) could not be renewed and ends: %s",
                    held.id,
                    held.kind,
                    traced(problem),
                )
                return "cut"
            await give_back(held, now=present(), graph=self._graph)
            return "given_back"
        finally:
            for task in (work, keeper, stopping):
                task.cancel()
            await asyncio.gather(work, keeper, stopping, return_exceptions=True)

    async def _lose(self, held: Claim) -> Outcome:
        """Log why a claim is held no longer."""
        if await is_deleted(held, self._graph):
            log.info("job %s (%s) was deleted meanwhile", held.id, held.kind)
            return "deleted"
        log.warning("job %s (%s) was lost to another worker", held.id, held.kind)
        return "lost"

    async def _settle(self, held: Claim, work: "asyncio.Future[Effect | None]") -> Outcome:
        problem = work.exception()
        if problem is None:
            try:
                await complete(held, work.result(), now=present(), graph=self._graph)
                return "done"
            except (ClaimLost, Unavailable):
                raise
            except Exception as failed:
                problem = failed
        name = type(problem).__name__
        log.warning("job %s (%s) failed: %s", held.id, held.kind, name)
        await fail(held, name, now=present(), graph=self._graph)
        return "dead" if held.attempts >= MOST_ATTEMPTS else "failed"

    async def _keep(self, held: Claim) -> None:
        """Renew the lease until it is lost; errors but `Unavailable` are raised."""
        while True:
            await asyncio.sleep(self._lease.total_seconds() / 3)
            try:
                await renew(held, until=present() + self._lease, graph=self._graph)
            except ClaimLost:
                return
            except Unavailable:
                continue

    async def _wait_for_stop(self) -> None:
        await self._stopping.wait()
        await asyncio.sleep(self._stop_seconds)
