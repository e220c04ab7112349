"""The way to a service: requests made of arguments, sent again where that is safe, errors named."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx
import msgspec
from msgspec import Struct, UnsetType

from graphmem.errors import (
    BodyLate,
    CypherRefused,
    DiskFull,
    GraphmemError,
    InvalidInput,
    NotFound,
    Overloaded,
    RecordDamaged,
    StoreDamaged,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from graphmem.model.validation import NO_JSON, as_json, settled, validated
from graphmem.model.vocabulary import Id

Fields = dict[str, Any]

WHOLE_ANSWER = "application/vnd.graphmem.retrieved+json"
"""Asks the routes that answer in Markdown for the whole answer as JSON."""


def always(_: Fields) -> bool:
    """Tell that a repetition does nothing that the first request did not do."""
    return True


def never(_: Fields) -> bool:
    """Tell that a repetition might do its work twice, or answer something else."""
    return False


def named_by(field: str) -> Callable[[Fields], bool]:
    """Return whether the caller gave the id that makes a repetition harmless."""
    return lambda fields: fields.get(field) is not None


def every_message_named(fields: Fields) -> bool:
    """Tell whether each message has an `external_id`, so that none is stored twice."""
    messages = fields["messages"]
    return isinstance(messages, list) and all(
        isinstance(message, dict) and message.get("external_id") is not None for message in messages
    )


class Route(Struct, frozen=True):
    """The request of one method: its method and path, and when it may be sent again."""

    request: str
    repeatable: Callable[[Fields], bool] = never
    whole: str = ""
    """The argument that is the whole body."""
    query: frozenset[str] = frozenset()
    """Arguments in the query string; those of GET and DELETE all are."""
    accept: str = "application/json"

    @property
    def method(self) -> str:
        """The method of HTTP."""
        return self.request.split(" ")[0]

    @property
    def path(self) -> str:
        """The path under `/api/v0`, with the names of arguments in braces."""
        return self.request.split(" ")[1]

    def may_be_repeated(self, fields: Fields) -> bool:
        """Tell whether the request may be sent again when it is unknown whether it was done."""
        return self.method == "GET" or self.repeatable(fields)


NAMED_OPERATION = named_by("operation_id")

ROUTES = {
    "open_conversation": Route("POST /conversations", named_by("id")),
    "change_conversation": Route("PATCH /conversations/{conversation_id}", always),
    "remember": Route("POST /conversations/{conversation_id}/messages", every_message_named),
    "conversations": Route("GET /conversations"),
    "sessions": Route("GET /conversations/{conversation_id}/sessions"),
    "messages": Route("GET /conversations/{conversation_id}/messages"),
    "delete_conversation": Route("DELETE /conversations/{conversation_id}"),
    "remember_episode": Route("POST /episodes"),
    "segment": Route(
        "POST /conversations/{conversation_id}/segment", query=frozenset({"leave_growing"})
    ),
    "consolidate": Route("POST /conversations/{conversation_id}/consolidate"),
    "remember_facts": Route("POST /facts", whole="new"),
    "remember_fact": Route("POST /facts"),
    "supersede_fact": Route("POST /facts/{fact_id}/supersede"),
    "categories": Route("GET /categories"),
    "set_categories": Route("PUT /categories", always),
    "memory": Route("GET /memories/{memory_id}"),
    "memories": Route("GET /memories"),
    "annotate": Route("PATCH /memories/{memory_id}", always),
    "delete_memory": Route("DELETE /memories/{memory_id}"),
    "forget": Route("POST /forget", lambda fields: bool(fields.get("dry_run"))),
    "forget_client": Route("DELETE /clients/{client_id}"),
    "verify_forgotten": Route("POST /forget/verify", always),
    "begin_hold": Route("PUT /clients/{client_id}/hold", always),
    "end_hold": Route("DELETE /clients/{client_id}/hold", always),
    "versions": Route("GET /memories/{memory_id}/versions"),
    "link": Route("POST /links", always),
    "link_all": Route("POST /links", always, whole="new"),
    "unlink": Route("DELETE /links"),
    "links": Route("GET /memories/{memory_id}/links"),
    "search": Route("POST /search", always),
    "search_spans": Route("POST /spans/search", always),
    "peek": Route("GET /memories/{memory_id}/peek"),
    "chunk": Route("POST /memories/{memory_id}/chunk", always),
    "create_context": Route("POST /contexts"),
    "context": Route("GET /contexts/{context_id}"),
    "add_to_context": Route("POST /contexts/{context_id}/memories"),
    "delete_context": Route("DELETE /contexts/{context_id}"),
    "compose_context": Route("GET /contexts/{context_id}/composed", accept="text/plain"),
    "recall": Route("POST /recall", always),
    "explain": Route("POST /explain", always),
    "search_contextual": Route("POST /contextual/search", always),
    "expand_context": Route("POST /contextual/expand", always),
    "hyde_retrieve": Route("POST /hyde/retrieve", always),
    "retrieve_memory": Route("POST /retrieve_memory", accept=WHOLE_ANSWER),
    "context_pre_retrieve": Route("POST /context_pre_retrieve", always, accept=WHOLE_ANSWER),
    "reviews": Route("GET /reviews"),
    "run_reviews": Route("POST /reviews/run"),
    "review": Route("POST /memories/{memory_id}/review"),
    "add_reference": Route("POST /references"),
    "add_references": Route("POST /references", whole="new"),
    "references": Route("GET /references"),
    "reference": Route("GET /references/{reference_id}"),
    "put_content": Route("PUT /references/{reference_id}/content", always),
    "register_span": Route("POST /spans", named_by("id")),
    "register_spans": Route("POST /spans", whole="new"),
    "span": Route("GET /spans/{span_id}"),
    "span_content": Route("GET /spans/{span_id}/content"),
    "add_summary": Route("POST /summaries"),
    "summarize_session": Route("POST /sessions/{session_id}/summarize"),
    "related_sessions": Route("GET /sessions/{session_id}/related"),
    "summaries": Route("GET /summaries"),
    "summary": Route("GET /summaries/{summary_id}"),
    "entities": Route("GET /entities"),
    "add_alias": Route("POST /entities/aliases", always),
    "undo_alias": Route("POST /entities/aliases/undo"),
    "find_aliases": Route("POST /entities/aliases/run"),
    "pattern": Route("POST /patterns/{name}", always),
    "neighbourhood": Route("GET /graph/{node_id}"),
    "graph_schema": Route("GET /graph/schema"),
    "cypher": Route("POST /cypher", always),
    "cypher_audit": Route("GET /cypher/audit"),
    "jobs": Route("GET /jobs"),
    "usage": Route("GET /usage"),
    "clients": Route("GET /clients"),
}

RUN_ROUTES = {
    "start": Route("POST /rlm/sessions", NAMED_OPERATION),
    "show": Route("GET /rlm/sessions/{run_id}"),
    "list_runs": Route("GET /rlm/sessions"),
    "retrieve": Route("POST /rlm/sessions/{run_id}/retrieve", NAMED_OPERATION),
    "peek": Route("POST /rlm/sessions/{run_id}/peek", NAMED_OPERATION),
    "write": Route("POST /rlm/sessions/{run_id}/write", NAMED_OPERATION),
    "subcall": Route("POST /rlm/sessions/{run_id}/subcall", NAMED_OPERATION),
    "end": Route("POST /rlm/sessions/{run_id}/end", always),
    "tree": Route("GET /rlm/sessions/{run_id}/tree"),
    "accesses": Route("GET /rlm/sessions/{run_id}/accesses"),
}
RAW = Route("POST /retrieve_memory/raw", accept=WHOLE_ANSWER)
EXPORT = Route("GET /export", accept="application/octet-stream")

RENAMED = {
    "link": {"from_id": "from", "to_id": "to"},
    "unlink": {"from_id": "from", "to_id": "to"},
    "add_to_context": {"memory_id": "id"},
}
"""Arguments whose fields have other names over HTTP."""

LONG_SEGMENTS = {"node_id"}
"""Arguments in a path that may contain slashes."""

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 60.0
"""A service that asks for a longer pause is reported at once."""

DOUBLINGS = 8
"""After as many any pause is the longest; more would be no number at last."""

HTTP_ERRORS: dict[str, type[GraphmemError]] = {
    "bad_request": InvalidInput,
    "forbidden": Unauthorized,
    "not_found": NotFound,
    "request_late": BodyLate,
}
"""The errors for problems that only HTTP knows."""

ATTRIBUTES = frozenset(
    {
        "alias",
        "client_id",
        "context_id",
        "conversation_id",
        "field",
        "from_id",
        "head_id",
        "lacking",
        "limit",
        "memory_id",
        "name",
        "node_id",
        "reason",
        "reference_id",
        "remaining",
        "requested",
        "rule",
        "run_id",
        "seconds",
        "session_id",
        "span_id",
        "status",
        "to_id",
        "type",
    }
)
"""Attributes of errors that are set to None where a problem does not contain them."""

sleep = asyncio.sleep


class ReceivedProblem(Struct, frozen=True):
    """A failure as a service describes it (RFC 9457), as far as errors use it."""

    detail: str
    code: str
    field: str | None = None
    requested: int | None = None
    remaining: int | None = None
    limit: int | None = None
    head_id: str | None = None
    reference_id: str | None = None
    place: dict[str, int] | None = None


class FailedRequest(Exception):
    """A request that failed: its error, whether nothing of it was done, and the pause that was asked for."""

    def __init__(self, error: GraphmemError, *, undone: bool, pause: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.undone = undone
        self.pause = pause


BOOKMARK = "X-Graphmem-Bookmark"
"""The header that says after which writes an answer was given, for the next request of the same client."""

MOST_CLIENTS = 1_000


class Latest(Struct):
    """The last bookmark of each client: no process of the service answers from an older state."""

    bookmarks: dict[str | None, str] = {}

    def keep(self, client_id: str | None, response: httpx.Response) -> None:
        """Keep the bookmark of an answer; a service without a cluster sends none."""
        if given := response.headers.get(BOOKMARK):
            self.bookmarks.pop(client_id, None)
            self.bookmarks[client_id] = given
            if len(self.bookmarks) > MOST_CLIENTS:
                self.bookmarks.pop(next(iter(self.bookmarks)))

    def forget(self, client_id: str | None) -> None:
        """Forget a bookmark that the service does not know any more."""
        self.bookmarks.pop(client_id, None)


MOST_CANCELLED = 32
"""The cancelled requests after which new connections are made."""


class Lent:
    """Connections that are lent to requests: how many have them now, and how many were cancelled."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.requests = self.cancelled = 0


