"""Answers as text and as JSON: a context, its cost and the reasons for it, and what text draws.

Bars, lanes of time and trees fit the width of the terminal.
"""

import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from graphmem.model.validation import counted
from graphmem.recall.types import Omitted, Recalled

if TYPE_CHECKING:
    from graphmem.memories.versions import Version
    from graphmem.retrieval.expansion import HopPath
    from graphmem.search.types import SearchResult

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


# Control characters in a memory could move a terminal's cursor or change its colours.
CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), "\N{REPLACEMENT CHARACTER}") | {
    ord("\n"): "\n",
    ord("\t"): "\t",
}
LONGEST_BAR = 40
SHORTEST_BAR = 8

REASONS = {"no_room": "no room", "beyond_limit": "beyond the limit"}


def say_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    click.echo(msgspec.json.encode(value).decode())


def harmless(text: str) -> str:
    """Return a text without control characters for a terminal; unchanged for a file or a pipe."""
    return text.translate(CONTROLS) if sys.stdout.isatty() else text


def held(client: str, reason: str) -> str:
    """Return the sentence about the legal hold of a client that was imported."""
    return (
        f"{client} is under a legal hold ({harmless(reason)}): no memory of it is deleted or expires until "
        "an operator ends it"
    )


def show_quoted(text: str, most: int | None = None) -> None:
    """Print a text within the width of the terminal, with a line at its left side; at most `most` lines."""
    room = width() - 4
    parts = [
        part
        for line in harmless(text).rstrip("\n").split("\n")
        for part in textwrap.wrap(line, room, subsequent_indent="  ") or [""]
    ]
    if most is not None and len(parts) > most:
        parts[most - 1 :] = [f"… {counted(len(parts) - most + 1, 'more line')}"]
    for part in parts if text else ():
        bold = part.startswith("##")
        click.echo(click.style("  │ ", dim=True) + click.style(part, bold=bold))


def chain(versions: "Iterable[Version]") -> Iterator[str]:
    """Yield lines for the versions of a memory: from when each is valid, its text, and the reason for it."""
    for one in versions:
        yield f"v{one.version}  from {one.valid_at:%Y-%m-%d}  {one.text}"
        if one.reason:
            yield f"    because: {one.reason}"


def path_to_deepest(found: "SearchResult") -> "list[HopPath]":
    """Return the steps to the deepest item, in order; none where no link was followed."""
    deepest = max(found.items, key=lambda item: (item.hop, -item.rank))
    steps = {step.to_id: step for step in found.hop_paths}
    path: list[HopPath] = []
    id = deepest.id
    while len(path) < deepest.hop and id in steps:
        path.append(steps[id])
        id = steps[id].from_id
    return path[::-1]


def path(found: "SearchResult", labels: Mapping[str, str]) -> Iterator[str]:
    """Yield the question, and each memory on the way to the deepest item with the link that leads to it."""
    yield f"? {found.query.query}"
    named = {item.id: item.label for item in found.items} | dict(labels)
    steps = path_to_deepest(found)
    if steps:
        yield named.get(steps[0].from_id, steps[0].from_id)
    for depth, step in enumerate(steps):
        yield f"{'   ' * depth}└─ {step.link_type} ─ {named.get(step.to_id, step.to_id)}"


def cost(recalled: Recalled, budget: int, milliseconds: float) -> str:
    """Return the cost of an answer in one line: tokens, items, left out, time."""
    parts = [
        f"{recalled.tokens_used:,} of {counted(budget, 'token')}",
        counted(len(recalled.items), "item"),
        f"{recalled.omitted_total:,} left out",
        f"{milliseconds:.0f} ms",
    ]
    if recalled.degraded:
        parts.append(f"degraded: {', '.join(recalled.degraded)}")
    return " · ".join(parts)


def explained(recalled: Recalled, budget: int) -> Iterator[str]:
    """Yield lines for each memory: why it is in the context or was left out, with bars of its signals."""
    length = min(LONGEST_BAR, width() - 2)
    yield drawable(bar_of_budget(recalled, budget, length))
    weights = recalled.weights or {}
    adds = [
        # Without weights the scores speak for themselves; with them, one without a weight adds nothing.
        {
            name: weights.get(name, 1.0) * score
            for name, score in item.scores.items()
            if name in weights or not weights
        }
        for item in recalled.items
    ]
    most = max((abs(one) for added in adds for one in added.values()), default=0.0)
    for item, added in zip(recalled.items, adds, strict=True):
        ranks = ", ".join(f"{leg} #{rank}" for leg, rank in item.ranks.items())
        yield (
            f"in   #{item.rank:<3} {item.score:.3f}  {item.token_count:>5} tokens  "
            f"{item.external_id or item.id}  (relevance {item.relevance:.3f}; {ranks})"
        )
        for name, value in sorted(added.items(), key=lambda one: -one[1]):
            if value:
                yield drawable(_signal(name, item.scores[name], weights.get(name), value, most))
        if item.lifted_by:
            lifts = (f"{one.signal}: {one.external_id or one.id}" for one in item.lifted_by)
            yield f"     lifted by {', '.join(lifts)}"
    for omitted in recalled.omitted:
        yield f"out  {left_out(omitted)}"
    if recalled.weights:
        parts = (f"{weight:g} · {name}" for name, weight in recalled.weights.items())
        yield f"score = {' + '.join(parts)}"
    for stage, milliseconds in (recalled.timings or {}).items():
        yield f"time {stage}: {milliseconds:.1f} ms"


def bar_of_budget(recalled: Recalled, budget: int, length: int) -> str:
    """Return a bar of the used part of a budget; neighbouring memories alternate between two shades."""
    counts = [item.token_count for item in recalled.items]
    share = recalled.tokens_used / (sum(counts) or 1)
    parts = [(share * count, "█▓"[place % 2]) for place, count in enumerate(counts)]
    return stacked(parts, budget, length)


def _signal(name: str, score: float, weight: float | None, adds: float, most: float) -> str:
    """Return the line of one signal: what it adds to the score, its bar, and where that comes from."""
    origin = "" if weight is None else f"  {weight:g} · {score:.3f}"
    length = min(LONGEST_BAR, width() - 31 - len(origin))
    if length < SHORTEST_BAR:
        origin, length = "", max(SHORTEST_BAR, width() - 31)
    drawn = bar(abs(adds), most, length)
    # A signal that lowers the score is hatched.
    shown = drawn if adds > 0 else "░" * max(1, len(drawn))
    return f"     {name:<16} {adds:>7.3f} {shown:<{length if origin else 0}}{origin}".rstrip()


def left_out(omitted: Omitted) -> str:
    """Return a line for a memory that was left out, with the reason."""
    return (
        f"#{omitted.rank:<3} {omitted.score:.3f}  {omitted.tokens:>5} tokens  "
        f"{omitted.external_id or omitted.id}  {REASONS[omitted.reason]}"
    )
