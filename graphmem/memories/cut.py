"""Full texts: what a memory holds, and as much of it as fits into a number of tokens (S1)."""

import asyncio
from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct

from graphmem.errors import ContentDamaged, ItemNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.memories.cards import cards
from graphmem.memories.chunk import ChunkOptions, ChunkResult, Item
from graphmem.memories.pieces import chunk_of
from graphmem.tokens import TokenCounter


class Part(Struct, frozen=True, kw_only=True):
    """A part of a content: its text, and which bytes of the whole that is, the end exclusive."""

    start_byte: int
    end_byte: int
    text: str


class Text(Struct, frozen=True, kw_only=True):
    """A memory's own text, and the parts of its content in their order."""

    text: str
    content_bytes: int | None
    content_sha256: str | None
    spans: list[Part]


FULL_TEXT = Query("memories/full_text", Text)


async def chunk(
    memory_id: str, options: ChunkOptions, *, client_id: str, graph: Graph, tokens: TokenCounter
) -> ChunkResult:
    """Return as much of a memory as fits. Raises `ItemNotFound`, `ContentDamaged`."""
    found = await item(memory_id, client_id=client_id, graph=graph)
    if found is None:
        raise ItemNotFound(memory_id)
    return await asyncio.to_thread(chunk_of, found, options, tokens)


async def item(memory_id: str, *, client_id: str, graph: Graph) -> Item | None:
    """Return what a chunk is taken from; None when there is no such memory."""
    found, text = await asyncio.gather(
        cards([memory_id], client_id=client_id, graph=graph),
        full_text(memory_id, client_id=client_id, graph=graph),
    )
    if not found or text is None:
        return None
    card = found[0]
    return Item(id=card.id, source_type=card.source_type, label=card.label, text=text)


async def full_text(memory_id: str, *, client_id: str, graph: Graph) -> str | None:
    """Return all that a memory holds; None when there is no such memory.

    Of a reference with content that is the content, once; of everything else its text. Raises
    `ContentDamaged` when the content's SHA-256 is not the one that was stored.
    """
    rows = await graph.rows(FULL_TEXT, client_id=client_id, id=memory_id)
    if not rows:
        return None
    content = joined(rows[0].spans)
    # A content that is not all there is no content: one of its spans may have been deleted.
    if not content or len(content) != rows[0].content_bytes:
        return rows[0].text
    if sha256(content).hexdigest() != rows[0].content_sha256:
        raise ContentDamaged(memory_id)
    return content.decode()


def joined(parts: Sequence[Part]) -> bytes:
    """Return the whole that ordered parts make, overlaps once; it ends where a part is missing."""
    whole = bytearray()
    for part in parts:
        if part.start_byte > len(whole):
            break
        if part.end_byte > len(whole):
            whole += part.text.encode()[len(whole) - part.start_byte :]
    return bytes(whole)
