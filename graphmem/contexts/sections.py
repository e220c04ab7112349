"""Sections: composing the chunks of a context into one text, within its budget."""

from collections.abc import Sequence

from msgspec.structs import replace

from graphmem.contexts.types import ContextSection, Held, RetrievalContext, StoredContext
from graphmem.memories.chunk import ChunkSource, header_of
from graphmem.prompts.truncation import truncated
from graphmem.tokens import TokenCounter

SEPARATOR = "\n\n"
SYSTEM_PRIORITY = 100
RETRIEVED_PRIORITY = 50

CHUNK_TOKENS = 500
"""The maximum number of tokens of one memory in a context."""


def sections(stored: StoredContext, tokens: TokenCounter) -> list[ContextSection]:
    """Return a context's sections by priority; equal priorities keep the order of adding."""
    system = [_system(stored.system_prompt, tokens)] if stored.system_prompt else []
    retrieved = [
        ContextSection(
            id=held.id,
            type="retrieved",
            content=held.content,
            priority=held.priority,
            token_count=held.tokens,
        )
        for held in sorted(stored.held, key=lambda held: held.position)
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


def room(stored: StoredContext, tokens: TokenCounter) -> int:
    """Return the remaining tokens, negative when the composed text exceeds the budget."""
    used = tokens.count(composed(sections(stored, tokens)))
    return stored.max_tokens - stored.reserved_for_response - used


def shown(stored: StoredContext, tokens: TokenCounter) -> RetrievalContext:
    """Return a context in its form for callers."""
    return RetrievalContext(
        id=stored.id,
        max_tokens=stored.max_tokens,
        reserved_for_response=stored.reserved_for_response,
        remaining_tokens=max(0, room(stored, tokens)),
        sections=sections(stored, tokens),
        retrieved_ids=[held.id for held in sorted(stored.held, key=lambda held: held.position)],
        created_at=stored.created_at,
        expires_at=stored.expires_at,
    )


def with_chunk(
    stored: StoredContext, source: ChunkSource, tokens: TokenCounter
) -> StoredContext | None:
    """Return the context with a chunk of a memory added; None if nothing of it fits.

    The chunk is cut so that the whole text, separator included, stays within the budget.
    """
    limit = min(room(stored, tokens), CHUNK_TOKENS)
    position = max((held.position for held in stored.held), default=-1) + 1
    while limit > 0:
        cut = truncated(source.text, limit, "end", tokens, header=header_of(source))
        if cut.truncated and not cut.kept:
            return None
        held = Held(
            id=source.id,
            position=position,
            priority=RETRIEVED_PRIORITY,
            content=cut.content,
            tokens=cut.token_count,
        )
        longer = replace(stored, held=[*stored.held, held])
        left = room(longer, tokens)
        if left >= 0:
            return longer
        limit += left
    return None
