"""Search: the memories that match a query, with how well and why, along their links if asked (S1)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from graphmem.embedding import Embedder, Vector
from graphmem.errors import InvalidInput
from graphmem.graph.driver import Graph
from graphmem.graph.installation import Calibration
from graphmem.memories.card import Card
from graphmem.memories.cards import cards
from graphmem.model.text import checked_text
from graphmem.model.times import BEGINNING, END, utc
from graphmem.model.vocabulary import KINDS, QUERY_CHARACTERS, Kind, Leg
from graphmem.recall.compose import OMITTED_SHOWN
from graphmem.recall.types import Reason
from graphmem.retrieval.exactly import holding_text
from graphmem.retrieval.expansion import Expansion, HopPath, expand, joined
from graphmem.retrieval.holding import holding_asked
from graphmem.retrieval.relevance import (
    EVERYTHING,
    MEANING_SHARE,
    NEUTRAL,
    asked_stems,
    combined,
    lexical_relevance,
    matched_shares,
    meaning,
    relevance,
)
from graphmem.retrieval.sources import Found, Pool, Sources, listed, pool, sources_asked
from graphmem.retrieval.understanding import understood
from graphmem.retrieval.vocabulary import Vocabulary
from graphmem.search.types import LeftOut, SearchItem, SearchQuery, SearchResult, SortBy

TRIED = 1_000
"""How many of everything are tried for the room that a budget leaves."""

CARDS_AT_ONCE = 50
"""How many cards are fetched at once, unless more results are asked for."""


class Hit(Struct, frozen=True, kw_only=True):
    """A memory that was found, with how relevant it is and what says so."""

    found: Found
    relevance: float
    scores: dict[str, float]
    ranks: dict[Leg, int] = {}
    hop: int = 0
    hop_from: str | None = None

    @property
    def combined(self) -> float:
        """Relevance and importance together, 0–1."""
        return combined(self.relevance, self.found.importance)


class Matches(Struct, frozen=True):
    """What matches by itself, in no order, and how many there are."""

    hits: list[Hit]
    total: int
    exact: bool
    degraded: list[str]


class Packed(Struct, frozen=True):
    """Which of the hits are returned, by rank, what they cost, and why the others are not."""

    taken: list[tuple[int, Hit, Card]]
    omitted: list[LeftOut]


async def search(
    asked: SearchQuery,
    *,
    client_id: str,
    graph: Graph,
    embedder: Embedder,
    vocabulary: Vocabulary,
    calibration: Calibration,
    only: Kind | None = None,
) -> SearchResult:
    """Return the memories that match a query, best first, within `max_results` and `max_tokens`.

    `only` says of which kind all must be, whatever their source type.
    An unknown source or conversation gives an empty answer, as an empty one does. When the embedding
    model fails the words decide alone and `degraded` says so. Raises `InvalidInput`, `Unavailable`.
    """
    checked_text(asked.query, "query", most_bytes=4 * QUERY_CHARACTERS)
    asked = replace(asked, sort_by=asked.sort_by or ("combined" if asked.max_hops else "relevance"))
    sources = _sources(asked, only)
    if asked.match == "exact":
        matches = await _exactly(asked, sources, client_id, graph)
    elif asked.session_id is not None:
        raise InvalidInput(
            "session_id", "goes with match: exact; inside sessions search by /contextual/search"
        )
    elif asked.query.strip() == EVERYTHING:
        matches = await _everything(asked, sources, client_id, graph)
    else:
        matches = await _matching(
            asked, sources, client_id, graph, embedder, vocabulary, calibration
        )
    hits = ordered(matches.hits, asked.sort_by)
    total, hop_paths = matches.total, Expansion({})
    if asked.max_hops and (asked.query.strip() != EVERYTHING or asked.match == "exact"):
        own = {hit.found.id: hit.relevance for hit in hits}
        hop_paths = await expand(
            {hit.found.id: hit.relevance for hit in hits[: asked.max_results]},
            own,
            hops=asked.max_hops,
            steps=asked.link_types,
            sources=sources,
            client_id=client_id,
            graph=graph,
        )
        hits = ordered(_with_hops(hits, hop_paths, asked.min_relevance or 0.0), asked.sort_by)
        total = len({hit.found.id for hit in hits})
    packed = await _packed(hits, asked, client_id, graph)
    return _result(asked, packed, replace(matches, total=total), hop_paths)


def ordered(hits: Sequence[Hit], sort_by: SortBy | None) -> list[Hit]:
    """Return the hits in an order, the first first; ties go to the newer, then to the lower id."""
    by = sorted(hits, key=lambda hit: hit.found.id)
    by.sort(key=lambda hit: hit.found.occurred_at, reverse=True)
    if sort_by != "recency":
        by.sort(key=ORDERS[sort_by or "relevance"], reverse=True)
    return by


ORDERS: Mapping[str, Callable[[Hit], float]] = {
    "relevance": lambda hit: hit.relevance,
    "importance": lambda hit: hit.found.importance,
    "combined": lambda hit: hit.combined,
}


def _sources(asked: SearchQuery, only: Kind | None) -> Sources:
    sources = sources_asked(
        asked.source_types,
        asked.source_ids,
        asked.conversation_id,
        utc(asked.since, "since") if asked.since else BEGINNING,
        utc(asked.until, "until") if asked.until else END,
        only,
        holding_asked(asked.as_of, asked.known_as_of, asked.include_superseded),
    )
    if asked.match == "exact" and asked.source_types is None and only is None:
        return replace(sources, kinds=frozenset(KINDS))
    return sources


async def _exactly(asked: SearchQuery, sources: Sources, client_id: str, graph: Graph) -> Matches:
    """Return the texts of a session or a conversation that hold the query; all are equally relevant."""
    if asked.session_id is None and asked.conversation_id is None:
        raise InvalidInput("match", "exact needs a session_id or a conversation_id to look into")
    found, exact = await holding_text(
        asked.query,
        sources,
        session_id=asked.session_id,
        conversation_id=asked.conversation_id,
        client_id=client_id,
        graph=graph,
    )
    hits = [Hit(found=one, relevance=1.0, scores={"exact": 1.0}) for one in found]
    return Matches(hits, len(hits), exact, [])


async def _everything(
    asked: SearchQuery, sources: Sources, client_id: str, graph: Graph
) -> Matches:
    """Return everything that passes, as much as can be shown; all is equally relevant."""
    if (asked.min_relevance or 0.0) > NEUTRAL:
        return Matches([], 0, True, [])
    found, total = await listed(
        sources,
        by_importance=asked.sort_by in {"importance", "combined"},
        client_id=client_id,
        limit=asked.max_results + (TRIED if asked.max_tokens else OMITTED_SHOWN),
        graph=graph,
    )
    return Matches([Hit(found=one, relevance=NEUTRAL, scores={}) for one in found], total, True, [])


async def _matching(
    asked: SearchQuery,
    sources: Sources,
    client_id: str,
    graph: Graph,
    embedder: Embedder,
    vocabulary: Vocabulary,
    calibration: Calibration,
) -> Matches:
    """Return what matches by its meaning or its words, at least as much as asked."""
    question = await understood(
        asked.query, client_id=client_id, embedder=embedder, vocabulary=vocabulary
    )
    candidates = await pool(
        question.embedding,
        question.words,
        sources,
        client_id=client_id,
        results=asked.max_results,
        weight=question.weight,
        graph=graph,
    )
    hits = await asyncio.to_thread(weighed, candidates.found, asked.query, calibration)
    least = asked.min_relevance or 0.0
    matching = [hit for hit in hits if hit.relevance > 0.0 and hit.relevance >= least]
    return Matches(
        matching,
        len(matching),
        _is_all(candidates, calibration, least, question.embedding),
        question.degraded,
    )


def weighed(found: Sequence[Found], query: str | None, calibration: Calibration) -> list[Hit]:
    """Return the candidates with their relevance, and their ranks in each leg.

    Without a query they were found by a vector alone, and there are no words to match.
    """
    stems = asked_stems(query) if query is not None else frozenset()
    shares = matched_shares(stems, [one.text or "" for one in found])
    ranks = _ranks(found)
    hits = []
    for one, share in zip(found, shares, strict=True):
        if one.cosine is None:
            relevant = lexical_relevance(query or "", one.text or "")
            scores = {"words": relevant}
        else:
            near = meaning(one.cosine, calibration)
            relevant = near if query is None else relevance(one.cosine, share, calibration)
            scores = {"vector": one.cosine, "meaning": near, "words": share}
        if one.bm25 is not None:
            scores["bm25"] = one.bm25
        hits.append(Hit(found=one, relevance=relevant, scores=scores, ranks=ranks.get(one.id, {})))
    return hits


def _ranks(found: Sequence[Found]) -> dict[str, dict[Leg, int]]:
    """Return each candidate's rank in the legs that found it, from 1."""
    ranks: dict[str, dict[Leg, int]] = {}
    legs: dict[Leg, dict[str, float]] = {
        "vector": {one.id: one.cosine or 0.0 for one in found if one.by_vector},
        "bm25": {one.id: one.bm25 for one in found if one.bm25 is not None},
    }
    for leg, scores in legs.items():
        order = sorted(scores, key=lambda one: (-scores[one], one))
        for rank, one in enumerate(order, start=1):
            ranks.setdefault(one, {})[leg] = rank
    return ranks


