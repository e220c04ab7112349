"""Background work in a process that serves: which code does which job, and the worker that runs it."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping

from graphmem.jobs.outbox import Claim, Effect
from graphmem.jobs.worker import STOP_SECONDS, Handler, Worker
from graphmem.observing.logs import traced
from graphmem.observing.metrics import WORKER_CRASHES
from graphmem.runtime import Runtime

Work = Callable[[Claim, Runtime], Awaitable[Effect | None]]
"""Does one kind of job; what it returns is committed together with the job's being done."""

WORK: Mapping[str, Work] = {}
"""Which code does which kind of job. A kind that is not here waits for a process that knows it."""

END_SECONDS = STOP_SECONDS + 3.0
"""How long the worker may take to end; then it is cut off, and its job comes due again."""

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0

log = logging.getLogger(__name__)


class Background:
    """A worker beside the API: started when that answers, started anew when it falls, and ended."""

    def __init__(
        self, runtime: Runtime, work: Mapping[str, Work] = WORK, *, pause: float = FIRST_PAUSE
    ) -> None:
        handlers = {kind: _handler(one, runtime) for kind, one in work.items()}
        self._worker = Worker(runtime.graph, handlers)
        self._first_pause = pause
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to work."""
        self._task = asyncio.create_task(self._kept(), name="worker")

    def stop(self) -> None:
        """Take no more jobs; what is in progress may end."""
        self._stopping.set()
        self._worker.stop()

    async def ended(self) -> None:
        """Stop, and wait until the worker has ended: for `END_SECONDS` at most."""
        self.stop()
        if self._task is None:
            return
        _, late = await asyncio.wait([self._task], timeout=END_SECONDS)
        if late:
            log.error("the worker does not end and is cut off; its job comes due again")
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _kept(self) -> None:
        """Run the worker, and run it again when it falls: at once at first, then more patiently."""
        pause = self._first_pause
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                await self._worker.run()
            except (Exception, asyncio.CancelledError) as problem:
                # A job that cancels itself looks like being cut off, but nobody asked for that.
                if _is_cut_off():
                    raise
                WORKER_CRASHES.inc()
                if time.monotonic() - began > LONGEST_PAUSE:
                    pause = self._first_pause
                log.error("the worker fell and starts anew in %g s: %s", pause, traced(problem))
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), pause)
                pause = min(pause * 2, LONGEST_PAUSE)


def _handler(work: Work, runtime: Runtime) -> Handler:
    return lambda held: work(held, runtime)


def _is_cut_off() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
