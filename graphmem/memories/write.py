"""The writing boundary: every memory of every kind is embedded, counted and written here.

Embeddings, token counts and the names that a memory mentions are computed before the transaction and
written in it, so that a memory is searchable as soon as its write returns. Ids are made before it too,
so that a retry cannot write a memory twice.

While the installation changes its embedding model, every memory is written with the vectors of both
models, so that it is found before the switch and after it. The transaction reports which vectors are
missing: a process that does not know of the change yet embeds the memory a second time, inside it.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from graphmem.clients import (
    NOTHING_GONE,
    CountedUsage,
    Written,
    check_room,
    day_of,
    hold_to_limits,
)
from graphmem.context import Context
from graphmem.embedding import Embedder, Embedding, wait_for_embedder
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.graph.scope import scope_words
from graphmem.jobs.outbox import queue_for_clients
from graphmem.memories.passages import (
    CURRENT,
    EmbeddedPassage,
    embed_passages,
    first_passages,
    write_passages,
)
from graphmem.model.times import END
from graphmem.model.vocabulary import Kind, Side, kind_label
from graphmem.text.aliases import SpelledOut, met, spelled_out
from graphmem.text.entities import Entity, entities, normalized, titles
from graphmem.text.passages import Passage
from graphmem.tokens import TokenCounter

WRITTEN_AT_ONCE = 500
"""The number of memories that one statement writes; larger statements were not faster."""

NAMES_JOB = "names"
"""The kind of the job that finds the names in memories written before graphmem did."""

NAMED_AT_ONCE = 200
"""The number of memories in which the job finds the names in one transaction."""

NAMES_SECONDS = 5.0
"""The length of a piece of the job, so that other jobs run in between."""

LOOKED_AT = 1_000
"""The number of memories that are examined for clients with work."""


class Draft(Struct, frozen=True, kw_only=True):
    """A memory before it is written. An indexed property is '' or a far time, never absent."""

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
    """The title of a reference's source: memories that mention it are linked to the reference."""
    own: dict[str, Any] = {}
    """The properties that only its kind has."""

    @property
    def text_bytes(self) -> int:
        """The bytes of UTF-8 of its metadata and of the text that is searched, which has its own in it."""
        texts = (max(self.text, self.search_text, key=len), self.own.get("metadata") or "")
        return sum(len(text.encode()) for text in texts)


class FoundNames(Struct, frozen=True):
    """The entities in a memory's text."""

    mentions: Sequence[Entity] = ()
    names: Sequence[Entity] = ()
    """Those of the title of a reference's source."""
    forms: Mapping[str, Sequence[str]] = {}
    """The long forms that the text gives for short names, both in normal form."""


class TextAnalysis(FoundNames, frozen=True, kw_only=True):
    """The length of a memory's text, and the entities in it."""

    token_count: int


class Prepared(Struct, frozen=True):
    """A memory ready to be written: its properties, its vector, and its entities.

    `embedding` is from the model that embeds questions; `beside` holds the embedding of the model that
    replaces it soon. `embedder` makes those that the transaction reports missing.
    """

    draft: Draft
    embedding: Embedding
    token_count: int
    mentions: Sequence[Entity] = ()
    names: Sequence[Entity] = ()
    forms: Mapping[str, Sequence[str]] = {}
    beside: Mapping[str, Embedding] = {}
    embedder: Embedder | None = None
    passages: Sequence[EmbeddedPassage] = ()
    """The parts of a long text that are searched by themselves; the first ones, if `passages_due`."""
    passages_due: bool = False

    @property
    def embeddings(self) -> Mapping[str, Embedding]:
        """Its embeddings, by model."""
        if self.embedder is None:
            return {CURRENT: self.embedding}
        return {self.embedder.key: self.embedding, **self.beside}

    @property
    def row(self) -> dict[str, Any]:
        """The row of `write_memories`."""
        properties = msgspec.structs.asdict(self.draft)
        own = properties.pop("own")
        del properties["embedded_text"], properties["names"]
        embeddings = self.embeddings
        return {
            "label": kind_label(self.draft.kind),
            "embeddings": {side: one.vector for side, one in embeddings.items()},
            "truncated": {side: one.truncated for side, one in embeddings.items()},
            "properties": properties
            | own
            | {
                "token_count": self.token_count,
                "text_bytes": self.draft.text_bytes,
                "embedding_truncated": self.embedding.truncated,
                "passages_due": self.passages_due or None,
                "scope_words": scope_words(self.draft.client_id, properties | own),
            },
        }


