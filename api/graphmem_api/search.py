"""Search for memories and spans, with or without hops."""

from typing import Annotated

from litestar import post
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg

from graphmem.context import Context
from graphmem.search import ask
from graphmem.search.types import SearchQuery, SearchResult, SpanQuery, SpanSearchResult
from graphmem_api.problems import failures

QUERY = Example(
    summary="Memories about pricing and those linked to them, in at most 800 tokens",
    value={
        "query": "pricing",
        "source_types": ["thread_summary", "knowledge_base"],
        "max_results": 10,
        "max_tokens": 800,
        "min_relevance": 0.1,
        "since": "2026-03-01T00:00:00Z",
        "max_hops": 1,
        "link_types": ["references", "relates_to"],
    },
)

EXACT = Example(
    summary="The memories of a conversation that contain a text word for word",
    value={"query": "AUTH-4013", "match": "exact", "conversation_id": "support"},
)

SPANS = Example(
    summary="The passages of one page about pricing",
    value={"query": "pricing", "source_types": ["knowledge_base"], "source_ids": ["kb-123"]},
)


@post(
    "/search",
    summary="Search memories",
    status_code=200,
    response_description="The memories found, the omitted ones, and the reasons",
    tags=["search"],
    responses=failures(413, 415),
)
async def search(
    data: Annotated[SearchQuery, BodyKwarg(examples=[QUERY, EXACT])],
    context: NamedDependency[Context],
) -> SearchResult:
    """Return the memories that match a query, `*` for all, ordered and limited as requested.

    All memories of the client are searched, messages, facts and episodes too, unless `source_types` restricts
    them.

    With `max_hops`, linked memories are found too: a hop passes on half of the relevance. A memory that is
    found both ways ranks higher. `match: exact` finds the texts of a session or a conversation that contain
    the query, in any case. An unknown source, session or conversation gives an empty result.
    """
    return await ask.search(data, context)


@post(
    "/spans/search",
    summary="Search spans",
    status_code=200,
    response_description="The spans that match, best first",
    tags=["spans"],
    responses=failures(413, 415),
)
async def search_spans(
    data: Annotated[SpanQuery, BodyKwarg(examples=[SPANS])], context: NamedDependency[Context]
) -> SpanSearchResult:
    """Return the spans that match a query, ordered by relevance; `query` shows the equivalent search.

    The names of a run's `retrieve`, `span_id`, `token_count` and `relevance_score`, are added to those of a
    search.
    """
    return await ask.search_spans(data, context)
