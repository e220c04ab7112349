"""Places: which Neo4j holds which client, as a file says it.

The file is TOML. `[places.NAME]` has the address of a database; `[[clients]]` puts clients there, by `id` or
by `prefix`. Clients that no entry names are in the place `default`: the Neo4j of the settings. A change of
the file takes effect with the next request, so a client moves by a line of it.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from graphmem.config import (
    NEO4J_URI,
    Settings,
    WatchedFile,
    has_secret,
    is_address,
    variable,
)
from graphmem.errors import SettingError
from graphmem.model.validation import invalid
from graphmem.model.vocabulary import ID_PATTERN

DEFAULT = "default"
"""The place of the clients that no entry names."""

Name = Annotated[str, Meta(pattern=ID_PATTERN)]


class Address(Struct, frozen=True, forbid_unknown_fields=True):
    """The database of a place, and where its password is."""

    uri: str
    database: str = "neo4j"
    user: str = "neo4j"
    password_env: str | None = None
    password_file: str | None = None

    def password(self, folder: Path, environ: Mapping[str, str] = os.environ) -> str:
        """Return the password. Raises `SettingError` if its variable or its file is missing."""
        if self.password_file is not None:
            path = folder / Path(self.password_file).expanduser()
            try:
                return path.read_text("utf-8").strip()
            except (OSError, UnicodeDecodeError) as problem:
                raise _wrong(f"the password file {path} cannot be read") from problem
        if self.password_env is None:
            return ""
        if self.password_env not in environ:
            raise _wrong(f"the environment has no variable {self.password_env} with the password")
        return environ[self.password_env]


class Placed(Struct, frozen=True, forbid_unknown_fields=True):
    """The place of a client, or of all clients whose ids begin alike, and whether they may write."""

    id: Annotated[str, Meta(pattern=ID_PATTERN)] | None = None
    prefix: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    place: Name = DEFAULT
    writes: Literal["on", "off"] = "on"


ELSEWHERE = Placed()
"""The entry of a client that no entry names."""


class Placement(Struct, frozen=True, forbid_unknown_fields=True):
    """The places, and the clients that are in them."""

    places: dict[Name, Address] = {}
    clients: list[Placed] = []

    def of(self, client_id: str) -> Placed:
        """Return the entry of a client: the one with its id, else the one with the longest prefix."""
        fitting = [one for one in self.clients if one.prefix and client_id.startswith(one.prefix)]
        named = [one for one in self.clients if one.id == client_id]
        return (named or sorted(fitting, key=_length, reverse=True) or [ELSEWHERE])[0]


def places_file(path: Path) -> WatchedFile[Placement]:
    """Return the placement in a file. Raises `SettingError`.

    Of a file that cannot be used any more nothing changes: no write goes to a place that nobody has named.
    """
    return WatchedFile(
        path, read_placement, "clients stay where they are until the file can be used"
    )


def read_placement(path: Path) -> Placement:
    """Return the placement in a file. Raises `SettingError`."""
    try:
        placement = msgspec.toml.decode(path.read_bytes(), type=Placement)
    except OSError as problem:
        raise _wrong(f"{path} cannot be read: {problem.strerror}") from problem
    except msgspec.ValidationError as problem:
        raise _wrong(f"{path}: {invalid(problem, Placement)}") from problem
    except (msgspec.DecodeError, ValueError) as problem:
        # The parser's message names a line, and quotes nothing of it.
        raise _wrong(f"{path} is no TOML: {problem}") from problem
    _check(placement, path)
    return placement


def at_place(settings: Settings) -> Settings:
    """Return the settings with the Neo4j of the place that they name, alone. Raises `SettingError`."""
    if settings.place is None:
        return settings
    if settings.places_file is None:
        raise SettingError(
            variable("place"),
            f"names a place of the file in {variable('places_file')}: set that too",
        )
    if settings.place == DEFAULT:
        return at_home(settings)
    placement = read_placement(settings.places_file)
    address = placement.places.get(settings.place)
    if address is None:
        known = ", ".join([DEFAULT, *placement.places])
        raise SettingError(
            variable("place"), f"{settings.place!r} is none of the file's places: {known}"
        )
    return connected(settings, settings.place, address)


def mend_address(place: str | None) -> str:
    """Return the remedy for a Neo4j of the settings, or of a place, that does not answer."""
    if place in {None, DEFAULT}:
        return f"start it or mend {variable('neo4j_uri')}"
    return f"start it or mend [places.{place}] in the places file"


def at_home(settings: Settings) -> Settings:
    """Return the settings without the other places, for commands that work with one whole database."""
    return replace(settings, places_file=None)


def connected(settings: Settings, name: str, address: Address) -> Settings:
    """Return the settings with the Neo4j of a place instead of theirs. Raises `SettingError`."""
    folder = settings.places_file.parent if settings.places_file else Path()
    return replace(
        settings,
        place=name,
        places_file=None,
        neo4j_uri=address.uri,
        neo4j_user=address.user,
        neo4j_password=address.password(folder),
        neo4j_database=address.database,
    )


def _check(placement: Placement, path: Path) -> None:
    """Raise `SettingError` for what the types do not say."""
    if DEFAULT in placement.places:
        raise _wrong(
            f"{path}: the place {DEFAULT!r} is the Neo4j of the settings; name this one else"
        )
    for name, address in placement.places.items():
        if fault := _fault(address.uri):
            raise _wrong(f"{path}: the uri of the place {name!r} {fault}")
    seen: set[tuple[str | None, str | None]] = set()
    for number, one in enumerate(placement.clients, 1):
        if (one.id is None) == (one.prefix is None):
            raise _wrong(f"{path}: entry {number} of clients needs either an id or a prefix")
        if (one.id, one.prefix) in seen:
            raise _wrong(f"{path}: entry {number} of clients repeats an earlier one")
        seen.add((one.id, one.prefix))


def _fault(uri: str) -> str | None:
    """Return what is wrong with the address of a Neo4j, without the address; None if nothing is."""
    if has_secret(uri):
        return (
            "has a user or a password, and is shown and logged: put them into user, and into "
            "password_env or password_file"
        )
    if not re.match(NEO4J_URI, uri):
        return "begins neither with bolt:// nor with neo4j://; each may have +s or +ssc before the colon"
    if not is_address(uri):
        return "has no host, or a port that is none; it is written like bolt://db.internal:7687"
    return None


def _length(one: Placed) -> int:
    return len(one.prefix or "")


def _wrong(problem: str) -> SettingError:
    return SettingError(variable("places_file"), problem)
