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
    importance: float
    active: bool
    source_type: str
    source_id: str | None = None
    conversation_id: str | None = None
    session_id: str | None = None
    session_external_id: str | None = None
    external_id: str | None = None
    category: str | None = None
    scope: str | None = None
    occurred_at: datetime
    valid_at: datetime | None = None
    invalid_at: datetime | None = None
    created_at: datetime
    superseded_at: datetime | None = None
    embedding_truncated: bool = False
    idx: int | None = None
    position: int | None = None
    role: Role | None = None
    name: str | None = None
    version: int | None = None
    metadata: dict[str, Any] | None = None
    tags: list[str] | None = None
    expires_at: datetime | None = None

    label: str | None = None
    description: str | None = None
    span_id: str | None = None
    span_start_byte: int | None = None
    span_end_byte: int | None = None
    span_token_estimate: int | None = None
    content_sha256: str | None = None
    content_bytes: int | None = None
    content_tokens: int | None = None

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
    end_byte: int | None = None
    sha256: str | None = None
    token_estimate: int | None = None
    recency: float | None = None

    keywords: list[str] | None = None
    other_categories: list[str] | None = None
    reinforced: int | None = None
    reinforced_at: datetime | None = None

    title: str | None = None
    start_at: datetime | None = None
    end_at: datetime | None = None
    surprise: float | None = None
    stability: float | None = None
    difficulty: float | None = None
    last_reviewed_at: datetime | None = None
    fsrs_state: str | None = None
    fsrs_step: int | None = None
    consolidated_at: datetime | None = None


class ListedMemory(Memory, frozen=True, kw_only=True, omit_defaults=True):
    """A memory in a list, with its whole text; fields that its kind does not have are left out."""
