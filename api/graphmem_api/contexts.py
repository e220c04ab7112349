"""Retrieval contexts: parts of memories that an agent collects for its model, within a budget."""

from typing import Annotated

from litestar import MediaType, Router, delete, get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg, PathParameter

from graphmem.context import Context
from graphmem.contexts import context as retrieval_contexts
from graphmem.contexts.context import Added, ContextAddition, CreateContextOptions, RetrievalContext
from graphmem_api.problems import failures

ContextId = Annotated[str, PathParameter(description="the context's id, `ctx-…`")]

NEW = Example(
    summary="2,000 tokens, of which 500 stay free for the answer",
    value={
        "max_tokens": 2000,
        "system_prompt": "You are a helpful assistant.",
        "reserved_for_response": 500,
        "ttl_seconds": 3600,
    },
)
ADDITION = Example(
    summary="A memory that a search has found",
    value={"id": "3f0c9a52-5d0e-4c63-8f5e-1c2b7a0f6d11"},
)


@post(
    "/",
    summary="Begin a context",
    response_description="The context, with its system prompt if it has one",
    responses=failures(413, 415),
)
async def create_context(
    data: Annotated[CreateContextOptions, BodyKwarg(examples=[NEW])],
    context: NamedDependency[Context],
) -> RetrievalContext:
    """Create a context that expires after `ttl_seconds`.

    A system prompt and a reserve that together exceed `max_tokens` are refused. If they leave no token,
    every addition answers false.
    """
    return await retrieval_contexts.create_context(data, context)


@get(
    "/{context_id:str}",
    summary="Show a context",
    response_description="Its sections and its remaining tokens",
    responses=failures(404),
)
async def show_context(
    context_id: ContextId, context: NamedDependency[Context]
) -> RetrievalContext:
    """Show a context; an expired one is not found."""
    return await retrieval_contexts.show_context(context_id, context)


@post(
    "/{context_id:str}/memories",
    summary="Add a memory to a context",
    status_code=200,
    response_description="Whether the context holds it, and its remaining tokens",
    responses=failures(404, 409, 413, 415),
)
async def add_to_context(
    context_id: ContextId,
    data: Annotated[ContextAddition, BodyKwarg(examples=[ADDITION])],
    context: NamedDependency[Context],
) -> Added:
    """Add as much of a memory as fits, at most 500 tokens, under a header.

    A memory that the context already holds is not charged again. Any number of callers may add at once.
    """
    return await retrieval_contexts.add_to_context(context_id, data, context)


@get(
    "/{context_id:str}/composed",
    summary="Compose a context",
    media_type=MediaType.TEXT,
    response_description="The context as one text",
    responses=failures(404),
)
async def composed_context(context_id: ContextId, context: NamedDependency[Context]) -> str:
    """Return a context as one text: the system prompt, then the sections, separated by blank lines."""
    return await retrieval_contexts.compose_context(context_id, context)


@delete(
    "/{context_id:str}",
    summary="Delete a context",
    response_description="The context is deleted",
    responses=failures(404),
)
async def delete_context(context_id: ContextId, context: NamedDependency[Context]) -> None:
    """Delete a context before it expires; the memories that it holds parts of stay."""
    await retrieval_contexts.delete_context(context_id, context)


contexts = Router(
    "/contexts",
    route_handlers=[
        create_context,
        show_context,
        add_to_context,
        composed_context,
        delete_context,
    ],
    tags=["contexts"],
)
