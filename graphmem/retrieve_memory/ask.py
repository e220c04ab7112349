"""Retrieving memory as S2 has it: facts by fused ranks, episodes by fused ranks × retrievability."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from graphmem.embedding import Embedder
from graphmem.errors import InvalidInput
from graphmem.facts.categories import categories
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.text import checked_text
from graphmem.model.times import END
from graphmem.model.vocabulary import QUERY_CHARACTERS, Kind
from graphmem.retrieval.candidates import Candidate, candidates
from graphmem.retrieval.decay import retrievability_at
from graphmem.retrieval.filters import Filters
from graphmem.retrieval.holding import Holding, holding_asked
from graphmem.retrieval.ranking import ranked
from graphmem.retrieval.understanding import Understood, understood
from graphmem.retrieval.vocabulary import Vocabulary
from graphmem.retrieve_memory.tool_result import detailed_ranks, tool_result
from graphmem.retrieve_memory.types import (
    Detail,
    FactsAsked,
    Found,
    FoundEpisode,
    FoundFact,
    MemoryAsked,
    Retrieved,
    StoredEpisode,
)

EVERY_EPISODE: Detail = "high"
"""Data shows every episode with its messages, as Markdown does at this level."""


class StoredFact(Struct, frozen=True, kw_only=True):
    """A fact that was found, and from how many sessions it comes."""

    id: str
    conversation_id: str
    category: str
    fact: str
    keywords: list[str] = []
    source_episodic_ids: list[str]
    sources: int
    valid_at: datetime
    invalid_at: datetime | None


class Strength(Struct, frozen=True):
    """How well an episode is remembered: its stability in days, since its last review."""

    id: str
    stability: float
    last_reviewed_at: datetime

    def retrievability(self, now: datetime) -> float:
        """Return the probability, 0–1, of remembering it now."""
        return retrievability_at(self.stability, self.last_reviewed_at, now)


FOUND_FACTS = Query("retrieve_memory/found_facts", StoredFact)
FOUND_EPISODES = Query("retrieve_memory/found_episodes", StoredEpisode)
EPISODE_STRENGTHS = Query("retrieve_memory/episode_strengths", Strength)


class Sought(Struct, frozen=True):
    """A question as both legs ask it: embedded once, its words weighed once."""

    client_id: str
    conversation_id: str
    question: Understood
    now: datetime
    holding: Holding
    """Which versions are seen."""

    @property
    def legs(self) -> int:
        """How many lists a score is fused from: fewer without a vector or without a word."""
        return max(1, (self.question.embedding is not None) + bool(self.question.words))


class Facts(Struct, frozen=True):
    """The facts that answer, best first, and from how many sessions each comes."""

    facts: list[FoundFact]
    sources: dict[str, int]


async def retrieve_memory(
    asked: MemoryAsked,
    *,
    client_id: str,
    now: datetime,
    raw: bool = False,
    graph: Graph,
    embedder: Embedder,
    vocabulary: Vocabulary,
) -> Retrieved:
    """Return the facts and episodes of a conversation that answer a question, best first.

    `raw` is for programs: every episode brings its messages. When the embedding model fails the words
    decide alone and `degraded` says so. An unknown conversation has nothing. Raises `InvalidInput`,
    `Unavailable`.
    """
    sought = await _sought(asked, client_id, now, graph, embedder, vocabulary)
    detail = EVERY_EPISODE if raw else asked.detail
    facts, episodes = await asyncio.gather(
        _facts(sought, asked.category, asked.semantic_limit, graph),
        _episodes(sought, detail, asked.episodic_limit, graph),
    )
    return Retrieved(
        markdown=tool_result(
            facts.facts,
            episodes,
            sources=facts.sources,
            detail=asked.detail,
            legs=sought.legs,
            now=now,
        ),
        found=Found(semantic=facts.facts, episodic=episodes),
        degraded=sought.question.degraded,
    )


async def retrieve_facts(
    asked: FactsAsked,
    *,
    client_id: str,
    now: datetime,
    graph: Graph,
    embedder: Embedder,
    vocabulary: Vocabulary,
) -> Retrieved:
    """Return the facts of a conversation that answer a question, best first, and leave no trace.

    Raises `InvalidInput`, `Unavailable`.
    """
    sought = await _sought(asked, client_id, now, graph, embedder, vocabulary)
    facts = await _facts(sought, asked.category, asked.semantic_limit, graph)
    return Retrieved(
        markdown=tool_result(
            facts.facts, [], sources=facts.sources, detail="none", legs=sought.legs, now=now
        ),
        found=Found(semantic=facts.facts, episodic=[]),
        degraded=sought.question.degraded,
    )


async def _sought(
    asked: FactsAsked,
    client_id: str,
    now: datetime,
    graph: Graph,
    embedder: Embedder,
    vocabulary: Vocabulary,
) -> Sought:
    """Return the question, made ready once for both legs."""
    query = checked_text(asked.query, "query", most_bytes=4 * QUERY_CHARACTERS)
    holding = holding_asked(asked.as_of, asked.known_as_of, asked.include_superseded)
    if asked.category is not None:
        legal = await categories(client_id, graph)
        if asked.category not in legal:
            listed = ", ".join(legal)
            raise InvalidInput("category", f"there is no such category; it is one of {listed}")
    question = await understood(
        query, client_id=client_id, embedder=embedder, vocabulary=vocabulary
    )
    return Sought(client_id, asked.conversation_id, question, now, holding)


async def _facts(sought: Sought, category: str | None, limit: int, graph: Graph) -> Facts:
    fused = await _fused(sought, "fact", category, graph)
    best = _best(fused, limit)
    rows = await graph.rows(
        FOUND_FACTS,
        client_id=sought.client_id,
        ids=[id for id, _ in best],
        now_only=sought.holding.only_active,
        created_by=sought.holding.conditions["created_by"],
        end=END,
    )
    by_id = {row.id: row for row in rows}
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
            score=score,
        )
        for row, score in _stored(best, by_id)
    ]
    return Facts(facts, {row.id: row.sources for row in rows})


async def _episodes(sought: Sought, detail: Detail, limit: int, graph: Graph) -> list[FoundEpisode]:
    fused = await _fused(sought, "episode", None, graph)
    if not fused:
        return []
    rows = await graph.rows(
        EPISODE_STRENGTHS,
        client_id=sought.client_id,
        ids=[candidate.id for candidate, _ in fused],
    )
    remembered = {row.id: row.retrievability(sought.now) for row in rows}
    best = _best(
        [
            (candidate, score * remembered[candidate.id])
            for candidate, score in fused
            if candidate.id in remembered
        ],
        limit,
    )
    ids = [id for id, _ in best]
    shown = await graph.rows(
        FOUND_EPISODES,
        client_id=sought.client_id,
        ids=ids,
        detailed=ids[: detailed_ranks(detail, len(ids))],
    )
    by_id = {row.id: row for row in shown}
    return [FoundEpisode(**asdict(row), score=score) for row, score in _stored(best, by_id)]


async def _fused(
    sought: Sought, kind: Kind, category: str | None, graph: Graph
) -> list[tuple[Candidate, float]]:
    """Return the candidates of one kind with Σ 1 / (60 + rank) over the vector and the words leg."""
    found = await candidates(
        sought.question.embedding,
        sought.question.words,
        Filters(
            kind=frozenset({kind}),
            conversation_id=frozenset({sought.conversation_id}),
            category=None if category is None else frozenset({category}),
            **asdict(sought.holding),
        ),
        client_id=sought.client_id,
        weight=sought.question.weight,
        graph=graph,
    )
    return [(one.candidate, one.score) for one in ranked(found, sought.question.words, "rrf")]


def _best(scored: Iterable[tuple[Candidate, float]], limit: int) -> list[tuple[str, float]]:
    """Return the ids of the best with their scores; ties go to the newer, then to the lower id."""
    order = sorted(scored, key=lambda pair: pair[0].id)
    order.sort(key=lambda pair: pair[0].occurred_at, reverse=True)
    order.sort(key=lambda pair: pair[1], reverse=True)
    return [(candidate.id, score) for candidate, score in order[:limit]]


Stored = TypeVar("Stored")


def _stored(
    best: Sequence[tuple[str, float]], by_id: Mapping[str, Stored]
) -> list[tuple[Stored, float]]:
    """Return what was found, in its order; what was deleted or ended meanwhile is missing."""
    return [(by_id[id], score) for id, score in best if id in by_id]
