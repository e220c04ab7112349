"""A tool, and its answer as text within a budget."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from graphmem.client import Graphmem
from graphmem.memories.types import Memory
from graphmem.prompts.rendering import one_line
from graphmem.tokens import TokenCounter

Group = Literal["memory", "runs"]

NOTHING = "Nothing was found."

SHOWN_CHARACTERS = 400
"""The length at which a memory is cut in a list; the resource of the memory has the whole."""

Most = Annotated[int, Meta(ge=50, le=200_000, description="maximum tokens of the answer's text")]


class ToolAnswer(Struct, frozen=True):
    """The text of an answer, and the answer itself."""

    text: str
    answer: Any


class Tool(Struct, frozen=True, kw_only=True):
    """What an agent can call: when to call it, what it takes, what it answers, and what it changes."""

    name: str
    operation: str
    """The request that it makes: a key that may not send that may not call it."""
    title: str
    description: str
    asked: type[Struct]
    answer: type[Struct]
    run: Callable[[Any, Graphmem], Awaitable[ToolAnswer]]
    group: Group = "memory"
    writes: bool = False
    deletes: bool = False
    repeatable: bool = False
    """Whether a repeated call with the same arguments changes nothing more."""


def fitting(lines: Sequence[str], most: int, tokens: TokenCounter) -> int:
    """Return how many of the first lines fit into a number of tokens."""
    used = 0
    for place, line in enumerate(lines):
        # A line break is at most one token more.
        used += tokens.count(line) + 1
        if used > most:
            return place
    return len(lines)


def within(
    lines: Sequence[str],
    most: int,
    tokens: TokenCounter,
    rest: str = "({} more: raise max_tokens)",
) -> str:
    """Return the lines that fit; `rest` takes the number of the others, and stands for them."""
    fit = fitting(lines, most, tokens)
    if fit == len(lines):
        return "\n".join(lines)
    spare = tokens.count(rest.format(len(lines))) + 1
    fit = fitting(lines[:fit], most - spare, tokens)
    return "\n".join([*lines[:fit], rest.format(len(lines) - fit)])


def clipped(text: str, most: int = SHOWN_CHARACTERS) -> str:
    """Return a text on one line, cut at a number of characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def listed(memory: Memory) -> str:
    """Return a memory as a line of a list: its kind, its time, its text, its id."""
    about: list[str] = [memory.kind, *filter(None, (memory.category, memory.role, memory.name))]
    when = f"{memory.occurred_at:%Y-%m-%d}"
    return f"- [{one_line(', '.join([*about, when]))}] {clipped(memory.text)} (id {memory.id})"


def compact(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
