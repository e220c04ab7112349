"""Contextual retrieval: sessions first, then their messages; and more messages of a session."""

from typing import Annotated

from litestar import Router, post
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg

from graphmem.context import Context
from graphmem.contextual import ask, more_turns
from graphmem.contextual.types import ContextualQuery, ContextualResult, ExpansionAsked, MoreTurns
from graphmem_api.problems import failures

QUERY = Example(
    summary="The sessions about a bug, in at most 800 tokens",
    value={
        "query": "What was that auth bug?",
        "top_sessions": 3,
        "top_k": 5,
        "neighbours": 1,
        "max_tokens": 800,
    },
)
THEN = Example(
    summary="Messages about it until the end of April",
    value={"query": "What was that auth bug?", "as_of": "2026-05-01T00:00:00Z"},
)
LATER = Example(
    summary="How it went on after a hit",
    value={
        "memory_id": "0d1f6a52-5d0e-4c63-8f5e-1c2b7a0f6d11",
        "direction": "later",
        "shown": ["2f0b8c1e-61c5-4f4f-9d1a-6f3f0b9a7c22"],
        "max_tokens": 512,
    },
)
BEGINNING = Example(
    summary="A session from its beginning",
    value={"session_id": "7e1c2c36-3a0f-4a5e-8f0a-0e4b7d1f9a10", "direction": "later"},
)


@post(
    "/search",
    summary="Search sessions, then in them",
    status_code=200,
    response_description="Sessions with hits and the messages around them, and related sessions",
    responses=failures(413, 415),
)
async def search_contextual(
    data: Annotated[ContextualQuery, BodyKwarg(examples=[QUERY, THEN])],
    context: NamedDependency[Context],
) -> ContextualResult:
    """Return the sessions that answer, best first, each with its hits and the messages around them.

    Sessions are found by their summaries and their own messages (`soft`), or by summaries first (`hard`). If
    the best does not reach `min_relevance`, all memories are searched: `fallback` is `global`, and `items`
    contains the hits. An unknown conversation gives an empty answer. `max_tokens` limits the prompt, and
    `omitted` lists the memories that did not fit. `as_of` and `known_as_of` restrict the answer to messages,
    summaries and links of that valid time and transaction time.
    """
    return await ask.search_contextual(data, context)


@post(
    "/expand",
    summary="Return more of a session",
    status_code=200,
    response_description="More messages, in order",
    responses=failures(404, 413, 415),
)
async def expand_context(
    data: Annotated[ExpansionAsked, BodyKwarg(examples=[LATER, BEGINNING])],
    context: NamedDependency[Context],
) -> MoreTurns:
    """Return more messages of a session: earlier, later or around a hit or the messages already shown.

    The nearest messages go into the budget first; those already shown are not repeated. `as_of` and
    `known_as_of` restrict the messages to that valid time and transaction time.
    """
    return await more_turns.expand_context(data, context)


contextual = Router(
    "/contextual", route_handlers=[search_contextual, expand_context], tags=["contextual"]
)
