"""Single memories: showing one, deleting one."""

from typing import Annotated

from litestar import Router, delete, get
from litestar.di import NamedDependency
from litestar.params import PathParameter

from graphmem.context import Context
from graphmem.conversations.types import Deleted
from graphmem.memories import delete as deleting, memory as single
from graphmem.memories.memory import Memory
from graphmem_api.problems import failures

MemoryId = Annotated[str, PathParameter(description="the memory's id")]


@get(
    "/{memory_id:str}",
    summary="Show a memory",
    response_description="The memory",
    responses=failures(404),
)
async def show_memory(memory_id: MemoryId, context: NamedDependency[Context]) -> Memory:
    """Show one memory of any kind; fields that its kind does not have are null."""
    return await single.show_memory(memory_id, context)


@delete(
    "/{memory_id:str}",
    summary="Delete a memory",
    status_code=200,
    response_description="The numbers of deleted nodes",
    responses=failures(404, 409),
)
async def delete_memory(memory_id: MemoryId, context: NamedDependency[Context]) -> Deleted:
    """Delete one memory for good, with all its versions; a reference with its spans.

    409 for a span of a reference's content, which would become incomplete: replace the reference's content,
    or delete the reference.
    """
    return await deleting.delete_memory(memory_id, context)


memories = Router("/memories", route_handlers=[show_memory, delete_memory], tags=["memories"])
