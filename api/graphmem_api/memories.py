"""Single memories: showing, annotating and deleting one; lists."""

from typing import Annotated

from litestar import Router, delete, get, patch
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg, PathParameter

from graphmem.context import Context
from graphmem.conversations.types import Deleted
from graphmem.memories import lists, memory as single
from graphmem.memories.lists import Memories, MemoriesAsked
from graphmem.memories.types import Memory, OwnerAsked
from graphmem.model.annotations import ChangedAnnotations
from graphmem_api.problems import failures
from graphmem_api.queries import query

CHANGED = Example(
    summary="Other tags, an expiry, and no metadata",
    value={"metadata": None, "tags": ["atlas", "login"], "expires_at": "2027-01-01T00:00:00Z"},
)

MemoryId = Annotated[str, PathParameter(description="the memory's id")]


@get(
    "/{memory_id:str}",
    summary="Show a memory",
    response_description="The memory",
    responses=failures(404),
    **query(OwnerAsked),
)
async def show_memory(
    memory_id: MemoryId, context: NamedDependency[Context], asked: NamedDependency[OwnerAsked]
) -> Memory:
    """Show one memory of any kind; fields that its kind does not have are null."""
    return await single.show_memory(memory_id, context.of(asked.client_id))


@patch(
    "/{memory_id:str}",
    summary="Annotate a memory",
    response_description="The memory with its annotations",
    responses=failures(404, 413, 415),
)
async def annotate_memory(
    memory_id: MemoryId,
    data: Annotated[ChangedAnnotations, BodyKwarg(examples=[CHANGED])],
    context: NamedDependency[Context],
) -> Memory:
    """Change the metadata, the tags and the expiry of a message, an episode, a fact or a reference.

    No new version is made: all versions of a memory share its annotations, and the next ones inherit them.
    The spans of a reference's content share its tags and its expiry.
    """
    return await single.annotate(memory_id, data, context)


@delete(
    "/{memory_id:str}",
    summary="Delete a memory",
    status_code=200,
    response_description="The numbers of deleted nodes",
    responses=failures(404, 409),
)
async def delete_memory(memory_id: MemoryId, context: NamedDependency[Context]) -> Deleted:
    """Delete one memory for good, with all its versions; a reference with its spans.

    Episodes and summaries that were made of it keep what they say of it: `POST /forget` deletes these too.

    409 for a span of a reference's content, which would become incomplete: replace the reference's content,
    or delete the reference.
    """
    return await single.delete_memory(memory_id, context)


@get(
    "/",
    summary="List memories",
    response_description="A page of memories with their whole texts",
    responses=failures(),
    **query(MemoriesAsked, {"kinds": list, "tags": list}),
)
async def list_memories(
    context: NamedDependency[Context], asked: NamedDependency[MemoriesAsked]
) -> Memories:
    """List memories of any kind by the time when they happened, with their whole texts.

    Without a time, only memories that are valid now are listed. Fields that a memory does not have are left
    out. A memory that exists all the time is on exactly one page, also if others are written meanwhile.
    """
    return await lists.list_memories(asked, context)


memories = Router(
    "/memories",
    route_handlers=[list_memories, show_memory, annotate_memory, delete_memory],
    tags=["memories"],
)
