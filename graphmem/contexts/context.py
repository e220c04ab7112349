"""Retrieval contexts: creating, showing and deleting them, and adding memories within a budget.

A context stores copies of chunks on its edges to the memories: when a memory is deleted, its text leaves
every context, and the remaining tokens are always computed from the remaining text.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from graphmem.clients import hold_context_to_limits
from graphmem.context import Context
from graphmem.errors import ContextNotFound, InvalidInput, ItemNotFound
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.jobs.outbox import enqueue
from graphmem.memories.chunk import MOST_TOKENS, ChunkSource, Tokens, header_of, load_chunk_source
from graphmem.model.validation import checked_text
from graphmem.prompts.truncation import truncated
from graphmem.tokens import TokenCounter

RESPONSE_TOKENS = 500
"""The default number of tokens that are reserved for the model's answer."""

TTL_SECONDS = 3_600
MOST_TTL_SECONDS = 7 * 24 * 3_600
"""The default and the longest life of a context, in seconds."""

PROMPT_BYTES = 1_000_000
"""The longest system prompt, in bytes of UTF-8."""


class CreateContextOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A context to create: its budget and its system prompt."""

    max_tokens: Tokens
    system_prompt: (
        Annotated[str, Meta(description="at most 1,000,000 bytes of UTF-8; counts as content")]
        | None
    ) = None
    reserved_for_response: Annotated[int, Meta(ge=0, le=MOST_TOKENS)] = RESPONSE_TOKENS
    ttl_seconds: Annotated[int, Meta(ge=1, le=MOST_TTL_SECONDS)] = TTL_SECONDS


class ContextSection(Struct, frozen=True, kw_only=True):
    """A part of a context; sections of higher priority come first."""

    id: str
    type: Literal["system", "retrieved"]
    content: str
    priority: int
    token_count: int


class RetrievalContext(Struct, frozen=True, kw_only=True):
    """A context: its sections in their order, and its remaining tokens."""

    id: str
    max_tokens: int
    """The limit of the composed text and the reserve together."""
    reserved_for_response: int
    remaining_tokens: int
    """`max_tokens` without the reserve and the composed text; never negative."""
    sections: list[ContextSection]
    retrieved_ids: list[str]
    """The ids of the memories that it holds, each once, in the order of their adding."""
    created_at: datetime
    expires_at: datetime


class ContextAddition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A memory to add to a context."""

    id: Annotated[str, Meta(min_length=1, max_length=256)]


class Added(Struct, frozen=True, kw_only=True):
    """Whether the context now holds the memory, and its remaining tokens."""

    added: bool
    remaining_tokens: int


class Held(Struct, frozen=True, kw_only=True):
    """A memory in a context: the chunk that was taken from it, and its position."""

    id: str
    position: int
    priority: int
    content: str
    tokens: int


class StoredContext(Struct, frozen=True, kw_only=True):
    """A context as the database holds it."""

    id: str
    max_tokens: int
    reserved_for_response: int
    system_prompt: str | None
    created_at: datetime
    expires_at: datetime
    held: list[Held]


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


SWEEP = "sweep_contexts"
"""The kind of the job that removes a client's expired contexts."""

SWEPT_AT_ONCE = 200
"""The maximum number of contexts that one transaction removes: each may hold some hundred memories."""

CONTEXT = Query("contexts/context", StoredContext)
CREATE_CONTEXT = Query("contexts/create_context", RowsWritten, writes=True)
LOCK_CONTEXT = Query("contexts/lock_context", StoredContext, writes=True)
HOLD_MEMORY = Query("contexts/hold_memory", RowsWritten, writes=True)
DELETE_CONTEXT = Query("contexts/delete_context", RowsWritten, writes=True)
SWEEP_CONTEXTS = Query("contexts/sweep_contexts", RowsWritten, writes=True)


async def create_context(options: CreateContextOptions, context: Context) -> RetrievalContext:
    """Create a context, and queue the job that removes it after it has expired.

    Raises `InvalidInput` when system prompt and reserve together exceed `max_tokens`, `TooLarge` for the
    system prompt, `StoreLimitReached`, `Unavailable`.
    """
    now = context.now()
    new, job_id = _new(options, f"ctx-{context.new_id()}", now), context.new_id()
    text_bytes = len((new.system_prompt or "").encode())
    await asyncio.to_thread(_check_room, new, context.tokens)

    async def write(transaction: Transaction) -> None:
        await transaction.rows(
            CREATE_CONTEXT,
            client_id=context.client_id,
            id=new.id,
            max_tokens=new.max_tokens,
            reserved_for_response=new.reserved_for_response,
            system_prompt=new.system_prompt,
            text_bytes=text_bytes,
            created_at=new.created_at,
            expires_at=new.expires_at,
        )
        # One job for all of a client's contexts that expire in the same hour, due at its end.
        hour = new.expires_at.replace(minute=0, second=0, microsecond=0)
        await enqueue(
            transaction,
            client_id=context.client_id,
            id=job_id,
            kind=SWEEP,
            key=hour.isoformat(),
            payload={},
            now=now,
            run_at=hour + timedelta(hours=1),
        )
        await hold_context_to_limits(transaction, text_bytes, client_id=context.client_id)

    await context.graph.write(write)
    return await asyncio.to_thread(shown, new, context.tokens)


