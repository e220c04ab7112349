"""Contextual retrieval: sessions first, then what was said in them; and more of what was shown."""

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
    summary="What was said of it by the end of April",
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
    response_description="Sessions with hits and what stands around them, and related sessions",
    responses=failures(413, 415),
)
async def search_contextual(
    data: Annotated[ContextualQuery, BodyKwarg(examples=[QUERY, THEN])],
    context: NamedDependency[Context],
) -> ContextualResult:
    """Return the sessions that answer, the best first, each with its messages that do and their neighbours.

    Sessions are found by their summaries and their own messages (`soft`), or by summaries first (`hard`).
    Where none is as relevant as `min_relevance` everything is searched: `fallback` is `global`, and `items`
    holds what was found. An unknown conversation gives an empty answer. With `max_tokens` the prompt is no
    longer than that, and `omitted` names what did not fit. `as_of` and `known_as_of` show what had been said,
    summarized and linked then, as far as that was known.
    """
    return await ask.search_contextual(data, context)


@post(
    "/expand",
    summary="Tell more of a session",
    status_code=200,
    response_description="Further messages, in their order",
    responses=failures(404, 413, 415),
)
async def expand_context(
    data: Annotated[ExpansionAsked, BodyKwarg(examples=[LATER, BEGINNING])],
    context: NamedDependency[Context],
) -> MoreTurns:
    """Return more messages of a session: earlier or later than a hit or than what was shown, or around it.

    The nearest come first into the budget; what was shown is not repeated. With `as_of` or `known_as_of` only
    what had been said by then, as far as it was known, is there.
    """
    return await more_turns.expand_context(data, context)


contextual = Router(
    "/contextual", route_handlers=[search_contextual, expand_context], tags=["contextual"]
)
