"""Showing one memory."""

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.context import Context
from graphmem.errors import MemoryNotFound
from graphmem.graph.query import Query
from graphmem.memories.types import ListedMemory, Memory
from graphmem.model.times import BEGINNING, END


class StoredMemory(Struct, frozen=True):
    """A memory, and its metadata as the stored JSON text."""

    memory: Memory
    metadata: str | None


MEMORY = Query("memories/memory", StoredMemory)

NO_BOUNDS = {"beginning": BEGINNING, "end": END}
"""The parameters of the fragment `memory_map`: the times that stand for none."""


async def show_memory(memory_id: str, context: Context) -> Memory:
    """Return a memory of any kind.

    Raises `MemoryNotFound`, also for a memory of another client, and `Unavailable`.
    """
    rows = await context.graph.rows(MEMORY, client_id=context.client_id, id=memory_id, **NO_BOUNDS)
    if not rows:
        raise MemoryNotFound(memory_id)
    return _whole(rows[0])


def listed_memory(stored: StoredMemory) -> ListedMemory:
    """Return a memory as it stands in a list."""
    return ListedMemory(**asdict(_whole(stored)))


def _whole(stored: StoredMemory) -> Memory:
    """Return a memory with its metadata."""
    memory, metadata = stored.memory, stored.metadata
    return replace(memory, metadata=msgspec.json.decode(metadata)) if metadata else memory
