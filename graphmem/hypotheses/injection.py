"""The block of memories that goes into a prompt, and its place there. Texts in, texts out."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from graphmem.tokens import TokenCounter

HEADER = (
    "## Relevant Long-Term Memories\n\n"
    "The following memories were retrieved from your persistent memory store as relevant to the "
    "current conversation. Apply them silently.\n\n"
)

CHARACTERS_PER_TOKEN = 4
"""S4's estimate. The block holds both it and the count of the one token counter."""


class Entry(Struct, frozen=True, kw_only=True):
    """What the block shows of a memory."""

    text: str
    category: str
    scope: str
    version: int
    supersedes: str | None = None
    """The id of the version that this one replaced."""


def injection(entries: Sequence[Entry], budget: int, *, tokens: TokenCounter) -> str:
    """Return the block: the entries in their order, up to the first that does not fit.

    `budget` is in tokens, 0 is no limit; it is broken by more than four characters a token or by more
    tokens than that. Where not even the first entry fits the block is empty.
    """
    block, taken = HEADER, 0
    for entry in entries:
        longer = block + _entry(entry)
        if budget and not _fits(longer, budget, tokens):
            break
        block, taken = longer, taken + 1
    return block if taken else ""


def injected(messages: Sequence[Mapping[str, Any]], block: str) -> list[Mapping[str, Any]]:
    """Return the messages with the block as one more: after the system's first ones, before the rest."""
    if not block:
        return list(messages)
    place = next(
        (place for place, one in enumerate(messages) if one.get("role") != "system"), len(messages)
    )
    return [*messages[:place], {"role": "system", "content": block}, *messages[place:]]


def _entry(entry: Entry) -> str:
    replaced = f"*(supersedes {entry.supersedes})*\n" if entry.supersedes else ""
    return f"**[{entry.category} | {entry.scope} | v{entry.version}]**\n{replaced}{entry.text}\n\n"


def _fits(block: str, budget: int, tokens: TokenCounter) -> bool:
    return len(block) <= CHARACTERS_PER_TOKEN * budget and tokens.count(block) <= budget
