"""Assembling a contextual answer: hits and the messages around them, by session, within a budget."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from graphmem.contextual.narrowing import ChosenSession, NarrowedSearch, around
from graphmem.contextual.rendering import (
    Exchange,
    LineBudget,
    LinkLine,
    Passage,
    context_line,
    fitting_contexts,
    fitting_hits,
    fitting_links,
    heading,
    hit_line,
    link_line,
    prompt,
)
from graphmem.contextual.types import ContextualResult, ContextualTurn, OmittedTurn, SessionContext
from graphmem.model.vocabulary import Role
from graphmem.recall.compose import OMITTED_SHOWN
from graphmem.retrieval.finding import Candidate
from graphmem.sessions.related import RelatedSession
from graphmem.tokens import TokenCounter


class NearbyTurn(Struct, frozen=True, kw_only=True):
    """A message of a session, with its text."""

    id: str
    session_id: str
    idx: int
    role: Role
    name: str | None
    content: str
    token_count: int
    occurred_at: datetime


class AnsweredSearch(NarrowedSearch, frozen=True, kw_only=True):
    """The third stage: with the messages that answer, and the related sessions."""

    hits: dict[str, list[tuple[Candidate, float]]]
    """By session the messages that answer, the best first, with their scores."""
    links: list[RelatedSession]


class SurroundedSearch(AnsweredSearch, frozen=True, kw_only=True):
    """The last stage: all parts of an answer, before a budget leaves some out."""

    turns: dict[str, list[NearbyTurn]]
    """By session in their order: the hits and the messages around them."""
    scores: dict[str, float]
    """The hits that are relevant by their text too, with their scores."""
    titles: dict[str, str]
    """The titles of the related sessions that exist."""


def assembled(search: SurroundedSearch, tokens: TokenCounter) -> ContextualResult:
    """Return the answer: the budget is used for hits first, then for messages around them, then for links.

    The tokens of the returned prompt are counted as a whole.
    """
    links = [
        LinkLine(one.session_id, link_line(search.titles[one.session_id]))
        for one in search.links
        if one.session_id in search.titles
    ]
    passages = _passages(search, set(search.scores))
    max_tokens = room = search.query.max_tokens
    while True:
        if room is None or max_tokens is None:
            kept, taken = passages, links
        else:
            kept, taken = _fitting(search, passages, links, LineBudget(max(room, 0), tokens))
        text = prompt(kept, taken)
        used = tokens.count(text)
        if max_tokens is None or room is None or used <= max_tokens:
            break
        # Adjacent lines may have more tokens than the sum of the lines.
        room -= used - max_tokens
    linked = {link.session_id for link in taken}
    omitted = _omitted(search, _shown(passages) - _shown(kept))
    return ContextualResult(
        contexts=_contexts(search, kept),
        cross_links=[one for one in search.links if one.session_id in linked],
        fallback=None,
        items=[],
        prompt=text,
        tokens_used=used,
        omitted=omitted[:OMITTED_SHOWN],
        omitted_total=len(omitted),
        degraded=search.question.degraded,
    )


def _passages(search: SurroundedSearch, hits: set[str]) -> list[Passage]:
    """Return the passage of each session for these hits."""
    passages = []
    for one in search.sessions:
        turns = search.turns.get(one.head.id, [])
        places = {place for place, turn in enumerate(turns) if turn.id in hits}
        nearby = around(turns, places, search.query.neighbours)
        exchanges = [
            Exchange(
                turns[place].id,
                hit_line(turns[place].role, turns[place].content),
                search.scores[turns[place].id],
                [turns[one].id for one in near],
                context_line([(turns[one].role, turns[one].content) for one in near]),
            )
            for place, near in sorted(nearby.items())
        ]
        passages.append(Passage(one.head.id, heading(one.head.title), exchanges))
    return passages


def _fitting(
    search: SurroundedSearch,
    passages: Sequence[Passage],
    links: Sequence[LinkLine],
    budget: LineBudget,
) -> tuple[list[Passage], list[LinkLine]]:
    hits, headed = fitting_hits(passages, budget)
    # A message around an omitted hit may be around another hit too.
    kept = [one for one in _passages(search, set(hits)) if one.session_id in headed]
    whole = fitting_contexts(kept, budget)
    shown = [
        replace(
            passage,
            exchanges=[
                one if one.id in whole else replace(one, neighbours=[], context="")
                for one in passage.exchanges
            ],
        )
        for passage in kept
    ]
    return shown, fitting_links(links, budget)


def _shown(passages: Sequence[Passage]) -> set[str]:
    """Return the ids of the messages that are shown."""
    exchanges = [one for passage in passages for one in passage.exchanges]
    return {id for one in exchanges for id in (one.id, *one.neighbours)}


def _contexts(search: SurroundedSearch, kept: Sequence[Passage]) -> list[SessionContext]:
    """Return the sessions of the passages, with the messages that are shown."""
    shown, by_id = _shown(kept), {one.head.id: one for one in search.sessions}
    return [_context(by_id[one.session_id], search, shown) for one in kept]


def _context(session: ChosenSession, search: SurroundedSearch, shown: set[str]) -> SessionContext:
    head = session.head
    return SessionContext(
        session_id=head.id,
        session_external_id=head.external_id,
        conversation_id=head.conversation_id,
        started_at=head.started_at,
        relevance=session.relevance,
        summary=head.summary,
        messages=[
            turn_of(one, search.scores.get(one.id))
            for one in search.turns.get(head.id, [])
            if one.id in shown
        ],
    )


def turn_of(turn: NearbyTurn, score: float | None = None) -> ContextualTurn:
    """Return a message as part of an answer; a hit has a score."""
    return ContextualTurn(
        id=turn.id,
        idx=turn.idx,
        role=turn.role,
        name=turn.name,
        content=turn.content,
        occurred_at=turn.occurred_at,
        hit=score is not None,
        score=score,
    )


def _omitted(search: SurroundedSearch, ids: set[str]) -> list[OmittedTurn]:
    """Return the messages that did not fit: the hits first, the best of them first."""
    turns = [one for some in search.turns.values() for one in some if one.id in ids]
    turns.sort(key=lambda one: (-search.scores.get(one.id, -1.0), one.session_id, one.idx))
    return [
        OmittedTurn(
            id=one.id,
            session_id=one.session_id,
            hit=one.id in search.scores,
            tokens=one.token_count,
        )
        for one in turns
    ]
