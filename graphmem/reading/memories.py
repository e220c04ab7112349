"""Looking at one memory."""

from graphmem.errors import MemoryNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.memory import Memory
from graphmem.model.times import BEGINNING, END

MEMORY = Query("reading/memory", Memory)


async def memory_by_id(memory_id: str, *, client_id: str, graph: Graph) -> Memory:
    """Return a memory. Raises `MemoryNotFound`, for another client's too."""
    rows = await graph.rows(MEMORY, client_id=client_id, id=memory_id, beginning=BEGINNING, end=END)
    if not rows:
        raise MemoryNotFound(memory_id)
    return rows[0]
