"""Cards: kind, label, length and source of memories of any kind, without their full text."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.vocabulary import Kind, SourceType, kind_label
from graphmem.prompts.rendering import one_line
from graphmem.retrieval.heads import Head, by_found_id

SNIPPET_CHARACTERS = 200
"""The length of a snippet, if the kind has nothing shorter than its text."""

SNIPPET_POINTS = 2
"""The number of key points or milestones in a snippet."""

REFERENCE_TOKENS = 100
"""The token estimate of a reference that has neither content nor an estimate by its caller."""


class Location(Struct, frozen=True, kw_only=True):
    """The place of a content: a byte range of a source, with offsets in UTF-8 and an exclusive end."""

    span_id: str | None = None
    start_byte: int | None = None
    end_byte: int | None = None


class Card(Struct, frozen=True, kw_only=True):
    """A memory as a list shows it; `label` and `metadata` hold nothing of its text.

    `description` is the own description of a summary or a reference, and null for every other kind.
    `snippet` is the beginning of the description, for other kinds that of the text.
    """

    id: str
    kind: Kind
    source_type: SourceType
    source_id: str | None
    label: str
    description: str | None
    snippet: str | None
    metadata: dict[str, Any]
    importance: float
    token_estimate: int
    occurred_at: datetime
    location: Location | None


class StoredCard(Struct, frozen=True, kw_only=True):
    """The properties from which a card is made; a property that the kind does not have is null."""

    id: str
    kind: Kind
    source_type: SourceType
    source_id: str
    importance: float
    token_count: int
    occurred_at: datetime
    beginning: str | None = None
    label: str | None = None
    description: str | None = None
    metadata: str | None = None
    version: int | None = None
    platform: str | None = None
    participant_count: int | None = None
    message_count: int | None = None
    key_points: list[str] | None = None
    sentiment: str | None = None
    last_activity_at: datetime | None = None
    plan_type: str | None = None
    total_nodes: int | None = None
    completed_nodes: int | None = None
    pending_nodes: int | None = None
    failed_nodes: int | None = None
    key_milestones: list[str] | None = None
    current_phase: str | None = None
    content_span_ids: list[str] | None = None
    span_id: str | None = None
    span_start_byte: int | None = None
    span_end_byte: int | None = None
    span_token_estimate: int | None = None
    content_tokens: int | None = None
    start_byte: int | None = None
    end_byte: int | None = None
    tags: list[str] | None = None
    recency: float | None = None
    token_estimate: int | None = None
    role: str | None = None
    name: str | None = None
    title: str | None = None
    start_at: datetime | None = None
    end_at: datetime | None = None
    surprise: float | None = None
    category: str | None = None
    scope: str | None = None
    head: Head | None = None
    """Set if it has replaced the requested memory."""


CARDS = Query("memories/cards", StoredCard)


async def load_cards(ids: Sequence[str], *, client_id: str, graph: Graph) -> list[Card]:
    """Return the cards of memories, in the order of `ids`; an id unknown to the client has none."""
    return [card_of(one) for one in await load_stored_cards(ids, client_id=client_id, graph=graph)]


async def load_stored_cards(
    ids: Sequence[str], *, client_id: str, graph: Graph, now_only: bool = False
) -> list[StoredCard]:
    """Return the properties from which the cards of memories are made, in the order of `ids`.

    With `now_only` superseded memories are replaced by their heads.
    """
    rows = await graph.rows(
        CARDS,
        client_id=client_id,
        ids=list(dict.fromkeys(ids)),
        now_only=now_only,
        # One character more than a snippet shows whether the text continues.
        snippet_characters=SNIPPET_CHARACTERS + 1,
    )
    by_id = by_found_id(rows)
    return [by_id[id] for id in ids if id in by_id]


def card_of(stored: StoredCard) -> Card:
    """Return the card of a memory of any kind."""
    points = _points(stored)
    return Card(
        id=stored.id,
        kind=stored.kind,
        source_type=stored.source_type,
        source_id=stored.source_id or None,
        label=label(stored),
        description=_joined(points) if points is not None else stored.description,
        snippet=_snippet(stored, points),
        metadata=metadata(stored),
        importance=stored.importance,
        token_estimate=token_estimate(stored),
        occurred_at=stored.occurred_at,
        location=location(stored),
    )


def label(stored: StoredCard) -> str:
    """Return the label of a memory, which holds nothing of a text that costs tokens."""
    return LABELS.get(_form(stored), _kind_and_time)(stored)


def metadata(stored: StoredCard) -> dict[str, Any]:
    """Return the known properties of a memory besides its text, and the metadata that a caller gave."""
    named = {name: getattr(stored, name) for name in METADATA.get(_form(stored), ())}
    known = {name: value for name, value in named.items() if value not in (None, "", [])}
    given = msgspec.json.decode(stored.metadata) if stored.metadata else {}
    return known | given


def token_estimate(stored: StoredCard) -> int:
    """Return the tokens of the full text: measured, or estimated if no content is stored."""
    if stored.kind != "reference":
        return stored.token_count or stored.token_estimate or 0
    known = (stored.content_tokens, stored.span_token_estimate)
    return next((tokens for tokens in known if tokens is not None), REFERENCE_TOKENS)


def location(stored: StoredCard) -> Location | None:
    """Return the place of the content, None if it is unknown."""
    if stored.kind == "span":
        return Location(span_id=stored.id, start_byte=stored.start_byte, end_byte=stored.end_byte)
    if stored.span_id is None:
        return None
    return Location(
        span_id=stored.span_id,
        start_byte=stored.span_start_byte,
        end_byte=stored.span_end_byte,
    )


def progress(completed: int, total: int) -> int:
    """Return a plan's progress in percent, halves rounded up; 0 for a plan without nodes."""
    return (200 * completed + total) // (2 * total) if total else 0


