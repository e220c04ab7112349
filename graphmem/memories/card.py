"""A memory's card: what it is, how long it is and where it comes from, apart from its full text."""

from datetime import datetime
from typing import Any

from msgspec import Struct

from graphmem.model.vocabulary import Kind, SourceType


class Location(Struct, frozen=True, kw_only=True):
    """Where content lies: a byte range of a source, offsets in UTF-8, the end exclusive."""

    span_id: str | None = None
    start_byte: int | None = None
    end_byte: int | None = None


class Card(Struct, frozen=True, kw_only=True):
    """What a list shows of a memory; `label` and `metadata` hold nothing of its text.

    `description` is what a summary or a reference says of itself, null for every other kind, and
    `snippet` its beginning, for the other kinds that of the text.
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
