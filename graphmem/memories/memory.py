"""Showing one memory, and changing its annotations."""

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.context import Context
from graphmem.errors import InvalidInput, MemoryNotFound
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.graph.scope import tag_words
from graphmem.memories.delete import lock_memory
from graphmem.memories.types import ListedMemory, Memory
from graphmem.model.annotations import ChangedAnnotations, changed_annotations, decoded
from graphmem.model.times import BEGINNING, END
from graphmem.model.vocabulary import Kind

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
