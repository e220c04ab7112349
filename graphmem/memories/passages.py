"""The passages of long memories: parts that are embedded and searched, and are no memories themselves.

They are written with their memory and deleted with it. A write embeds a bounded number of them; a memory
that lacks some is marked, and the job `passages` of its client cuts the rest, as it does for the memories
that were there before there were passages.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from msgspec import Struct

from graphmem.context import Context
from graphmem.embedding import AGAIN, PASSAGES, Embedder, wait_for_embedder
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.graph.scope import scope_word
from graphmem.jobs.outbox import queue_for_clients
from graphmem.model.vocabulary import CUT_KINDS, Kind
from graphmem.text.passages import Passage, is_long, passages

EMBEDDED_AT_ONCE = 64
"""The passages that a write embeds, about 25,000 characters: more would let its caller wait for long."""

WRITTEN_AT_ONCE = 500
"""The number of passages that one statement writes."""

PASSAGES_JOB = "passages"
"""The kind of the job that cuts the texts that a write has left."""

PIECE_SECONDS = 5.0
"""The length of a piece of the job, so that other jobs run in between."""

PIECE = 32
"""The number of passages that the job embeds and writes at once."""

LOOKED_AT = 1_000
"""The number of memories that are examined for clients with work."""

CURRENT = "current"
"""The key of an embedding that does not name its model: it belongs to the current model."""

log = logging.getLogger(__name__)


class EmbeddedPassage(Struct, frozen=True, kw_only=True):
    """A passage of a memory with its place among the others, from 0, and its vectors by model."""

    memory_id: str
    place: int
    passage: Passage
    vectors: Mapping[str, list[float]]

    @property
    def id(self) -> str:
        """The passage's id, unique within its client."""
        return f"{self.memory_id}/{self.place:05d}"

    @property
    def row(self) -> dict[str, Any]:
        """The row of `write_passages`."""
        return {
            "memory_id": self.memory_id,
            "embeddings": self.vectors,
            "properties": {
                "id": self.id,
                "memory_id": self.memory_id,
                "place": self.place,
                "start": self.passage.start,
                "end": self.passage.end,
                "search_text": self.passage.text,
            },
        }


class PassagesWritten(Struct, frozen=True):
    """The models whose vectors written passages lack."""

    lacking: list[str]


class MemoryToCut(Struct, frozen=True):
    """A memory that lacks passages, and the number of those that it has."""

    id: str
    passages: int
    text: str = ""


class ClientToCut(Struct, frozen=True):
    """A client with memories that lack passages."""

    client_id: str


WRITE_PASSAGES = Query("memories/write_passages", PassagesWritten, writes=True)
KEEP_PASSAGE_EMBEDDINGS = Query("memories/keep_passage_embeddings", RowsWritten, writes=True)
NEXT_TO_CUT = Query("memories/next_to_cut", MemoryToCut)
LOCK_TO_CUT = Query("memories/lock_to_cut", MemoryToCut, writes=True)
CLIENTS_TO_CUT = Query("memories/clients_to_cut", ClientToCut)


def first_passages(texts: Sequence[tuple[Kind, str]]) -> tuple[list[list[Passage]], list[bool]]:
    """Return the passages of each memory that a write embeds, and whether it has more of them.

    Those of the first memories first, `EMBEDDED_AT_ONCE` in all.
    """
    room = EMBEDDED_AT_ONCE
    cut: list[list[Passage]] = []
    more: list[bool] = []
    for kind, text in texts:
        parts = (
            list(islice(passages(text), room + 1)) if kind in CUT_KINDS and is_long(text) else []
        )
        cut.append(parts[:room])
        more.append(len(parts) > room)
        room -= len(cut[-1])
    return cut, more


async def embed_passages(
    parts: Iterable[tuple[str, int, Passage]], embedder: Embedder, *, priority: int = PASSAGES
) -> list[EmbeddedPassage]:
    """Embed passages, each given with its memory's id and its place, with every model that writes need.

    Raises `Unavailable`.
    """
    given = list(parts)
    texts = [passage.text for _, _, passage in given]
    vectors: list[dict[str, list[float]]] = [{} for _ in texts]
    for one in (embedder, embedder.beside):
        if one is not None and texts:
            embeddings = await one.passages(texts, priority=priority)
            for by_model, embedding in zip(vectors, embeddings, strict=True):
                by_model[one.key] = embedding.vector
    return [
        EmbeddedPassage(memory_id=id, place=place, passage=passage, vectors=by_model)
        for (id, place, passage), by_model in zip(given, vectors, strict=True)
    ]


async def write_passages(
    transaction: Transaction,
    embedded: Sequence[EmbeddedPassage],
    *,
    client_id: str,
    embedder: Embedder | None,
) -> None:
    """Write passages of memories that exist.

    Raises `Unavailable` when the installation needs a model that this process cannot load.
    """
    active = scope_word(client_id, "active")
    for start in range(0, len(embedded), WRITTEN_AT_ONCE):
        chunk = embedded[start : start + WRITTEN_AT_ONCE]
        rows = [one.row for one in chunk]
        [written] = await transaction.rows(
            WRITE_PASSAGES, client_id=client_id, active_word=active, rows=rows
        )
        for model in written.lacking:
            other = await wait_for_embedder(model, embedder)
            embeddings = await other.passages([one.passage.text for one in chunk])
            await transaction.rows(
                KEEP_PASSAGE_EMBEDDINGS,
                property=other.side.embedding,
                rows=[
                    {"client_id": client_id, "id": one.id, "vector": embedding.vector}
                    for one, embedding in zip(chunk, embeddings, strict=True)
                ],
            )


async def queue_passages(*, now: datetime, new_id: Callable[[], str], graph: Graph) -> None:
    """Queue the job for every client with memories that lack passages."""
    found = await graph.rows(CLIENTS_TO_CUT, looked_at=LOOKED_AT)
    clients = [one.client_id for one in found]
    await queue_for_clients(PASSAGES_JOB, clients, now=now, new_id=new_id, graph=graph)


async def cut_memories(context: Context, *, seconds: float = PIECE_SECONDS) -> bool:
    """Cut a client's memories that lack passages, for a while; return whether none is left.

    Raises `Unavailable`.
    """
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = await context.graph.rows(NEXT_TO_CUT, client_id=context.client_id)
        if not found:
            return True
        await _cut_further(found[0], context)
    return False


async def _cut_further(memory: MemoryToCut, context: Context) -> None:
    """Write the next passages of a memory, unless another process has done so meanwhile."""
    known = memory.passages
    parts = (
        list(islice(passages(memory.text), known, known + PIECE + 1))
        if is_long(memory.text)
        else []
    )
    places = enumerate(parts[:PIECE], known)
    embedded = await embed_passages(
        ((memory.id, place, passage) for place, passage in places), context.embedder, priority=AGAIN
    )

    async def write(transaction: Transaction) -> None:
        locked = await transaction.rows(
            LOCK_TO_CUT, client_id=context.client_id, id=memory.id, last=len(parts) <= PIECE
        )
        if locked and locked[0].passages == known:
            await write_passages(
                transaction, embedded, client_id=context.client_id, embedder=context.embedder
            )

    await context.graph.write(write)
    log.info("passages up to %d of a long memory are searchable", known + len(embedded))
