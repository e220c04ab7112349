"""One memory: showing it, changing its annotations, and deleting it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.accesses import READS_AT_ONCE
from graphmem.context import Context
from graphmem.conversations.types import Deleted
from graphmem.errors import InvalidInput, LegalHold, MemoryNotFound, PartOfContent
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.graph.scope import tag_words
from graphmem.memories.types import ListedMemory, Memory
from graphmem.model.annotations import ChangedAnnotations, changed_annotations, decoded
from graphmem.model.times import BEGINNING, END
from graphmem.model.vocabulary import Kind


class LockedVersions(Struct, frozen=True):
    """The number of versions of a memory that were locked, and the number that existed after that."""

    locked: int
    there: int
    content_of: list[str]
    """The reference whose content the memory is part of."""


class Gone(Struct, frozen=True):
    """The number of deleted memories, and the entities that they mentioned or named."""

    memories: int
    entities: list[str]


class Hold(Struct, frozen=True):
    """The reason of a client's legal hold; None if there is none."""

    reason: str | None


LEGAL_HOLD = Query("memories/legal_hold", Hold, writes=True)
LOCK_MEMORY = Query("memories/lock_memory", LockedVersions, writes=True)
KEEP_SOURCES = Query("memories/keep_sources", RowsWritten, writes=True)
DELETE_MEMORY = Query("memories/delete_memory", Gone, writes=True)
DELETE_UNMENTIONED = Query("memories/delete_unmentioned", RowsWritten, writes=True)
ERASE_READS = Query("memories/erase_reads", RowsWritten, writes=True)
CUT_READS = Query("memories/cut_reads", RowsWritten, writes=True)
CUT_READS_OF_VERSIONS = Query("memories/cut_reads_of_versions", RowsWritten, writes=True)


async def delete_memory(memory_id: str, context: Context) -> Deleted:
    """Delete a memory permanently, with all its versions and a reference's spans; return their number.

    Raises `MemoryNotFound`, also for a memory of another client; `PartOfContent` for a span of a reference's
    content; `LegalHold`, `Unavailable`.
    """
    client_id = context.client_id

    async def delete(transaction: Transaction) -> int:
        await refuse_on_hold(transaction, client_id)
        content_of = await lock_memory(transaction, memory_id, client_id=client_id)
        if content_of is not None:
            raise PartOfContent(memory_id, content_of)
        await transaction.rows(KEEP_SOURCES, client_id=client_id, ids=[memory_id], derived=False)
        rows = await transaction.rows(DELETE_MEMORY, client_id=client_id, id=memory_id)
        await delete_unmentioned(transaction, rows[0].entities, client_id=client_id)
        return rows[0].memories

    # In transactions of their own: the one that deletes the memory could not delete so many edges.
    await delete_in_batches(
        CUT_READS_OF_VERSIONS,
        {"id": memory_id},
        EDGES_AT_ONCE,
        client_id=client_id,
        graph=context.graph,
    )
    deleted = await context.graph.delete(delete)
    if not deleted:
        raise MemoryNotFound(memory_id)
    return Deleted(memories=deleted)


async def refuse_on_hold(transaction: Transaction, client_id: str) -> None:
    """Raise `LegalHold` if a client's memories may not be deleted."""
    rows = await transaction.rows(LEGAL_HOLD, client_id=client_id)
    if rows[0].reason is not None:
        raise LegalHold(client_id, rows[0].reason)


EDGES_AT_ONCE = 50_000
"""The edges of reads that one transaction deletes."""


async def delete_in_batches(
    query: Query[RowsWritten],
    parameters: Mapping[str, Any],
    at_once: int,
    *,
    client_id: str,
    graph: Graph,
) -> int:
    """Run a deletion with a `limit`, a transaction for each batch, until nothing is left; return the number.

    Raises `LegalHold`, `Unavailable`.
    """

    async def delete_some(transaction: Transaction) -> int:
        await refuse_on_hold(transaction, client_id)
        [gone] = await transaction.rows(query, client_id=client_id, limit=at_once, **parameters)
        return gone.written

    total, gone = 0, at_once
    while gone >= at_once:
        gone = await graph.delete(delete_some)
        total += gone
    return total


async def erase_reads(ids: Sequence[str], *, client_id: str, graph: Graph) -> int:
    """Delete the reads outside of runs that returned any of some memories; return their number.

    Those of runs stay, without an edge to these. In transactions before that of the memories, which could not
    delete so many edges. Raises `LegalHold`, `Unavailable`.
    """
    if not ids:
        return 0
    total = await delete_in_batches(
        ERASE_READS, {"ids": ids}, READS_AT_ONCE, client_id=client_id, graph=graph
    )
    await cut_reads(ids, client_id=client_id, graph=graph)
    return total


