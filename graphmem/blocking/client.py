"""The public API for a running service, without `await`."""

from contextlib import ExitStack
from types import TracebackType
from typing import Self

import httpx

from graphmem.blocking.event_loop import EventLoop
from graphmem.blocking.generated import BlockingGraphmem
from graphmem.remote.client import LOCAL_SERVICE, RETRIES, TIMEOUT, AsyncClient


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
        """Close the connections, also those of `for_client`, and end the thread."""
        self._opened.close()