def _form(stored: StoredCard) -> str:
    """Return the key of a memory in the tables below."""
    return stored.source_type if stored.kind == "summary" else stored.kind


def _thread(stored: StoredCard) -> str:
    return f"Thread: {stored.platform} ({stored.message_count or 0} messages)"


def _plan(stored: StoredCard) -> str:
    percent = progress(stored.completed_nodes or 0, stored.total_nodes or 0)
    return f"Plan: {stored.plan_type} ({percent}% complete)"


def _message(stored: StoredCard) -> str:
    speaker = one_line(stored.name or stored.role or "message")
    return f"{speaker}, {stored.occurred_at:%Y-%m-%d %H:%M}"


def _kind_and_time(stored: StoredCard) -> str:
    return f"{kind_label(stored.kind)}: {stored.occurred_at:%Y-%m-%d %H:%M}"


LABELS: Mapping[str, Callable[[StoredCard], str]] = {
    "thread_summary": _thread,
    "plan_summary": _plan,
    "session_summary": lambda stored: f"Session: {stored.occurred_at:%Y-%m-%d %H:%M}",
    "reference": lambda stored: stored.label or stored.source_id,
    "span": lambda stored: f"Span {stored.start_byte}–{stored.end_byte} of {stored.source_id}",
    "message": _message,
    "episode": lambda stored: stored.title or _kind_and_time(stored),
    "fact": lambda stored: f"Fact: {stored.category}" if stored.category else "Fact",
}

METADATA: Mapping[str, tuple[str, ...]] = {
    "thread_summary": ("platform", "sentiment", "last_activity_at"),
    "plan_summary": ("plan_type", "current_phase", "completed_nodes", "total_nodes"),
    "session_summary": ("last_activity_at", "version"),
    "reference": ("tags",),
    "span": ("tags", "recency"),
    "message": ("role", "name", "tags"),
    "episode": ("start_at", "end_at", "surprise", "tags"),
    "fact": ("category", "scope", "version", "tags"),
}


def _points(stored: StoredCard) -> list[str] | None:
    """Return the key points of a thread or the milestones of a plan; None for every other kind."""
    if stored.source_type == "thread_summary":
        return stored.key_points or []
    if stored.source_type == "plan_summary":
        return stored.key_milestones or []
    return None


def _joined(points: Sequence[str]) -> str | None:
    return ". ".join(points) or None


def _snippet(stored: StoredCard, points: Sequence[str] | None) -> str | None:
    if points is not None:
        return _joined(points[:SNIPPET_POINTS])
    if stored.kind == "reference":
        return stored.description
    text = stored.beginning or ""
    return text if len(text) <= SNIPPET_CHARACTERS else f"{text[: SNIPPET_CHARACTERS - 1]}…"
