"""MCP over HTTP: `/mcp` beside the API, with the same keys and the same checks of Origin and Host.

The protocol is the SDK's (streamable HTTP). The SDK is imported with the first request: it costs time and
memory that a service without agents' programs need not spend.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal
from urllib.parse import parse_qsl

from litestar import asgi
from litestar.handlers import ASGIRouteHandler
from litestar.types import Message, Receive, ReceiveMessage, Scope, Send
from msgspec import Struct

from graphmem.client import Graphmem
from graphmem.errors import BodyLate, DeadlineExceeded, TooLarge
from graphmem.model.validation import validated
from graphmem.runtime import Runtime
from graphmem_api.admission import AT_LEAST, LONG_WORK, Bodies, Turns
from graphmem_api.bodies import BODY_BYTES
from graphmem_api.clients import Guard, refuse_foreign_origin
from graphmem_api.mcp.open_sessions import IDLE_SECONDS, McpSessions

PATH = "/mcp"

CALL_SECONDS = LONG_WORK[AT_LEAST]
"""The time of a call, its waiting included: a tool may work through a whole conversation."""

SESSION_HEADER = b"mcp-session-id"

Turning = Callable[[str], AbstractAsyncContextManager[None]]


class Wish(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the URL asks for: `?tools=recall,runs&read_only=true&structured=true`."""

    tools: str = "memory"
    read_only: Literal["true", "false"] = "false"
    structured: Literal["true", "false"] = "false"


DRAIN_SECONDS = 8.0
"""The time that calls in progress have at the end of the service; the server itself waits for 10."""


def is_installed() -> bool:
    """Tell whether the SDK is installed."""
    return find_spec("mcp") is not None


class Body:
    """The body of one request: it arrives in time, and counts among all bodies until the answer ends."""

    def __init__(self, bodies: Bodies, client_id: str, receive: Receive) -> None:
        self._bodies = bodies
        self._client_id = client_id
        self._receive = receive
        self._arrived: deque[ReceiveMessage] = deque()
        self._length = 0

    async def arrive(self, seconds: float) -> None:
        """Wait for the body. Raises `TooLarge`, `TooManyRequests`, `Overloaded`, `BodyLate`."""
        try:
            async with asyncio.timeout(seconds):
                while self._length <= BODY_BYTES:
                    message = await self._receive()
                    self._arrived.append(message)
                    if message["type"] != "http.request":
                        return
                    self._length += len(message["body"])
                    self._bodies.take(len(message["body"]), self._client_id)
                    if not message["more_body"]:
                        return
        except TimeoutError as problem:
            raise BodyLate(seconds) from problem
        raise TooLarge("body", f"at most {BODY_BYTES:,} bytes (32 MiB) are taken")

    async def receive(self) -> ReceiveMessage:
        """Return the next part."""
        return self._arrived.popleft() if self._arrived else await self._receive()

    def give_back(self) -> None:
        """Count the end of the request."""
        self._bodies.give_back(self._length, self._client_id)


