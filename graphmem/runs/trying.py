"""Trying again what fails in passing, each time charged to the run that wanted it."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from graphmem.errors import Unavailable

Result = TypeVar("Result")

FIRST_RETRIES = 3
"""How often the first step of an operation may be tried again, before it is known how many the run has."""

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 1.0

log = logging.getLogger(__name__)


class Exhausted(Unavailable):
    """The same operation may go through later, but trying it again now is of no use."""

    code = Unavailable.code


class Tries:
    """How often an operation was tried again, and how often it may be."""

    def __init__(self, allowed: int = FIRST_RETRIES) -> None:
        self.allowed = allowed
        self.used = 0
        self._pause = FIRST_PAUSE

    async def of(self, step: Callable[[], Awaitable[Result]]) -> Result:
        """Return what a step comes to, trying again while there are retries. Raises `Unavailable`."""
        while True:
            try:
                return await step()
            except Exhausted:
                raise
            except Unavailable as problem:
                if self.used >= self.allowed:
                    raise Unavailable(f"{problem}; no retry is left to this operation") from problem
                self.used += 1
                log.info("a run's operation is tried again (%d of %d)", self.used, self.allowed)
            # Not all callers come back at the same moment.
            await asyncio.sleep(self._pause * random.uniform(0.5, 1.0))  # noqa: S311
            self._pause = min(self._pause * 2, LONGEST_PAUSE)
