"""Rendering: memories as Markdown that can be put into a prompt, grouped by session in time order."""

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from graphmem.model.vocabulary import TRAITS, Kind


class Entry(Struct, frozen=True, kw_only=True):
    """What rendering shows of a memory."""

    id: str
    kind: Kind
    text: str
    session_id: str
    occurred_at: datetime
    idx: int
    speaker: str


def heading(kind: Kind, session_id: str, begins: datetime) -> str:
    """Return a group's heading: a session's time, or the kind of what belongs to no session."""
    return f"## {begins:%Y-%m-%d %H:%M}\n" if session_id else f"## {TRAITS[kind].heading}\n"


def prefix(speaker: str) -> str:
    """Return what stands before a memory's text."""
    return f"{speaker}: " if speaker else "- "


def markdown(entries: Iterable[Entry]) -> str:
    """Return the entries, each text whole and unchanged, under a heading for each session."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        key = (entry.session_id, "" if entry.session_id else entry.kind)
        groups.setdefault(key, []).append(entry)
    for group in groups.values():
        group.sort(key=lambda entry: (entry.idx, entry.occurred_at, entry.id))
    ordered = sorted(
        groups.values(),
        key=lambda group: (
            bool(group[0].session_id),
            _begins(group),
            group[0].session_id,
            group[0].kind,
        ),
    )
    return "\n".join(
        heading(group[0].kind, group[0].session_id, _begins(group))
        + "".join(f"{prefix(entry.speaker)}{entry.text}\n" for entry in group)
        for group in ordered
    )


def _begins(group: list[Entry]) -> datetime:
    return min(entry.occurred_at for entry in group)
