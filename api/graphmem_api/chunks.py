"""Peek and chunk: a memory without its content, and its text within a number of tokens."""

from typing import Annotated

from litestar import get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg

from graphmem.context import Context
from graphmem.memories import chunk as chunks
from graphmem.memories.chunk import ChunkOptions, ChunkResult, PeekResult
from graphmem.memories.types import OwnerAsked
from graphmem_api.memories import MemoryId
from graphmem_api.problems import failures
from graphmem_api.queries import query

CHUNK = Example(
    summary="At most 200 tokens, whole sentences, under a header",
    value={"max_tokens": 200, "truncation_strategy": "sentence", "include_header": True},
)


@get(
    "/memories/{memory_id:str}/peek",
    summary="Peek at a memory",
    response_description="The memory, without its content",
    tags=["memories"],
    responses=failures(404),
    **query(OwnerAsked),
)
async def peek(
    memory_id: MemoryId, context: NamedDependency[Context], asked: NamedDependency[OwnerAsked]
) -> PeekResult:
    """Show a memory without its content: its kind, its length and its links; free of any budget."""
    return await chunks.peek(memory_id, context.of(asked.client_id))


@post(
    "/memories/{memory_id:str}/chunk",
    summary="Take a chunk of a memory",
    status_code=200,
    response_description="As much as fits",
    tags=["memories"],
    responses=failures(404, 409, 413, 415),
)
async def chunk(
    memory_id: MemoryId,
    data: Annotated[ChunkOptions, BodyKwarg(examples=[CHUNK])],
    context: NamedDependency[Context],
) -> ChunkResult:
    """Return a memory's full text in at most `max_tokens`, header and ellipsis included.

    1,000,000 tokens are enough for every text.

    `end` keeps the beginning, `sentence` whole sentences, `middle` 60 % from the beginning and 40 %
    from the end. If not even the header fits, the content is empty.
    """
    return await chunks.chunk(memory_id, data, context)
