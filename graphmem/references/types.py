"""References: the catalogue cards of sources, their contents, and spans: byte ranges of sources."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct, json

from graphmem.model.annotations import Expiry, Tags, WantedTags
from graphmem.model.pages import GivenCursor, PageSize
from graphmem.model.times import Time
from graphmem.model.vocabulary import (
    Byte,
    Id,
    Importance,
    ReferenceType,
    SourceId,
    SourceType,
    SpanSource,
)

REFERENCES_AT_ONCE = 1_000
"""The maximum number of references in one call."""

LABEL_BYTES = 4_096
DESCRIPTION_BYTES = 100_000
METADATA_BYTES = 100_000

CONTENT_BYTES = 1_000_000
"""The longest content of a reference, in bytes of UTF-8."""

SPANS_AT_ONCE = 1_000
"""The maximum number of spans in one call."""

SPAN_BYTES = 1_000_000
"""The longest content of a span, in bytes of UTF-8."""

Tag = Annotated[str, Meta(min_length=1, max_length=256)]


class SpanPointer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The place of a source's content, given by the caller; the span need not be registered.

    Nothing is read through it; `token_estimate` is the caller's estimate of the content's tokens.
    """

    span_id: Annotated[str, Meta(min_length=1, max_length=128)]
    start_byte: Byte | None = None
    end_byte: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    token_estimate: Annotated[int, Meta(ge=1, le=2**31)] | None = None


class NewReference(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A card to write; `target_id` is the caller's name of the source, which may have several cards."""

    type: ReferenceType
    target_id: SourceId
    label: Annotated[str, Meta(min_length=1, description="at most 4,096 bytes of UTF-8")]
    description: (
        Annotated[str, Meta(min_length=1, description="at most 100,000 bytes of UTF-8")] | None
    ) = None
    importance: Importance = 0.5
    metadata: (
        Annotated[dict[str, Any], Meta(description="at most 100,000 bytes of JSON")] | None
    ) = None
    tags: Tags = []
    expires_at: Expiry | None = None
    span_pointer: SpanPointer | None = None
    occurred_at: Time | None = None


NewReferences = Annotated[list[NewReference], Meta(min_length=1, max_length=REFERENCES_AT_ONCE)]
"""Cards that are written together or not at all."""


class StoredReference(Struct, frozen=True, kw_only=True):
    """A card as the database holds it."""

    id: str
    source_type: ReferenceType
    source_id: str
    label: str
    description: str | None = None
    importance: float
    metadata: str | None = None
    tags: list[str] | None = None
    expires_at: datetime | None = None
    span_id: str | None = None
    span_start_byte: int | None = None
    span_end_byte: int | None = None
    span_token_estimate: int | None = None
    version: int
    active: bool
    token_count: int
    embedding_truncated: bool
    content_sha256: str | None = None
    content_bytes: int | None = None
    content_tokens: int | None = None
    occurred_at: datetime
    created_at: datetime
    conversation_id: str = ""

    @property
    def shown(self) -> "Reference":
        """The card as a caller sees it."""
        return Reference(
            id=self.id,
            type=self.source_type,
            target_id=self.source_id,
            label=self.label,
            description=self.description,
            importance=self.importance,
            metadata=json.decode(self.metadata) if self.metadata is not None else None,
            tags=self.tags or [],
            expires_at=self.expires_at,
            span_pointer=self._span_pointer,
            version=self.version,
            active=self.active,
            token_count=self.token_count,
            embedding_truncated=self.embedding_truncated,
            content_sha256=self.content_sha256,
            content_bytes=self.content_bytes,
            content_tokens=self.content_tokens,
            occurred_at=self.occurred_at,
            created_at=self.created_at,
        )

    @property
    def _span_pointer(self) -> SpanPointer | None:
        if self.span_id is None:
            return None
        return SpanPointer(
            span_id=self.span_id,
            start_byte=self.span_start_byte,
            end_byte=self.span_end_byte,
            token_estimate=self.span_token_estimate,
        )


class Reference(Struct, frozen=True, kw_only=True):
    """The card of a source; `active` is false once a newer version has superseded it."""

    id: str
    type: ReferenceType
    target_id: str
    """The caller's name of the source."""
    label: str
    description: str | None
    importance: float
    """0–1, as its writer gave it."""
    metadata: dict[str, Any] | None
    tags: list[str]
    expires_at: datetime | None
    span_pointer: SpanPointer | None
    """The caller's note of where the content is; nothing is read there."""
    version: int
    """Its number in its chain of versions, from 1."""
    active: bool
    token_count: int
    """The tokens of the description, or of the label if there is none."""
    embedding_truncated: bool
    """Whether its vector stands for the beginning alone: the text exceeds the embedding model's input."""
    content_sha256: str | None
    """Of the content that it has itself, in hexadecimal."""
    content_bytes: int | None
    content_tokens: int | None
    """The tokens of that content, all its spans together."""
    occurred_at: datetime
    """The time that its caller gave, or the time when this version was written."""
    created_at: datetime
    """The time when it was stored (recorded time), by the service's clock."""


class ReferencesAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a page of references."""

    type: Annotated[ReferenceType, Meta(description="only references of this type")] | None = None
    since: (
        Annotated[Time, Meta(description="only references of this time or newer; with a zone")]
        | None
    ) = None
    tags: WantedTags | None = None
    limit: PageSize = 50
    cursor: GivenCursor | None = None


class References(Struct, frozen=True, kw_only=True):
    """A page of references, newest first, and the cursor of the next page."""

    references: list[Reference]
    cursor: str | None


class NewSpanMetadata(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Properties of a span that its caller gives beside the text."""

    importance: Importance = 0.5
    recency: Annotated[float, Meta(ge=-1e15, le=1e15)] | None = None
    tags: Annotated[list[Tag], Meta(max_length=100)] = []


class NewSpan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A span to register: a known `id` replaces that span; without `content` it is only a card.

    The byte range is that of the content in its source, so both have one length. `hash` is the SHA-256
    of the content in hexadecimal. The tokens of a content are measured.
    """

    id: Id | None = None
    source_type: SpanSource
    source_id: SourceId
    start_byte: Byte
    end_byte: Annotated[int, Meta(ge=1, le=2**53)]
    hash: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    token_count: Annotated[int, Meta(ge=1, le=2**31)] | None = None
    metadata: NewSpanMetadata | None = None
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
    """The caller's name of the source."""
    start_byte: int
    """Its first byte in the source, in UTF-8."""
    end_byte: int
    """Its end in the source, in bytes of UTF-8, exclusive."""
    hash: str | None
    """The SHA-256 of its content, in hexadecimal."""
    token_count: int
    """Measured; for a card without content, the caller's estimate or one by the length in bytes."""
    metadata: dict[str, Any]
    has_content: bool
    embedding_truncated: bool
    """Whether its vector stands for the beginning alone: the text exceeds the embedding model's input."""
    occurred_at: datetime
    created_at: datetime


class SpanContent(Struct, frozen=True, kw_only=True):
    """A span's text, null if it has none."""

    id: str
    content: str | None
    hash: str | None
    token_count: int


class NewContent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a source."""

    content: Annotated[str, Meta(min_length=1, description="at most 1,000,000 bytes of UTF-8")]


class Content(Struct, frozen=True, kw_only=True):
    """The result of putting a content: the version that has it, and its spans in order."""

    id: str
    """The version's id: the given one, or that of the version which superseded it."""
    version: int
    changed: bool
    """Whether anything was written: a repeated content changes nothing."""
    sha256: str
    bytes: int
    token_count: int
    """The tokens of the content, all its spans together."""
    spans: list[Span]
