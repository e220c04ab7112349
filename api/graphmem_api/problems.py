"""Failures as answers: the one table from error to status, and the one shape of a problem."""

import logging
import re
from typing import Annotated, Any
from urllib.parse import quote

from litestar import Request, Response
from litestar.exceptions import HTTPException, PermissionDeniedException, ValidationException
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example
from litestar.types import Scope, Send
from msgspec import Meta, Struct, json, to_builtins

from graphmem.errors import (
    BodyLate,
    Conflict,
    CypherRefused,
    DayLimitReached,
    DiskFull,
    GraphmemError,
    InvalidInput,
    LimitReached,
    MemoryNotFound,
    NotFound,
    NotHead,
    SetupError,
    StoreLimitReached,
    TookTooLong,
    TookTooMuch,
    TooLarge,
    TooManyRequests,
    TooManyRuns,
    TooManyStatements,
    Unauthorized,
    Unavailable,
)
from graphmem.exploring.types import Place
from graphmem.observing.logs import traced

MEDIA_TYPE = "application/problem+json"

STATUS: dict[type[GraphmemError], int] = {
    InvalidInput: 400,
    TooLarge: 413,
    NotFound: 404,
    Conflict: 409,
    CypherRefused: 403,
    TookTooLong: 408,
    TookTooMuch: 408,
    TooManyRuns: 429,
    TooManyStatements: 429,
    TooManyRequests: 429,
    LimitReached: 429,
    StoreLimitReached: 507,
    BodyLate: 408,
    Unauthorized: 401,
    DiskFull: 507,
    Unavailable: 503,
    SetupError: 500,
    GraphmemError: 500,
}
"""An error has the status of its nearest ancestor here."""

WAITING = (Unavailable, TooManyRuns, TooManyStatements, TooManyRequests, DayLimitReached)
"""The errors that say how soon it is worth while to try again."""

HTTP_CODES = {
    400: "bad_request",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_late",
    413: "too_large",
    415: "unsupported_media_type",
    503: "overloaded",
}
"""The names of failures that only HTTP knows; Python's phrases differ between versions."""

NOTED = "problem"
"""The name, in the state of a request's scope, of what the log says about its problem."""

DETAIL_CHARACTERS = 1_000
"""The length at which a message is cut: it may quote the request."""

FIELD_CHARACTERS = 200

INTERNAL = "internal_error"
INTERNAL_DETAIL = (
    "an unexpected error of the service, not of the request; its log has this request's id"
)

log = logging.getLogger(__name__)


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request failed (RFC 9457)."""

    type: Annotated[str, Meta(description="`urn:graphmem:problem:` and the code")]
    title: Annotated[str, Meta(description="the kind of problem in words")]
    status: int
    detail: Annotated[str, Meta(description="the event, and the remedy")]
    instance: Annotated[str, Meta(description="the path of the request")]
    code: Annotated[str, Meta(description="the kind of problem for programs")]
    request_id: Annotated[str, Meta(description="the id of the request in the log")]
    field: Annotated[str, Meta(description="the invalid field or header")] | None = None
    requested: Annotated[int, Meta(description="the requested tokens")] | None = None
    remaining: Annotated[int, Meta(description="the remaining tokens of the run")] | None = None
    limit: Annotated[int, Meta(description="the maximum number")] | None = None
    place: Annotated[Place, Meta(description="the position in the statement")] | None = None
    head_id: (
        Annotated[str, Meta(description="the newest version, which can be superseded")] | None
    ) = None
    reference_id: (
        Annotated[str, Meta(description="the reference that the request is about")] | None
    ) = None


CARRIED = ("requested", "remaining", "limit", "head_id", "reference_id")
"""Attributes of an error for programs, which have the same names in a problem."""


class Failure(Struct, frozen=True, kw_only=True):
    """An error in terms of HTTP, independent of the request."""

    status: int
    code: str
    detail: str
    field: str | None = None
    carried: dict[str, Any] = {}
    headers: dict[str, str] = {}


def answer(request: Request[Any, Any, Any], error: Exception) -> Response[Problem]:
    """Return the answer to a failed request; log an unexpected error, without its texts."""
    failure = failure_of(error)
    _note(failure, error, request.scope)
    if failure.status == 500:
        log_unforeseen(error)
    return Response(
        problem(failure, _path(request.scope), request.scope["state"]["request_id"]),
        status_code=failure.status,
        headers=failure.headers,
        media_type=MEDIA_TYPE,
    )


async def send_problem(error: Exception, scope: Scope, send: Send) -> None:
    """Send the answer to a request that failed outside of its handler."""
    failure = failure_of(error)
    _note(failure, error, scope)
    body = json.encode(problem(failure, _path(scope), scope["state"]["request_id"]))
    headers = {
        **failure.headers,
        "content-type": MEDIA_TYPE,
        "content-length": str(len(body)),
    }
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": failure.status, "headers": raw})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def problem(failure: Failure, instance: str, request_id: str) -> Problem:
    """Return a failure as the problem of one request."""
    return Problem(
        type=f"urn:graphmem:problem:{failure.code}",
        title=_title(failure.code),
        status=failure.status,
        detail=_shown(failure.detail, DETAIL_CHARACTERS),
        instance=instance,
        code=failure.code,
        request_id=request_id,
        field=_shown(failure.field, FIELD_CHARACTERS) if failure.field else None,
        **failure.carried,
    )


def failure_of(error: Exception) -> Failure:
    """Return an error in terms of HTTP; an unexpected one reveals nothing."""
    if isinstance(error, GraphmemError) and (status := status_of(type(error))) != 500:
        return Failure(
            status=status,
            code=getattr(error, "rule", error.code),
            detail=str(error),
            field=getattr(error, "field", None),
            carried=_carried(error),
            headers=_headers(error),
        )
    if isinstance(error, ValidationException) and error.extra:
        return failure_of(_misfit(error))
    if isinstance(error, HTTPException) and error.status_code < 500:
        return Failure(
            status=error.status_code,
            code=HTTP_CODES.get(error.status_code, "bad_request"),
            detail=_remedy(error),
            headers=error.headers or {},
        )
    return Failure(status=500, code=INTERNAL, detail=INTERNAL_DETAIL)


def status_of(error: type[GraphmemError]) -> int:
    """Return the status of a class of errors."""
    return next(STATUS[ancestor] for ancestor in error.__mro__ if ancestor in STATUS)


def log_unforeseen(error: Exception) -> None:
    """Log where an error arose, without its message: that may quote a memory or a query."""
    log.error("failed: %s", traced(error))


def failures(*statuses: int) -> dict[int, ResponseSpec]:
    """Describe the problems of a client's route, beside those of all routes."""
    return described(*statuses, 400, 401, 403, 408, 429, 500, 503, 507)


