"""Answers as text and as JSON: a context, its cost, and the reasons for it."""

import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from graphmem.model.validation import counted
from graphmem.recall.types import Omitted, Recalled

# Control characters in a memory could move a terminal's cursor or change its colours.
CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), "\N{REPLACEMENT CHARACTER}") | {
    ord("\n"): "\n",
    ord("\t"): "\t",
}
WIDEST = 100
"""The width of a quoted text, in characters, on a terminal that is wider or unknown."""

REASONS = {"no_room": "no room", "beyond_limit": "beyond the limit"}


def say_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    click.echo(msgspec.json.encode(value).decode())


def harmless(text: str) -> str:
    """Return a text without control characters for a terminal; unchanged for a file or a pipe."""
    return text.translate(CONTROLS) if sys.stdout.isatty() else text


def show_quoted(text: str) -> None:
    """Print a text within the width of the terminal, with a line at its left side."""
    width = min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST) - 4
    for line in harmless(text).rstrip("\n").split("\n"):
        for part in textwrap.wrap(line, width, subsequent_indent="  ") or [""]:
            bold = part.startswith("##")
            click.echo(click.style("  │ ", dim=True) + click.style(part, bold=bold))


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


def explained(recalled: Recalled) -> Iterator[str]:
    """Yield a line for each memory, with the reason why it is in the context or was left out."""
    for item in recalled.items:
        scores = ", ".join(f"{name} {score:.3f}" for name, score in item.scores.items())
        ranks = ", ".join(f"{leg} #{rank}" for leg, rank in item.ranks.items())
        yield (
            f"in   #{item.rank:<3} {item.score:.3f}  {item.token_count:>5} tokens  "
            f"{item.external_id or item.id}  (relevance {item.relevance:.3f}; {scores}; {ranks})"
        )
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


def left_out(omitted: Omitted) -> str:
    """Return a line for a memory that was left out, with the reason."""
    return (
        f"#{omitted.rank:<3} {omitted.score:.3f}  {omitted.tokens:>5} tokens  "
        f"{omitted.external_id or omitted.id}  {REASONS[omitted.reason]}"
    )
