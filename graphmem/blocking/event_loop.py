"""An event loop in a thread, for programs that have none, and what waits for it."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from threading import Thread
from typing import Any, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import anyio
from anyio.from_thread import BlockingPortal

from graphmem.client import AnyPage

Source = TypeVar("Source")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

_PROCESSES: WeakKeyDictionary[BlockingPortal, int] = WeakKeyDictionary()
"""The process in which each event loop runs: a fork has no thread of it."""

ENDED = 0
"""Stands for the process of an event loop that has ended."""


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
        _PROCESSES[self._portal] = os.getpid()
        return self._portal

    def __exit__(self, *problem: object) -> None:
        _PROCESSES[self._portal] = ENDED
        self._portal.call(self._portal.stop, True)
        self._thread.join()


def in_event_loop() -> bool:
    """Tell whether an event loop runs in this thread, which waiting would stop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def runs_here(portal: BlockingPortal) -> bool:
    """Tell whether an event loop runs in this process, and not in the one that this was forked from."""
    return _PROCESSES.get(portal, os.getpid()) == os.getpid()


def begin(portal: BlockingPortal, work: Callable[[], Awaitable[Result]]) -> Future[Result]:
    """Begin work in an event loop. Raises `RuntimeError` if that has ended, or is another process's."""
    if _PROCESSES.get(portal) == ENDED:
        raise RuntimeError("the memory is closed: use it in its block, or before its `close`")
    if not runs_here(portal):
        raise RuntimeError("the memory was opened before a fork: open another one in this process")
    return portal.start_task_soon(work)


def wait_for(portal: BlockingPortal, work: Callable[[], Awaitable[Result]]) -> Result:
    """Return what work in an event loop returns; it is cancelled if its caller is interrupted."""
    future = begin(portal, work)
    try:
        return future.result()
    finally:
        future.cancel()


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

        return wait_for(self._portal, called)

    def _each(self, values: AsyncIterator[Result]) -> Iterator[Result]:
        """Yield the values as they come."""

        async def following() -> tuple[Result, ...]:
            try:
                return (await anext(values),)
            except StopAsyncIteration:
                return ()

        while value := wait_for(self._portal, following):
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
