"""An event loop in a thread, for programs that have none, and what waits for it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from threading import Thread
from typing import Any, Generic, ParamSpec, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from graphmem.client import AnyPage

Source = TypeVar("Source")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class EventLoop:
    """An event loop in a thread for the length of a block; what still runs in it at the end is cancelled.

    A class, as an abandoned generator would wait for its thread when the program ends.
    """

    def __enter__(self) -> BlockingPortal:
        started: Future[BlockingPortal] = Future()

        async def run() -> None:
            async with BlockingPortal() as portal:
                started.set_result(portal)
                await portal.sleep_until_stopped()

        # A daemon, so that a program that forgets to close its client ends all the same.
        self._thread = Thread(target=anyio.run, args=(run,), name="graphmem", daemon=True)
        self._thread.start()
        self._portal = started.result()
        return self._portal

    def __exit__(self, *problem: object) -> None:
        self._portal.call(self._portal.stop, True)
        self._thread.join()


def in_event_loop() -> bool:
    """Tell whether an event loop runs in this thread, which waiting would stop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Blocking(Generic[Source]):
    """An object whose methods are called in an event loop and waited for."""

    def __init__(self, source: Source, portal: BlockingPortal) -> None:
        self._source = source
        self._portal = portal

    def _wait(
        self,
        call: Callable[Arguments, Awaitable[Result]],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Return what a method returns, as soon as it does."""

        async def called() -> Result:
            return await call(*args, **kwargs)

        return self._portal.call(called)

    def _each(self, values: AsyncIterator[Result]) -> Iterator[Result]:
        """Yield the values as they come."""

        async def following() -> tuple[Result, ...]:
            try:
                return (await anext(values),)
            except StopAsyncIteration:
                return ()

        while value := self._portal.call(following):
            yield value[0]

    @staticmethod
    def pages(
        ask: Callable[Arguments, AnyPage], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Iterator[AnyPage]:
        """Yield every page of a list: `for page in memory.pages(memory.memories, limit=200)`."""
        cursor: str | None = None
        while True:
            named: Any = kwargs if cursor is None else {**kwargs, "cursor": cursor}
            page = ask(*args, **named)
            yield page
            cursor = page.cursor
            if cursor is None:
                return
