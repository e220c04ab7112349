"""A memory as it is shown."""

from datetime import datetime

from msgspec import Struct

from graphmem.model.vocabulary import Kind, Role


class Memory(Struct, frozen=True, kw_only=True):
    """One memory of any kind; what a kind does not have is null."""

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
