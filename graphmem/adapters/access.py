"""One memory for frameworks that await and for those that do not."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from graphmem.blocking.event_loop import in_event_loop
from graphmem.blocking.generated import BlockingGraphmem
from graphmem.client import Graphmem
from graphmem.errors import InvalidInput

Result = TypeVar("Result")

AnyMemory = Graphmem | BlockingGraphmem
"""What `graphmem.open`, `graphmem.AsyncClient` and `graphmem.Client` give, with or without `await`."""


class Access:
    """A memory of either form, for callers of either form.

    A memory that is awaited belongs to an event loop: that in which the adapter is made, or else is first
    awaited. Calls from other threads and loops are worked on there.
    """

    def __init__(self, memory: AnyMemory) -> None:
        """Take a memory as its caller has it. Raises `InvalidInput` for anything else."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._portal = None
        if isinstance(memory, BlockingGraphmem):
            # Its own thread does the work, for callers of both forms.
            self._memory, self._portal = memory._source, memory._portal
        elif isinstance(memory, Graphmem):
            self._memory = memory
            if in_event_loop():
                self._loop = asyncio.get_running_loop()
        else:
            raise InvalidInput(
                "memory",
                f"is {type(memory).__name__}; give what `with graphmem.open() as memory:` or "
                "`async with` has named, a graphmem.Client or a graphmem.AsyncClient",
            )

    async def ask(self, call: Callable[[Graphmem], Awaitable[Result]]) -> Result:
        """Return what a call of the memory returns."""
        if self._portal is not None:
            return await asyncio.wrap_future(self._portal.start_task_soon(call, self._memory))
        here = asyncio.get_running_loop()
        if self._loop is None or self._loop.is_closed():
            self._loop = here
        if self._loop is here:
            return await call(self._memory)
        working = asyncio.run_coroutine_threadsafe(self._called(call), self._loop)
        return await asyncio.wrap_future(working)

    def wait(self, call: Callable[[Graphmem], Awaitable[Result]]) -> Result:
        """Return what a call of the memory returns, as soon as it does.

        Raises `InvalidInput` if nothing else can do the work meanwhile: in the memory's own event loop, or
        when that does not run.
        """
        if self._portal is not None:
            return self._portal.call(call, self._memory)
        if self._loop is None or not self._loop.is_running():
            raise InvalidInput(
                "memory",
                "is one to be awaited, and its event loop does not run: give a graphmem.Client, or what "
                "`with graphmem.open() as memory:` has named",
            )
        if in_event_loop() and asyncio.get_running_loop() is self._loop:
            raise InvalidInput(
                "memory",
                "cannot be waited for in its own event loop: await the method of this name that begins "
                "with `a`, or give a graphmem.Client",
            )
        return asyncio.run_coroutine_threadsafe(self._called(call), self._loop).result()

    def _called(self, call: Callable[[Graphmem], Awaitable[Result]]) -> Coroutine[Any, Any, Result]:
        async def called() -> Result:
            return await call(self._memory)

        return called()
