"""Deleting one memory, and the entities that no memory mentions any more."""

from collections.abc import Iterable

from msgspec import Struct

from graphmem.context import Context
from graphmem.conversations.types import Deleted
from graphmem.errors import LegalHold, MemoryNotFound, PartOfContent
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten


class LockedVersions(Struct, frozen=True):
    """The number of versions of a memory that were locked, and the number that existed after that."""

    locked: int
    there: int
    content_of: list[str]
    """The reference whose content the memory is part of."""


class Gone(Struct, frozen=True):
    """The number of deleted memories, and the entities that they mentioned or named."""

    memories: int
    entities: list[str]


class Hold(Struct, frozen=True):
    """The reason of a client's legal hold; None if there is none."""

    reason: str | None


LEGAL_HOLD = Query("memories/legal_hold", Hold, writes=True)
LOCK_MEMORY = Query("memories/lock_memory", LockedVersions, writes=True)
DELETE_MEMORY = Query("memories/delete_memory", Gone, writes=True)
DELETE_UNMENTIONED = Query("memories/delete_unmentioned", RowsWritten, writes=True)


async def delete_memory(memory_id: str, context: Context) -> Deleted:
    """Delete a memory permanently, with all its versions and a reference's spans; return their number.

    Raises `MemoryNotFound`, also for a memory of another client; `PartOfContent` for a span of a reference's
    content; `LegalHold`, `Unavailable`.
    """
    client_id = context.client_id

    async def delete(transaction: Transaction) -> Deleted:
        await refuse_on_hold(transaction, client_id)
        content_of = await lock_memory(transaction, memory_id, client_id=client_id)
        if content_of is not None:
            raise PartOfContent(memory_id, content_of)
        rows = await transaction.rows(DELETE_MEMORY, client_id=client_id, id=memory_id)
        await delete_unmentioned(transaction, rows[0].entities, client_id=client_id)
        return Deleted(memories=rows[0].memories)

    deleted = await context.graph.write(delete)
    if not deleted.memories:
        raise MemoryNotFound(memory_id)
    return deleted


async def refuse_on_hold(transaction: Transaction, client_id: str) -> None:
    """Raise `LegalHold` if a client's memories may not be deleted."""
    rows = await transaction.rows(LEGAL_HOLD, client_id=client_id)
    if rows[0].reason is not None:
        raise LegalHold(client_id, rows[0].reason)


async def delete_unmentioned(
    transaction: Transaction, entities: Iterable[str], *, client_id: str
) -> int:
    """Delete those of the entities, by normal form, that no memory mentions any more; return how many.

    When a concurrent write mentions one of them, the transaction fails and is run again.
    """
    normalized = sorted(set(entities))
    if not normalized:
        return 0
    rows = await transaction.rows(DELETE_UNMENTIONED, client_id=client_id, normalized=normalized)
    return rows[0].written


async def lock_memory(transaction: Transaction, memory_id: str, *, client_id: str) -> str | None:
    """Lock all nodes that a concurrent writer may link to: the conversation and every version of the memory.

    Returns the id of the reference that a span is part of.
    """
    while True:
        rows = await transaction.rows(LOCK_MEMORY, client_id=client_id, id=memory_id)
        # A version that was written while this waited is not locked yet.
        if not rows or rows[0].there <= rows[0].locked:
            return rows[0].content_of[0] if rows and rows[0].content_of else None
