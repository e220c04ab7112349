"""Gives every request an id and a span, counts it, and logs it in one line."""

import logging
import math
import re
import time
import uuid
from collections.abc import Iterable

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode

from graphmem.errors import InvalidInput
from graphmem.graph.bookmarks import BOOKMARK_HEADER, following
from graphmem.observing.logs import FIELDS, about
from graphmem.observing.metrics import REQUEST_SECONDS, REQUESTS
from graphmem.observing.spans import sent, span
from graphmem_api.admission import STATE, CallerLeft
from graphmem_api.problems import NOTED, log_unforeseen, send_problem

REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
HEADER = b"x-request-id"

PROTECTION = {
    b"x-content-type-options": b"nosniff",
    b"cache-control": b"no-store",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
}
"""Headers of every answer that does not say otherwise: it may hold memories, and is no page to be shown."""

NO_PAGE = b"default-src 'none'; frame-ancestors 'none'"
PAGE = (
    b"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'"
)
"""The policy of a page that has none of its own: nothing from elsewhere, and nobody frames it."""

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
QUIET = ("/health", "/metrics")
"""Routes that are asked every few seconds: unless something goes wrong, the log has them at `debug` only."""

NO_ROUTE = "-"
OTHER = "OTHER"
"""One label for all unknown methods, as `NO_ROUTE` is for paths: callers may invent any number."""

log = logging.getLogger(__name__)


class ObservedApp:
    """Wraps the application: names, traces, counts and logs requests; the last to catch an error.

    Litestar's own wrappers for OpenTelemetry and Prometheus begin before a route is known and show
    whole URLs.
    """

    def __init__(self, app: ASGIApp, *, slow_seconds: float = math.inf) -> None:
        self._app = app
        self._slow_seconds = slow_seconds

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
                request_id = scope["state"]["request_id"].encode()
                message["headers"] = [*protected(message["headers"]), (HEADER, request_id)]
            await send(message)

        try:
            await self._app(scope, receive, answering)
        except CallerLeft:
            pass
        except Exception as problem:
            log_unforeseen(problem)
            if not status:
                await send_problem(problem, scope, answering)
        finally:
            self._tell(scope, status, time.perf_counter() - started, shown)

    def _tell(self, scope: HTTPScope, status: int, seconds: float, shown: Span) -> None:
        """Log, count and trace a request; status 0 means that the caller left before the answer."""
        method, route = method_of(scope), scope.get("path_template", NO_ROUTE)
        slow, quiet = seconds >= self._slow_seconds, route.startswith(QUIET) and 200 <= status < 300
        is_grave = slow or status >= 500
        level = logging.WARNING if is_grave else logging.DEBUG if quiet else logging.INFO
        said: dict[str, str | int | float] = {
            "method": method,
            "route": route,
            "status": status,
            "ms": round(1000 * seconds, 1),
            **scope["state"].get(NOTED, {}),
            **(_told_of_slow(scope) if slow else {}),
        }
        line = " ".join(f"{name}={_written(one)}" for name, one in said.items())
        log.log(level, "%s", line, extra={FIELDS: said})
        REQUESTS.labels(method, route, status).inc()
        REQUEST_SECONDS.labels(method, route).observe(seconds)
        shown.update_name(f"{method} {route}")
        shown.set_attributes(
            {
                "http.request.method": method,
                "http.route": route,
                "http.response.status_code": status,
            }
        )
        if status >= 500:
            shown.set_status(StatusCode.ERROR)


class Following:
    """Wraps the application: a request waits for the writes that its bookmark names.

    Its answer has the next one, if the database is a cluster's.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            following_it = following(_bookmark_of(scope))
        except InvalidInput as problem:
            await send_problem(problem, scope, send)
            return
        with following_it as request:

            async def answering(message: Message) -> None:
                if message["type"] == "http.response.start" and (text := request.text()):
                    named = (BOOKMARK_HEADER.lower().encode(), text.encode())
                    message["headers"] = [*message["headers"], named]
                await send(message)

            await self._app(scope, receive, answering)


def _bookmark_of(scope: Scope) -> str | None:
    wanted = BOOKMARK_HEADER.lower().encode()
    given = [value.decode("latin-1") for name, value in scope["headers"] if name == wanted]
    return ",".join(given) if given else None


def protected(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer with those that protect it, where it does not have them."""
    given = list(headers)
    known = {name.lower(): value for name, value in given}
    is_page = known.get(b"content-type", b"").startswith(b"text/html")
    added = PROTECTION | {b"content-security-policy": PAGE if is_page else NO_PAGE}
    return [*given, *((name, value) for name, value in added.items() if name not in known)]


def request_id_of(scope: Scope) -> str:
    """Return the request id that the caller gave if it is valid, else a new one."""
    for name, value in scope["headers"]:
        if name == HEADER and REQUEST_ID.fullmatch(given := value.decode("latin-1")):
            return given
    return uuid.uuid4().hex


def method_of(scope: HTTPScope) -> str:
    """Return the method, or `OTHER` for an unknown one."""
    return scope["method"] if scope["method"] in METHODS else OTHER


def _caller_s(scope: HTTPScope) -> Context:
    headers = scope["headers"]
    return sent({name.decode("latin-1"): value.decode("latin-1") for name, value in headers})


def _told_of_slow(scope: HTTPScope) -> dict[str, int | float]:
    """Return what is logged beside the time of a slow request: sizes and waits, never a text."""
    visit = scope["state"].get(STATE)
    if visit is None:
        return {"slow": True}
    waited = round(1000 * visit.waited, 1)
    return {"slow": True, "waited_ms": waited, "body_bytes": visit.body_bytes}


def _written(value: str | int | float) -> str:
    return "true" if value is True else str(value)
