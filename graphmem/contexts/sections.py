"""Sections: how what a context holds becomes one text, and what room that leaves (S1)."""

from collections.abc import Sequence

from msgspec.structs import replace

from graphmem.contexts.types import ContextSection, Held, RetrievalContext, StoredContext
from graphmem.memories.chunk import Item
from graphmem.memories.pieces import header_of
from graphmem.prompts.truncation import truncated
from graphmem.tokens import TokenCounter

SEPARATOR = "\n\n"
SYSTEM_PRIORITY = 100
RETRIEVED_PRIORITY = 50

CHUNK_TOKENS = 500
"""How many tokens of one memory a context takes at most."""


def sections(context: StoredContext, tokens: TokenCounter) -> list[ContextSection]:
    """Return a context's sections by priority; those of one priority in the order of their adding."""
    system = [_system(context.system_prompt, tokens)] if context.system_prompt else []
    retrieved = [
        ContextSection(
            id=held.id,
            type="retrieved",
            content=held.content,
            priority=held.priority,
            token_count=held.tokens,
        )
        for held in sorted(context.held, key=lambda held: held.position)
    ]
    return sorted([*system, *retrieved], key=lambda section: -section.priority)


def _system(prompt: str, tokens: TokenCounter) -> ContextSection:
    return ContextSection(
        id="system",
        type="system",
        content=prompt,
        priority=SYSTEM_PRIORITY,
        token_count=tokens.count(prompt),
    )


def composed(shown: Sequence[ContextSection]) -> str:
    """Return sections as one text, a blank line between them."""
    return SEPARATOR.join(section.content for section in shown)


def room(context: StoredContext, tokens: TokenCounter) -> int:
    """Return how many tokens are left, below 0 where there are too many: the whole text is counted."""
    used = tokens.count(composed(sections(context, tokens)))
    return context.max_tokens - context.reserved_for_response - used


def shown(context: StoredContext, tokens: TokenCounter) -> RetrievalContext:
    """Return a context as it is shown."""
    return RetrievalContext(
        id=context.id,
        max_tokens=context.max_tokens,
        reserved_for_response=context.reserved_for_response,
        remaining_tokens=max(0, room(context, tokens)),
        sections=sections(context, tokens),
        retrieved_ids=[held.id for held in sorted(context.held, key=lambda held: held.position)],
        created_at=context.created_at,
        expires_at=context.expires_at,
    )


def with_item(context: StoredContext, item: Item, tokens: TokenCounter) -> StoredContext | None:
    """Return the context with a chunk of an item too; None where nothing of it fits.

    The chunk is cut so that the whole, separator included, stays within the budget.
    """
    limit = min(room(context, tokens), CHUNK_TOKENS)
    position = max((held.position for held in context.held), default=-1) + 1
    while limit > 0:
        cut = truncated(item.text, limit, "end", tokens, header=header_of(item))
        if cut.truncated and not cut.kept:
            return None
        held = Held(
            id=item.id,
            position=position,
            priority=RETRIEVED_PRIORITY,
            content=cut.content,
            tokens=cut.token_count,
        )
        longer = replace(context, held=[*context.held, held])
        left = room(longer, tokens)
        if left >= 0:
            return longer
        limit += left
    return None
