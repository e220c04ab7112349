"""Running graphmem for the length of a block; a running service without `await`."""

from collections.abc import AsyncIterator, Generator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from types import TracebackType
from typing import Any, NoReturn, Self, Unpack

import httpx

from graphmem import config
from graphmem.background import working
from graphmem.blocking.event_loop import EventLoop, in_event_loop, runs_here
from graphmem.blocking.generated import BlockingGraphmem
from graphmem.client import DEFAULT_CLIENT, Graphmem
from graphmem.config import SettingsGiven
from graphmem.model.progress import Progress, silent
from graphmem.model.validation import validated
from graphmem.model.vocabulary import ClientId
from graphmem.places import at_place
from graphmem.remote.client import LOCAL_SERVICE, RETRIES, TIMEOUT, AsyncClient
from graphmem.runtime import running


class Opening(AbstractAsyncContextManager[Graphmem]):
    """A graphmem before its start: a block starts it, and its end stops it.

    `async with` gives a `Graphmem`. `with` gives a `BlockingGraphmem`, which has the same methods without
    `await`.
    """

    def __init__(self, client_id: str, progress: Progress, settings: config.Settings) -> None:
        self._running = _run(settings, progress, client_id)
        self._was_opened = False

    async def __aenter__(self) -> Graphmem:
        if self._was_opened:
            raise TypeError(
                "it was opened already: call graphmem.open(...) again for another block"
            )
        self._was_opened = True
        return await self._running.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._running.__aexit__(kind, problem, trace)

    def __await__(self) -> Generator[Any, None, Graphmem]:
        """Raise `TypeError`: without a block nothing would stop it."""
        self._misused()

    def __enter__(self) -> BlockingGraphmem:
        """Start it in a thread, for a program without an event loop. Raises `TypeError` inside of one."""
        if in_event_loop():
            self._misused()
        with ExitStack() as stack:
            portal = stack.enter_context(EventLoop())
            memory = stack.enter_context(portal.wrap_async_context_manager(self))
            self._blocking, self._portal = stack.pop_all(), portal
        return BlockingGraphmem(memory, portal)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        # A fork leaves it to the process that has opened it.
        return runs_here(self._portal) and self._blocking.__exit__(kind, problem, trace)

    def __getattr__(self, name: str) -> NoReturn:
        """Raise `AttributeError` for a method that is called before the block."""
        raise AttributeError(f"graphmem is not running yet, so it has no {name!r}: {USAGE}")

    @staticmethod
    def _misused() -> NoReturn:
        raise TypeError(f"graphmem.open(...) opens a block: {USAGE}")


@asynccontextmanager
async def _run(
    settings: config.Settings, progress: Progress, client_id: str
) -> AsyncIterator[Graphmem]:
    """Run graphmem, with its background work."""
    async with running(settings, progress) as runtime, working(runtime):
        yield Graphmem(runtime, client_id)


USAGE = "write `async with graphmem.open(...) as memory:` and use `memory` in the block"


def open(
    *,
    client_id: str = DEFAULT_CLIENT,
    progress: Progress = silent,
    **settings: Unpack[SettingsGiven],
) -> Opening:
    """Run graphmem for the length of a block: `async with graphmem.open() as memory: …`.

    In a program without an event loop, `with graphmem.open() as memory: …`. Meanwhile it does the work of the
    background too (episodes, summaries, what is left of long texts, expiry), unless `jobs` is `off`.

    The settings are the fields of `graphmem.config.Settings`; omitted ones come from the environment
    (`GRAPHMEM_…`). Without `neo4j_uri` a private Neo4j is started, or joined. The block raises `SetupError`
    if it cannot start; for a name that no setting has, `open` itself raises `SettingError`.
    """
    return Opening(
        validated(client_id, ClientId, "client_id"), progress, at_place(config.load(**settings))
    )


class Client(BlockingGraphmem):
    """A running service, as one client sees it: `AsyncClient` for a program without an event loop."""

    def __init__(
        self,
        url: str = LOCAL_SERVICE,
        *,
        key: str | None = None,
        client_id: str | None = None,
        retries: int = RETRIES,
        timeout: float = TIMEOUT,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Prepare the way to a service; the arguments are those of `AsyncClient`."""
        client = AsyncClient(
            url,
            key=key,
            client_id=client_id,
            retries=retries,
            timeout=timeout,
            transport=transport,
        )
        self._opened = ExitStack()
        portal = self._opened.enter_context(EventLoop())
        self._opened.callback(portal.call, client.close)
        super().__init__(client, portal)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, also those of `for_client`, and end the thread; not in a fork."""
        if runs_here(self._portal):
            self._opened.close()