def described(*statuses: int) -> dict[int, ResponseSpec]:
    """Return the descriptions of problems for the OpenAPI document."""
    return {status: _described(status) for status in sorted(set(statuses))}


def _note(failure: Failure, error: Exception, scope: Scope) -> None:
    """Leave the code of a problem, and the class of its cause, for the line in the log."""
    cause = error if failure.code == INTERNAL else error.__cause__
    noted = {"code": failure.code} | ({"cause": type(cause).__name__} if cause else {})
    scope["state"][NOTED] = noted


def _carried(error: GraphmemError) -> dict[str, Any]:
    carried = {name: getattr(error, name) for name in CARRIED if hasattr(error, name)}
    if getattr(error, "line", None) is not None:
        carried["place"] = Place(*(getattr(error, name) for name in ("line", "column", "offset")))
    return carried


def _headers(error: GraphmemError) -> dict[str, str]:
    if isinstance(error, WAITING):
        return {"Retry-After": str(error.retry_after)}
    if isinstance(error, Unauthorized):
        return {"WWW-Authenticate": 'Bearer realm="graphmem"'}
    return {}


def _misfit(error: ValidationException) -> InvalidInput:
    """Return Litestar's error about a parameter of the path or the query string as ours."""
    first: Any = error.extra[0] if isinstance(error.extra, list) else error.extra
    return InvalidInput(str(first.get("key", "query string")), str(first.get("message", "")))


def _remedy(error: HTTPException) -> str:
    """Return a sentence for a failure that only HTTP knows."""
    if error.status_code == 404:
        return "there is no such route; GET /schema lists them"
    if error.status_code == 405:
        return f"this route takes {(error.headers or {}).get('allow', 'another method')}"
    return re.sub(r"^\d{3}: ", "", error.detail)


def _path(scope: Scope) -> str:
    raw: bytes | None = scope.get("raw_path")
    if raw:
        return raw.partition(b"?")[0].decode("ascii", "replace")
    return quote(scope["path"], errors="replace")


def _title(code: str) -> str:
    return code.replace("_", " ").capitalize()


def _shown(text: str, most: int) -> str:
    """Return a text that JSON can hold and a reader can read."""
    text = text.encode(errors="backslashreplace").decode()
    return text if len(text) <= most else f"{text[: most - 1]}…"


EXAMPLES: dict[int, Exception] = {
    400: InvalidInput("limit", "expected a whole number <= 200"),
    401: Unauthorized("a key is needed: send Authorization: Bearer <key>"),
    403: PermissionDeniedException(
        "this takes a key of the role agent or above; yours is of the role reader"
    ),
    404: MemoryNotFound("3f0c9a52-5d0e-4c63-8f5e-1c2b7a0f6d11"),
    408: TookTooLong(10),
    409: NotHead("3f0c9a52-5d0e-4c63-8f5e-1c2b7a0f6d11", "8a1d2b6e-0f7b-4f1c-9a55-7a1a3f0c2d42"),
    413: TooLarge("body", "at most 33,554,432 bytes (32 MiB) are taken"),
    415: HTTPException(
        status_code=415, detail="send the body as JSON: Content-Type: application/json"
    ),
    429: TooManyRuns(32),
    500: Exception(),
    503: Unavailable("the database does not answer (ServiceUnavailable)"),
    507: DiskFull(120, 256),
}


def _described(status: int) -> ResponseSpec:
    failure = failure_of(EXAMPLES[status])
    shown = to_builtins(problem(failure, "/api/v0/…", "7d1f3c"))
    return ResponseSpec(
        Problem,
        generate_examples=False,
        description=_title(failure.code),
        media_type=MEDIA_TYPE,
        examples=[Example(summary=failure.code, value=shown)],
    )
