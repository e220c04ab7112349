"""Making findings."""

from graphmem.doctor.types import Finding
from graphmem.errors import SettingError, SetupError


def ok(subject: str, what: str) -> Finding:
    """Return that something is as it should be."""
    return Finding(severity="ok", subject=subject, what=what)


def note(subject: str, what: str, remedy: str = "") -> Finding:
    """Return something worth knowing."""
    return Finding(severity="note", subject=subject, what=what, remedy=remedy)


def warning(subject: str, what: str, remedy: str) -> Finding:
    """Return something that works and should be otherwise."""
    return Finding(severity="warning", subject=subject, what=what, remedy=remedy)


def problem(subject: str, what: str, remedy: str) -> Finding:
    """Return something that does not work, or will give wrong answers."""
    return Finding(severity="problem", subject=subject, what=what, remedy=remedy)


def refused(subject: str, error: SetupError) -> Finding:
    """Return an error that would keep graphmem from starting, in its own words."""
    # Our sentences say what happened, then what to do, with a colon between.
    what, _, remedy = str(error).partition("\n")[0].partition(": ")
    if isinstance(error, SettingError):
        return problem(subject, f"{what} cannot be used: {remedy}", f"mend {what}")
    return problem(subject, what, remedy or "see above")


def counted(number: int, what: str) -> str:
    """Return a number with its word: 1 memory, 2 memories."""
    if number == 1:
        return f"1 {what}"
    return f"{number:,} {what[:-1]}ies" if what.endswith("y") else f"{number:,} {what}s"