class MemoriesWritten(Struct, frozen=True):
    """The models whose vectors written memories lack, and the usage of their client."""

    lacking: list[str]
    usage: CountedUsage | None
    """The client's usage, if that is counted."""


class WrittenMemory(Struct, frozen=True):
    """A memory that exists already."""

    id: str


class MemoryToName(Struct, frozen=True):
    """A memory whose names are still to be found, and the text that holds them."""

    id: str
    text: str


class ClientToName(Struct, frozen=True):
    """A client with memories whose names are still to be found."""

    client_id: str


WRITE_MEMORIES = Query("memories/write_memories", MemoriesWritten, writes=True)
KEEP_EMBEDDINGS = Query("memories/keep_embeddings", RowsWritten, writes=True)
WRITE_MENTIONS = Query("memories/write_mentions", RowsWritten, writes=True)
WRITTEN_MEMORIES = Query("memories/written_memories", WrittenMemory)
CLIENTS_TO_NAME = Query("memories/clients_to_name", ClientToName)
NEXT_TO_NAME = Query("memories/next_to_name", MemoryToName)
LOCK_TO_NAME = Query("memories/lock_to_name", WrittenMemory, writes=True)

log = logging.getLogger(__name__)


async def prepare_within_limits(drafts: Sequence[Draft], context: Context) -> list[Prepared]:
    """Prepare memories as `prepare` does, unless the client's limits leave no room for them.

    Raises `StoreLimitReached`, `DayLimitReached`, `Unavailable`.
    """
    if drafts:
        # Tokens are not known yet; one at least.
        size = sum(draft.text_bytes for draft in drafts)
        room = Written(memories=len(drafts), bytes=size, tokens=1)
        await check_room(room, client_id=context.client_id, graph=context.graph)
    return await prepare(drafts, embedder=context.embedder, tokens=context.tokens)


async def prepare(
    drafts: Sequence[Draft], *, embedder: Embedder, tokens: TokenCounter
) -> list[Prepared]:
    """Embed memories and the first passages of long ones, count their tokens and find the names in them.

    None of it occupies the event loop. Raises `Unavailable`.
    """
    analysing = asyncio.to_thread(lambda: [_analysed(draft, tokens) for draft in drafts])
    texts = [draft.embedded_text for draft in drafts]
    cut, more = first_passages([(draft.kind, draft.text) for draft in drafts])
    embeddings, beside, passages, analyses = await asyncio.gather(
        embedder.passages(texts),
        _embed_beside(texts, embedder.beside),
        _embed_passages(drafts, cut, embedder),
        analysing,
    )
    return [
        Prepared(
            draft=draft,
            embedding=embedding,
            token_count=analysis.token_count,
            mentions=analysis.mentions,
            names=analysis.names,
            forms=analysis.forms,
            beside=other,
            embedder=embedder,
            passages=parts,
            passages_due=due,
        )
        for draft, embedding, other, analysis, parts, due in zip(
            drafts, embeddings, beside, analyses, passages, more, strict=True
        )
    ]


async def _embed_passages(
    drafts: Sequence[Draft], cut: Sequence[Sequence[Passage]], embedder: Embedder
) -> list[list[EmbeddedPassage]]:
    """Return the embedded passages of each memory."""
    placed = [
        (draft.id, place, passage)
        for draft, parts in zip(drafts, cut, strict=True)
        for place, passage in enumerate(parts)
    ]
    embedded = iter(await embed_passages(placed, embedder))
    return [list(islice(embedded, len(parts))) for parts in cut]