class Connections:
    """The connections to a service: an event loop has its own, and new ones after many cancelled requests.

    Of httpx's hundred connections, some whose requests were cancelled stay in use for ever (httpcore 1.0.9):
    in the end every request would wait for one.
    """

    def __init__(
        self, make: Callable[[], httpx.AsyncClient], *, most_cancelled: float = MOST_CANCELLED
    ) -> None:
        self._make = make
        self._most_cancelled = most_cancelled
        self._of_loop: dict[asyncio.AbstractEventLoop, Lent] = {}
        self._is_closed = False

    def current(self) -> Lent:
        """Return those of the running event loop. Raises `RuntimeError` after `close`."""
        if self._is_closed:
            raise RuntimeError(
                "the client is closed: make another one, and close it after its last use"
            )
        loop = asyncio.get_running_loop()
        lent = self._of_loop.get(loop)
        if lent is None or lent.cancelled >= self._most_cancelled:
            # Nobody can close the connections of an event loop that has ended.
            running = {one: kept for one, kept in self._of_loop.items() if not one.is_closed()}
            lent = Lent(self._make())
            self._of_loop = running | {loop: lent}
        return lent

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[httpx.AsyncClient]:
        """Provide connections for one request."""
        lent = self.current()
        lent.requests += 1
        try:
            yield lent.http
        except asyncio.CancelledError:
            lent.cancelled += 1
            raise
        finally:
            lent.requests -= 1
            if lent.cancelled >= self._most_cancelled and not lent.requests:
                await lent.http.aclose()

    async def close(self) -> None:
        """Close the connections of all event loops that run; no others are made."""
        self._is_closed = True
        here, every = asyncio.get_running_loop(), self._of_loop
        self._of_loop = {}
        for loop, lent in every.items():
            if loop is here:
                await lent.http.aclose()
            elif loop.is_running():
                asyncio.run_coroutine_threadsafe(lent.http.aclose(), loop)


NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.LocalProtocolError,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
"""The errors of the network after which the service has certainly done nothing."""


class ServiceConnection(Struct, frozen=True, kw_only=True):
    """The way to one service for one client."""

    connections: Connections
    url: str
    key: str | None
    client_id: str | None
    retries: int
    latest: Latest = msgspec.field(default_factory=Latest)
    """Shared by the connections of all clients of one service."""

    async def ask(self, route: Route, fields: Fields) -> httpx.Response:
        """Return the answer to a request. Raises the error that the service names, or `Unavailable`."""
        # An iterable becomes a list, so that a repetition sends the same.
        fields = as_json({name: settled(value) for name, value in fields.items()})
        attempt = 0
        while True:
            request = self.request(route, fields)
            try:
                return await self._send(request, route, fields)
            except FailedRequest as failed:
                if self._is_about_bookmark(failed.error, request):
                    self.latest.forget(self.client_id)
                    continue
                pause = failed.pause or FIRST_PAUSE
                again = failed.undone or (_may_pass(failed.error) and route.may_be_repeated(fields))
                if not again or attempt == self.retries or pause > LONGEST_PAUSE:
                    raise failed.error from failed.__cause__
            # Longer each time: many requests that were refused together come back together.
            await sleep(min(pause * 2 ** min(attempt, DOUBLINGS), LONGEST_PAUSE))
            attempt += 1

    @asynccontextmanager
    async def stream(self, route: Route, fields: Fields) -> AsyncIterator[httpx.Response]:
        """Send a request once, and provide the answer before its body has arrived."""
        request = self.request(route, fields)
        async with self.connections.lend() as http:
            try:
                response = await http.send(request, stream=True)
                try:
                    self.latest.keep(self.client_id, response)
                    if not response.is_success:
                        await response.aread()
                        raise failure_of(response, fields)
                    refuse_page(response)
                    yield response
                finally:
                    await response.aclose()
            except httpx.TransportError as problem:
                raise self.unreachable(problem) from problem

    def request(self, route: Route, fields: Fields) -> httpx.Request:
        """Return the request: path, query string, body and headers."""
        path, rest = _placed(route.path, fields)
        in_query = set(rest) if route.method in {"GET", "DELETE"} else route.query
        params = {name: _text(name, value) for name, value in rest.items() if name in in_query}
        body = {name: value for name, value in rest.items() if name not in in_query}
        headers = self._headers(route)
        http = self.connections.current().http
        if route.method in {"GET", "DELETE"}:
            return http.build_request(route.method, path, params=params, headers=headers)
        content = msgspec.json.encode(body[route.whole] if route.whole else body)
        return http.build_request(
            route.method, path, params=params, headers=headers, content=content
        )

    def unreachable(self, problem: httpx.TransportError, *, may_write: bool = False) -> Unavailable:
        """Return an error of the network as ours: the service was not reached, or its answer was lost."""
        name = type(problem).__name__
        if isinstance(problem, NOT_SENT):
            return Unavailable(
                f"the service at {self.url} does not answer ({name}); check the address, and that "
                "`graphmem serve` runs there"
            )
        remedy = (
            "what was asked for may have been done; look before you write the same again"
            if may_write
            else "ask again"
        )
        return Unavailable(f"the answer of the service at {self.url} is lost ({name}): {remedy}")

    def _headers(self, route: Route) -> dict[str, str]:
        headers = {"Accept": f"{route.accept}, application/problem+json"}
        if route.method not in {"GET", "DELETE"}:
            headers["Content-Type"] = "application/json"
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        if self.client_id is not None:
            headers["X-Client-Id"] = self.client_id
        if bookmark := self.latest.bookmarks.get(self.client_id):
            headers[BOOKMARK] = bookmark
        return headers

    @staticmethod
    def _is_about_bookmark(error: GraphmemError, request: httpx.Request) -> bool:
        """Tell whether the service refused a bookmark, and did nothing: its database is another one now."""
        named = getattr(error, "field", None) == BOOKMARK
        return named and isinstance(error, InvalidInput) and BOOKMARK in request.headers

    async def _send(self, request: httpx.Request, route: Route, fields: Fields) -> httpx.Response:
        try:
            async with self.connections.lend() as http:
                response = await http.send(request)
        except httpx.TransportError as problem:
            undone = isinstance(problem, httpx.ConnectError | httpx.ConnectTimeout)
            may_write = not route.may_be_repeated(fields)
            error: GraphmemError = self.unreachable(problem, may_write=may_write)
            raise FailedRequest(error, undone=undone) from problem
        self.latest.keep(self.client_id, response)
        if response.is_success:
            return response
        error = failure_of(response, fields)
        undone = isinstance(error, Overloaded | TooManyRequests)
        raise FailedRequest(error, undone=undone, pause=_retry_after(response))


