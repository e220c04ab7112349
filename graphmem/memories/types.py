"""One memory with everything that is stored of it."""

from datetime import datetime
from typing import Any

from msgspec import Struct

from graphmem.model.vocabulary import Kind, Owner, Role


class OwnerAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The client to which a memory belongs."""

    client_id: Owner | None = None


class Memory(Struct, frozen=True, kw_only=True):
    """One memory of any kind; a property that its kind does not have is null."""

    id: str
    kind: Kind
    text: str
    token_count: int
    """The tokens of `text`; those of a reference's content are in `content_tokens`."""
    importance: float
    """0–1, as its writer gave it; .5 unless given."""
    active: bool
    """False once a newer version has superseded it, or a fact is no longer true."""
    source_type: str
    source_id: str | None = None
    """The caller's name of the source of a reference, summary or span; of a message its session's id."""
    conversation_id: str | None = None
    session_id: str | None = None
    """The id that graphmem gave to its session."""
    session_external_id: str | None = None
    """The caller's name for its session; the day of its messages if the caller named none."""
    external_id: str | None = None
    """The id that the caller gave to a message."""
    category: str | None = None
    scope: str | None = None
    occurred_at: datetime
    """The time when it was said or happened; of a fact its `valid_at`, of an episode its end."""
    valid_at: datetime | None = None
    """The beginning of its valid time: since when it is true."""
    invalid_at: datetime | None = None
    """The end of its valid time, as known now: when it stopped being true; null if none is known."""
    created_at: datetime
    """The time when it was stored (recorded time), by the service's clock."""
    superseded_at: datetime | None = None
    """The time when a newer version was stored (recorded time); null for the newest."""
    embedding_truncated: bool = False
    """Whether its vector stands for the beginning alone: the text exceeds the embedding model's input."""
    idx: int | None = None
    """The place of a message in its session, from 0."""
    position: int | None = None
    """The place of a message in its conversation, over all sessions, from 0."""
    role: Role | None = None
    name: str | None = None
    """The speaker of a message."""
    version: int | None = None
    """Its number in its chain of versions, from 1."""
    metadata: dict[str, Any] | None = None
    tags: list[str] | None = None
    expires_at: datetime | None = None

    label: str | None = None
    description: str | None = None
    span_id: str | None = None
    """Of a reference, where its caller says that the content is; nothing is read there."""
    span_start_byte: int | None = None
    span_end_byte: int | None = None
    span_token_estimate: int | None = None
    """The caller's estimate of the tokens there."""
    content_sha256: str | None = None
    """Of the content that a reference has itself, in hexadecimal."""
    content_bytes: int | None = None
    content_tokens: int | None = None
    """The tokens of that content, all its spans together."""

    platform: str | None = None
    participant_count: int | None = None
    message_count: int | None = None
    sentiment: str | None = None
    plan_type: str | None = None
    current_phase: str | None = None
    total_nodes: int | None = None
    completed_nodes: int | None = None
    pending_nodes: int | None = None
    failed_nodes: int | None = None
    key_milestones: list[str] | None = None
    key_points: list[str] | None = None
    topics: list[str] | None = None
    last_activity_at: datetime | None = None
    content_span_ids: list[str] | None = None

    start_byte: int | None = None
    """The first byte of a span in its source, in UTF-8."""
    end_byte: int | None = None
    """The end of a span in its source, in bytes of UTF-8, exclusive."""
    sha256: str | None = None
    """Of a span's content, in hexadecimal."""
    token_estimate: int | None = None
    """The tokens of a span without content, by its caller or by its length in bytes."""
    recency: float | None = None
    """A number that the caller of a span gave; it is shown, and no ranking uses it."""

    keywords: list[str] | None = None
    other_categories: list[str] | None = None
    """Other categories under which a fact was repeated."""
    reinforced: int | None = None
    """The number of times that a fact was repeated."""
    reinforced_at: datetime | None = None
    """The time when it was last repeated."""

    title: str | None = None
    start_at: datetime | None = None
    end_at: datetime | None = None
    surprise: float | None = None
    """The distance of an episode from its conversation's earlier ones, 0–1; from .7 on a key moment."""
    stability: float | None = None
    """The days after a review in which the retrievability of an episode falls to .9."""
    difficulty: float | None = None
    """1–10, in the terms of FSRS."""
    last_reviewed_at: datetime | None = None
    fsrs_state: str | None = None
    """`learning`, `review`, or `relearning` after a rating `again`."""
    fsrs_step: int | None = None
    """The step of learning or relearning; null in the state `review`."""
    consolidated_at: datetime | None = None
    """The time when facts were last derived from an episode; null if they never were."""


class ListedMemory(Memory, frozen=True, kw_only=True, omit_defaults=True):
    """A memory in a list, with its whole text; fields that its kind does not have are left out."""