async def cut_reads(ids: Sequence[str], *, client_id: str, graph: Graph) -> None:
    """Delete the edges from reads to memories that are to be deleted; the reads stay.

    Raises `LegalHold`, `Unavailable`.
    """
    if ids:
        await delete_in_batches(
            CUT_READS, {"ids": ids}, EDGES_AT_ONCE, client_id=client_id, graph=graph
        )


async def delete_unmentioned(
    transaction: Transaction, entities: Iterable[str], *, client_id: str
) -> int:
    """Delete those of the entities, by normal form, that no memory mentions any more; return their number.

    When a concurrent write mentions one of them, the transaction fails and is run again.
    """
    normalized = sorted(set(entities))
    if not normalized:
        return 0
    rows = await transaction.rows(DELETE_UNMENTIONED, client_id=client_id, normalized=normalized)
    return rows[0].written


async def lock_memory(transaction: Transaction, memory_id: str, *, client_id: str) -> str | None:
    """Lock all nodes that a concurrent writer may link to: the conversation and every version of the memory.

    Returns the id of the reference that a span is part of.
    """
    while True:
        rows = await transaction.rows(LOCK_MEMORY, client_id=client_id, id=memory_id)
        # A version that was written while this waited is not locked yet.
        if not rows or rows[0].there <= rows[0].locked:
            return rows[0].content_of[0] if rows and rows[0].content_of else None


ANNOTATED: tuple[Kind, ...] = ("message", "episode", "fact", "reference")
"""The kinds of memories that a caller annotates."""


class StoredMemory(Struct, frozen=True):
    """A memory, and its metadata as the stored JSON text."""

    memory: Memory
    metadata: str | None


class AnnotatedMemory(Struct, frozen=True):
    """The kind of a memory, and its tags."""

    kind: Kind
    tags: list[str]


MEMORY = Query("memories/memory", StoredMemory)
ANNOTATED_MEMORY = Query("memories/annotated_memory", AnnotatedMemory)
ANNOTATE = Query("memories/annotate", RowsWritten, writes=True)

NO_BOUNDS = {"beginning": BEGINNING, "end": END}
"""The parameters of the fragment `memory_map`: the times that stand for none."""


async def show_memory(memory_id: str, context: Context) -> Memory:
    """Return a memory of any kind.

    Raises `MemoryNotFound`, also for a memory of another client, and `Unavailable`.
    """
    rows = await context.graph.rows(MEMORY, client_id=context.client_id, id=memory_id, **NO_BOUNDS)
    if not rows:
        raise MemoryNotFound(memory_id)
    return _whole(rows[0])


async def annotate(memory_id: str, changed: ChangedAnnotations, context: Context) -> Memory:
    """Change the annotations of a message, an episode, a fact or a reference; return the memory.

    All versions of a memory share its annotations. Raises `InvalidInput`, `TooLarge`, `MemoryNotFound`,
    `Unavailable`.
    """
    client_id, new = context.client_id, changed_annotations(changed, context.now())

    async def change(transaction: Transaction) -> None:
        await lock_memory(transaction, memory_id, client_id=client_id)
        rows = await transaction.rows(ANNOTATED_MEMORY, client_id=client_id, id=memory_id)
        if not rows:
            raise MemoryNotFound(memory_id)
        _check_kind(memory_id, rows[0].kind)
        await transaction.rows(
            ANNOTATE,
            client_id=client_id,
            id=memory_id,
            changes=new,
            shared={name: value for name, value in new.items() if name != "metadata"},
            words_gone=tag_words(client_id, rows[0].tags if "tags" in new else ()),
            words=tag_words(client_id, new.get("tags") or ()),
        )

    await context.graph.write(change)
    return await show_memory(memory_id, context)


def _check_kind(memory_id: str, kind: Kind) -> None:
    if kind not in ANNOTATED:
        raise InvalidInput(
            "memory_id",
            f"{memory_id!r} is a {kind}; messages, episodes, facts and references have annotations",
        )


def listed_memory(stored: StoredMemory) -> ListedMemory:
    """Return a memory as it stands in a list."""
    return ListedMemory(**asdict(_whole(stored)))


def _whole(stored: StoredMemory) -> Memory:
    """Return a memory with its metadata."""
    memory, metadata = stored.memory, stored.metadata
    return replace(memory, metadata=decoded(metadata)) if metadata else memory
