"""Retrieving the memory of one conversation: for a language model, a program, or a system prompt."""

from typing import Annotated, Any

from litestar import Response, post
from litestar.datastructures import ResponseHeader
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg
from msgspec import json

from graphmem.context import Context
from graphmem.retrieve_memory import ask
from graphmem.retrieve_memory.types import FactsAsked, Found, MemoryAsked, Retrieved
from graphmem_api.problems import failures
from graphmem_api.queries import AnyRequest

MARKDOWN = "text/markdown"
"""Litestar adds the charset, UTF-8."""

WHOLE = "application/vnd.graphmem.retrieved+json"
"""Whoever accepts exactly this gets the Markdown and the data in one answer."""

DEGRADED = "X-Graphmem-Degraded"
"""The missing parts of an answer, as a header: a specification fixes the bodies."""

HEADERS = [
    ResponseHeader(
        name=DEGRADED,
        description="`no_vector` if the embedding model failed, so that only words were searched",
        documentation_only=True,
        required=False,
    )
]

MEMORY_ASKED = Example(
    summary="Facts and episodes of one conversation",
    value={
        "query": "what did the user say about Rust",
        "conversation_id": "550e8400-e29b-41d4-a716-446655440001",
        "episodic_limit": 5,
        "semantic_limit": 20,
        "detail": "auto",
        "category": None,
    },
)
FACTS_ASKED = Example(
    summary="Guidelines for a system prompt",
    value={
        "query": "how should I respond",
        "conversation_id": "550e8400-e29b-41d4-a716-446655440001",
        "category": "guideline",
        "semantic_limit": 10,
    },
)


@post(
    "/retrieve_memory",
    summary="Retrieve memory as Markdown",
    status_code=200,
    media_type=MARKDOWN,
    response_description="Facts as bullets, then episodes; empty if there are none",
    response_headers=HEADERS,
    tags=["retrieve memory"],
    responses=failures(413, 415),
)
async def retrieve_memory(
    data: Annotated[MemoryAsked, BodyKwarg(examples=[MEMORY_ASKED])],
    context: NamedDependency[Context],
    request: AnyRequest,
) -> Response[str]:
    """Answer a question with the facts and episodes of a conversation, as Markdown for a language model.

    The rank of episodes includes their retrievability. Those in the answer become a pending review.
    `Accept: application/vnd.graphmem.retrieved+json` gets the Markdown and the data in one answer.
    """
    retrieved = await ask.retrieve_memory(data, context)
    return _answer(retrieved, retrieved.markdown, request)


@post(
    "/retrieve_memory/raw",
    summary="Retrieve memory as JSON",
    status_code=200,
    response_description="Facts and episodes, best first",
    response_headers=HEADERS,
    tags=["retrieve memory"],
    responses=failures(413, 415),
)
async def retrieve_memory_raw(
    data: Annotated[MemoryAsked, BodyKwarg(examples=[MEMORY_ASKED])],
    context: NamedDependency[Context],
    request: AnyRequest,
) -> Response[Found]:
    """Answer with the same facts and episodes as data, every episode with its messages.

    `detail` has no effect here. The episodes become a pending review.
    """
    retrieved = await ask.retrieve_memory(data, context, raw=True)
    return _answer(retrieved, retrieved.found, request)


@post(
    "/context_pre_retrieve",
    summary="Retrieve facts for a system prompt",
    status_code=200,
    media_type=MARKDOWN,
    response_description="Facts as bullets; empty if there are none",
    response_headers=HEADERS,
    tags=["retrieve memory"],
    responses=failures(413, 415),
)
async def context_pre_retrieve(
    data: Annotated[FactsAsked, BodyKwarg(examples=[FACTS_ASKED])],
    context: NamedDependency[Context],
    request: AnyRequest,
) -> Response[str]:
    """Answer with the facts of a conversation only, as Markdown; nothing is stored."""
    retrieved = await ask.context_pre_retrieve(data, context)
    return _answer(retrieved, retrieved.markdown, request)


def _answer(retrieved: Retrieved, body: str | Found, request: AnyRequest) -> Response[Any]:
    headers = _degraded(retrieved)
    if WHOLE in request.headers.get("accept", ""):
        return Response(json.encode(retrieved), media_type=WHOLE, headers=headers)
    if isinstance(body, str):
        return Response(body, media_type=MARKDOWN, headers=headers)
    return Response(body, headers=headers)


def _degraded(retrieved: Retrieved) -> dict[str, Any]:
    return {DEGRADED: ", ".join(retrieved.degraded)} if retrieved.degraded else {}
