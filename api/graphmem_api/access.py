"""Gives every request an id and a span, counts it, and logs it in one line."""

import asyncio
import logging
import re
import time
import uuid
from collections.abc import Coroutine
from typing import Any, TypeVar

from litestar import Request
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode

from graphmem.observing.logs import about
from graphmem.observing.metrics import REQUEST_SECONDS, REQUESTS
from graphmem.observing.spans import sent, span
from graphmem_api.problems import MEDIA_TYPE, encoded, log_unforeseen

REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
HEADER = b"x-request-id"

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
NO_ROUTE = "-"
OTHER = "OTHER"
"""One label for all unknown methods, as `NO_ROUTE` is for paths: callers may invent any number."""

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


class CallerLeft(asyncio.CancelledError):
    """The caller has hung up: its work was cancelled, and nobody waits for an answer."""


async def while_connected(
    work: Coroutine[Any, Any, Answer], request: Request[Any, Any, Any]
) -> Answer:
    """Return the result of a piece of work, or cancel it if the caller hangs up. Raises `CallerLeft`."""
    task = asyncio.create_task(work)
    leaving = asyncio.create_task(_hung_up(request))
    try:
        await asyncio.wait([task, leaving], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise CallerLeft
    finally:
        leaving.cancel()
        task.cancel()
        await asyncio.gather(task, leaving, return_exceptions=True)


async def _hung_up(request: Request[Any, Any, Any]) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class Access:
    """Wraps the application: names, traces, counts and logs requests; the last to catch an error.

    Litestar's own wrappers for OpenTelemetry and Prometheus begin before a route is known and show
    whole URLs.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        request_id = scope.setdefault("state", {})["request_id"] = request_id_of(scope)
        with (
            about(request_id),
            span(method_of(scope), kind=SpanKind.SERVER, parent=_caller_s(scope)) as shown,
        ):
            shown.set_attribute("graphmem.request_id", request_id)
            await self._serve(scope, receive, send, shown)

    async def _serve(self, scope: HTTPScope, receive: Receive, send: Send, shown: Span) -> None:
        started = time.perf_counter()
        status = 0

        async def answering(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message["headers"],
                    (HEADER, scope["state"]["request_id"].encode()),
                ]
            await send(message)

        try:
            await self._app(scope, receive, answering)
        except CallerLeft:
            pass
        except Exception as problem:
            log_unforeseen(problem)
            if not status:
                await _fail(problem, scope, answering)
        finally:
            _tell(scope, status, time.perf_counter() - started, shown)


def request_id_of(scope: Scope) -> str:
    """Return the request id that the caller gave if it is valid, else a new one."""
    for name, value in scope["headers"]:
        if name == HEADER and REQUEST_ID.fullmatch(given := value.decode("latin-1")):
            return given
    return uuid.uuid4().hex


async def _fail(problem: Exception, scope: Scope, send: Send) -> None:
    status, body = encoded(problem, scope)
    headers = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def method_of(scope: HTTPScope) -> str:
    """Return the method, or `OTHER` for an unknown one."""
    return scope["method"] if scope["method"] in METHODS else OTHER


def _caller_s(scope: HTTPScope) -> Context:
    headers = scope["headers"]
    return sent({name.decode("latin-1"): value.decode("latin-1") for name, value in headers})


def _tell(scope: HTTPScope, status: int, seconds: float, shown: Span) -> None:
    """Log, count and trace a request; status 0 means that the caller left before the answer."""
    method, route = method_of(scope), scope.get("path_template", NO_ROUTE)
    log.info("method=%s route=%s status=%d ms=%.1f", method, route, status, 1000 * seconds)
    REQUESTS.labels(method, route, status).inc()
    REQUEST_SECONDS.labels(method, route).observe(seconds)
    shown.update_name(f"{method} {route}")
    shown.set_attributes(
        {"http.request.method": method, "http.route": route, "http.response.status_code": status}
    )
    if status >= 500:
        shown.set_status(StatusCode.ERROR)
