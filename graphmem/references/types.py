"""References: the catalogue cards of sources, and what a source says."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct, json

from graphmem.model.times import Time
from graphmem.model.vocabulary import Byte, Importance, ReferenceType, SourceId
from graphmem.spans.types import Span

REFERENCES_AT_ONCE = 1_000
"""How many references one call may bring."""

LABEL_BYTES = 4_096
DESCRIPTION_BYTES = 100_000
METADATA_BYTES = 100_000

CONTENT_BYTES = 1_000_000
"""How long the content of a reference may be, in bytes of UTF-8."""


class SpanPointer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a source's content lies, as the caller says it: its span need not be registered, or not yet.

    Nothing is read through it; `token_estimate` is how long the caller thinks the content is.
    """

    span_id: Annotated[str, Meta(min_length=1, max_length=128)]
    start_byte: Byte | None = None
    end_byte: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    token_estimate: Annotated[int, Meta(ge=1, le=2**31)] | None = None


class NewReference(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A card to write; `target_id` is the caller's name of the source and may have several cards."""

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
    label: str
    description: str | None
    importance: float
    metadata: dict[str, Any] | None
    span_pointer: SpanPointer | None
    version: int
    active: bool
    token_count: int
    """The tokens of the description, or of the label where there is none."""
    embedding_truncated: bool
    content_sha256: str | None
    content_bytes: int | None
    content_tokens: int | None
    occurred_at: datetime
    created_at: datetime


class ReferencesAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which references are to be listed."""

    type: ReferenceType | None = None
    since: Time | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    cursor: str | None = None


class References(Struct, frozen=True, kw_only=True):
    """Some references, newest first, and where the list goes on."""

    references: list[Reference]
    cursor: str | None


class NewContent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a source says."""

    content: Annotated[str, Meta(min_length=1, description="at most 1,000,000 bytes of UTF-8")]


class Content(Struct, frozen=True, kw_only=True):
    """What became of a source's content: the version that has it, and its spans in order."""

    id: str
    """The version's id: the given one, or that of the version which superseded it."""
    version: int
    changed: bool
    """Whether anything was written: the same content again changes nothing."""
    sha256: str
    bytes: int
    token_count: int
    spans: list[Span]
