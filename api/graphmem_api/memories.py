"""Single memories: showing one, deleting one."""

from typing import Annotated

from litestar import Router, delete, get
from litestar.di import NamedDependency
from litestar.params import PathParameter

from graphmem.context import Context
from graphmem.conversations.types import Deleted
from graphmem.memories import delete as deleting, lists, memory as single
from graphmem.memories.lists import Memories, MemoriesAsked
from graphmem.memories.types import Memory
from graphmem_api.problems import failures
from graphmem_api.queries import query

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


@get(
    "/",
    summary="List memories",
    response_description="A page of memories with their whole texts",
    responses=failures(),
    **query(MemoriesAsked, {"kinds": list}),
)
async def list_memories(
    context: NamedDependency[Context], asked: NamedDependency[MemoriesAsked]
) -> Memories:
    """List memories of any kind by the time when they happened, with their whole texts.

    Without a time in the question only those that hold now are listed; what a memory does not have is left
    out. A memory that is there throughout is on exactly one page, whatever is written meanwhile.
    """
    return await lists.list_memories(asked, context)


memories = Router(
    "/memories", route_handlers=[list_memories, show_memory, delete_memory], tags=["memories"]
)
