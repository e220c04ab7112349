"""The writing boundary: every memory of every kind is embedded, counted and written here.

Embeddings and token counts are made before the transaction and written in it, so that what a write
has returned for is searchable. Ids are made before it too, so that a retry cannot double.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from graphmem.embedding import Embedder, Embedding
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query
from graphmem.graph.scope import scope_words
from graphmem.model.times import END
from graphmem.model.vocabulary import Kind
from graphmem.tokens import TokenCounter

WRITTEN_AT_ONCE = 500
"""How many memories one statement writes; larger statements were not faster."""


class Draft(Struct, frozen=True, kw_only=True):
    """A memory before it is written. What an index filters on is '' or a far time, never absent."""

    id: str
    client_id: str
    kind: Kind
    text: str
    search_text: str
    embedded_text: str
    source_type: str
    occurred_at: datetime
    created_at: datetime
    valid_at: datetime
    invalid_at: datetime = END
    superseded_at: datetime = END
    active: bool = True
    importance: float = 0.5
    source_id: str = ""
    conversation_id: str = ""
    session_id: str = ""
    category: str = ""
    scope: str = ""
    external_id: str | None = None
    own: dict[str, Any] = {}
    """The properties that only its kind has."""


class Prepared(Struct, frozen=True):
    """A memory ready to be written: its properties, its vector."""

    draft: Draft
    embedding: Embedding
    token_count: int

    @property
    def row(self) -> dict[str, Any]:
        """What `write_memories` takes."""
        properties = msgspec.structs.asdict(self.draft)
        own = properties.pop("own")
        del properties["embedded_text"]
        return {
            "label": self.draft.kind.capitalize(),
            "embedding": self.embedding.vector,
            "properties": properties
            | own
            | {
                "token_count": self.token_count,
                "embedding_truncated": self.embedding.truncated,
                "scope_words": scope_words(self.draft.client_id, properties),
            },
        }


class Done(Struct, frozen=True):
    """How many rows a statement has written."""

    written: int


WRITE_MEMORIES = Query("writing/write_memories", Done, writes=True)


async def prepare(
    drafts: Sequence[Draft], *, embedder: Embedder, tokens: TokenCounter
) -> list[Prepared]:
    """Embed and count what is to be written, off the event loop. Raises `Unavailable`."""
    counts = asyncio.to_thread(lambda: [tokens.count(draft.text) for draft in drafts])
    embeddings, counted = await asyncio.gather(
        embedder.passages([draft.embedded_text for draft in drafts]), counts
    )
    return [
        Prepared(draft, embedding, count)
        for draft, embedding, count in zip(drafts, embeddings, counted, strict=True)
    ]


async def write(transaction: Transaction, memories: Sequence[Prepared], *, client_id: str) -> None:
    """Write memories that this transaction has found missing."""
    for start in range(0, len(memories), WRITTEN_AT_ONCE):
        rows = [memory.row for memory in memories[start : start + WRITTEN_AT_ONCE]]
        await transaction.rows(WRITE_MEMORIES, client_id=client_id, rows=rows)
