"""Rendering: memories as Markdown that can be put into a prompt, grouped by session in time order."""

import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from graphmem.model.vocabulary import TRAITS, Kind

# Control characters, including all that some reader treats as the end of a line.
_CONTROLS = re.compile(r"\r\n|[\x00-\x1f\x7f-\x9f\u2028\u2029]")

# With them a text is displayed in another order than that in which a model reads it.
_DIRECTIONS = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

# The start of a heading, a fence, a comment, a rule, the underline of a heading, or a block entry.
_SYNTAX = re.compile(r"#|`{3}|~{3}|<!--|(\*\*|__)\W*\[|\*\W*\(|[-=_*\s]+$")


class Entry(Struct, frozen=True, kw_only=True):
    """The parts of a memory that rendering uses."""

    id: str
    kind: Kind
    text: str
    session_id: str
    occurred_at: datetime
    idx: int
    speaker: str


def heading(kind: Kind, session_id: str, begins: datetime) -> str:
    """Return a group's heading: a session's time, or the kind of memories without a session."""
    return f"## {begins:%Y-%m-%d %H:%M}\n" if session_id else f"## {TRAITS[kind].heading}\n"


def prefix(speaker: str) -> str:
    """Return the prefix of a memory's text."""
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


def one_line(text: str) -> str:
    """Return a text on one line, so that it cannot forge a heading; control characters become spaces.

    Direction marks are removed.
    """
    return _DIRECTIONS.sub("", _CONTROLS.sub(" ", text)).strip()


def own_line(text: str) -> str:
    """Return a text on a line of its own, with a backslash before it if it begins like Markdown syntax."""
    line = one_line(text)
    start = next((at for at, one in enumerate(line) if not _is_invisible(one)), len(line))
    line = line[start:]
    return f"\\{line}" if _SYNTAX.match(line) else line


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) in {"Cf", "Zs", "Mn", "Me"}


def _begins(group: list[Entry]) -> datetime:
    return min(entry.occurred_at for entry in group)