def _is_all(
    candidates: Pool, calibration: Calibration, least: float, embedding: Vector | None
) -> bool:
    """Tell whether nothing else can match: both legs are exhausted, or what follows is too far away."""
    if not candidates.all_by_words:
        return False
    if candidates.all_by_vector or embedding is None:
        return True
    beyond = MEANING_SHARE * meaning(candidates.least_cosine, calibration)
    return beyond == 0.0 or beyond < least


def _with_hops(hits: Sequence[Hit], expansion: Expansion, least: float) -> list[Hit]:
    """Return what matches by itself, by a hop, or by both."""
    by_id = {hit.found.id: hit for hit in hits}
    for id, step in expansion.reached().items():
        own = by_id.get(id)
        if own is None and not step.passes:
            continue
        hit = own or Hit(found=step, relevance=0.0, scores={})
        by_id[id] = replace(
            hit,
            relevance=joined(hit.relevance, step.inherited),
            scores=hit.scores | {"hop": step.inherited},
            hop=expansion.depth(id),
            hop_from=step.from_id,
        )
    return [hit for hit in by_id.values() if hit.relevance > 0.0 and hit.relevance >= least]


async def _packed(hits: Sequence[Hit], asked: SearchQuery, client_id: str, graph: Graph) -> Packed:
    """Take by rank what fits into `max_tokens`, at most `max_results`: a misfit is left out, the next tried.

    What has been deleted in between is passed over.
    """
    room = asked.max_tokens
    taken: list[tuple[int, Hit, Card]] = []
    seen: dict[str, Card] = {}
    gone: set[str] = set()
    step = max(CARDS_AT_ONCE, asked.max_results)
    for start in range(0, len(hits), step):
        if len(taken) == asked.max_results or room == 0:
            break
        some = hits[start : start + step]
        shown = await cards([hit.found.id for hit in some], client_id=client_id, graph=graph)
        seen |= {card.id: card for card in shown}
        gone |= {hit.found.id for hit in some} - set(seen)
        for rank, hit in enumerate(some, start=start + 1):
            card = seen.get(hit.found.id)
            if card and len(taken) < asked.max_results and _fits(card, room):
                taken.append((rank, hit, card))
                room = None if room is None else room - card.token_estimate
    return _left_out(hits, taken, seen, gone, asked.max_results)