def failure_of(response: httpx.Response, fields: Fields) -> GraphmemError:
    """Return the error of Python for a failed answer of the service."""
    try:
        problem = msgspec.json.decode(response.content, type=ReceivedProblem)
    except NO_JSON:
        return _unnamed(response)
    error = _made(_class_of(problem.code, response.status_code), problem, fields)
    pause = _retry_after(response)
    if pause is not None:
        error.retry_after = int(pause)  # type: ignore[attr-defined]
    return error


def _unnamed(response: httpx.Response) -> GraphmemError:
    """Return the error for an answer that does not come from graphmem, but from a proxy before it."""
    if response.status_code in {502, 503, 504}:
        return Unavailable(_told(response), retry_after=int(_retry_after(response) or 2))
    return GraphmemError(
        f"{_told(response)}, which is not an answer of graphmem; check the address"
    )


def without_password(url: str | httpx.URL) -> str:
    """Return an address as errors show it."""
    return str(httpx.URL(url).copy_with(userinfo=b""))


def _told(response: httpx.Response) -> str:
    url = without_password(response.request.url)
    return f"{url} answered {response.status_code} {response.reason_phrase}"


def decoded(response: httpx.Response, answer: Any) -> Any:
    """Return a successful answer as a type. Raises `GraphmemError` if another program has answered."""
    refuse_page(response)
    if answer is str:
        return response.text
    try:
        return msgspec.json.decode(response.content or b"null", type=answer)
    except NO_JSON as problem:
        raise GraphmemError(
            f"{_told(response)} with what this version of graphmem does not read ({problem}); check the "
            "address, and the version of the service"
        ) from problem