async def show_context(context_id: str, context: Context) -> RetrievalContext:
    """Return a context with its sections and its remaining tokens.

    Raises `ContextNotFound`, also for an expired one or one of another client, and `Unavailable`.
    """
    stored = await _load(context_id, context)
    return await asyncio.to_thread(shown, stored, context.tokens)


async def compose_context(context_id: str, context: Context) -> str:
    """Return a context as one text: sections of higher priority first, then in the order of adding.

    Raises `ContextNotFound`, also for an expired one or one of another client, and `Unavailable`.
    """
    stored = await _load(context_id, context)
    return composed(sections(stored, context.tokens))


async def add_to_context(context_id: str, addition: ContextAddition, context: Context) -> Added:
    """Add a chunk of a memory, at most 500 tokens; `added` is false if nothing of it fits.

    A memory that is already in the context is not charged again. Raises `ContextNotFound`, `ItemNotFound`,
    `ContentDamaged`, `StoreLimitReached`, `Unavailable`.
    """
    source = await load_chunk_source(addition.id, client_id=context.client_id, graph=context.graph)
    return await add_source(context_id, addition.id, source, context)


async def add_source(
    context_id: str, memory_id: str, source: ChunkSource | None, context: Context
) -> Added:
    """Add a chunk of a memory that has been read, within the budget.

    The context is locked meanwhile, so that concurrent callers together stay within the budget. Raises
    `ContextNotFound`, `StoreLimitReached`, and `ItemNotFound` when `source` is None.
    """
    client_id, tokens, now = context.client_id, context.tokens, context.now()

    async def add(transaction: Transaction) -> Added:
        rows = await transaction.rows(LOCK_CONTEXT, client_id=client_id, id=context_id, now=now)
        if not rows:
            raise ContextNotFound(context_id)
        if source is None:
            raise ItemNotFound(memory_id)
        longer = await asyncio.to_thread(_longer, rows[0], source, tokens)
        if longer is not None and longer != rows[0]:
            await _hold(transaction, longer, client_id)
        left = await asyncio.to_thread(room, longer or rows[0], tokens)
        return Added(added=longer is not None, remaining_tokens=max(0, left))

    return await context.graph.write(add)


async def delete_context(context_id: str, context: Context) -> None:
    """Delete a context before it expires; the memories stay.

    Raises `ContextNotFound`, also for an expired one or one of another client, and `Unavailable`.
    """
    client_id, now = context.client_id, context.now()

    async def delete(transaction: Transaction) -> int:
        [deleted] = await transaction.rows(
            DELETE_CONTEXT, client_id=client_id, id=context_id, now=now
        )
        return deleted.written

    if not await context.graph.delete(delete):
        raise ContextNotFound(context_id)


async def sweep_contexts(context: Context) -> int:
    """Remove a client's expired contexts; return their number. Repeating it changes nothing."""
    now, swept = context.now(), 0
    while True:
        rows = await context.graph.write(
            lambda transaction: transaction.rows(
                SWEEP_CONTEXTS, client_id=context.client_id, now=now, limit=SWEPT_AT_ONCE
            )
        )
        swept += rows[0].written
        if rows[0].written < SWEPT_AT_ONCE:
            return swept


async def _load(context_id: str, context: Context) -> StoredContext:
    rows = await context.graph.rows(
        CONTEXT, client_id=context.client_id, id=context_id, now=context.now()
    )
    if not rows:
        raise ContextNotFound(context_id)
    return rows[0]


def _new(options: CreateContextOptions, id: str, now: datetime) -> StoredContext:
    prompt = options.system_prompt or None
    if prompt is not None:
        checked_text(prompt, "system_prompt", most_bytes=PROMPT_BYTES)
    return StoredContext(
        id=id,
        max_tokens=options.max_tokens,
        reserved_for_response=options.reserved_for_response,
        system_prompt=prompt,
        created_at=now,
        expires_at=now + timedelta(seconds=options.ttl_seconds),
        held=[],
    )


def _check_room(new: StoredContext, tokens: TokenCounter) -> None:
    """Raise `InvalidInput` when system prompt and reserve exceed the budget."""
    if room(new, tokens) < 0:
        system = tokens.count(new.system_prompt or "")
        raise InvalidInput(
            "max_tokens",
            f"{new.max_tokens} is less than the system prompt's {system} tokens and the "
            f"{new.reserved_for_response} of reserved_for_response together; "
            f"send at least {system + new.reserved_for_response}, or reserve less",
        )


def _longer(
    stored: StoredContext, source: ChunkSource, tokens: TokenCounter
) -> StoredContext | None:
    """Return the context with a chunk of the memory, unchanged if it has one; None if nothing fits."""
    if any(held.id == source.id for held in stored.held):
        return stored
    return with_chunk(stored, source, tokens)


async def _hold(transaction: Transaction, stored: StoredContext, client_id: str) -> None:
    """Write the chunk that was added last.

    Raises `ItemNotFound` if its memory has been deleted, `StoreLimitReached`.
    """
    held = stored.held[-1]
    text_bytes = len(held.content.encode())
    done = await transaction.rows(
        HOLD_MEMORY,
        client_id=client_id,
        context_id=stored.id,
        id=held.id,
        position=held.position,
        priority=held.priority,
        content=held.content,
        text_bytes=text_bytes,
        tokens=held.tokens,
    )
    if not done[0].written:
        raise ItemNotFound(held.id)
    await hold_context_to_limits(transaction, text_bytes, client_id=client_id)
