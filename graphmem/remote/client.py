"""The public API for a running service: `Graphmem` whose methods are requests over HTTP."""

import inspect
import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import cache, partial, wraps
from types import TracebackType, UnionType
from typing import Annotated, Any, Self, get_args, get_origin, get_type_hints

import httpx
import msgspec
from msgspec import Meta

from graphmem.client import DEFAULT_CLIENT, Graphmem
from graphmem.config import is_address
from graphmem.errors import GraphmemError, InvalidInput
from graphmem.model.validation import listed, validated
from graphmem.model.vocabulary import ClientId
from graphmem.remote.connection import (
    EXPORT,
    MOST_CANCELLED,
    RAW,
    RENAMED,
    ROUTES,
    RUN_ROUTES,
    Connections,
    Fields,
    Route,
    ServiceConnection,
    decoded,
    given,
    without_password,
)
from graphmem.runs.environment import RunEnvironment
from graphmem.runs.types import OnAccess, RetrievalBudget
from graphmem.tokens import TokenCounter

TIMEOUT = 340.0
"""Longer than a service lets a request with a body of less than 1 MB take: its own answer arrives first."""

LOCAL_SERVICE = "http://127.0.0.1:8000"
CONNECT_SECONDS = 5.0
RETRIES = 3

Retries = Annotated[int, Meta(ge=0)]
Timeout = Annotated[float, Meta(gt=0)]

Method = Callable[..., Any]


