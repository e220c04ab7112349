"""Deleting one memory, and the entities that nothing mentions any more."""

from collections.abc import Iterable

from msgspec import Struct

from graphmem.conversations.types import Deleted
from graphmem.errors import MemoryNotFound
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten


class Locked(Struct, frozen=True):
    """How many versions of a memory were locked, and how many there were after that."""

    locked: int
    there: int


class Gone(Struct, frozen=True):
    """How many memories were deleted, and which entities they mentioned or named."""

    memories: int
    entities: list[str]


LOCK_MEMORY = Query("memories/lock_memory", Locked, writes=True)
DELETE_MEMORY = Query("memories/delete_memory", Gone, writes=True)
DELETE_UNMENTIONED = Query("memories/delete_unmentioned", RowsWritten, writes=True)


async def delete_memory(memory_id: str, *, client_id: str, graph: Graph) -> Deleted:
    """Delete a memory for good, with all its versions and a reference's spans; return how many there were.

    Raises `MemoryNotFound`, for another client's too.
    """

    async def delete(transaction: Transaction) -> Deleted:
        await _lock(transaction, memory_id, client_id=client_id)
        rows = await transaction.rows(DELETE_MEMORY, client_id=client_id, id=memory_id)
        await delete_unmentioned(transaction, rows[0].entities, client_id=client_id)
        return Deleted(memories=rows[0].memories)

    deleted = await graph.write(delete)
    if not deleted.memories:
        raise MemoryNotFound(memory_id)
    return deleted


async def delete_unmentioned(
    transaction: Transaction, entities: Iterable[str], *, client_id: str
) -> None:
    """Delete those entities, by their normal forms, that nothing mentions after this transaction's deletions.

    Where somebody mentions one just now, the transaction fails and is run again.
    """
    if normalized := sorted(set(entities)):
        await transaction.rows(DELETE_UNMENTIONED, client_id=client_id, normalized=normalized)


async def _lock(transaction: Transaction, memory_id: str, *, client_id: str) -> None:
    """Lock what a writer may be about to link to: the conversation, and every version of the memory."""
    while True:
        rows = await transaction.rows(LOCK_MEMORY, client_id=client_id, id=memory_id)
        # A version that came while this waited is not locked yet.
        if not rows or rows[0].there <= rows[0].locked:
            return
