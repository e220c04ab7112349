"""Authentication: a request's client and its role; the export of a client, and for operators the list of all.

Without a keys file the header `X-Client-Id` names the client, and only a loopback address may listen. With
one, `Authorization: Bearer <key>` decides: omit `X-Client-Id` then; it is refused (401) if it names another
client than the key.
"""

import ipaddress
from typing import Any
from urllib.parse import urlsplit

import msgspec
from litestar import get
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.exceptions import PermissionDeniedException
from litestar.handlers import BaseRouteHandler
from litestar.response import Stream
from litestar.types import Scope

from graphmem.client import DEFAULT_CLIENT
from graphmem.clients import (
    Clients,
    ClientsAsked,
    ClientUsage,
    list_clients,
    show_usage as usage,
)
from graphmem.config import Settings, variable
from graphmem.context import Context
from graphmem.errors import InvalidInput, SettingError, Unauthorized
from graphmem.exports import export as exporting
from graphmem.exports.export import ExportAsked
from graphmem.model.vocabulary import ClientId
from graphmem.observing.logs import name_client
from graphmem.runtime import Runtime
from graphmem_api.admission import STREAMED, visit_of
from graphmem_api.bodies import StrictRequest
from graphmem_api.keys import Keys, RequestClient
from graphmem_api.problems import failures
from graphmem_api.queries import query, refuse_unread
from graphmem_api.roles import require_role

HEADER = "X-Client-Id"

FROM_ELSEWHERE = ("forwarded", "x-forwarded-for", "x-real-ip", "via", "origin")
"""Headers of requests that a proxy forwards or a page sends."""

EXPORT_TYPE = "application/octet-stream"

Connection = ASGIConnection[Any, Any, Any, Any]


class Guard:
    """Authenticates requests, stores their client on them, and refuses what its role may not send."""

    def __init__(self, settings: Settings) -> None:
        self._keys = Keys(settings.keys_file) if settings.keys_file else None
        self._reads = settings.reads
        if settings.keys_file and settings.reads:
            raise SettingError(
                variable("reads"),
                "it is for a service without keys; with keys each line of the keys file says what its key "
                "reads: graphmem keys create CLIENT --reads team",
            )

    async def refuse_foreign_pages(self, connection: Connection, _: BaseRouteHandler) -> None:
        """Raise 403 for a page of elsewhere where no key protects; for routes that need none."""
        if self._keys is None:
            refuse_foreign_pages(connection)

    def check_keys(self) -> None:
        """Raise `Unavailable` while no key can be checked."""
        if self._keys is not None:
            self._keys.usable()

    async def __call__(self, connection: Connection, handler: BaseRouteHandler) -> None:
        """Raise `Unauthorized`, `InvalidInput` for an invalid client id, 403 for a role that may not ask.

        A request without a body waits for its turn here, another one once its body has arrived. Raises
        `TooManyRequests`, `Overloaded`.
        """
        if self._keys is None:
            refuse_foreign_pages(connection)
            named = _named(connection) or DEFAULT_CLIENT
            client = RequestClient(named, "operator", self._reads)
        else:
            client = _by_key(connection, self._keys)
        connection.scope["state"]["client"] = client
        name_client(client.id)
        require_role(client.role, handler.handler_name.rpartition(".")[2])
        visit = visit_of(connection)
        if visit is None:
            return
        visit.client_id = client.id
        has_struct = handler.parsed_data_field is not None
        if isinstance(connection, StrictRequest):
            if connection.method in {"POST", "DELETE"} and not has_struct:
                # While it waits for its turn only its end is looked for: nothing else would be read then.
                await connection.whole_body()
            await refuse_unread(connection)
        if not has_struct:
            await visit.begin(handler)


def current_client(scope: Scope) -> RequestClient:
    """Return the client of the request."""
    client: RequestClient = scope["state"]["client"]
    return client


def current_context(
    client: NamedDependency[RequestClient], runtime: NamedDependency[Runtime]
) -> Context:
    """Return the context of the request's client for a use case, with the others that it may read."""
    return runtime.context(client.id, client.reads)


def check_listener(settings: Settings) -> None:
    """Raise `SettingError` if other machines could send requests without a key."""
    if not settings.keys_file and not is_loopback(settings.host):
        raise SettingError(
            variable("host"),
            f"without keys only this machine may ask, and {settings.host!r} is not a loopback "
            f"address: listen on 127.0.0.1, or name a keys file in {variable('keys_file')}",
        )


