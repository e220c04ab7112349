"""Chains of versions: what a memory said before, and since when."""

from datetime import datetime
from typing import Annotated

from litestar import get
from litestar.di import NamedDependency
from litestar.params import PathParameter, QueryParameter

from graphmem.service import Graphmem
from graphmem.versions.types import Versions, VersionsAsked
from graphmem_api.problems import failures
from graphmem_api.queries import strictly

MemoryId = Annotated[str, PathParameter(description="the id of any version")]


@get(
    "/memories/{memory_id:str}/versions",
    summary="List the versions of a memory",
    response_description="The chain, oldest first",
    tags=["memories"],
    responses=failures(404),
    before_request=strictly(VersionsAsked),
)
async def list_versions(
    memory_id: MemoryId,
    memory: NamedDependency[Graphmem],
    known_as_of: Annotated[
        datetime | None,
        QueryParameter(description="only what was known then; RFC 3339, with a zone"),
    ] = None,
) -> Versions:
    """List the chain that a memory belongs to, whichever of its versions is asked."""
    return await memory.versions(memory_id, known_as_of=known_as_of)
