"""Findings of an examination, functions that make them, and how other programs connect to the database."""

import shlex
from typing import Literal

from msgspec import Struct

from graphmem.errors import SettingError, SetupError

CAUTION = (
    "such a program may change anything and sees every client, where `graphmem cypher` only reads; a private "
    "Neo4j runs while a graphmem process uses it: let `graphmem serve` run meanwhile"
)


class Way(Struct, frozen=True, kw_only=True):
    """One program, and how to connect it to the database."""

    program: str
    how: str


class Connection(Struct, frozen=True, kw_only=True):
    """The address of the database, and the place of its password."""

    uri: str
    user: str
    database: str
    credentials: str
    """The place of the password: a file or a variable."""
    ways: list[Way] = []
    """The usual programs, and how to connect them."""


def ways(connection: Connection) -> list[Way]:
    """Return the usual programs, each with its way to connect."""
    uri, user, database = connection.uri, connection.user, connection.database
    place = connection.credentials
    secret = f'"$(cat {shlex.quote(place)})"' if _is_file(place) else f'"${place}"'
    protocol, host, port = _parts(uri)
    rest = f"database {database}, user {user}, password in {place}"
    told = {
        "Neo4j Browser": f"in Neo4j Desktop, or served by another Neo4j: connect URL {uri}, {rest}",
        "NeoDash": f"protocol {protocol}, host {host}, port {port}, {rest}",
        "Bloom": f"as Explore in Neo4j Desktop, which needs no plug-in here: connect URL {uri}, {rest}",
        "cypher-shell": f"NEO4J_PASSWORD={secret} cypher-shell -a {uri} -u {user} -d {database} "
        "--access-mode read",
        "any Bolt driver": f'GraphDatabase.driver("{uri}", auth=("{user}", password)), its sessions with '
        f'database="{database}", default_access_mode="READ"',
    }
    return [Way(program=program, how=how) for program, how in told.items()]


def _is_file(credentials: str) -> bool:
    return "/" in credentials or "\\" in credentials


def _parts(uri: str) -> tuple[str, str, str]:
    """Return the protocol, the host and the port of an address."""
    protocol, _, rest = uri.partition("://")
    host, colon, port = rest.partition("/")[0].rpartition(":")
    return (protocol, host, port) if colon else (protocol, port, "7687")


Severity = Literal["ok", "note", "warning", "problem"]
SEVERITIES: tuple[Severity, ...] = ("ok", "note", "warning", "problem")


class Finding(Struct, frozen=True, kw_only=True):
    """One checked subject: its state, and the remedy if it needs one."""

    severity: Severity
    subject: str
    what: str
    remedy: str = ""


class Examination(Struct, frozen=True, kw_only=True):
    """All findings, and the connection to the database if it answers."""

    healthy: bool
    findings: list[Finding]
    connection: Connection | None = None


def ok(subject: str, what: str) -> Finding:
    """Return a finding about a subject that is in order."""
    return Finding(severity="ok", subject=subject, what=what)


def note(subject: str, what: str, remedy: str = "") -> Finding:
    """Return a finding that is worth knowing."""
    return Finding(severity="note", subject=subject, what=what, remedy=remedy)


def warning(subject: str, what: str, remedy: str) -> Finding:
    """Return a finding about a subject that works but should be changed."""
    return Finding(severity="warning", subject=subject, what=what, remedy=remedy)


def problem(subject: str, what: str, remedy: str) -> Finding:
    """Return a finding about a subject that does not work, or gives wrong answers."""
    return Finding(severity="problem", subject=subject, what=what, remedy=remedy)


def refused(subject: str, error: SetupError) -> Finding:
    """Return an error that would keep graphmem from starting as a finding."""
    # Our sentences say what happened, then what to do, with a colon between.
    what, _, remedy = str(error).partition("\n")[0].partition(": ")
    if isinstance(error, SettingError):
        return problem(subject, f"{what} cannot be used: {remedy}", f"mend {what}")
    return problem(subject, what, remedy or "see above")
