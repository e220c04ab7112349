"""Retrieval contexts: creating, showing and deleting them, and adding memories within a budget.

A context stores copies of chunks on its edges to the memories: when a memory is deleted, its text leaves
every context, and the remaining tokens are always computed from the remaining text.
"""

import asyncio
from datetime import datetime, timedelta

from graphmem.context import Context
from graphmem.contexts.sections import composed, room, sections, shown, with_chunk
from graphmem.contexts.types import (
    PROMPT_BYTES,
    Added,
    ContextAddition,
    CreateContextOptions,
    RetrievalContext,
    StoredContext,
)
from graphmem.errors import ContextNotFound, InvalidInput, ItemNotFound
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.jobs.outbox import enqueue
from graphmem.memories.chunk import ChunkSource, load_chunk_source
from graphmem.model.text import checked_text
from graphmem.tokens import TokenCounter

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
    system prompt, `Unavailable`.
    """
    now = context.now()
    new, job_id = _new(options, f"ctx-{context.new_id()}", now), context.new_id()
    await asyncio.to_thread(_check_room, new, context.tokens)

    async def write(transaction: Transaction) -> None:
        await transaction.rows(
            CREATE_CONTEXT,
            client_id=context.client_id,
            id=new.id,
            max_tokens=new.max_tokens,
            reserved_for_response=new.reserved_for_response,
            system_prompt=new.system_prompt,
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
    `ContentDamaged`, `Unavailable`.
    """
    source = await load_chunk_source(addition.id, client_id=context.client_id, graph=context.graph)
    return await add_source(context_id, addition.id, source, context)


async def add_source(
    context_id: str, memory_id: str, source: ChunkSource | None, context: Context
) -> Added:
    """Add a chunk of a memory that has been read, within the budget.

    The context is locked meanwhile, so that concurrent callers together stay within the budget. Raises
    `ContextNotFound`, and `ItemNotFound` when `source` is None.
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
    [deleted] = await context.graph.change(
        DELETE_CONTEXT, client_id=context.client_id, id=context_id, now=context.now()
    )
    if not deleted.written:
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
    """Write the chunk that was added last. Raises `ItemNotFound` if its memory has been deleted."""
    held = stored.held[-1]
    done = await transaction.rows(
        HOLD_MEMORY,
        client_id=client_id,
        context_id=stored.id,
        id=held.id,
        position=held.position,
        priority=held.priority,
        content=held.content,
        tokens=held.tokens,
    )
    if not done[0].written:
        raise ItemNotFound(held.id)
