"""MCP over HTTP: `/mcp` beside the API, with the same keys and the same checks of Origin and Host.

The protocol is the SDK's (streamable HTTP). The SDK is imported with the first request: it costs time and
memory that a service without agents' programs need not spend.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, cast
from urllib.parse import parse_qsl
from uuid import uuid4

from litestar import asgi
from litestar.exceptions import MethodNotAllowedException
from litestar.handlers import ASGIRouteHandler
from litestar.types import HTTPScope, Message, Receive, ReceiveMessage, Scope, Send
from msgspec import Struct

from graphmem.client import Graphmem
from graphmem.errors import BodyLate, DeadlineExceeded, TooLarge
from graphmem.model.validation import validated
from graphmem.runtime import Runtime
from graphmem_api.admission import AT_LEAST, LONG_WORK, Bodies, Turns
from graphmem_api.bodies import BODY_BYTES
from graphmem_api.clients import Guard, refuse_foreign_origin

PATH = "/mcp"

CALL_SECONDS = LONG_WORK[AT_LEAST]
"""The time of a call, its waiting included: a tool may work through a whole conversation."""

SESSION, VERSION = b"mcp-session-id", b"mcp-protocol-version"


class ProgramCall(Struct, frozen=True):
    """What names a call in progress: its client, its program's session, and the id that it has there."""

    client_id: str
    session_id: str
    request_id: str | int | None


Turning = Callable[[ProgramCall], AbstractAsyncContextManager[None]]


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
    """Serves agents' programs, each request by itself: any process of several may answer the next one."""

    def __init__(self, runtime: Runtime, turns: Turns, bodies: Bodies, *, seconds: float) -> None:
        self._runtime = runtime
        self._bodies = bodies
        self._seconds = seconds
        # Those of all requests: a call of a tool takes one too.
        self._turns = turns
        self._manager: Any = None
        self._starting = asyncio.Lock()
        self._ended = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._deadlines: dict[ProgramCall, asyncio.Timeout] = {}
        self._calls = 0
        self._drained = asyncio.Event()
        self._drained.set()

    async def __call__(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        """Serve one request; its client is known already.

        Only POST: nothing is told that no request has asked for, so there is no stream to open, and nothing
        is kept of a session that could end. Raises `TooLarge`, `TooManyRequests`, `Overloaded`, `BodyLate`.
        """
        if scope["method"] != "POST":
            raise MethodNotAllowedException(headers={"allow": "POST"})
        await self._start()
        scope["state"]["offer"] = _offer(scope)
        self._calls += 1
        self._drained.clear()
        body = Body(self._bodies, scope["state"]["client"].id, receive)
        try:
            await body.arrive(self._seconds)
            await self._manager.handle_request(scope, body.receive, _naming_session(scope, send))
        finally:
            body.give_back()
            self._calls -= 1
            if not self._calls:
                self._drained.set()

    async def close(self) -> None:
        """Let calls in progress end, then cut off those that are left: they would hold the service."""
        if self._keeper is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._drained.wait()
        self._ended.set()
        await self._keeper

    async def _start(self) -> None:
        async with self._starting:
            if self._manager is None:
                await asyncio.to_thread(import_module, "graphmem_api.mcp.server")
                self._manager = _manager(self._runtime, self._turn, self._cancel)
                ready = asyncio.Event()
                self._keeper = asyncio.create_task(self._keep(ready))
                await ready.wait()

    @asynccontextmanager
    async def _turn(self, call: ProgramCall) -> AsyncIterator[None]:
        """Wait for the turn of a call's client, for the length of a block.

        Raises `TooManyRequests`, `Overloaded`, `DeadlineExceeded`.
        """
        try:
            async with asyncio.timeout(CALL_SECONDS) as deadline:
                self._deadlines[call] = deadline
                await self._turns.take(call.client_id)
                try:
                    yield
                finally:
                    self._turns.give_back(call.client_id)
        except TimeoutError as problem:
            raise DeadlineExceeded(CALL_SECONDS) from problem
        finally:
            self._deadlines.pop(call, None)

    def _cancel(self, call: ProgramCall) -> None:
        """End a call in progress, whose caller does not wait for the answer any more."""
        if deadline := self._deadlines.get(call):
            deadline.reschedule(asyncio.get_running_loop().time())

    async def _keep(self, ready: asyncio.Event) -> None:
        # The SDK serves requests in tasks of a group that must end in the task that began it.
        async with self._manager.run():
            ready.set()
            await self._ended.wait()


def route(endpoint: Endpoint, guard: Guard) -> ASGIRouteHandler:
    """Return the route of the endpoint."""

    @asgi(PATH, guards=[guard, refuse_foreign_origin], copy_scope=True)
    async def mcp(scope: Scope, receive: Receive, send: Send) -> None:
        await endpoint(cast(HTTPScope, scope), receive, send)

    return mcp


def _naming_session(scope: HTTPScope, send: Send) -> Send:
    """Return a way to send that gives a program of 2025 a name for its session.

    It sends the name with each request, and calls of two programs of one client are told apart by it.
    """
    names = {name for name, _ in scope["headers"]}
    if names & {SESSION, VERSION}:
        return send

    async def naming(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (SESSION, uuid4().hex.encode())]
        await send(message)

    return naming


def _manager(runtime: Runtime, turn: Turning, cancel: Callable[[ProgramCall], None]) -> Any:
    import mcp_types as types
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

    def call_of(context: Any, request_id: str | int | None) -> ProgramCall:
        request = context.request
        session_id = request.headers.get(SESSION.decode(), "")
        return ProgramCall(request.scope["state"]["client"].id, session_id, request_id)

    async def calling(context: Any) -> Caller:
        state = context.request.scope["state"]
        client, call = state["client"], call_of(context, context.request_id)
        memory = Graphmem(runtime, client.id, reads=client.reads)
        return Caller(memory, offering(context), state["request_id"], turn=partial(turn, call))

    async def cancelling(context: Any, given: types.CancelledNotificationParams) -> None:
        call = call_of(context, given.request_id)
        # Without a session two programs of a client may have calls with one id.
        if call.session_id:
            cancel(call)

    serving = server(calling, offering)
    serving.add_notification_handler(
        "notifications/cancelled", types.CancelledNotificationParams, cancelling
    )
    return StreamableHTTPSessionManager(serving, stateless=True, max_request_body_size=BODY_BYTES)


def _offer(scope: HTTPScope) -> Any:
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
