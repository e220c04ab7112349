"""Looking at a chain of versions."""

from datetime import datetime

from graphmem.errors import MemoryNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.times import END
from graphmem.versions.types import Versions

VERSIONS = Query("versions/versions", Versions)


async def versions(
    memory_id: str, *, client_id: str, known_as_of: datetime | None, graph: Graph
) -> Versions:
    """Return the chain that a memory belongs to, oldest first, as it was known at a time.

    Raises `MemoryNotFound`, for another client's too.
    """
    rows = await graph.rows(
        VERSIONS,
        client_id=client_id,
        id=memory_id,
        known_as_of=known_as_of or END,
        end=END,
    )
    if not rows:
        raise MemoryNotFound(memory_id)
    return rows[0]