async def write(
    transaction: Transaction,
    memories: Sequence[Prepared],
    *,
    client_id: str,
    gone: Written = NOTHING_GONE,
) -> None:
    """Write memories that do not exist yet; `gone` is what the transaction deletes for them afterwards.

    Raises `Unavailable` when the installation needs a model that this process cannot load,
    `StoreLimitReached` and `DayLimitReached` when the client's limits do not admit them.
    """
    usage: CountedUsage | None = None
    for start in range(0, len(memories), WRITTEN_AT_ONCE):
        chunk = memories[start : start + WRITTEN_AT_ONCE]
        added = _added(chunk)
        [written] = await transaction.rows(
            WRITE_MEMORIES,
            client_id=client_id,
            rows=[memory.row for memory in chunk],
            bytes=added.bytes,
            tokens=added.tokens,
            day=day_of(chunk[0].draft.created_at),
        )
        usage = written.usage
        for model in written.lacking:
            await _add_embeddings(transaction, chunk, model, client_id=client_id)
    if memories:
        await hold_to_limits(
            transaction,
            usage,
            _added(memories),
            client_id=client_id,
            now=memories[0].draft.created_at,
            gone=gone,
        )
    passages = [passage for memory in memories for passage in memory.passages]
    if passages:
        await write_passages(
            transaction, passages, client_id=client_id, embedder=memories[0].embedder
        )
    if rows := _mentions((memory.draft.id, memory) for memory in memories):
        await transaction.rows(WRITE_MENTIONS, client_id=client_id, rows=rows)


def _added(memories: Sequence[Prepared]) -> Written:
    return Written(
        memories=len(memories),
        bytes=sum(memory.draft.text_bytes for memory in memories),
        tokens=sum(memory.token_count for memory in memories),
    )


async def write_grown(
    transaction: Transaction,
    grown: Sequence[tuple[Draft, Draft]],
    *,
    client_id: str,
    embedder: Embedder,
    tokens: TokenCounter,
) -> None:
    """Embed memories again after their searched text has grown, and join them to the added names.

    `grown` are drafts before and after. Raises `Unavailable`.
    """
    if not grown:
        return
    # Inside the transaction: the added text is only known under its lock.
    after = await prepare([draft for _, draft in grown], embedder=embedder, tokens=tokens)
    for one in (embedder, embedder.beside):
        if one is not None:
            embeddings = [memory.embeddings[one.key] for memory in after]
            await _keep_embeddings(
                transaction, after, embeddings, side=one.side, client_id=client_id
            )
    known = [_analysed(draft, tokens).mentions for draft, _ in grown]
    besides = map(_mentioning_besides, after, known)
    if rows := _mentions((memory.draft.id, memory) for memory in besides):
        await transaction.rows(WRITE_MENTIONS, client_id=client_id, rows=rows)


def _mentioning_besides(memory: Prepared, known: Iterable[Entity]) -> Prepared:
    """Return a memory with only those of its mentions that are not known."""
    names = {entity.normalized for entity in known}
    return replace(
        memory,
        mentions=[one for one in memory.mentions if one.normalized not in names],
        forms={short: forms for short, forms in memory.forms.items() if short not in names},
    )


async def find_unwritten(
    transaction: Transaction, memories: Sequence[Prepared], *, client_id: str
) -> list[Prepared]:
    """Return the memories that do not exist yet, in their order.

    A transaction that is repeated after a lost answer has written them already.
    """
    ids = [memory.draft.id for memory in memories]
    rows = await transaction.rows(WRITTEN_MEMORIES, client_id=client_id, ids=ids)
    written = {row.id for row in rows}
    return [memory for memory in memories if memory.draft.id not in written]


async def _embed_beside(texts: Sequence[str], other: Embedder | None) -> list[dict[str, Embedding]]:
    """Return the embeddings by the model that the installation is about to change to, if there is one."""
    if other is None:
        return [{} for _ in texts]
    return [{other.key: one} for one in await other.passages(texts)]


async def _add_embeddings(
    transaction: Transaction, memories: Sequence[Prepared], model: str, *, client_id: str
) -> None:
    """Embed just written memories a second time, with a model whose vectors they lack."""
    embedder = await wait_for_embedder(model, memories[0].embedder)
    # Inside the transaction, which holds locks: it happens once, in a process that has just learned of the
    # model.
    embeddings = await embedder.passages([one.draft.embedded_text for one in memories])
    await _keep_embeddings(
        transaction, memories, embeddings, side=embedder.side, client_id=client_id
    )


