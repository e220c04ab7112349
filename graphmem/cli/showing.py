"""An answer as text: the context, and what it cost."""

import sys
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from graphmem.recall.types import Omitted, Recalled

# What would move a terminal's cursor or change its colours, if a memory held it.
CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), "\N{REPLACEMENT CHARACTER}") | {
    ord("\n"): "\n",
    ord("\t"): "\t",
}
REASONS = {"no_room": "no room", "beyond_limit": "beyond the limit"}


def say_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    click.echo(msgspec.json.encode(value).decode())


def harmless(text: str) -> str:
    """Return a text that is safe on a terminal; elsewhere it stays as it is."""
    return text.translate(CONTROLS) if sys.stdout.isatty() else text


def cost(recalled: Recalled, budget: int, milliseconds: float) -> str:
    """Return what an answer cost, in a line."""
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
    """Return why everything is in the context or was left out, a line each."""
    for item in recalled.items:
        scores = ", ".join(f"{name} {score:.3f}" for name, score in item.scores.items())
        ranks = ", ".join(f"{leg} #{rank}" for leg, rank in item.ranks.items())
        yield (
            f"in   #{item.rank:<3} {item.score:.3f}  {item.token_count:>5} tokens  "
            f"{item.external_id or item.id}  ({scores}; {ranks})"
        )
    for omitted in recalled.omitted:
        yield f"out  {left_out(omitted)}"
    for stage, milliseconds in (recalled.timings or {}).items():
        yield f"time {stage}: {milliseconds:.1f} ms"


def left_out(omitted: Omitted) -> str:
    """Return what was left out and why, in a line."""
    return (
        f"#{omitted.rank:<3} {omitted.score:.3f}  {omitted.tokens:>5} tokens  "
        f"{omitted.external_id or omitted.id}  {REASONS[omitted.reason]}"
    )


def counted(number: int, what: str) -> str:
    """Return a number with its word: 1 token, 2 tokens."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
