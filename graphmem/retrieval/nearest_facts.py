"""The facts nearest to any of several vectors, and those that share words: one round trip for all of them.

Each vector brings a few, since only the best of all are wanted. Where the index falls short, because hardly
more exist than are asked for, the exact cosine stands for it.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from graphmem.embedding import Vector
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.retrieval.enough import MOST_CANDIDATES, enough, falls_short
from graphmem.retrieval.filters import Filters, conditions, ranges, scope_groups
from graphmem.text.words import lucene_query, scope_query


class NearFact(Struct, frozen=True, kw_only=True):
    """A fact that lies near one of the vectors, or shares words."""

    id: str
    occurred_at: datetime
    places: list[int]
    """Which of the vectors have found it in the index."""
    cosine: float
    """That to the nearest of the vectors, -1 to 1."""
    bm25: float | None
    """Lucene's score; none when the words have not found it."""
    passes: bool
    """Whether it passes what the indexes could not decide."""


FACTS_NEAR_ANY = Query("retrieval/facts_near_any", NearFact)
FACTS_NEAR_ANY_THEN = Query("retrieval/facts_near_any_then", NearFact)
FACTS_NEAR_ANY_EXACTLY = Query("retrieval/facts_near_any_exactly", NearFact)


class Search(Struct, frozen=True, kw_only=True):
    """What is searched for, and among which facts."""

    embeddings: Sequence[Vector]
    words: Sequence[str] = ()
    """Without any, only the vectors search."""
    filters: Filters
    wanted: int
    """How many each vector brings, and the words."""


async def nearest_facts(search: Search, *, client_id: str, graph: Graph) -> list[NearFact]:
    """Return the facts that any of the vectors or the words have found, each once.

    Raises `Unavailable`.
    """
    if search.filters.impossible:
        return []
    found, is_short = await _indexed(search, client_id, graph)
    if is_short:
        found = _united(found, await _exactly(search, client_id, graph))
    return [fact for fact in found if fact.passes]


async def _indexed(search: Search, client_id: str, graph: Graph) -> tuple[list[NearFact], bool]:
    """Return what the indexes find, and whether the vectors have found too little for all there is."""
    found, limit = await enough(
        lambda limit: _asked(search, limit, client_id, graph),
        lambda found: [
            *_by_vector(found, search),
            [fact for fact in found if fact.bm25 is not None],
        ],
        search.wanted,
    )
    return found, any(falls_short(leg, limit, search.wanted) for leg in _by_vector(found, search))


def _by_vector(found: Sequence[NearFact], search: Search) -> list[list[NearFact]]:
    """Return for each vector what it has found."""
    places = range(len(search.embeddings))
    return [[fact for fact in found if place in fact.places] for place in places]


async def _asked(search: Search, limit: int, client_id: str, graph: Graph) -> list[NearFact]:
    filters = search.filters
    between = ranges(filters)
    asked = {
        "asked": _numbered(search.embeddings),
        "conversation_from": between["conversation_id_from"],
        "conversation_to": between["conversation_id_to"],
        "scope_from": between["scope_from"],
        "scope_to": between["scope_to"],
        "scope_in": sorted(filters.scope or ()),
        "words": lucene_query(search.words, scope_groups(filters, client_id)),
        "limit": limit,
    }
    if filters.only_active:
        return await graph.rows(FACTS_NEAR_ANY, client_id=client_id, **asked)
    times = filters.holding.conditions
    return await graph.rows(FACTS_NEAR_ANY_THEN, client_id=client_id, **asked, **times)


async def _exactly(search: Search, client_id: str, graph: Graph) -> list[NearFact]:
    scope = scope_groups(search.filters, client_id)
    lists = conditions(search.filters)
    return await graph.rows(
        FACTS_NEAR_ANY_EXACTLY,
        client_id=client_id,
        asked=_numbered(search.embeddings),
        conversation_id_in=lists["conversation_id_in"],
        scope_in=lists["scope_in"],
        everything=scope_query(scope),
        most=MOST_CANDIDATES,
        words=lucene_query(search.words, scope),
        limit=search.wanted,
        **search.filters.holding.conditions,
    )


def _numbered(embeddings: Sequence[Vector]) -> list[dict[str, Any]]:
    return [{"place": place, "vector": embedding} for place, embedding in enumerate(embeddings)]


def _united(found: Sequence[NearFact], exact: Sequence[NearFact]) -> list[NearFact]:
    """Return both; of a fact that both have found, the exact cosine, which is to all of the vectors."""
    by_id = {fact.id: fact for fact in found}
    for fact in exact:
        before = by_id.get(fact.id)
        bm25 = before.bm25 if before and fact.bm25 is None else fact.bm25
        by_id[fact.id] = replace(fact, bm25=bm25)
    return list(by_id.values())
