"""Findings of an examination, and functions that make them."""

from typing import Literal

from msgspec import Struct

from graphmem.doctor.connecting import Connection
from graphmem.errors import SettingError, SetupError

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
