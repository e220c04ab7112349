"""The writing boundary: every memory of every kind is embedded, counted and written here.

Embeddings and token counts are made before the transaction and written in it, so that what a write
has returned for is searchable; so are the names that a memory mentions. Ids are made before it too, so
that a retry cannot double.

While the installation changes its embedding model every memory is written with the vectors of both
models, so that it is found before the switch and after. The transaction says which vectors are wanted:
a process that had not heard of the change yet embeds once more, inside it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from graphmem.embedding import Embedder, Embedding
from graphmem.errors import Unavailable
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.graph.scope import scope_words
from graphmem.model.times import END
from graphmem.model.vocabulary import Kind
from graphmem.text.aliases import met
from graphmem.text.entities import Entity, entities, normalized, titles
from graphmem.text.spelled_out import SpelledOut, spelled_out
from graphmem.tokens import TokenCounter

WRITTEN_AT_ONCE = 500
"""How many memories one statement writes; larger statements were not faster."""

CURRENT = "current"
"""Stands for whichever model is the current one, where an embedding does not say of which it is."""

LOADED_SECONDS = 30.0
LOOK_SECONDS = 0.1
"""How long a write waits for a model that its process has yet to load, and how often it looks."""


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
    forms: Mapping[str, Sequence[str]] = {}
    """What it says that short names stand for, both in normal form."""


class Prepared(Struct, frozen=True):
    """A memory ready to be written: its properties, its vector, the entities that it is joined to.

    `embedding` is that of the model that questions are asked with, `beside` holds that of another which
    takes its place soon; `embedder` makes those that turn out to be wanted as well.
    """

    draft: Draft
    embedding: Embedding
    token_count: int
    mentions: Sequence[Entity] = ()
    names: Sequence[Entity] = ()
    forms: Mapping[str, Sequence[str]] = {}
    beside: Mapping[str, Embedding] = {}
    embedder: Embedder | None = None

    @property
    def embeddings(self) -> Mapping[str, Embedding]:
        """What it has been embedded as, by the model."""
        if self.embedder is None:
            return {CURRENT: self.embedding}
        return {self.embedder.key: self.embedding, **self.beside}

    @property
    def row(self) -> dict[str, Any]:
        """What `write_memories` takes."""
        properties = msgspec.structs.asdict(self.draft)
        own = properties.pop("own")
        del properties["embedded_text"], properties["names"]
        embeddings = self.embeddings
        return {
            "label": self.draft.kind.capitalize(),
            "embeddings": {side: one.vector for side, one in embeddings.items()},
            "truncated": {side: one.truncated for side, one in embeddings.items()},
            "properties": properties
            | own
            | {
                "token_count": self.token_count,
                "embedding_truncated": self.embedding.truncated,
                "scope_words": scope_words(self.draft.client_id, properties),
            },
        }


class Written(Struct, frozen=True):
    """How many memories a statement has written, and the models whose vectors they lack."""

    written: int
    lacking: list[str]


WRITE_MEMORIES = Query("memories/write_memories", Written, writes=True)
KEEP_EMBEDDINGS = Query("memories/keep_embeddings", RowsWritten, writes=True)
WRITE_MENTIONS = Query("memories/write_mentions", RowsWritten, writes=True)


async def prepare(
    drafts: Sequence[Draft], *, embedder: Embedder, tokens: TokenCounter
) -> list[Prepared]:
    """Embed, count and search for names what is to be written, off the event loop.

    Raises `Unavailable`.
    """
    reading = asyncio.to_thread(lambda: [_read(draft, tokens) for draft in drafts])
    shown = [draft.embedded_text for draft in drafts]
    embeddings, beside, texts = await asyncio.gather(
        embedder.passages(shown), _beside(shown, embedder.beside), reading
    )
    return [
        Prepared(
            draft=draft,
            embedding=embedding,
            token_count=text.token_count,
            mentions=text.mentions,
            names=text.names,
            forms=text.forms,
            beside=another,
            embedder=embedder,
        )
        for draft, embedding, another, text in zip(drafts, embeddings, beside, texts, strict=True)
    ]


async def write(transaction: Transaction, memories: Sequence[Prepared], *, client_id: str) -> None:
    """Write memories that this transaction has found missing.

    Raises `Unavailable` when the installation asks for a model that this process cannot load.
    """
    for start in range(0, len(memories), WRITTEN_AT_ONCE):
        chunk = memories[start : start + WRITTEN_AT_ONCE]
        rows = [memory.row for memory in chunk]
        [written] = await transaction.rows(WRITE_MEMORIES, client_id=client_id, rows=rows)
        for model in written.lacking:
            await _add(transaction, chunk, model, client_id=client_id)
    if rows := _mentions(memories):
        await transaction.rows(WRITE_MENTIONS, client_id=client_id, rows=rows)


async def _beside(texts: Sequence[str], another: Embedder | None) -> list[dict[str, Embedding]]:
    """Return what another model makes of the texts, where the installation is about to change to one."""
    if another is None:
        return [{} for _ in texts]
    return [{another.key: one} for one in await another.passages(texts)]


async def _add(
    transaction: Transaction, memories: Sequence[Prepared], model: str, *, client_id: str
) -> None:
    """Embed what was just written once more, with a model for which it was not made ready."""
    embedder = await _of(model, memories[0].embedder)
    # In the transaction's own time, since it holds locks: once, by a process that has just heard of it.
    embeddings = await embedder.passages([one.draft.embedded_text for one in memories])
    await transaction.rows(
        KEEP_EMBEDDINGS,
        rows=[
            {
                "client_id": client_id,
                "id": memory.draft.id,
                "vector": embedding.vector,
                "truncated": embedding.truncated,
            }
            for memory, embedding in zip(memories, embeddings, strict=True)
        ],
        property=embedder.side.embedding,
    )


async def _of(model: str, embedder: Embedder | None) -> Embedder:
    """Return the embedder of a model, waiting while that is loaded. Raises `Unavailable`."""
    for _ in range(round(LOADED_SECONDS / LOOK_SECONDS)):
        beside = embedder.beside if embedder else None
        if beside is not None and beside.key == model:
            return beside
        await asyncio.sleep(LOOK_SECONDS)
    raise Unavailable(
        "the embedding model is being changed and this process has not loaded the other one yet: "
        "try again soon; `graphmem doctor` says how far the change is"
    )


def _read(draft: Draft, tokens: TokenCounter) -> Read:
    names = titles(draft.names) if draft.names else []
    chosen = [word for key in ("keywords", "topics") for word in draft.own.get(key) or ()]
    pairs = spelled_out(draft.search_text)
    chosen += [name for pair in pairs for name in (pair.short, pair.form)]
    found = entities(draft.search_text, chosen)
    known = {entity.normalized for entity in names}
    mentions = [*names, *(entity for entity in found if entity.normalized not in known)]
    return Read(tokens.count(draft.text), mentions, names, _forms(pairs, mentions))


def _forms(pairs: Sequence[SpelledOut], mentions: Sequence[Entity]) -> dict[str, list[str]]:
    """Return what short names stand for, where both names are kept."""
    kept = {entity.normalized for entity in mentions}
    forms: dict[str, list[str]] = {}
    for pair in pairs:
        short, form = normalized(pair.short), normalized(pair.form)
        if short in kept and form in kept:
            forms.setdefault(short, []).append(form)
    return forms


def _mentions(memories: Sequence[Prepared]) -> list[dict[str, Any]]:
    """Return what `write_mentions` takes, over all memories of a write: each entity once, in order."""
    rows: dict[str, dict[str, Any]] = {}
    for memory in memories:
        for key, mentioned in (("mentioned_by", memory.mentions), ("named_by", memory.names)):
            for entity in mentioned:
                row = rows.setdefault(
                    entity.normalized,
                    msgspec.structs.asdict(entity)
                    | {"mentioned_by": [], "named_by": [], "spelled_out": [], "met": False},
                )
                row[key].append(memory.draft.id)
        for given in met(entity.normalized for entity in memory.mentions):
            rows[given]["met"] = True
        for short, forms in memory.forms.items():
            rows[short]["spelled_out"] += [{"by": memory.draft.id, "form": form} for form in forms]
    return [rows[normalized] for normalized in sorted(rows)]
