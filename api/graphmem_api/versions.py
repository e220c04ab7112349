"""Chains of versions: the earlier texts of a memory."""

from typing import Annotated

from litestar import get
from litestar.di import NamedDependency
from litestar.params import PathParameter

from graphmem.context import Context
from graphmem.memories.versions import Versions, VersionsAsked, show_versions
from graphmem_api.problems import failures
from graphmem_api.queries import query

MemoryId = Annotated[str, PathParameter(description="the id of any version")]


@get(
    "/memories/{memory_id:str}/versions",
    summary="List the versions of a memory",
    response_description="The chain, oldest first",
    tags=["memories"],
    responses=failures(404),
    **query(VersionsAsked),
)
async def list_versions(
    memory_id: MemoryId,
    context: NamedDependency[Context],
    asked: NamedDependency[VersionsAsked],
) -> Versions:
    """List the version chain of a memory, by the id of any version."""
    return await show_versions(memory_id, asked, context)