class Endpoint:
    """The sessions of agents' programs; they live as long as the service, or half an hour unused."""

    def __init__(self, runtime: Runtime, turns: Turns, bodies: Bodies, *, seconds: float) -> None:
        self._runtime = runtime
        self._bodies = bodies
        self._seconds = seconds
        # Those of all requests: a call of a tool takes one, not an open stream.
        self._turns = turns
        self._sessions = McpSessions()
        self._manager: Any = None
        self._starting = asyncio.Lock()
        self._ended = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._calls = 0
        self._drained = asyncio.Event()
        self._drained.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; its client is known already.

        Raises `TooLarge`, `TooManyRequests`, `Overloaded`, `BodyLate`.
        """
        await self._start()
        scope["state"]["offer"] = _offer(scope)
        client_id = scope["state"]["client"].id
        served: Any = {**scope, "user": _owner(client_id)}
        session_id = _session_id(scope["headers"])
        if session_id is None and _has_session(scope):
            self._sessions.check(client_id)

        async def answer(message: Message) -> None:
            if session_id is None and message["type"] == "http.response.start":
                await self._note_session(_session_id(message["headers"]), served)
            await send(message)

        with self._sessions.using(session_id, client_id):
            await self._serve(served, receive, answer)
        if session_id is not None and served["method"] == "DELETE":
            self._sessions.remove(session_id, client_id)

    async def _serve(self, served: Any, receive: Receive, send: Send) -> None:
        if served["method"] != "POST":
            await self._manager.handle_request(served, receive, send)
            return
        self._calls += 1
        self._drained.clear()
        body = Body(self._bodies, served["state"]["client"].id, receive)
        try:
            await body.arrive(self._seconds)
            await self._manager.handle_request(served, body.receive, send)
        finally:
            body.give_back()
            self._calls -= 1
            if not self._calls:
                self._drained.set()

    async def close(self) -> None:
        """Let calls in progress end, then end all sessions: an open stream would hold the service."""
        if self._keeper is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._drained.wait()
        self._ended.set()
        await self._keeper

    async def _note_session(self, session_id: str | None, served: Any) -> None:
        """Count a session if it is new; end the client's longest unused one if it is one too many."""
        if session_id is None:
            return
        client_id = served["state"]["client"].id
        unused = self._sessions.add(session_id, client_id)
        if unused is None:
            return
        self._sessions.remove(unused, client_id)
        headers = [(SESSION_HEADER, unused.encode())]
        ending = {**served, "method": "DELETE", "headers": headers}
        await self._manager.handle_request(ending, _receive_nothing, _send_nowhere)

    async def _start(self) -> None:
        async with self._starting:
            if self._manager is None:
                await asyncio.to_thread(import_module, "graphmem_api.mcp.server")
                self._manager = _manager(self._runtime, self._turn)
                ready = asyncio.Event()
                self._keeper = asyncio.create_task(self._keep(ready))
                await ready.wait()

    @asynccontextmanager
    async def _turn(self, client_id: str) -> AsyncIterator[None]:
        """Wait for a client's turn, for the length of a block.

        Raises `TooManyRequests`, `Overloaded`, `DeadlineExceeded`.
        """
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await self._turns.take(client_id)
                try:
                    yield
                finally:
                    self._turns.give_back(client_id)
        except TimeoutError as problem:
            raise DeadlineExceeded(CALL_SECONDS) from problem

    async def _keep(self, ready: asyncio.Event) -> None:
        # The SDK's sessions are tasks of a group that must end in the task that began it.
        async with self._manager.run():
            ready.set()
            await self._ended.wait()


def route(endpoint: Endpoint, guard: Guard) -> ASGIRouteHandler:
    """Return the route of the endpoint."""

    @asgi(PATH, guards=[guard, refuse_foreign_origin], copy_scope=True)
    async def mcp(scope: Scope, receive: Receive, send: Send) -> None:
        await endpoint(scope, receive, send)

    return mcp


def _manager(runtime: Runtime, turn: Turning) -> Any:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from sse_starlette.sse import AppStatus

    from graphmem_api.mcp.server import Caller, Offer, server

    # `Endpoint.close` ends the streams, once calls in progress are answered. By itself the library cuts all
    # off at a signal, and from then on each stream of any later server in this process.
    AppStatus.enable_automatic_graceful_drain = False
    AppStatus.should_exit = False

    def offering(context: Any) -> Offer:
        offer: Offer = context.request.scope["state"]["offer"]
        return offer

    async def calling(context: Any) -> Caller:
        state = context.request.scope["state"]
        client = state["client"]
        memory = Graphmem(runtime, client.id, reads=client.reads)
        return Caller(
            memory, offering(context), state["request_id"], turn=lambda: turn(memory.client_id)
        )

    return StreamableHTTPSessionManager(
        server(calling, offering),
        session_idle_timeout=IDLE_SECONDS,
        max_request_body_size=BODY_BYTES,
    )


def _session_id(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return the session that a request or an answer names."""
    return next(
        (value.decode("latin-1") for name, value in headers if name == SESSION_HEADER), None
    )


def _has_session(scope: Scope) -> bool:
    """Tell whether a request speaks a version of the protocol that has sessions."""
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

    versions = (value for name, value in scope["headers"] if name == b"mcp-protocol-version")
    version = next(versions, None)
    return version is None or version.decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS


async def _receive_nothing() -> ReceiveMessage:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _send_nowhere(message: Message) -> None:
    """Leave an answer to nobody."""


def _offer(scope: Scope) -> Any:
    """Return what the URL asks for, as far as the key may have it. Raises `InvalidInput`."""
    from graphmem_api.mcp.server import offered

    given = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    wish = validated(given, Wish)
    return offered(
        wish.tools,
        read_only=wish.read_only == "true",
        structured=wish.structured == "true",
        role=scope["state"]["client"].role,
    )


def _owner(client_id: str) -> Any:
    """Return a client as the SDK knows users: a session answers only to the client that began it."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    return AuthenticatedUser(AccessToken(token="", client_id=client_id, scopes=[]))
