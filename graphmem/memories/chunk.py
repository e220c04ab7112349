"""Peek and chunk: a memory without its content, and its text within a number of tokens."""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from typing import Annotated, Any

from msgspec import Meta, Struct

from graphmem.context import Context
from graphmem.errors import ContentDamaged, ItemNotFound, MemoryNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.memories.cards import Location, StoredCard, card_of, load_cards, load_stored_cards
from graphmem.model.vocabulary import Kind, Owner, SourceType, TruncationStrategy
from graphmem.prompts.truncation import truncated
from graphmem.tokens import TokenCounter

MOST_TOKENS = 200_000
"""The maximum number of tokens of a context."""

CHUNK_TOKENS = 1_000_000
"""The maximum number of tokens of a chunk: any content, which has at most as many bytes, fits."""

RELATED = 500
"""The maximum number of linked memories in a peek."""

Tokens = Annotated[int, Meta(ge=1, le=MOST_TOKENS)]


class PeekResult(Struct, frozen=True, kw_only=True):
    """A memory without its content; free of any budget."""

    id: str
    kind: Kind
    source_type: SourceType
    source_id: str | None
    """The caller's name of the source of a reference, summary or span; of a message its session's id."""
    label: str
    """A title, without the text itself."""
    description: str | None
    """Of a summary or a reference; null for other kinds."""
    metadata: dict[str, Any]
    related_ids: list[str]
    """The ids of linked memories, at most 500."""
    token_estimate: int
    """The tokens of its whole text or content; an estimate if no content is stored."""
    location: Location | None


class ChunkOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The size of a chunk, and the way in which a longer text is cut."""

    max_tokens: Annotated[int, Meta(ge=1, le=CHUNK_TOKENS)]
    truncation_strategy: TruncationStrategy = "end"
    include_header: bool = False
    client_id: Owner | None = None


class ChunkResult(Struct, frozen=True, kw_only=True):
    """A memory's text within a limit, header and ellipsis included."""

    id: str
    content: str
    token_count: int
    """The tokens of `content`."""
    truncated: bool
    """Whether `content` is not the whole text."""
    header: str | None = None
    """The line that the content begins with; null where there is none."""


class ChunkSource(Struct, frozen=True, kw_only=True):
    """A memory from which a chunk is taken: its full text, and the parts of its header."""

    id: str
    source_type: SourceType
    label: str
    text: str


class RelatedId(Struct, frozen=True):
    """The id of a memory that is linked to another."""

    id: str


class ContentPart(Struct, frozen=True, kw_only=True):
    """A part of a content: its text, and its bytes in the whole, the end exclusive."""

    id: str
    start_byte: int
    end_byte: int
    text: str


class StoredContent(Struct, frozen=True, kw_only=True):
    """A memory's own text, and the parts of its content in order."""

    text: str
    content_sha256: str | None
    spans: list[ContentPart]


RELATED_IDS = Query("memories/related_ids", RelatedId)
FULL_TEXT = Query("memories/full_text", StoredContent)

READ_AGAIN_SECONDS = 0.1
"""The pause before an incomplete content is read again: a write or a deletion may be in progress."""


async def peek(memory_id: str, context: Context) -> PeekResult:
    """Return a memory without its content, and the ids of linked memories.

    Raises `MemoryNotFound`, also for a memory of another client, and `Unavailable`.
    """
    client_id, graph = context.client_id, context.graph
    found, related = await asyncio.gather(
        load_stored_cards([memory_id], client_id=client_id, graph=graph),
        graph.rows(RELATED_IDS, client_id=client_id, id=memory_id, limit=RELATED),
    )
    if not found:
        raise MemoryNotFound(memory_id)
    card = card_of(found[0])
    spans = found[0].content_span_ids or []
    return PeekResult(
        id=card.id,
        kind=card.kind,
        source_type=card.source_type,
        source_id=card.source_id,
        label=card.label,
        description=card.description,
        metadata=card.metadata | _counts(found[0]),
        related_ids=list(dict.fromkeys([*spans, *(one.id for one in related)])),
        token_estimate=card.token_estimate,
        location=card.location,
    )


async def chunk(memory_id: str, options: ChunkOptions, context: Context) -> ChunkResult:
    """Return the text of a memory, cut to at most `options.max_tokens` tokens.

    Raises `ItemNotFound`, also for a memory of another client; `ContentDamaged` when the stored content is
    incomplete or does not match its SHA-256; `Unavailable`.
    """
    owner = context.of(options.client_id)
    source = await load_chunk_source(memory_id, client_id=owner.client_id, graph=owner.graph)
    if source is None:
        raise ItemNotFound(memory_id)
    return await asyncio.to_thread(chunk_of, source, options, context.tokens)


async def load_chunk_source(memory_id: str, *, client_id: str, graph: Graph) -> ChunkSource | None:
    """Return a memory with its full text; None if there is no such memory. Raises `ContentDamaged`."""
    found, text = await asyncio.gather(
        load_cards([memory_id], client_id=client_id, graph=graph),
        _load_full_text(memory_id, client_id=client_id, graph=graph),
    )
    if not found or text is None:
        return None
    card = found[0]
    return ChunkSource(id=card.id, source_type=card.source_type, label=card.label, text=text)


def chunk_of(source: ChunkSource, options: ChunkOptions, tokens: TokenCounter) -> ChunkResult:
    """Return the beginning of a text within a limit, header and ellipsis included."""
    header = header_of(source) if options.include_header else ""
    cut = truncated(
        source.text, options.max_tokens, options.truncation_strategy, tokens, header=header
    )
    return ChunkResult(
        id=source.id,
        content=cut.content,
        token_count=cut.token_count,
        truncated=cut.truncated,
        header=header if header and cut.content else None,
    )


def header_of(source: ChunkSource) -> str:
    """Return the header of a chunk: always one line, whatever the label contains."""
    return f"[{source.source_type}: {' '.join(source.label.split())}]\n"


def joined(parts: Sequence[ContentPart]) -> bytes:
    """Return ordered parts joined without their overlaps; the result ends where a part is missing."""
    whole = bytearray()
    for part in parts:
        if part.start_byte > len(whole):
            break
        if part.end_byte > len(whole):
            whole += part.text.encode()[len(whole) - part.start_byte :]
    return bytes(whole)


async def _load_full_text(memory_id: str, *, client_id: str, graph: Graph) -> str | None:
    """Return the full text of a memory; None if there is no such memory.

    The full text of a reference with content is that content, once; of every other memory its text. Raises
    `ContentDamaged` when the content's SHA-256 differs from the stored one.
    """
    for pause in (READ_AGAIN_SECONDS, 0.0):
        rows = await graph.rows(FULL_TEXT, client_id=client_id, id=memory_id)
        if not rows:
            return None
        if rows[0].content_sha256 is None:
            return rows[0].text
        content = joined(rows[0].spans)
        if sha256(content).hexdigest() == rows[0].content_sha256:
            return content.decode()
        await asyncio.sleep(pause)
    raise ContentDamaged(memory_id)


def _counts(stored: StoredCard) -> dict[str, int | None]:
    """Return the metadata that only a thread's peek has."""
    if stored.source_type != "thread_summary":
        return {}
    return {
        "participant_count": stored.participant_count,
        "message_count": stored.message_count,
    }