def _fits(card: Card, room: int | None) -> bool:
    return room is None or card.token_estimate <= room


def _left_out(
    hits: Sequence[Hit],
    taken: list[tuple[int, Hit, Card]],
    seen: Mapping[str, Card],
    gone: set[str],
    most: int,
) -> Packed:
    last = taken[-1][0] if taken else 0
    ids = {hit.found.id for _, hit, _ in taken} | gone
    left = [(rank, hit) for rank, hit in enumerate(hits, start=1) if hit.found.id not in ids]

    def reason(rank: int) -> Reason:
        return "beyond_limit" if len(taken) == most and rank > last else "no_room"

    omitted = [
        LeftOut(
            id=hit.found.id,
            rank=rank,
            relevance=hit.relevance,
            combined_score=hit.combined,
            token_estimate=seen[hit.found.id].token_estimate if hit.found.id in seen else None,
            reason=reason(rank),
        )
        for rank, hit in left[:OMITTED_SHOWN]
    ]
    return Packed(taken, omitted)


def _result(
    asked: SearchQuery, packed: Packed, matches: Matches, expansion: Expansion
) -> SearchResult:
    items = [_item(rank, hit, card) for rank, hit, card in packed.taken]
    # A step that several hits share is listed once, by how it was walked.
    paths: dict[tuple[Any, ...], HopPath] = {}
    for item in items:
        for step in expansion.path(item.id):
            paths.setdefault((step.from_id, step.to_id), step)
    return SearchResult(
        items=items,
        total_count=matches.total,
        total_is_exact=matches.exact,
        tokens_used=sum(item.token_estimate for item in items),
        omitted=packed.omitted,
        omitted_total=matches.total - len(items),
        degraded=matches.degraded,
        hops_used=max((item.hop for item in items), default=0),
        hop_paths=list(paths.values()),
        query=asked,
    )


def _item(rank: int, hit: Hit, card: Card) -> SearchItem:
    return SearchItem(
        id=card.id,
        kind=card.kind,
        source_type=card.source_type,
        source_id=card.source_id,
        rank=rank,
        label=card.label,
        relevance=hit.relevance,
        importance=card.importance,
        combined_score=hit.combined,
        token_estimate=card.token_estimate,
        snippet=card.snippet,
        metadata=card.metadata,
        occurred_at=card.occurred_at,
        scores=hit.scores,
        ranks=hit.ranks,
        hop=hit.hop,
        hop_from=hit.hop_from,
    )
