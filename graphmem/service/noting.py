"""What is recorded of a read: what was asked, what was shown, and whether any of it was relevant enough."""

import time
from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from graphmem.accesses import ReadRecord, ShownMemory
from graphmem.contextual.types import ContextualQuery, ContextualResult, MoreTurns
from graphmem.graph.installation import Calibration
from graphmem.hypotheses.types import Turn, TurnAsked
from graphmem.hypotheses.window import window
from graphmem.recall.types import Item, Question, Recalled
from graphmem.retrieval.relevance import asked_stems, matched_shares, relevance
from graphmem.retrieve_memory.types import FactsAsked, Retrieved
from graphmem.search.types import SearchQuery, SearchResult
from graphmem.service.bound import Bound, new_id, now

RELEVANT = 0.35
"""From which relevance on something counts as found: contextual retrieval's threshold too."""


class Began(Struct, frozen=True):
    """When a read began, by the calendar and by a clock that only goes forward."""

    at: datetime
    clock: float


class Seen(Struct, frozen=True, kw_only=True):
    """What a read asked and showed; `found` counts what was relevant enough."""

    question: str
    conversation_id: str | None
    tokens: int
    found: int
    shown: list[ShownMemory]


class Noting(Bound):
    """How the ways of asking leave a record, unless `GRAPHMEM_RECORD` is `off`."""

    @staticmethod
    def _began() -> Began:
        return Began(now(), time.perf_counter())

    def _note(self, operation: str, began: Began, seen: Callable[[], Seen]) -> None:
        """Have a read recorded after its answer; what was seen is worked out then, elsewhere."""
        recorder = self.runtime.recorder
        if recorder is None:
            return
        client_id, id = self.client_id, new_id()
        duration_ms = round((time.perf_counter() - began.clock) * 1000, 3)

        def read() -> ReadRecord:
            known = seen()
            return ReadRecord(
                id=id,
                client_id=client_id,
                operation=operation,
                at=began.at,
                duration_ms=duration_ms,
                question=known.question,
                conversation_id=known.conversation_id,
                tokens=known.tokens,
                found=known.found,
                shown=known.shown,
            )

        recorder.note(read)


def seen_by_recall(asked: Question, answer: Recalled, calibration: Calibration) -> Seen:
    """Return what a recall showed; relevant is what a search would call so."""
    return Seen(
        question=asked.query,
        conversation_id=asked.conversation_id,
        tokens=answer.tokens_used,
        found=_relevant(asked.query, answer.items, calibration),
        shown=[ShownMemory(one.id, one.rank, one.score, one.token_count) for one in answer.items],
    )


def _relevant(query: str, items: list[Item], calibration: Calibration) -> int:
    shares = matched_shares(asked_stems(query), [item.text for item in items])
    return sum(
        relevance(item.scores.get("vector", -1.0), share, calibration) >= RELEVANT
        for item, share in zip(items, shares, strict=True)
    )


def seen_by_search(asked: SearchQuery, answer: SearchResult) -> Seen:
    """Return what a search showed."""
    return Seen(
        question=asked.query,
        conversation_id=asked.conversation_id,
        tokens=answer.tokens_used,
        found=sum(one.relevance >= RELEVANT for one in answer.items),
        shown=[
            ShownMemory(one.id, one.rank, one.combined_score, one.token_estimate)
            for one in answer.items
        ],
    )


def seen_by_retrieval(asked: FactsAsked, answer: Retrieved, tokens: int) -> Seen:
    """Return what one conversation's facts and episodes showed, facts first; all of it counts as found."""
    found = [(one.id, one.score) for one in answer.found.semantic]
    found += [(one.id, one.score) for one in answer.found.episodic]
    return Seen(
        question=asked.query,
        conversation_id=asked.conversation_id,
        tokens=tokens,
        found=len(found),
        shown=[ShownMemory(id, rank, score) for rank, (id, score) in enumerate(found, start=1)],
    )


def seen_by_turn(asked: TurnAsked, answer: Turn, tokens: int) -> Seen:
    """Return what a turn was shown; its question is the last of its window. All of it counts as found."""
    said = asked.window or window(asked.messages or [], asked.summarised_until)
    return Seen(
        question=said[-1] if said else "",
        conversation_id=asked.conversation_id,
        tokens=tokens,
        found=len(answer.memories),
        shown=[
            ShownMemory(one.id, rank, one.score)
            for rank, one in enumerate(answer.memories, start=1)
        ],
    )


def seen_by_context(asked: ContextualQuery, answer: ContextualResult) -> Seen:
    """Return which messages a contextual search hit; where no session was relevant enough, none counts."""
    hits = [
        (one.id, one.score or 0.0)
        for context in answer.contexts
        for one in context.messages
        if one.hit
    ]
    hits += [(one.id, one.score) for one in answer.items]
    return Seen(
        question=asked.query,
        conversation_id=asked.conversation_id,
        tokens=answer.tokens_used,
        found=0 if answer.fallback else len(hits),
        shown=[ShownMemory(id, rank, score) for rank, (id, score) in enumerate(hits, start=1)],
    )


def seen_by_expansion(answer: MoreTurns) -> Seen:
    """Return what more of a session was shown: nobody asked in words, and nothing was scored."""
    return Seen(
        question="",
        conversation_id=answer.conversation_id,
        tokens=answer.tokens_used,
        found=len(answer.messages),
        shown=[
            ShownMemory(turn.id, rank, 0.0) for rank, turn in enumerate(answer.messages, start=1)
        ],
    )
