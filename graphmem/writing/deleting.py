"""Deleting one memory."""

from graphmem.errors import MemoryNotFound
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query
from graphmem.model.conversation import Deleted
from graphmem.writing.boundary import Done

LOCK_MEMORY = Query("writing/lock_memory", Done, writes=True)
DELETE_MEMORY = Query("writing/delete_memory", Deleted, writes=True)


async def delete_memory(memory_id: str, *, client_id: str, graph: Graph) -> Deleted:
    """Delete a memory for good. Raises `MemoryNotFound`, for another client's too."""

    async def delete(transaction: Transaction) -> Deleted:
        # The lock comes first: a writer of the conversation may be about to link to this message.
        await transaction.rows(LOCK_MEMORY, client_id=client_id, id=memory_id)
        return (await transaction.rows(DELETE_MEMORY, client_id=client_id, id=memory_id))[0]

    deleted = await graph.write(delete)
    if not deleted.memories:
        raise MemoryNotFound(memory_id)
    return deleted
