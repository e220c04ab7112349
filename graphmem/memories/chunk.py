"""Looking at a memory before paying for it, and taking as much of it as fits (S1)."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from graphmem.memories.card import Location
from graphmem.model.vocabulary import Kind, SourceType, TruncationStrategy

MOST_TOKENS = 200_000
"""How many tokens one answer may have."""

Tokens = Annotated[int, Meta(ge=1, le=MOST_TOKENS)]


class PeekResult(Struct, frozen=True, kw_only=True):
    """What a memory is, without its content; free of any budget."""

    id: str
    kind: Kind
    source_type: SourceType
    source_id: str | None
    label: str
    description: str | None
    metadata: dict[str, Any]
    related_ids: list[str]
    token_estimate: int
    location: Location | None


class ChunkOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of a memory is taken, and how it is cut where it is longer."""

    max_tokens: Tokens
    truncation_strategy: TruncationStrategy = "end"
    include_header: bool = False


class ChunkResult(Struct, frozen=True, kw_only=True):
    """A memory's text within a limit, header and ellipsis included."""

    id: str
    content: str
    token_count: int
    truncated: bool
    header: str | None = None
    """The line that the content begins with; null where there is none."""


class Item(Struct, frozen=True, kw_only=True):
    """What a chunk is taken from: a memory's full text, and what its header says."""

    id: str
    source_type: SourceType
    label: str
    text: str


class RetrieverDefaults(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a retriever does unless it is told otherwise."""

    default_max_results: Annotated[int, Meta(ge=1, le=200)] = 10
    default_max_tokens_per_chunk: Tokens = 500
