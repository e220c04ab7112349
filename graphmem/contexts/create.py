"""Contexts in the making: beginning one, adding memories within its budget, removing the expired (S1).

What a context holds are copies of chunks on its edges to the memories: a memory that is deleted takes
its text out of every context, and what room is left is always computed from what is there.
"""

import asyncio
from datetime import datetime, timedelta

from graphmem.contexts.sections import room, shown, with_item
from graphmem.contexts.types import (
    PROMPT_BYTES,
    Added,
    CreateContextOptions,
    RetrievalContext,
    StoredContext,
)
from graphmem.errors import ContextNotFound, InvalidInput, ItemNotFound
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.jobs.outbox import enqueue
from graphmem.memories.chunk import Item
from graphmem.model.text import checked_text
from graphmem.tokens import TokenCounter

SWEEP = "sweep_contexts"
"""The kind of the job that removes a client's expired contexts."""

SWEPT_AT_ONCE = 200
"""How many contexts one transaction removes: each may hold some hundred memories."""

CREATE_CONTEXT = Query("contexts/create_context", RowsWritten, writes=True)
LOCK_CONTEXT = Query("contexts/lock_context", StoredContext, writes=True)
HOLD_MEMORY = Query("contexts/hold_memory", RowsWritten, writes=True)
SWEEP_CONTEXTS = Query("contexts/sweep_contexts", RowsWritten, writes=True)


async def create_context(
    options: CreateContextOptions,
    *,
    id: str,
    job_id: str,
    client_id: str,
    now: datetime,
    graph: Graph,
    tokens: TokenCounter,
) -> RetrievalContext:
    """Begin a context, and see to it that it is removed some time after it has expired.

    Raises `InvalidInput` when system prompt and reserve alone are more than it may hold, `TooLarge`.
    """
    context = _new(options, id, now)
    await asyncio.to_thread(_check_room, context, tokens)

    async def write(transaction: Transaction) -> None:
        await transaction.rows(
            CREATE_CONTEXT,
            client_id=client_id,
            id=context.id,
            max_tokens=context.max_tokens,
            reserved_for_response=context.reserved_for_response,
            system_prompt=context.system_prompt,
            created_at=context.created_at,
            expires_at=context.expires_at,
        )
        # One job for all of a client's contexts that expire in the same hour, due when that is over.
        hour = context.expires_at.replace(minute=0, second=0, microsecond=0)
        await enqueue(
            transaction,
            client_id=client_id,
            id=job_id,
            kind=SWEEP,
            key=hour.isoformat(),
            payload={},
            now=now,
            run_at=hour + timedelta(hours=1),
        )

    await graph.write(write)
    return await asyncio.to_thread(shown, context, tokens)


async def add_to_context(
    context_id: str,
    memory_id: str,
    item: Item | None,
    *,
    client_id: str,
    now: datetime,
    graph: Graph,
    tokens: TokenCounter,
) -> Added:
    """Add a chunk of a memory, as much as fits; `added` is false when nothing of it does.

    One that is held already is not charged again. Locked, so that any number of concurrent callers
    together stay within the budget. Raises `ContextNotFound`, and `ItemNotFound` when there is no item.
    """

    async def add(transaction: Transaction) -> Added:
        rows = await transaction.rows(LOCK_CONTEXT, client_id=client_id, id=context_id, now=now)
        if not rows:
            raise ContextNotFound(context_id)
        if item is None:
            raise ItemNotFound(memory_id)
        longer = await asyncio.to_thread(_longer, rows[0], item, tokens)
        if longer is not None and longer != rows[0]:
            await _hold(transaction, longer, client_id)
        left = await asyncio.to_thread(room, longer or rows[0], tokens)
        return Added(added=longer is not None, remaining_tokens=max(0, left))

    return await graph.write(add)


async def sweep_contexts(*, client_id: str, now: datetime, graph: Graph) -> int:
    """Remove a client's expired contexts; return how many. Repeating it changes nothing."""
    swept = 0
    while True:
        rows = await graph.write(
            lambda transaction: transaction.rows(
                SWEEP_CONTEXTS, client_id=client_id, now=now, limit=SWEPT_AT_ONCE
            )
        )
        swept += rows[0].written
        if rows[0].written < SWEPT_AT_ONCE:
            return swept


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


def _check_room(context: StoredContext, tokens: TokenCounter) -> None:
    if room(context, tokens) < 0:
        system = tokens.count(context.system_prompt or "")
        raise InvalidInput(
            "max_tokens",
            f"{context.max_tokens} is less than the system prompt's {system} tokens and the "
            f"{context.reserved_for_response} of reserved_for_response together; "
            f"send at least {system + context.reserved_for_response}, or reserve less",
        )


def _longer(context: StoredContext, item: Item, tokens: TokenCounter) -> StoredContext | None:
    """Return the context with the item in it, the same where it is in already; None: nothing fits."""
    if any(held.id == item.id for held in context.held):
        return context
    return with_item(context, item, tokens)


async def _hold(transaction: Transaction, context: StoredContext, client_id: str) -> None:
    """Write the last of what a context holds. Raises `ItemNotFound` when the memory has gone."""
    held = context.held[-1]
    done = await transaction.rows(
        HOLD_MEMORY,
        client_id=client_id,
        context_id=context.id,
        id=held.id,
        position=held.position,
        priority=held.priority,
        content=held.content,
        tokens=held.tokens,
    )
    if not done[0].written:
        raise ItemNotFound(held.id)