def is_loopback(host: str | None) -> bool:
    """Tell whether a host is a loopback address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def is_near(connection: Connection) -> bool:
    """Tell whether a request comes from this machine, and not through a proxy or from a foreign page.

    A forged header can only make a request look more remote.
    """
    peer = connection.scope["client"]
    if peer is None or not is_loopback(peer[0]):
        return False
    if not is_loopback(_host_of(f"//{connection.headers.get('host', '')}")):
        return False
    return not any(name in connection.headers for name in FROM_ELSEWHERE)


def _by_key(connection: Connection, keys: Keys) -> RequestClient:
    given = connection.headers.getall("authorization", [])
    if not given:
        raise Unauthorized("a key is needed: send Authorization: Bearer <key>")
    scheme, _, key = given[0].strip().partition(" ")
    client = keys.client(key.strip()) if scheme.lower() == "bearer" and len(given) == 1 else None
    if client is None:
        raise Unauthorized("this key is not known, or is no more: send Authorization: Bearer <key>")
    if _named(connection) not in {None, client.id}:
        raise Unauthorized(f"{HEADER} names another client than the key does: leave it out")
    return client


# Async although it awaits nothing: Litestar runs any other guard in a thread.
async def refuse_foreign_origin(connection: Connection, _: BaseRouteHandler) -> None:
    """Raise 403 for a page of another origin than this server or this machine, also if it has a key.

    A program that is no browser sends no `Origin`. The protocol of agents' programs demands this check.
    """
    origin = connection.headers.get("origin")
    if origin is None:
        return
    named = _host_of(origin)
    if not is_loopback(named) and named != _host_of(f"//{connection.headers.get('host', '')}"):
        raise PermissionDeniedException(
            "pages of another origin may not ask: their Origin is this server or a loopback address"
        )


@get(
    "/clients",
    summary="List clients",
    response_description="A page of clients",
    tags=["clients"],
    responses=failures(),
    **query(ClientsAsked),
)
async def list_all_clients(
    runtime: NamedDependency[Runtime], asked: NamedDependency[ClientsAsked]
) -> Clients:
    """List the clients of the whole store in the order of their ids, each with its counts; for operators.

    Counting takes time in proportion to the memories of the page's clients. `last_read_at` is known of reads
    that are still recorded.
    """
    return await list_clients(asked, runtime.stores(), runtime.limits)


@get(
    "/usage",
    summary="Show the limits of the client",
    response_description="Its limits, and what it has",
    tags=["clients"],
    responses=failures(),
)
async def show_usage(
    runtime: NamedDependency[Runtime], context: NamedDependency[Context]
) -> ClientUsage:
    """Show the limits of the client, and what it has; null stands for no limit.

    It is counted from the client's first write under limits, until then it is null.
    """
    return await usage(context.client_id, runtime.limits.of(context.client_id), context.graph)


@get(
    "/export",
    summary="Export everything of the client",
    media_type=EXPORT_TYPE,
    response_description="The lines of the file",
    tags=["clients"],
    opt=STREAMED,
    responses=failures(),
    **query(ExportAsked),
)
async def export_client(
    context: NamedDependency[Context], asked: NamedDependency[ExportAsked]
) -> Stream:
    """Write everything that is stored for the client as JSON Lines, which `graphmem import` reads.

    Each page of lines ends with a line `page`, which has the SHA-256 of all lines before it and a `cursor`.
    To continue a stream that was cut off, send the cursor of its last page; 400 if its vectors are those of
    another embedding model than the present one. The last line is `end`; a file without it is not complete.
    What is written during the export may be missing in part. `end.changed` is true if the numbers of memories
    and conversations, or the newest memory, are not those of the beginning; it does not tell of changed
    annotations, titles and links, nor of facts that were said again.
    """
    return Stream(await exporting.export(asked, context))


def _named(connection: Connection) -> str | None:
    """Return the client that the header names."""
    given = connection.headers.getall(HEADER, [])
    if not given:
        return None
    try:
        return msgspec.convert(",".join(given), ClientId)
    except msgspec.ValidationError as problem:
        raise InvalidInput(HEADER, "is 1–128 of letters, digits and `. _ : -`") from problem


def refuse_foreign_pages(connection: Connection) -> None:
    """Raise 403 for a browser's requests for a foreign page: DNS rebinding gets this far.

    Such a page shows in `Origin` or, if the browser omits that, in `Host`.
    """
    origin, host = connection.headers.get("origin"), connection.headers.get("host")
    named = [origin] if origin is not None else []
    named += [f"//{host}"] if host is not None else []
    if not all(is_loopback(_host_of(address)) for address in named):
        raise PermissionDeniedException(
            "without keys only pages from this machine may ask: their Origin and Host are loopback "
            "addresses"
        )


def _host_of(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