class AsyncClient(Graphmem):
    """A running service, as one client sees it: the methods, answers and errors of `Graphmem`.

    A request that the service has refused because it is busy is sent again, after the pause that it asks
    for; so is one that failed otherwise, if repeating it is safe: it only reads, or has the caller's ids
    (`external_id` of each message, `operation_id`).
    """

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
        """Prepare the way to a service; nothing is sent yet.

        Args:
            url: the address of the service, without `/api/v0`.
            key: the key of the client, if the service asks for keys.
            client_id: the client; None for that of the key, or `default` without a key.
            retries: how often a request is sent again.
            timeout: the seconds in which some part of an answer must arrive. The service gives a body of more
                than 1 MB longer than the default: 30 s more for each 100,000 bytes.
            transport: another transport of httpx, such as one with a proxy or certificates of its own.

        Raises:
            InvalidInput: an argument cannot be used; names it.
        """
        address = _address(url)
        connections = Connections(
            partial(
                httpx.AsyncClient,
                base_url=address,
                timeout=httpx.Timeout(
                    None if timeout in (None, math.inf) else validated(timeout, Timeout, "timeout"),
                    connect=CONNECT_SECONDS,
                ),
                transport=transport,
            ),
            # The caller's own transport is the only one.
            most_cancelled=MOST_CANCELLED if transport is None else math.inf,
        )
        self._use(
            ServiceConnection(
                connections=connections,
                url=without_password(address),
                key=None if key is None else _sendable(key),
                client_id=None
                if client_id is None
                else validated(client_id, ClientId, "client_id"),
                retries=validated(retries, Retries, "retries"),
            )
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, also those of `for_client`."""
        await self._connection.connections.close()

    def for_client(self, client_id: str) -> "AsyncClient":
        """Return the same service as another client sees it, where it asks for no keys.

        With an operator's key only `hold`, `end_hold` and `forget_client` may concern another client; all
        else raises `Unauthorized`.
        """
        other = object.__new__(AsyncClient)
        named = validated(client_id, ClientId, "client_id")
        other._use(msgspec.structs.replace(self._connection, client_id=named))
        return other

    def runs(
        self,
        *,
        default_budget: RetrievalBudget | Mapping[str, int] | None = None,
        on_access: OnAccess | None = None,
        max_concurrent_sessions: int | None = None,
    ) -> RunEnvironment:
        """Return the environment of this client's runs.

        `on_access` and `max_concurrent_sessions` belong to the service: raises `InvalidInput` for them.
        """
        _refuse("on_access", on_access, "ask `accesses` for the operations of a run")
        _refuse(
            "max_concurrent_sessions", max_concurrent_sessions, "it is a setting of the service"
        )
        budget = None if default_budget is None else validated(default_budget, RetrievalBudget)
        return RemoteRuns(self._connection, budget)

    async def export(
        self, *, vectors: bool = True, cursor: str | None = None
    ) -> AsyncIterator[bytes]:
        """Return everything of this client as the lines of a file, as they arrive; see `Graphmem.export`."""
        fields: Fields = {"vectors": vectors} | ({} if cursor is None else {"cursor": cursor})
        lines = self._lines(fields)
        first = await anext(lines, b"")
        if not first:
            raise GraphmemError(
                f"the service at {self._connection.url} answered nothing; check the address"
            )
        return _chained(first, lines)

    async def _lines(self, fields: Fields) -> AsyncIterator[bytes]:
        async with self._connection.stream(EXPORT, fields) as response:
            async for part in response.aiter_bytes():
                yield part

    @property
    def _tokens(self) -> TokenCounter:
        return TokenCounter()

    def _use(self, connection: ServiceConnection) -> None:
        self._connection = connection
        self.client_id = connection.client_id or DEFAULT_CLIENT


class RemoteRuns(RunEnvironment):
    """The runs of one client of a service."""

    def __init__(
        self, connection: ServiceConnection, default_budget: RetrievalBudget | None
    ) -> None:
        self._connection = connection
        self.default_budget = default_budget or RetrievalBudget()

    @property
    def client_id(self) -> str:
        """The client that owns the runs."""
        return self._connection.client_id or DEFAULT_CLIENT

    @property
    def max_concurrent_sessions(self) -> int:
        """Raise `AttributeError`: a service does not tell its settings."""
        raise AttributeError("max_concurrent_sessions is a setting of the service")


def _address(url: str) -> str:
    """Return the address of a service; the error does not repeat it, since it may have a password."""
    given = validated(url, str, "url")
    if not (
        given.lower().startswith(("http://", "https://")) and is_address(given) and _fits(given)
    ):
        raise InvalidInput(
            "url", f"is no address of a service; give one with its scheme, such as {LOCAL_SERVICE}"
        )
    return given


def _fits(address: str) -> bool:
    """Tell whether httpx can ask an address."""
    try:
        httpx.URL(address)
    except httpx.InvalidURL:
        return False
    return True


def _sendable(key: str) -> str:
    """Return a key that a header can have."""
    given = validated(key, str, "key")
    if not given:
        raise InvalidInput("key", "is empty; give the key, or None for a service without keys")
    if not (given.isascii() and given.isprintable()) or given != given.strip():
        raise InvalidInput(
            "key",
            "has a character, or a space at its end, that cannot be sent; give one of printable ASCII",
        )
    return given


def _as_request(method: Method, route: Route, renamed: Mapping[str, str]) -> Method:
    """Return a method with the same signature that sends its arguments as a request."""
    signature = inspect.signature(method)
    defaults = {name: one.default for name, one in signature.parameters.items()}
    answer = cache(lambda: get_type_hints(method)["return"])
    lists = cache(lambda: _lists(get_type_hints(method), route))

    @wraps(method)
    async def _request(self: Any, *args: Any, **kwargs: Any) -> Any:
        bound = dict(signature.bind(self, *args, **kwargs).arguments)
        arguments = bound | bound.pop("fields", {})
        fields = given({name: arguments[name] for name in arguments if name != "self"}, defaults)
        for name, others in lists().items():
            if name in fields and not isinstance(fields[name], others):
                fields[name] = listed(fields[name], name)
        sent = {renamed.get(name, name): value for name, value in fields.items()}
        if isinstance(self, RemoteRuns) and method is RunEnvironment.start:
            sent = {"budget": self.default_budget} | sent
        if "{client_id}" in route.path:
            return await _ask(*_of_one_client(self._connection, sent), route, answer())
        return await _ask(self._connection, sent, route, answer())

    return _request


def _lists(types: Mapping[str, Any], route: Route) -> dict[str, tuple[type, ...]]:
    """Return the arguments that are lists for us only, each with the other types that it may have.

    The service takes one object in place of a whole body of several, and a text in a query string is a list.
    """
    in_query = route.method in {"GET", "DELETE"}
    choices = {
        name: get_args(wanted) if isinstance(wanted, UnionType) else (wanted,)
        for name, wanted in types.items()
        if name == route.whole or (in_query and name != "return")
    }
    return {
        name: tuple(one for one in each if isinstance(one, type))
        for name, each in choices.items()
        if any(get_origin(one) in {Iterable, Sequence} for one in each)
    }


def _of_one_client(
    connection: ServiceConnection, fields: Fields
) -> tuple[ServiceConnection, Fields]:
    """Return the way and the fields of a request that names its client in the path.

    An operator's key may do it for any client; the header would say that the key is of that client.
    """
    if connection.key is None:
        return connection, fields | {"client_id": connection.client_id or DEFAULT_CLIENT}
    if connection.client_id is None:
        raise InvalidInput("client_id", "is needed here: name the client, AsyncClient(client_id=…)")
    anonymous = msgspec.structs.replace(connection, client_id=None)
    return anonymous, fields | {"client_id": connection.client_id}


async def _ask(connection: ServiceConnection, fields: Fields, route: Route, answer: Any) -> Any:
    """Return the answer to a request as the type that the method returns."""
    raw = fields.pop("raw", False)
    return decoded(await connection.ask(RAW if raw else route, fields), answer)


def _refuse(name: str, value: object, remedy: str) -> None:
    if value is not None:
        raise InvalidInput(name, f"cannot be given for a service: {remedy}")


async def _chained(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for part in rest:
        yield part


for _name, _route in ROUTES.items():
    setattr(
        AsyncClient,
        _name,
        _as_request(getattr(Graphmem, _name), _route, RENAMED.get(_name, {})),
    )
for _name, _route in RUN_ROUTES.items():
    setattr(RemoteRuns, _name, _as_request(getattr(RunEnvironment, _name), _route, {}))
