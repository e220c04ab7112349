"""Authentication: a request's client and its role; the export of a client, and for operators the list of all.

Without a keys file the header `X-Client-Id` names the client, and only a loopback address may listen. With
one, `Authorization: Bearer <key>` decides: omit `X-Client-Id` then; it is refused (401) if it names another
client than the key.
"""

import hashlib
import ipaddress
import logging
import re
import time
from pathlib import Path
from typing import Any, Literal, TypeGuard, get_args
from urllib.parse import urlsplit

import msgspec
from litestar import get
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.exceptions import PermissionDeniedException
from litestar.handlers import BaseRouteHandler
from litestar.response import Stream
from litestar.types import Scope
from msgspec import Struct

from graphmem.client import DEFAULT_CLIENT
from graphmem.clients import Clients, ClientsAsked, list_clients
from graphmem.config import Settings, variable
from graphmem.context import Context
from graphmem.errors import InvalidInput, SettingError, Unauthorized
from graphmem.exports import export as exporting
from graphmem.exports.export import ExportAsked
from graphmem.model.validation import validated
from graphmem.model.vocabulary import ClientId
from graphmem.observing.logs import name_client
from graphmem.runtime import Runtime
from graphmem_api.admission import visit_of
from graphmem_api.problems import failures
from graphmem_api.queries import query

Role = Literal["agent", "analyst", "operator"]
ROLES: tuple[Role, ...] = get_args(Role)

HEADER = "X-Client-Id"
DIGEST = re.compile(r"[0-9a-fA-F]{64}")

FROM_ELSEWHERE = ("forwarded", "x-forwarded-for", "x-real-ip", "via", "origin")
"""Headers of requests that a proxy forwards or a page sends."""

EXPORT_TYPE = "application/octet-stream"

SETTLED_SECONDS = 2.0
"""A file changed more recently may change again without a new timestamp: it is read once more."""

Connection = ASGIConnection[Any, Any, Any, Any]
Stamp = tuple[int, int, int]

log = logging.getLogger(__name__)


class Client(Struct, frozen=True):
    """The client of a request, and its role."""

    id: str
    role: Role


class Keys:
    """The keys in a file, by their SHA-256; a change of the file takes effect with the next request.

    Raises `SettingError` at first if the file cannot be used. Later the known keys stay valid and the error
    is logged, so that a half-written file locks nobody out.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = _stamp(path)
        self._clients = read_keys(path)

    def client(self, key: str) -> Client | None:
        """Return the client of a key.

        A digest is looked up, so that the time it takes reveals nothing about a key.
        """
        self._refresh()
        return self._clients.get(hashlib.sha256(key.encode(errors="replace")).digest())

    def _refresh(self) -> None:
        stamp = _stamp(self._path)
        if stamp is not None and stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._clients = read_keys(self._path)
        except SettingError as problem:
            log.error("the keys stay as they were: %s", problem)


class Guard:
    """Authenticates requests, and stores their client on them."""

    def __init__(self, settings: Settings) -> None:
        self._keys = Keys(settings.keys_file) if settings.keys_file else None

    async def __call__(self, connection: Connection, handler: BaseRouteHandler) -> None:
        """Raise `Unauthorized`, or `InvalidInput` for an invalid client id.

        A request without a body waits for its turn here, another one once its body has arrived. Raises
        `TooManyRequests`, `Overloaded`.
        """
        if self._keys is None:
            _refuse_foreign_pages(connection)
            client = Client(_named(connection) or DEFAULT_CLIENT, "operator")
        else:
            client = _by_key(connection, self._keys)
        connection.scope["state"]["client"] = client
        name_client(client.id)
        visit = visit_of(connection)
        if visit is not None and handler.parsed_data_field is None:
            await visit.begin(client.id, handler)


def current_client(scope: Scope) -> Client:
    """Return the client of the request."""
    client: Client = scope["state"]["client"]
    return client


def current_context(client: NamedDependency[Client], runtime: NamedDependency[Runtime]) -> Context:
    """Return the context of the request's client for a use case."""
    return runtime.context(client.id)


def read_keys(path: Path) -> dict[bytes, Client]:
    """Return the clients in a keys file by their keys' digests.

    Raises a `SettingError` that names the line and never shows its content.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8"
        raise _unusable(f"{path} cannot be read: {reason}") from problem
    clients: dict[bytes, Client] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if words and not words[0].startswith("#"):
            digest, client = _entry(words, f"{path}, line {number}")
            if digest in clients:
                raise _unusable(f"{path}, line {number}: this key stands above already")
            clients[digest] = client
    return clients


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
    return not any(name in connection.headers for name in FROM_ELSEWHERE)


def _entry(words: list[str], place: str) -> tuple[bytes, Client]:
    if len(words) != 3:
        raise _unusable(f"{place}: expected `client role sha256-of-key`")
    client, role, digest = words
    try:
        validated(client, ClientId)
    except InvalidInput as problem:
        raise _unusable(f"{place}: a client is 1–128 of letters, digits and `. _ : -`") from problem
    if not _is_role(role):
        raise _unusable(f"{place}: the role is one of {', '.join(ROLES)}")
    if not DIGEST.fullmatch(digest):
        raise _unusable(f"{place}: a key's SHA-256 is 64 hexadecimal digits")
    return bytes.fromhex(digest), Client(client, role)


def _is_role(word: str) -> TypeGuard[Role]:
    return word in ROLES


def _unusable(problem: str) -> SettingError:
    return SettingError(variable("keys_file"), problem)


def _stamp(path: Path) -> Stamp | None:
    """Return the stamp of a file's content; None if it changed too recently for a reliable one."""
    try:
        status = path.stat()
    except OSError:
        return (0, 0, 0)
    if abs(time.time() - status.st_mtime) < SETTLED_SECONDS:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _by_key(connection: Connection, keys: Keys) -> Client:
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


# Async although it awaits nothing: as above.
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


async def _operators_only(connection: Connection, _: BaseRouteHandler) -> None:
    """Raise 403 for a key of another role."""
    if current_client(connection.scope).role != "operator":
        raise PermissionDeniedException(
            "the list of clients is shown to keys of the role operator only"
        )


@get(
    "/clients",
    summary="List clients",
    response_description="A page of clients",
    tags=["clients"],
    guards=[_operators_only],
    responses=failures(403),
    **query(ClientsAsked),
)
async def list_all_clients(
    runtime: NamedDependency[Runtime], asked: NamedDependency[ClientsAsked]
) -> Clients:
    """List the clients of the whole store in the order of their ids, each with its counts; for operators.

    Counting takes time in proportion to the memories of the page's clients. `last_read_at` is known of reads
    that are still recorded.
    """
    return await list_clients(asked, runtime.graph)


@get(
    "/export",
    summary="Export everything of the client",
    media_type=EXPORT_TYPE,
    response_description="The lines of the file",
    tags=["clients"],
    responses=failures(),
    **query(ExportAsked),
)
async def export_client(
    context: NamedDependency[Context], asked: NamedDependency[ExportAsked]
) -> Stream:
    """Write everything that is stored of the client as JSON Lines, the file that `graphmem import` reads.

    Each page of lines ends with a line `page`, which has the SHA-256 up to there and a `cursor`: a stream
    that was cut off is continued after its last page by asking again with that. The last line is `end`;
    without it the file is not whole. `end.changed` tells that the client was written to meanwhile: what was
    written may be missing in part.
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


def _refuse_foreign_pages(connection: Connection) -> None:
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
