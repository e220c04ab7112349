"""Deleting one memory, and the entities that no memory mentions any more."""

from collections.abc import Iterable

from msgspec import Struct

from graphmem.context import Context
from graphmem.conversations.types import Deleted
from graphmem.errors import MemoryNotFound, PartOfContent
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


LOCK_MEMORY = Query("memories/lock_memory", LockedVersions, writes=True)
DELETE_MEMORY = Query("memories/delete_memory", Gone, writes=True)
DELETE_UNMENTIONED = Query("memories/delete_unmentioned", RowsWritten, writes=True)


async def delete_memory(memory_id: str, context: Context) -> Deleted:
    """Delete a memory permanently, with all its versions and a reference's spans; return their number.

    Raises `MemoryNotFound`, also for a memory of another client; `PartOfContent` for a span of a reference's
    content; `Unavailable`.
    """
    client_id = context.client_id

    async def delete(transaction: Transaction) -> Deleted:
        await _lock(transaction, memory_id, client_id=client_id)
        rows = await transaction.rows(DELETE_MEMORY, client_id=client_id, id=memory_id)
        await delete_unmentioned(transaction, rows[0].entities, client_id=client_id)
        return Deleted(memories=rows[0].memories)

    deleted = await context.graph.write(delete)
    if not deleted.memories:
        raise MemoryNotFound(memory_id)
    return deleted


async def delete_unmentioned(
    transaction: Transaction, entities: Iterable[str], *, client_id: str
) -> None:
    """Delete those of the entities, given by normal form, that no memory mentions any more.

    When a concurrent write mentions one of them, the transaction fails and is run again.
    """
    if normalized := sorted(set(entities)):
        await transaction.rows(DELETE_UNMENTIONED, client_id=client_id, normalized=normalized)


async def _lock(transaction: Transaction, memory_id: str, *, client_id: str) -> None:
    """Lock all nodes that a concurrent writer may link to: the conversation and every version of the memory.

    Raises `PartOfContent`.
    """
    while True:
        rows = await transaction.rows(LOCK_MEMORY, client_id=client_id, id=memory_id)
        if rows and rows[0].content_of:
            raise PartOfContent(memory_id, rows[0].content_of[0])
        # A version that was written while this waited is not locked yet.
        if not rows or rows[0].there <= rows[0].locked:
            return
