"""Small writes after an answer: no caller waits for them, and no caller sees their failures."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Self

from graphmem.observing.logs import traced
from graphmem.observing.metrics import LEFT_UNDONE

MOST = 1_000
"""The maximum number of writes under way; more are dropped, so as not to overload a slow database."""

END_SECONDS = 5.0
"""The time that the end waits for writes under way."""

log = logging.getLogger(__name__)


class Afterwards:
    """Runs work after an answer, and waits for it at the end."""

    def __init__(self, *, most: int = MOST, end_seconds: float = END_SECONDS) -> None:
        self._most = most
        self._end_seconds = end_seconds
        self._under_way: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    def do(self, what: str, work: Coroutine[Any, Any, None]) -> None:
        """Begin a piece of work; its failure is logged and counted under the name `what`."""
        self._begin(what, work)

    def do_once(self, what: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Begin a piece of work as `do` does, unless one of this name is under way."""
        if all(task.get_name() != what for task in self._under_way):
            self._begin(what, work())

    async def do_soon(
        self, what: str, work: Coroutine[Any, Any, None], *, patience_seconds: float
    ) -> None:
        """Begin a piece of work as `do` does, and wait for its end, but at most `patience_seconds`."""
        task = self._begin(what, work)
        if task is not None:
            await asyncio.wait([task], timeout=patience_seconds)

    def _begin(self, what: str, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None] | None":
        if len(self._under_way) >= self._most:
            work.close()
            _report(what, "too much is under way")
            return None
        task = asyncio.create_task(_run(what, work), name=what)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def settle(self) -> None:
        """Wait until nothing is under way."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def end(self) -> None:
        """Wait for the work under way, but not for long, and cancel the rest."""
        try:
            async with asyncio.timeout(self._end_seconds):
                await self.settle()
        except TimeoutError:
            late = list(self._under_way)
            for task in late:
                _report(task.get_name(), "the end came first")
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


async def _run(what: str, work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception as problem:
        _report(what, traced(problem))


def _report(what: str, why: str) -> None:
    """Log and count a piece of work that was not done."""
    LEFT_UNDONE.labels(what).inc()
    log.warning("not done after an answer: %s: %s", what, why)
