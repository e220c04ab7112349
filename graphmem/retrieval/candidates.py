"""Candidates: the memories nearest in meaning and those that share words, both legs in one round trip.

Filters act inside both indexes. What an index cannot decide is decided on what it returns, and more
is asked for until there is enough or no more.
"""

from collections.abc import Mapping, Set
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from graphmem.embedding import Vector
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.vocabulary import Kind, Role
from graphmem.retrieval.enough import MOST_CANDIDATES, enough, falls_short
from graphmem.retrieval.filters import Filters, conditions, ranges, scope_groups
from graphmem.text.words import lucene_query, scope_query

CANDIDATES = 100
"""How many memories each leg brings, unless more are asked for."""


class Candidate(Struct, frozen=True, kw_only=True):
    """A memory that a leg has found, with everything ranking and packing need; not its text."""

    id: str
    external_id: str | None
    kind: Kind
    role: Role | None
    name: str | None
    occurred_at: datetime
    conversation_id: str
    session_id: str
    idx: int | None
    importance: float
    token_count: int
    cosine: float | None
    """The exact cosine to the question, -1 to 1; none when the question has no vector."""
    bm25: float | None
    """Lucene's score; none when the words leg has not found it."""
    by_vector: bool
    """Whether the vector leg has found it."""
    passes: bool = True
    """Whether it passes what the indexes could not decide."""


CANDIDATES_IN_CLIENT = Query("retrieval/candidates_in_client", Candidate)
CANDIDATES_OF_KIND = Query("retrieval/candidates_of_kind", Candidate)
CANDIDATES_IN_CONVERSATION = Query("retrieval/candidates_in_conversation", Candidate)
CANDIDATES_OF_KIND_IN_CONVERSATION = Query(
    "retrieval/candidates_of_kind_in_conversation", Candidate
)
CANDIDATES_IN_SCOPE = Query("retrieval/candidates_in_scope", Candidate)
NARROW: Mapping[frozenset[str], Query[Candidate]] = {
    frozenset(): CANDIDATES_IN_CLIENT,
    frozenset({"kind"}): CANDIDATES_OF_KIND,
    frozenset({"conversation_id"}): CANDIDATES_IN_CONVERSATION,
    frozenset({"kind", "conversation_id"}): CANDIDATES_OF_KIND_IN_CONVERSATION,
}
"""The files that ask for equalities only: each test in the index costs its share."""

CANDIDATES_BY_WORDS = Query("retrieval/candidates_by_words", Candidate)
NEAREST_IN_SCOPE = Query("retrieval/nearest_in_scope", Candidate)


async def candidates(
    embedding: Vector | None,
    words: list[str],
    filters: Filters,
    *,
    client_id: str,
    wanted: int = CANDIDATES,
    weight: Mapping[str, float] | None = None,
    graph: Graph,
) -> list[Candidate]:
    """Return up to `wanted` memories of each leg; a memory that both have found stands once.

    Without an embedding only the words leg is asked, without words only the vector leg; `weight`
    says which words weigh less than 1. Raises `Unavailable`.
    """
    if filters.impossible:
        return []
    lucene = lucene_query(words, scope_groups(filters, client_id), weight)
    found, limit = await enough(
        lambda limit: _both_legs(embedding, lucene, filters, limit, client_id, graph),
        lambda found: (_by_vector(found), _by_words(found)),
        wanted,
    )
    if embedding is not None and falls_short(_by_vector(found), limit, wanted):
        found = _united(found, await _exactly(embedding, filters, wanted, client_id, graph))
    return _cut([candidate for candidate in found if candidate.passes], wanted)


async def _both_legs(
    embedding: Vector | None,
    lucene: str,
    filters: Filters,
    limit: int,
    client_id: str,
    graph: Graph,
) -> list[Candidate]:
    if embedding is not None:
        query, parameters = _query_for(filters)
        asked = {"embedding": embedding, "words": lucene, "limit": limit} | parameters
        return await graph.rows(query, client_id=client_id, **asked)
    return await graph.rows(
        CANDIDATES_BY_WORDS,
        client_id=client_id,
        words=lucene,
        limit=limit,
        **conditions(filters),
    )


def _query_for(filters: Filters) -> tuple[Query[Candidate], dict[str, Any]]:
    """Return the narrowest query file for these filters, and its parameters."""
    single = {
        name: next(iter(values))
        for name in filters.shape
        if isinstance(values := getattr(filters, name), Set) and len(values) == 1
    }
    if len(single) == len(filters.shape) and frozenset(single) in NARROW:
        return NARROW[frozenset(single)], single
    return CANDIDATES_IN_SCOPE, ranges(filters) | conditions(filters)


async def _exactly(
    embedding: Vector, filters: Filters, wanted: int, client_id: str, graph: Graph
) -> list[Candidate]:
    """Return the nearest by exact cosine: the index may fall short where hardly more exist than asked."""
    return await graph.rows(
        NEAREST_IN_SCOPE,
        client_id=client_id,
        embedding=embedding,
        scope=scope_query(scope_groups(filters, client_id)),
        most=MOST_CANDIDATES,
        limit=wanted,
        **conditions(filters),
    )


def _by_vector(found: list[Candidate]) -> list[Candidate]:
    return [candidate for candidate in found if candidate.by_vector]


def _by_words(found: list[Candidate]) -> list[Candidate]:
    return [candidate for candidate in found if candidate.bm25 is not None]


def _united(found: list[Candidate], exact: list[Candidate]) -> list[Candidate]:
    """Return both; what only the words leg had found has now been found by vector too."""
    by_id = {candidate.id: candidate for candidate in exact}
    for candidate in found:
        nearer = by_id.get(candidate.id)
        by_id[candidate.id] = replace(nearer, bm25=candidate.bm25) if nearer else candidate
    return list(by_id.values())


def _cut(found: list[Candidate], wanted: int) -> list[Candidate]:
    """Return what stands among the best `wanted` of a leg; out of a leg's cut is out of that leg."""
    nearest = {c.id for c in best(_by_vector(found), "cosine", wanted)}
    matching = {c.id for c in best(_by_words(found), "bm25", wanted)}
    return [
        replace(
            candidate,
            by_vector=candidate.id in nearest,
            bm25=candidate.bm25 if candidate.id in matching else None,
        )
        for candidate in found
        if candidate.id in nearest or candidate.id in matching
    ]


def best(leg: list[Candidate], score: str, wanted: int) -> list[Candidate]:
    """Return the best of a leg; ties go to the newer, then to the lower id."""
    ordered = sorted(leg, key=lambda candidate: candidate.id)
    ordered.sort(key=lambda candidate: candidate.occurred_at, reverse=True)
    ordered.sort(key=lambda candidate: getattr(candidate, score), reverse=True)
    return ordered[:wanted]
