"""Single memories: looking at one, deleting one."""

from typing import Annotated

from litestar import Router, delete, get
from litestar.di import NamedDependency
from litestar.params import PathParameter

from graphmem.conversations.types import Deleted
from graphmem.memories.memory import Memory
from graphmem.service import Graphmem
from graphmem_api.problems import failures

MemoryId = Annotated[str, PathParameter(description="the memory's id")]


@get(
    "/{memory_id:str}",
    summary="Show a memory",
    response_description="The memory",
    responses=failures(404),
)
async def show_memory(memory_id: MemoryId, memory: NamedDependency[Graphmem]) -> Memory:
    """Show one memory of any kind; what its kind does not have is null."""
    return await memory.memory(memory_id)


@delete(
    "/{memory_id:str}",
    summary="Delete a memory",
    status_code=200,
    response_description="It is gone",
    responses=failures(404),
)
async def delete_memory(memory_id: MemoryId, memory: NamedDependency[Graphmem]) -> Deleted:
    """Delete one memory for good."""
    return await memory.delete_memory(memory_id)


memories = Router("/memories", route_handlers=[show_memory, delete_memory], tags=["memories"])
