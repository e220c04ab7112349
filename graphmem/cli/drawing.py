"""Bars, lanes of time and trees of plain text, within the width of the terminal."""

import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeVar

Node = TypeVar("Node")

WIDEST = 100
"""The width of a drawing in characters, on a terminal that is wider or unknown."""

NARROWEST = 24
"""The width on a terminal that is narrower: less shows nothing."""

EIGHTHS = " ▏▎▍▌▋▊▉█"
PLAIN = {"█": "#", "▓": "=", "▒": "+", "░": ".", "─": "-", "●": "o", "├": "|", "└": "`", "│": "|"}
"""What stands for these characters where the output cannot show them."""


def width() -> int:
    """Return the number of characters of a line."""
    return max(NARROWEST, min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST))


def drawable(text: str) -> str:
    """Return a drawing in characters that the output can show."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        "".join((*PLAIN, EIGHTHS)).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        table = {ord(one): "#" for one in EIGHTHS.strip()} | {ord(k): v for k, v in PLAIN.items()}
        return text.translate(table)
    return text


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1
        for one in text
    )


def cut(text: str, most: int) -> str:
    """Return the beginning of a text in one line of at most so many columns, without control characters."""
    # Characters of format (Cf) would turn the direction of the line.
    flat = " ".join("".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in text).split())
    if cells(flat) <= most:
        return flat
    kept = ""
    for one in flat:
        if cells(kept + one) > most - 1:
            break
        kept += one
    return f"{kept}…"


def bar(part: float, whole: float, length: int) -> str:
    """Return a bar of eighths of characters for a part of a whole, as long as `length` for all of it."""
    share = min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0
    full, eighths = divmod(round(8 * length * share), 8)
    drawn = "█" * full + (EIGHTHS[eighths] if eighths else "")
    # What is there is seen, however little it is.
    return drawn or (EIGHTHS[1] if share > 0 else "")


def stacked(parts: Iterable[tuple[float, str]], whole: float, length: int) -> str:
    """Return a bar of exactly `length` whose parts have a character each; the rest is `░`."""
    drawn, reached = "", 0.0
    for part, character in parts:
        reached += part
        until = min(length, round(length * reached / whole)) if whole > 0 else 0
        drawn += character * (until - len(drawn))
    if not drawn and reached > 0 and whole > 0:
        drawn = EIGHTHS[1]
    return drawn + "░" * (length - len(drawn))


def lane(times: Sequence[datetime], first: datetime, last: datetime, length: int) -> str:
    """Return a line from `first` to `last` with a mark for each time."""
    whole = (last - first).total_seconds()
    drawn = ["─"] * length
    for time in times:
        share = (time - first).total_seconds() / whole if whole > 0 else 0.0
        drawn[min(length - 1, max(0, round((length - 1) * share)))] = "●"
    return "".join(drawn)


def branches(
    root: Node, children: Callable[[Node], Sequence[Node]]
) -> Iterator[tuple[str, str, Node]]:
    """Yield each node of a tree with the beginning of its first line and of its further lines."""
    yield "", "│  " if children(root) else "   ", root
    yield from _below(root, children, "")


def _below(
    node: Node, children: Callable[[Node], Sequence[Node]], before: str
) -> Iterator[tuple[str, str, Node]]:
    below = children(node)
    for place, child in enumerate(below):
        is_last = place == len(below) - 1
        inside = before + ("   " if is_last else "│  ")
        further = inside + ("│  " if children(child) else "   ")
        yield before + ("└─ " if is_last else "├─ "), further, child
        yield from _below(child, children, inside)
