"""Spans: byte ranges of sources."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct, json

from graphmem.model.times import Time
from graphmem.model.vocabulary import Byte, Id, Importance, SourceId, SourceType, SpanSource

SPANS_AT_ONCE = 1_000
"""How many spans one call may bring."""

SPAN_BYTES = 1_000_000
"""How long the content of a span may be, in bytes of UTF-8."""

Tag = Annotated[str, Meta(min_length=1, max_length=256)]


class SpanMetadata(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a caller knows of a span beside its text."""

    importance: Importance = 0.5
    recency: Annotated[float, Meta(ge=-1e15, le=1e15)] | None = None
    tags: Annotated[list[Tag], Meta(max_length=100)] = []


class NewSpan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A span to register: `id` again replaces it; without `content` it is a card alone.

    The byte range is what the content takes in its source, so its length is the content's. `hash` is
    the SHA-256 of the content in hexadecimal. Tokens are measured where there is a content.
    """

    id: Id | None = None
    source_type: SpanSource
    source_id: SourceId
    start_byte: Byte
    end_byte: Annotated[int, Meta(ge=1, le=2**53)]
    hash: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    token_count: Annotated[int, Meta(ge=1, le=2**31)] | None = None
    metadata: SpanMetadata | None = None
    content: (
        Annotated[str, Meta(min_length=1, description="at most 1,000,000 bytes of UTF-8")] | None
    ) = None
    occurred_at: Time | None = None


NewSpans = Annotated[list[NewSpan], Meta(min_length=1, max_length=SPANS_AT_ONCE)]
"""Spans that are registered together or not at all."""


class StoredSpan(Struct, frozen=True, kw_only=True):
    """A span as the database holds it; one without content has an empty text."""

    id: str
    source_type: SourceType
    source_id: str
    start_byte: int
    end_byte: int
    sha256: str | None = None
    token_count: int
    token_estimate: int | None = None
    importance: float
    recency: float | None = None
    tags: list[str] | None = None
    metadata: str | None = None
    has_content: bool
    embedding_truncated: bool
    occurred_at: datetime
    created_at: datetime

    @property
    def shown(self) -> "Span":
        """The span as a caller sees it."""
        metadata = {"importance": self.importance, "recency": self.recency, "tags": self.tags or []}
        more: dict[str, Any] = json.decode(self.metadata) if self.metadata else {}
        return Span(
            id=self.id,
            source_type=self.source_type,
            source_id=self.source_id,
            start_byte=self.start_byte,
            end_byte=self.end_byte,
            hash=self.sha256,
            token_count=self.token_count if self.has_content else self.token_estimate or 0,
            metadata=more | metadata,
            has_content=self.has_content,
            embedding_truncated=self.embedding_truncated,
            occurred_at=self.occurred_at,
            created_at=self.created_at,
        )


class Span(Struct, frozen=True, kw_only=True):
    """A span without its text."""

    id: str
    source_type: SourceType
    source_id: str
    start_byte: int
    end_byte: int
    hash: str | None
    token_count: int
    """Measured; of a card without content what the caller thought, or 0."""
    metadata: dict[str, Any]
    has_content: bool
    embedding_truncated: bool
    occurred_at: datetime
    created_at: datetime


class SpanContent(Struct, frozen=True, kw_only=True):
    """A span's text, null where it has none."""

    id: str
    content: str | None
    hash: str | None
    token_count: int