async def _keep_embeddings(
    transaction: Transaction,
    memories: Sequence[Prepared],
    embeddings: Sequence[Embedding],
    *,
    side: Side,
    client_id: str,
) -> None:
    """Write the vectors of memories that exist, on one side, in place of those that they have there."""
    rows = [
        {
            "client_id": client_id,
            "id": memory.draft.id,
            "vector": embedding.vector,
            "truncated": embedding.truncated,
        }
        for memory, embedding in zip(memories, embeddings, strict=True)
    ]
    await transaction.rows(KEEP_EMBEDDINGS, rows=rows, property=side.embedding)


def _analysed(draft: Draft, tokens: TokenCounter) -> TextAnalysis:
    names = titles(draft.names) if draft.names else []
    chosen = [word for key in ("keywords", "topics") for word in draft.own.get(key) or ()]
    found = _found_names(draft.search_text, chosen, names)
    return TextAnalysis(
        token_count=tokens.count(draft.text),
        mentions=found.mentions,
        names=found.names,
        forms=found.forms,
    )


def _found_names(text: str, chosen: Sequence[str] = (), names: Sequence[Entity] = ()) -> FoundNames:
    """Return the entities of a text; `chosen` are words that count as names, `names` those known already."""
    pairs = spelled_out(text)
    found = entities(text, [*chosen, *(name for pair in pairs for name in (pair.short, pair.form))])
    known = {entity.normalized for entity in names}
    mentions = [*names, *(entity for entity in found if entity.normalized not in known)]
    return FoundNames(mentions, names, _forms(pairs, mentions))


def _forms(pairs: Sequence[SpelledOut], mentions: Sequence[Entity]) -> dict[str, list[str]]:
    """Return the long forms of short names, if both are entities of the memory."""
    kept = {entity.normalized for entity in mentions}
    forms: dict[str, list[str]] = {}
    for pair in pairs:
        short, form = normalized(pair.short), normalized(pair.form)
        if short in kept and form in kept:
            forms.setdefault(short, []).append(form)
    return forms


def _mentions(memories: Iterable[tuple[str, FoundNames | Prepared]]) -> list[dict[str, Any]]:
    """Return the rows of `write_mentions` for memories by their ids: each entity once, in order."""
    rows: dict[str, dict[str, Any]] = {}
    for id, memory in memories:
        for key, mentioned in (("mentioned_by", memory.mentions), ("named_by", memory.names)):
            for entity in mentioned:
                row = rows.setdefault(
                    entity.normalized,
                    msgspec.structs.asdict(entity)
                    | {"mentioned_by": [], "named_by": [], "spelled_out": [], "met": False},
                )
                row[key].append(id)
        for given in met(entity.normalized for entity in memory.mentions):
            rows[given]["met"] = True
        for short, forms in memory.forms.items():
            rows[short]["spelled_out"] += [{"by": id, "form": form} for form in forms]
    return [rows[normalized] for normalized in sorted(rows)]


async def queue_names(*, now: datetime, new_id: Callable[[], str], graph: Graph) -> None:
    """Queue the job for every client with memories whose names are still to be found."""
    found = await graph.rows(CLIENTS_TO_NAME, looked_at=LOOKED_AT)
    clients = [one.client_id for one in found]
    await queue_for_clients(NAMES_JOB, clients, now=now, new_id=new_id, graph=graph)


async def find_due_names(context: Context, *, seconds: float = NAMES_SECONDS) -> bool:
    """Find the names in a client's memories that lack them, for a while; return whether none is left.

    Raises `Unavailable`.
    """
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        due = await context.graph.rows(
            NEXT_TO_NAME, client_id=context.client_id, limit=NAMED_AT_ONCE
        )
        if not due:
            return True
        await _write_names(due, context)
    return False


async def _write_names(due: Sequence[MemoryToName], context: Context) -> None:
    """Join memories to the names in their texts, unless another process has done so meanwhile."""
    found = await asyncio.to_thread(lambda: [(one.id, _found_names(one.text)) for one in due])

    async def work(transaction: Transaction) -> None:
        ids = [one.id for one in due]
        locked = await transaction.rows(LOCK_TO_NAME, client_id=context.client_id, ids=ids)
        still_due = {one.id for one in locked}
        if rows := _mentions((id, names) for id, names in found if id in still_due):
            await transaction.rows(WRITE_MENTIONS, client_id=context.client_id, rows=rows)

    await context.graph.write(work)
    log.info("the names in %d memories are found", len(due))
