"""What an examination finds."""

from typing import Literal

from msgspec import Struct

Severity = Literal["ok", "note", "warning", "problem"]
SEVERITIES: tuple[Severity, ...] = ("ok", "note", "warning", "problem")


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that was looked at: how it is, and what to do where something is."""

    severity: Severity
    subject: str
    what: str
    remedy: str = ""


class Way(Struct, frozen=True, kw_only=True):
    """How one program is connected to the database."""

    program: str
    how: str


class Connection(Struct, frozen=True, kw_only=True):
    """How to reach the database, without the password itself."""

    uri: str
    user: str
    database: str
    credentials: str
    """Where the password is: a file, or a variable."""
    ways: list[Way] = []
    """How the usual programs are connected."""


class Examination(Struct, frozen=True, kw_only=True):
    """What was found, and how to reach the database where there is one."""

    healthy: bool
    findings: list[Finding]
    connection: Connection | None = None
