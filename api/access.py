"""Every request has an id, and leaves one line in the log."""

import logging
import re
import time
import uuid

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from api.problems import MEDIA_TYPE, encoded, log_unforeseen

REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
HEADER = b"x-request-id"

log = logging.getLogger(__name__)


class Access:
    """Wraps the application: gives requests ids, logs them, and is the last to catch an error."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        request_id = scope.setdefault("state", {})["request_id"] = request_id_of(scope)
        started = time.perf_counter()
        status = 0

        async def answering(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (HEADER, request_id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, answering)
        except Exception as problem:
            log_unforeseen(problem, scope)
            if not status:
                await _fail(problem, scope, answering)
        finally:
            _log(scope, status, (time.perf_counter() - started) * 1000)


def request_id_of(scope: Scope) -> str:
    """Return the id that the caller gave the request where it is sane, else a new one."""
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


def _log(scope: HTTPScope, status: int, milliseconds: float) -> None:
    """Write the request's line; status 0 is a caller that left before the answer."""
    client = scope["state"].get("client")
    log.info(
        "method=%s route=%s status=%d ms=%.1f request_id=%s client=%s",
        scope["method"],
        scope.get("path_template", "-"),
        status,
        milliseconds,
        scope["state"]["request_id"],
        client.id if client else "-",
    )
