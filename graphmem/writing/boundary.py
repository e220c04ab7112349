"""The writing boundary: every memory of every kind is embedded, counted and written here.

Embeddings and token counts are made before the transaction and written in it, so that what a write
has returned for is searchable; so are the names that a memory mentions. Ids are made before it too, so
that a retry cannot double.
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
from graphmem.retrieval.entities import Entity, entities, titles
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
    names: str = ""
    """The title of what a reference is about: whoever mentions it leads to the reference."""
    own: dict[str, Any] = {}
    """The properties that only its kind has."""


class Read(Struct, frozen=True):
    """What reading a memory's texts has brought: how long it is, whom and what it mentions."""

    token_count: int
    mentions: Sequence[Entity] = ()
    names: Sequence[Entity] = ()


class Prepared(Struct, frozen=True):
    """A memory ready to be written: its properties, its vector, the entities that it is joined to."""

    draft: Draft
    embedding: Embedding
    token_count: int
    mentions: Sequence[Entity] = ()
    names: Sequence[Entity] = ()

    @property
    def row(self) -> dict[str, Any]:
        """What `write_memories` takes."""
        properties = msgspec.structs.asdict(self.draft)
        own = properties.pop("own")
        del properties["embedded_text"], properties["names"]
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
WRITE_MENTIONS = Query("writing/write_mentions", Done, writes=True)


async def prepare(
    drafts: Sequence[Draft], *, embedder: Embedder, tokens: TokenCounter
) -> list[Prepared]:
    """Embed, count and search for names what is to be written, off the event loop.

    Raises `Unavailable`.
    """
    reading = asyncio.to_thread(lambda: [_read(draft, tokens) for draft in drafts])
    embeddings, texts = await asyncio.gather(
        embedder.passages([draft.embedded_text for draft in drafts]), reading
    )
    return [
        Prepared(draft, embedding, text.token_count, text.mentions, text.names)
        for draft, embedding, text in zip(drafts, embeddings, texts, strict=True)
    ]


async def write(transaction: Transaction, memories: Sequence[Prepared], *, client_id: str) -> None:
    """Write memories that this transaction has found missing."""
    for start in range(0, len(memories), WRITTEN_AT_ONCE):
        rows = [memory.row for memory in memories[start : start + WRITTEN_AT_ONCE]]
        await transaction.rows(WRITE_MEMORIES, client_id=client_id, rows=rows)
    if rows := _mentions(memories):
        await transaction.rows(WRITE_MENTIONS, client_id=client_id, rows=rows)


def _read(draft: Draft, tokens: TokenCounter) -> Read:
    names = titles(draft.names) if draft.names else []
    chosen = [word for key in ("keywords", "topics") for word in draft.own.get(key) or ()]
    found = entities(draft.search_text, chosen)
    known = {entity.normalized for entity in names}
    others = [entity for entity in found if entity.normalized not in known]
    return Read(tokens.count(draft.text), [*names, *others], names)


def _mentions(memories: Sequence[Prepared]) -> list[dict[str, Any]]:
    """Return what `write_mentions` takes, over all memories of a write: each entity once, in order."""
    rows: dict[str, dict[str, Any]] = {}
    for memory in memories:
        for key, mentioned in (("mentioned_by", memory.mentions), ("named_by", memory.names)):
            for entity in mentioned:
                row = rows.setdefault(
                    entity.normalized,
                    msgspec.structs.asdict(entity) | {"mentioned_by": [], "named_by": []},
                )
                row[key].append(memory.draft.id)
    return [rows[normalized] for normalized in sorted(rows)]
