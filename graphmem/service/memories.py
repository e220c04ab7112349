"""Single memories of any kind: looking at one, deleting one."""

from graphmem.conversations.types import Deleted
from graphmem.memories import delete as deleting
from graphmem.memories import show as memories
from graphmem.memories.memory import Memory
from graphmem.service.bound import Bound


class Memories(Bound):
    """What a client can do with a memory whose id it knows."""

    async def memory(self, memory_id: str) -> Memory:
        """Return one memory. Raises `MemoryNotFound`, `Unavailable`."""
        return await memories.memory_by_id(
            memory_id, client_id=self.client_id, graph=self.runtime.graph
        )

    async def delete_memory(self, memory_id: str) -> Deleted:
        """Delete one memory for good. Raises `MemoryNotFound`, `Unavailable`."""
        return await deleting.delete_memory(
            memory_id, client_id=self.client_id, graph=self.runtime.graph
        )
