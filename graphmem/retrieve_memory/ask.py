"""Retrieving from one conversation: facts by fused ranks, episodes by fused ranks × retrievability."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.accesses import ReadBegan, Seen, ShownMemory
from graphmem.context import Context
from graphmem.facts.remember import check_category, show_categories
from graphmem.graph.query import Query
from graphmem.model.times import END
from graphmem.model.validation import checked_text
from graphmem.model.vocabulary import QUERY_CHARACTERS, Kind, Leg
from graphmem.retrieval.decay import retrievability_at
from graphmem.retrieval.filters import Filters, Validity, validity_asked
from graphmem.retrieval.finding import find_best
from graphmem.retrieval.fusion import best_first
from graphmem.retrieval.heads import Head, at_heads, heads_of
from graphmem.retrieval.ranking import LONGEST_RANKED, ranked
from graphmem.retrieval.understanding import Understood, understand
from graphmem.retrieve_memory.types import (
    Detail,
    FactsAsked,
    Found,
    FoundEpisode,
    FoundFact,
    MemoryAsked,
    Retrieved,
    StoredEpisode,
    detailed_ranks,
    tool_result,
)
from graphmem.reviews.review import record_review

EVERY_EPISODE: Detail = "high"
"""The level at which every episode has its messages."""


class FoundFactRow(Struct, frozen=True, kw_only=True):
    """A fact that was found, and the number of sessions it comes from."""

    id: str
    conversation_id: str
    category: str
    other_categories: list[str] = []
    fact: str
    keywords: list[str] = []
    source_episodic_ids: list[str]
    sources: int
    valid_at: datetime
    invalid_at: datetime | None
    head: Head | None = None


class EpisodeStrength(Struct, frozen=True):
    """The stability of an episode, in days, and its last review."""

    id: str
    stability: float
    last_reviewed_at: datetime

    def retrievability(self, now: datetime) -> float:
        """Return the probability, 0–1, of remembering it now."""
        return retrievability_at(self.stability, self.last_reviewed_at, now)


FOUND_FACTS = Query("retrieve_memory/found_facts", FoundFactRow)
FOUND_EPISODES = Query("retrieve_memory/found_episodes", StoredEpisode)
EPISODE_STRENGTHS = Query("retrieve_memory/episode_strengths", EpisodeStrength)


class MemorySearch(Struct, frozen=True):
    """A question to one conversation, embedded and its words weighed once for facts and episodes."""

    conversation_ids: frozenset[str]
    """The conversation's id as it was given, and as UUIDs are written."""
    question: Understood
    now: datetime
    validity: Validity
    """The times at which facts must be valid and known."""
    tags: frozenset[str] = frozenset()

    @property
    def legs(self) -> int:
        """The number of lists from which a score is fused: fewer without a vector or without a word."""
        return max(1, (self.question.embedding is not None) + bool(self.question.words))


class FusedHit(Struct, frozen=True, kw_only=True):
    """A memory that was found: its score, what that is made of, and its ranks in the legs."""

    id: str
    occurred_at: datetime
    score: float
    scores: dict[str, float]
    ranks: dict[Leg, int]


class FactsFound(Struct, frozen=True):
    """The facts that answer, best first, and the number of sessions each comes from."""

    facts: list[FoundFact]
    sources: dict[str, int]


async def retrieve_memory(asked: MemoryAsked, context: Context, *, raw: bool = False) -> Retrieved:
    """Return the facts and episodes of a conversation that answer a question, best first.

    With `raw` every episode has its messages, else those whose messages the Markdown shows. The episodes
    are kept as a pending review, soon after the answer. When the embedding model fails the words alone
    decide, and `degraded` holds `no_vector`. An unknown conversation has no memories. Raises
    `InvalidInput`, `Unavailable`.
    """
    began = context.read_begins()
    search = await _search(asked, context, began.at)
    facts, episodes = await asyncio.gather(
        _find_facts(search, asked.category, asked.semantic_limit, context),
        _find_episodes(
            search, EVERY_EPISODE if raw else asked.detail, asked.episodic_limit, context
        ),
    )
    retrieved = _retrieved(search, facts, episodes, asked.detail)
    if episodes:
        _record_review(asked, episodes, began.at, context)
    _record_read("retrieve_memory", began, asked, retrieved, context)
    return retrieved


async def context_pre_retrieve(asked: FactsAsked, context: Context) -> Retrieved:
    """Return the facts of a conversation that answer a question, for a system prompt; leave no review.

    Raises `InvalidInput`, `Unavailable`.
    """
    began = context.read_begins()
    search = await _search(asked, context, began.at)
    facts = await _find_facts(search, asked.category, asked.semantic_limit, context)
    retrieved = _retrieved(search, facts, [], "none")
    _record_read("context_pre_retrieve", began, asked, retrieved, context)
    return retrieved


async def _search(asked: FactsAsked, context: Context, now: datetime) -> MemorySearch:
    """Check a question and prepare it for facts and episodes."""
    query = checked_text(asked.query, "query", most_bytes=4 * QUERY_CHARACTERS)
    validity = validity_asked(asked.as_of, asked.known_as_of, asked.include_superseded)
    if asked.category is not None:
        legal = await show_categories(context)
        check_category(asked.category, legal.categories, "category")
    question = await understand(
        query,
        client_id=context.client_id,
        embedder=context.embedder,
        vocabulary=context.vocabulary,
        knowledge=context.calibration.knowledge,
    )
    written = frozenset({asked.conversation_id, asked.conversation_id.lower()})
    return MemorySearch(written, question, now, validity, frozenset(asked.tags or ()))