def refuse_page(response: httpx.Response) -> None:
    """Raise `GraphmemError` for a page of another program, at an address that is not graphmem's."""
    if response.headers.get("Content-Type", "").startswith("text/html"):
        raise GraphmemError(f"{_told(response)} with a page; check the address")


def _class_of(code: str, status: int) -> type[GraphmemError]:
    known = {error.code: error for error in _tree(GraphmemError)} | HTTP_ERRORS
    if code not in known and code.startswith("cypher_") and status == 403:
        return CypherRefused
    return known.get(code, GraphmemError)


def _tree(error: type[GraphmemError]) -> Iterable[type[GraphmemError]]:
    yield error
    for child in error.__subclasses__():
        yield from _tree(child)


def _made(wanted: type[GraphmemError], problem: ReceivedProblem, fields: Fields) -> GraphmemError:
    """Return an error with the sentence of a problem; its own constructor would compose another."""
    error = wanted.__new__(wanted, problem.detail)
    given = {name: value for name, value in fields.items() if isinstance(value, str)}
    for name in ATTRIBUTES & set(inspect.signature(wanted.__init__).parameters):
        value = getattr(problem, name, None)
        setattr(error, name, value if value is not None else _mentioned(name, given, problem))
    place = problem.place or {}
    if hasattr(error, "rule") or "place" in inspect.signature(wanted.__init__).parameters:
        for name in ("line", "column", "offset"):
            setattr(error, name, place.get(name))
    return error


def _mentioned(name: str, given: Mapping[str, str], problem: ReceivedProblem) -> str | None:
    """Return the argument that an attribute of an error means: its sentence contains it."""
    if name == "rule":
        return problem.code
    named = given.get(name, given.get(name.removesuffix("_id")))
    if named and named in problem.detail:
        return named
    return next((value for value in given.values() if repr(value) in problem.detail), None)


def _may_pass(error: GraphmemError) -> bool:
    """Tell whether the same request may succeed soon."""
    lasting = DiskFull | StoreDamaged | RecordDamaged
    return isinstance(error, Unavailable) and not isinstance(error, lasting)


def _retry_after(response: httpx.Response) -> float | None:
    """Return the pause that a service asks for, in seconds; a date is no form that graphmem sends."""
    given = response.headers.get("Retry-After", "")
    return float(given) if given.isdecimal() else None


def _placed(path: str, fields: Fields) -> tuple[str, Fields]:
    """Return the path with its arguments in it, and the other arguments."""
    rest = dict(fields)
    parts = []
    for part in path.split("/"):
        if part.startswith("{"):
            name = part[1:-1]
            parts.append(_segment(name, rest.pop(name)))
        else:
            parts.append(part)
    return f"/api/v0{'/'.join(parts)}", rest


def _segment(name: str, value: object) -> str:
    """Return an id as a part of a path. Raises `InvalidInput` for what the service would not take as one."""
    # The service reads a slash as the end of the part, except in the name of an entity.
    if not isinstance(value, str) or ("/" in value and name not in LONG_SEGMENTS):
        value = validated(value, Id, name)
    if not value:
        raise InvalidInput(name, "is empty; give an id")
    # A segment of dots would be taken for a relative path.
    return quote(value, safe="").replace(".", "%2E")


def _text(name: str, value: object) -> str:
    """Return a value as it is written in a query string."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, list):
        return str(value)
    if any("," in str(item) for item in value):
        raise InvalidInput(name, "has an item with a comma, which separates the items of a list")
    return ",".join(map(str, value))


def given(arguments: Mapping[str, object], defaults: Mapping[str, object]) -> Fields:
    """Return the arguments that differ from their defaults."""
    return {
        name: value
        for name, value in arguments.items()
        if not isinstance(value, UnsetType) and value is not defaults.get(name, UnsetType)
    }
