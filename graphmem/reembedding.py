"""Embedding all memories again with another model, while the old one stays in use.

A job of the installation, in pieces of a few seconds: each batch is stored together with the progress, so
that the death of a worker loses one batch at most. The switch is exact because, from the state `embedding`
on, every write stores both vectors; the creation of the other index waits for writes that began before; so
one walk over all memories, by client and id, embeds them all.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from graphmem.embedding import AGAIN, SEEN_CHARACTERS, Embedder, Embedding
from graphmem.errors import ModelMismatch, Unavailable
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.inspection import (
    COUNTED_MEMORIES,
    COUNTED_PASSAGES,
    MEMORIES_NOT_EMBEDDED,
)
from graphmem.graph.installation import (
    CHANGE_INSTALLATION,
    DROP_PASSAGE_INDEX,
    DROP_VECTOR_INDEX,
    Calibration,
    Change,
    EmbeddingModel,
    Installation,
    begin_change,
    begin_cleaning,
    begin_embedding,
    end_change,
    installation,
    keep_indexed,
    progressed,
    restart_walk,
    switch,
)
from graphmem.graph.query import Query, RowsWritten
from graphmem.graph.schema import INDEX_SECONDS, passage_index, vector_index
from graphmem.jobs.outbox import postpone
from graphmem.memories.passages import KEEP_PASSAGE_EMBEDDINGS
from graphmem.memories.write import KEEP_EMBEDDINGS
from graphmem.model.vocabulary import Kind, Side, other

REEMBED = "reembed"

INSTALLATION = "*"
"""The owner of the job: no client has this id."""

ANNOUNCED = timedelta(seconds=10)
"""The time that every process has to load the wanted model before writes need it."""

LAGGING = timedelta(seconds=60)
"""The time that the old index stays after the switch, for running searches and slow processes."""

PIECE_SECONDS = 5.0
"""The length of a piece of the job, so that other jobs run in between."""

BATCH = 128
"""The number of memories that are embedded and written at once."""

SOON = timedelta(0)

UNREADY = timedelta(seconds=2)
"""The pause of a process that has not loaded the wanted model; another one may take the job."""

AWAY = timedelta(seconds=10)
"""The pause after the wanted model failed: one behind a URL may come back, however long it takes."""

log = logging.getLogger(__name__)


class Stored(Struct, frozen=True, kw_only=True):
    """The properties of a memory, or of a passage of one, that determine its embedding."""

    client_id: str
    id: str
    kind: Kind | Literal["passage"]
    text: str
    search_text: str
    name: str | None = None
    title: str | None = None


MEMORIES_AFTER = Query("reembedding/memories_after", Stored)
FORGET_EMBEDDINGS = Query("reembedding/forget_embeddings", RowsWritten, writes=True)
FORGET_PASSAGE_EMBEDDINGS = Query("reembedding/forget_passage_embeddings", RowsWritten, writes=True)


class _ModelAway(Exception):
    """The wanted model does not embed now."""


class Reembedding(Struct, frozen=True, kw_only=True):
    """The collaborators of a piece of the job: `graph` and `embedder` use the current model."""

    now: Callable[[], datetime]
    graph: Graph
    embedder: Embedder


def embedded_text(stored: Stored) -> str:
    """Return the text of a memory to embed: the one that was embedded when it was written."""
    if stored.kind == "message":
        return f"{stored.name}: {stored.text}" if stored.name else stored.text
    if stored.kind == "episode":
        return f"{stored.title}\n{stored.text}"
    return stored.text if stored.kind in {"span", "passage"} else stored.search_text


async def ask(
    wanted: EmbeddingModel,
    measured: Callable[[], Awaitable[Calibration]],
    *,
    id: str,
    now: datetime,
    graph: Graph,
) -> Installation:
    """Request another model, or join the change to it that is under way.

    `measured` is its calibration, which becomes the installation's with the switch. Does nothing if it is
    the current model. Raises `ModelMismatch` while another change is under way, `Unavailable`.
    """
    stored = await _load(graph)
    if stored.change is None and not stored.model.is_like(wanted):
        await begin_change(graph, wanted, await measured(), id=id, now=now)
        stored = await _load(graph)
    if stored.change is None:
        return stored
    if not stored.change.wanted.is_like(wanted) or is_given_up(stored):
        raise ModelMismatch(
            f"the change of the embedding model to {stored.change.wanted.name!r} is under way "
            f"({stored.change.state}): wait until it has ended; `graphmem reembed --cancel` gives it up "
            "before the switch"
        )
    await graph.write(lambda transaction: queue(transaction, id=id, now=now, run_at=now))
    return stored


async def give_up(*, id: str, now: datetime, graph: Graph) -> bool:
    """Give up a change before its switch; return whether there was one."""
    while True:
        stored = await _load(graph)
        if stored.change is None or stored.change.state not in ("announced", "embedding"):
            return stored.change is not None and is_given_up(stored)
        # It may move on between reading and writing: then it is read again.
        if await begin_cleaning(graph, stored, now=now):
            await graph.write(lambda transaction: queue(transaction, id=id, now=now, run_at=now))
            return True


def is_given_up(stored: Installation) -> bool:
    """Tell whether a change ends without a switch."""
    change = stored.change
    return (
        change is not None
        and change.state == "cleaning"
        and not change.wanted.is_like(stored.model)
    )


async def queue(transaction: Transaction, *, id: str, now: datetime, run_at: datetime) -> None:
    """Queue the job, or move it: there is only one."""
    await postpone(
        transaction,
        client_id=INSTALLATION,
        id=id,
        kind=REEMBED,
        key=REEMBED,
        payload={},
        now=now,
        run_at=run_at,
    )


async def advance(work: Reembedding) -> timedelta | None:
    """Advance the change by a piece; return the pause before the next one, None at its end.

    Raises `Unavailable`.
    """
    stored = await _load(work.graph)
    change = stored.change
    if change is None:
        return None
    match change.state:
        case "announced":
            return await _begin_embedding_once_loaded(work, stored, change)
        case "embedding":
            return await _embed_some(work, stored, change)
        case "switched":
            return await _begin_cleaning_once_noticed(work, stored, change)
        case "cleaning":
            return await _clean_some(work, stored, change)


async def _load(graph: Graph) -> Installation:
    """Return the installation. Raises `ModelMismatch` if the database holds none."""
    stored = await installation(graph)
    if stored is None:
        raise ModelMismatch("this database holds no installation: start `graphmem serve` once")
    return stored


async def _begin_embedding_once_loaded(
    work: Reembedding, stored: Installation, change: Change
) -> timedelta:
    """Wait for the processes to load the model, then require both vectors of every write."""
    left = change.at + ANNOUNCED - work.now()
    if left > SOON:
        return left
    [counted] = await work.graph.rows(COUNTED_MEMORIES)
    [parts] = await work.graph.rows(COUNTED_PASSAGES)
    total = counted.memories + parts.passages
    await begin_embedding(work.graph, stored, total=total, now=work.now())
    return SOON


async def _embed_some(work: Reembedding, stored: Installation, change: Change) -> timedelta:
    """Embed some of the earlier memories, and switch if none is left."""
    target = other(stored.side)
    if not change.indexed:
        await _make_index(work.graph.on(target), change.wanted.dimensions)
        await keep_indexed(work.graph, change)
        return SOON
    embedder = work.embedder.beside
    if embedder is None or embedder.key != change.wanted.key:
        return UNREADY

    async def embed(batch: list[Stored], change: Change) -> bool:
        texts = [embedded_text(one) for one in batch]
        try:
            embeddings = await embedder.passages(texts, priority=AGAIN)
        except Unavailable as problem:
            raise _ModelAway(str(problem)) from problem
        return await _keep(work.graph, batch, embeddings, target, change)

    try:
        finished = await _walk(work, change, embed)
    except _ModelAway as problem:
        # A failed job is given up after some attempts; this one waits.
        log.warning("the memories are embedded again later: %s", problem)
        return AWAY
    return await _finish(work, target) if finished else SOON


async def _finish(work: Reembedding, target: Side) -> timedelta:
    """Switch, once every memory has its vector and the index holds them all."""
    stored = await _load(work.graph)
    [lacking] = await work.graph.on(target).rows(MEMORIES_NOT_EMBEDDED)
    if lacking.memories and stored.change is not None:
        # A foreign writer may have left such a memory; the walk starts again and finds it.
        log.warning("%d memories are not embedded with the new model yet", lacking.memories)
        await restart_walk(work.graph, stored.change)
        return UNREADY
    await work.graph.execute(f"CALL db.awaitIndexes({INDEX_SECONDS})")
    await switch(work.graph, stored, now=work.now())
    return SOON


async def _begin_cleaning_once_noticed(
    work: Reembedding, stored: Installation, change: Change
) -> timedelta:
    """Wait until every process has noticed the switch, then require only the new vector of writes."""
    left = change.at + LAGGING - work.now()
    if left > SOON:
        return left
    await begin_cleaning(work.graph, stored, now=work.now())
    return SOON


async def _clean_some(work: Reembedding, stored: Installation, change: Change) -> timedelta:
    """Remove some of the other side, its indexes first: dropping them waits for their last writers."""
    target = other(stored.side)
    await _drop_indexes(work.graph.on(target))
    switched = not is_given_up(stored)

    async def forget(batch: list[Stored], change: Change) -> bool:
        async def write(transaction: Transaction) -> bool:
            if not await _note(transaction, batch, change):
                return False
            memories, passages = _split(batch, [_address(one) for one in batch])
            await transaction.rows(
                FORGET_EMBEDDINGS,
                rows=memories,
                property=target.embedding,
                switched=switched,
                model=stored.model.key,
            )
            if passages:
                await transaction.rows(
                    FORGET_PASSAGE_EMBEDDINGS, rows=passages, property=target.embedding
                )
            return True

        return await work.graph.write(write)

    if not await _walk(work, change, forget):
        return SOON
    latest = await _load(work.graph)
    if latest.change is not None:
        await end_change(work.graph, latest.change)
    return SOON


async def _walk(
    work: Reembedding, change: Change, step: Callable[[list[Stored], Change], Awaitable[bool]]
) -> bool:
    """Apply a step to the next batches of memories, for a while; return whether none is left."""
    until = time.monotonic() + PIECE_SECONDS
    while time.monotonic() < until:
        batch = await work.graph.rows(
            MEMORIES_AFTER,
            after_client=change.after_client,
            after_id=change.after_id,
            limit=BATCH,
            longest=SEEN_CHARACTERS,
        )
        if not batch:
            return True
        if not await step(batch, change):
            return False
        last = batch[-1]
        change = replace(
            change,
            after_client=last.client_id,
            after_id=last.id,
            done=min(change.done + len(batch), change.total),
        )
    return False


async def _keep(
    graph: Graph, batch: list[Stored], embeddings: list[Embedding], side: Side, change: Change
) -> bool:
    """Write the vectors of a batch and the progress; return false if the change has moved on meanwhile."""

    async def write(transaction: Transaction) -> bool:
        if not await _note(transaction, batch, change):
            return False
        await keep_vectors(transaction, batch, embeddings, side)
        return True

    return await graph.write(write)


async def keep_vectors(
    transaction: Transaction, batch: list[Stored], embeddings: list[Embedding], side: Side
) -> None:
    """Write the vectors of memories and passages that still exist, on one side."""
    vectors = [
        _address(one) | {"vector": embedding.vector}
        for one, embedding in zip(batch, embeddings, strict=True)
    ]
    truncated = [{"truncated": embedding.truncated} for embedding in embeddings]
    memories, _ = _split(batch, [row | mark for row, mark in zip(vectors, truncated, strict=True)])
    _, passages = _split(batch, vectors)
    if memories:
        await transaction.rows(KEEP_EMBEDDINGS, rows=memories, property=side.embedding)
    if passages:
        await transaction.rows(KEEP_PASSAGE_EMBEDDINGS, rows=passages, property=side.embedding)


def _address(one: Stored) -> dict[str, Any]:
    return {"client_id": one.client_id, "id": one.id}


def _split(
    batch: list[Stored], rows: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of the memories and those of the passages."""
    pairs = list(zip(batch, rows, strict=True))
    return (
        [row for one, row in pairs if one.kind != "passage"],
        [row for one, row in pairs if one.kind == "passage"],
    )


async def _note(transaction: Transaction, batch: list[Stored], change: Change) -> bool:
    """Record the last memory of a batch, under the installation's lock; return false if another was first."""
    last = batch[-1]
    done = min(change.done + len(batch), change.total)
    parameters = progressed(change, client_id=last.client_id, id=last.id, done=done)
    return bool(await transaction.rows(CHANGE_INSTALLATION, **parameters))


async def _make_index(graph: Graph, dimensions: int) -> None:
    """Create the other indexes again: an abandoned change may have left some with another model's vectors."""
    await _drop_indexes(graph)
    await graph.execute(vector_index(graph.side), dimensions=dimensions)
    await graph.execute(passage_index(graph.side), dimensions=dimensions)


async def _drop_indexes(graph: Graph) -> None:
    await graph.change(DROP_VECTOR_INDEX)
    await graph.change(DROP_PASSAGE_INDEX)