async def _find_facts(
    search: MemorySearch, category: str | None, limit: int, context: Context
) -> FactsFound:
    filters = _filters(search, "fact", category)
    best = (await _rank(search, filters, context))[:limit]
    rows = await context.graph.rows(
        FOUND_FACTS,
        client_id=context.client_id,
        ids=[hit.id for hit in best],
        now_only=search.validity.only_active,
        created_by=search.validity.conditions["created_by"],
        end=END,
    )
    by_id = {row.id: row for row in rows}
    heads = heads_of(rows)
    best = at_heads(best, heads, filters.admit, _at_head)
    facts = [
        FoundFact(
            id=row.id,
            conversation_id=row.conversation_id,
            category=row.category,
            fact=row.fact,
            keywords=row.keywords,
            source_episodic_ids=row.source_episodic_ids,
            valid_at=row.valid_at,
            invalid_at=row.invalid_at,
            score=hit.score,
            scores=hit.scores,
            ranks=hit.ranks,
            other_categories=row.other_categories,
        )
        for row, hit in _stored(best, by_id)
    ]
    return FactsFound(facts, {row.id: row.sources for row in rows})


async def _find_episodes(
    search: MemorySearch, detail: Detail, limit: int, context: Context
) -> list[FoundEpisode]:
    fused = await _rank(search, _filters(search, "episode", None), context)
    if not fused:
        return []
    best = await _weigh_by_retrievability(fused, search.now, context)
    ids = [hit.id for hit in best[:limit]]
    shown = await context.graph.rows(
        FOUND_EPISODES,
        client_id=context.client_id,
        ids=ids,
        detailed=ids[: detailed_ranks(detail, len(ids))],
    )
    by_id = {row.id: row for row in shown}
    return [
        FoundEpisode(**asdict(row), score=hit.score, scores=hit.scores, ranks=hit.ranks)
        for row, hit in _stored(best[:limit], by_id)
    ]


async def _weigh_by_retrievability(
    fused: Sequence[FusedHit], now: datetime, context: Context
) -> list[FusedHit]:
    """Return the episodes among the hits by fused score × retrievability, best first."""
    strengths = await context.graph.rows(
        EPISODE_STRENGTHS, client_id=context.client_id, ids=[hit.id for hit in fused]
    )
    remembered = {row.id: row.retrievability(now) for row in strengths}
    weighed = [
        replace(
            hit,
            score=hit.score * remembered[hit.id],
            scores=hit.scores | {"retrievability": remembered[hit.id]},
        )
        for hit in fused
        if hit.id in remembered
    ]
    return best_first(weighed, lambda hit: hit.score)


def _filters(search: MemorySearch, kind: Kind, category: str | None) -> Filters:
    return Filters(
        kind=frozenset({kind}),
        conversation_id=search.conversation_ids,
        category=None if category is None else frozenset({category}),
        tags=search.tags,
        **asdict(search.validity),
    )


async def _rank(search: MemorySearch, filters: Filters, context: Context) -> list[FusedHit]:
    """Return the candidates by Σ 1 / (60 + rank) over the vector leg and the words leg."""
    found = await find_best(
        search.question.embedding,
        search.question.words,
        filters,
        client_id=context.client_id,
        weight=search.question.weight,
        spoken=search.question.spoken,
        sample=search.question.sample,
        longest_text=LONGEST_RANKED,
        graph=context.graph,
    )
    return [
        FusedHit(
            id=one.candidate.id,
            occurred_at=one.candidate.occurred_at,
            score=one.score,
            scores=one.scores | {"fused": one.score},
            ranks=one.ranks,
        )
        for one in ranked(found, search.question.words, "rrf")
    ]


def _at_head(hit: FusedHit, head: Head) -> FusedHit:
    """Return a head with the score of the version that was found."""
    return replace(hit, id=head.id, occurred_at=head.occurred_at)


Stored = TypeVar("Stored")


def _stored(best: Sequence[FusedHit], by_id: Mapping[str, Stored]) -> list[tuple[Stored, FusedHit]]:
    """Return the memories in their order, without those deleted or ended meanwhile."""
    return [(by_id[hit.id], hit) for hit in best if hit.id in by_id]


def _retrieved(
    search: MemorySearch, facts: FactsFound, episodes: list[FoundEpisode], detail: Detail
) -> Retrieved:
    return Retrieved(
        markdown=tool_result(
            facts.facts,
            episodes,
            sources=facts.sources,
            detail=detail,
            legs=search.legs,
            now=search.now,
            with_versions=search.validity.include_superseded,
        ),
        found=Found(semantic=facts.facts, episodic=episodes),
        degraded=search.question.degraded,
    )


def _record_review(
    asked: MemoryAsked, episodes: Sequence[FoundEpisode], at: datetime, context: Context
) -> None:
    """Keep the episodes as a pending review, after the answer."""
    context.afterwards.do(
        "record_review",
        record_review(
            episodes,
            conversation_id=episodes[0].conversation_id,
            query=asked.query,
            at=at,
            context=context,
        ),
    )


def _record_read(
    operation: str, began: ReadBegan, asked: FactsAsked, retrieved: Retrieved, context: Context
) -> None:
    count = context.tokens.count
    context.record_read(
        operation, began, lambda: _seen(asked, retrieved, count(retrieved.markdown))
    )


def _seen(asked: FactsAsked, answer: Retrieved, tokens: int) -> Seen:
    """Return the record of facts and episodes, facts first; all of them count as found."""
    found = [(one.id, one.score) for one in answer.found.semantic]
    found += [(one.id, one.score) for one in answer.found.episodic]
    return Seen(
        question=asked.query,
        conversation_id=asked.conversation_id,
        tokens=tokens,
        found=len(found),
        shown=[ShownMemory(id, rank, score) for rank, (id, score) in enumerate(found, start=1)],
    )
