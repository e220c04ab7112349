"""Looking at one memory."""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from graphmem.errors import MemoryNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.memories.memory import Memory
from graphmem.model.times import BEGINNING, END


class StoredMemory(Struct, frozen=True):
    """A memory, and its metadata as the JSON text that the database holds."""

    memory: Memory
    metadata: str | None


MEMORY = Query("memories/memory", StoredMemory)


async def memory_by_id(memory_id: str, *, client_id: str, graph: Graph) -> Memory:
    """Return a memory. Raises `MemoryNotFound`, for another client's too."""
    rows = await graph.rows(MEMORY, client_id=client_id, id=memory_id, beginning=BEGINNING, end=END)
    if not rows:
        raise MemoryNotFound(memory_id)
    memory, metadata = rows[0].memory, rows[0].metadata
    return replace(memory, metadata=msgspec.json.decode(metadata)) if metadata else memory
