"""Assembling a contextual answer: hits with what stands around them, session by session, within a budget."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from graphmem.contextual.narrowing import around
from graphmem.contextual.rendering import (
    Budget,
    Exchange,
    Link,
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
from graphmem.contextual.types import ContextualResult, OmittedTurn, SessionContext, Turn
from graphmem.model.vocabulary import Role
from graphmem.recall.compose import OMITTED_SHOWN
from graphmem.sessions.types import RelatedSession
from graphmem.tokens import TokenCounter


class SessionHead(Struct, frozen=True, kw_only=True):
    """What a session is called, and the summary that holds, or how it begins."""

    id: str
    external_id: str
    conversation_id: str
    started_at: datetime
    summary_id: str | None
    summary: str | None
    beginning: str | None

    @property
    def title(self) -> str:
        """What heads it: its summary, else its first message."""
        return self.summary or self.beginning or self.external_id


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


class Chosen(Struct, frozen=True):
    """A session that answers, how relevant it is, 0–1, and what speaks for all of its messages."""

    head: SessionHead
    relevance: float
    prior: float = 0.0


class Assembly(Struct, frozen=True, kw_only=True):
    """Everything of which an answer is made, before it is known what fits."""

    chosen: list[Chosen]
    scores: Mapping[str, float]
    """The hits, by their ids, with their scores."""
    turns: Mapping[str, list[NearbyTurn]]
    """By session, in their order: the hits and what stands around them."""
    links: list[RelatedSession]
    titles: Mapping[str, str]
    """What heads the sessions that are linked."""
    neighbours: int


def assembled(
    assembly: Assembly, max_tokens: int | None, degraded: list[str], tokens: TokenCounter
) -> ContextualResult:
    """Return the answer: hits come first into the budget, then what stands around them, then links.

    The prompt that is returned has been counted as a whole.
    """
    links = [
        Link(one.session_id, link_line(assembly.titles[one.session_id])) for one in assembly.links
    ]
    passages = _passages(assembly, set(assembly.scores))
    room = max_tokens
    while True:
        if room is None or max_tokens is None:
            kept, taken = passages, links
        else:
            kept, taken = _fitting(assembly, passages, links, Budget(max(room, 0), tokens))
        text = prompt(kept, taken)
        used = tokens.count(text)
        if max_tokens is None or room is None or used <= max_tokens:
            break
        # Lines beside each other may count for more than one by one.
        room -= used - max_tokens
    return _result(
        assembly, passages, kept, {link.session_id for link in taken}, text, used, degraded
    )


def _passages(assembly: Assembly, hits: set[str]) -> list[Passage]:
    """Return what is said of each session when these are the hits."""
    passages = []
    for one in assembly.chosen:
        turns = assembly.turns.get(one.head.id, [])
        places = {place for place, turn in enumerate(turns) if turn.id in hits}
        nearby = around(turns, places, assembly.neighbours)
        exchanges = [
            Exchange(
                turns[place].id,
                hit_line(turns[place].role, turns[place].content),
                assembly.scores[turns[place].id],
                [turns[one].id for one in near],
                context_line([(turns[one].role, turns[one].content) for one in near]),
            )
            for place, near in sorted(nearby.items())
        ]
        passages.append(Passage(one.head.id, heading(one.head.title), exchanges))
    return passages


def _fitting(
    assembly: Assembly, passages: Sequence[Passage], links: Sequence[Link], budget: Budget
) -> tuple[list[Passage], list[Link]]:
    hits, headed = fitting_hits(passages, budget)
    # What stands around a hit that did not fit may stand around another.
    kept = [one for one in _passages(assembly, set(hits)) if one.session_id in headed]
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


def _result(
    assembly: Assembly,
    passages: Sequence[Passage],
    kept: Sequence[Passage],
    linked: set[str],
    text: str,
    used: int,
    degraded: list[str],
) -> ContextualResult:
    shown = _shown(kept)
    omitted = _omitted(assembly, _shown(passages) - shown)
    by_id = {one.head.id: one for one in assembly.chosen}
    return ContextualResult(
        contexts=[_context(by_id[one.session_id], assembly, shown) for one in kept],
        cross_links=[one for one in assembly.links if one.session_id in linked],
        fallback=None,
        items=[],
        prompt=text,
        tokens_used=used,
        omitted=omitted[:OMITTED_SHOWN],
        omitted_total=len(omitted),
        degraded=degraded,
    )


def _shown(passages: Sequence[Passage]) -> set[str]:
    """Return the ids of the messages that are shown."""
    exchanges = [one for passage in passages for one in passage.exchanges]
    return {id for one in exchanges for id in (one.id, *one.neighbours)}


def _context(chosen: Chosen, assembly: Assembly, shown: set[str]) -> SessionContext:
    head = chosen.head
    return SessionContext(
        session_id=head.id,
        session_external_id=head.external_id,
        conversation_id=head.conversation_id,
        started_at=head.started_at,
        relevance=chosen.relevance,
        summary=head.summary,
        messages=[
            turn_of(one, assembly.scores.get(one.id))
            for one in assembly.turns.get(head.id, [])
            if one.id in shown
        ],
    )


def turn_of(turn: NearbyTurn, score: float | None = None) -> Turn:
    """Return a message as it is shown; a hit has a score."""
    return Turn(
        id=turn.id,
        idx=turn.idx,
        role=turn.role,
        name=turn.name,
        content=turn.content,
        occurred_at=turn.occurred_at,
        hit=score is not None,
        score=score,
    )


def _omitted(assembly: Assembly, ids: set[str]) -> list[OmittedTurn]:
    """Return what was found and did not fit: the hits first, the best of them first."""
    turns = [one for some in assembly.turns.values() for one in some if one.id in ids]
    turns.sort(key=lambda one: (-assembly.scores.get(one.id, -1.0), one.session_id, one.idx))
    return [
        OmittedTurn(
            id=one.id,
            session_id=one.session_id,
            hit=one.id in assembly.scores,
            tokens=one.token_count,
        )
        for one in turns
    ]
