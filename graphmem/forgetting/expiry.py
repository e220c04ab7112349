"""Expiry: before anything of a client is read, those of its memories that have expired are deleted.

This is the one place of the rule, and no query needs to know of it. A process looks once a second for the
expiries of the next seconds; only a read of a client with a due one waits for the deletion.
"""

import asyncio
import contextlib
import contextvars
import time
from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from graphmem.context import random_id
from graphmem.errors import LegalHold
from graphmem.forgetting.erase import ERASED_AT_ONCE, erase
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query
from graphmem.jobs.outbox import queue_for_clients
from graphmem.memories.memory import cut_reads
from graphmem.memories.write import WrittenMemory
from graphmem.model.annotations import LEAST_LIFE
from graphmem.model.times import present

EXPIRE = "expire"
"""The kind of the job that deletes a client's expired memories."""

LOOK_SECONDS = 1.0
"""The age of what a process knows of the next expiries: less than `LEAST_LIFE`, so that it misses none."""


class DueClient(Struct, frozen=True):
    """A client, and the first time at which a memory of its expires."""

    client_id: str
    expires_at: datetime


DUE_CLIENTS = Query("forgetting/due_clients", DueClient)
EXPIRED = Query("forgetting/expired", WrittenMemory)


class Expiries:
    """What one process knows of the next expiries of all clients."""

    def __init__(self, graph: Graph, *, now: Callable[[], datetime] = present) -> None:
        self._graph = graph
        self._now = now
        self._due: dict[str, datetime] = {}
        self._looked = float("-inf")
        self._looks: dict[float, asyncio.Task[None]] = {}
        self._deleting: dict[str, asyncio.Lock] = {}

    async def settle(self, client_id: str, graph: Graph) -> None:
        """Delete a client's memories that have expired, before `graph` is read. Raises `Unavailable`."""
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            await self._look_once(graph)
        if self._is_due(client_id):
            async with self._deleting.setdefault(client_id, asyncio.Lock()):
                if self._is_due(client_id):
                    # A legal hold that has just begun keeps what has expired.
                    with contextlib.suppress(LegalHold):
                        await delete_expired(client_id, now=self._now(), graph=self._graph)
                    await self._look(graph)
            self._deleting.pop(client_id, None)

    def _is_due(self, client_id: str) -> bool:
        due = self._due.get(client_id)
        return due is not None and due <= self._now()

    async def _look_once(self, graph: Graph) -> None:
        """Look for the next expiries; all readers who are equally patient wait for one look."""
        look = self._looks.get(graph.retry_seconds)
        if look is None or look.done():
            # Outside of any request: the others go on waiting when the first one leaves.
            look = asyncio.create_task(self._look(graph), context=contextvars.Context())
            look.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._looks[graph.retry_seconds] = look
        await asyncio.shield(look)

    async def _look(self, graph: Graph) -> None:
        began = time.monotonic()
        rows = await graph.rows(DUE_CLIENTS, until=self._now() + LEAST_LIFE)
        self._due = {row.client_id: row.expires_at for row in rows}
        self._looked = began


async def delete_expired(client_id: str, *, now: datetime, graph: Graph) -> int:
    """Delete a client's memories that have expired by a time; return the number of all deleted ones.

    Episodes and summaries of expired messages are deleted and made anew of the others; facts stay, which
    have expiries of their own. Raises `LegalHold`, `Unavailable`.
    """
    total = 0
    asked = {"client_id": client_id, "now": now, "limit": ERASED_AT_ONCE}

    async def find_some(transaction: Transaction) -> list[str]:
        # Not by `Graph.rows`, which deletes what has expired before it reads.
        return [row.id for row in await transaction.rows(EXPIRED, **asked)]

    async def delete_some(transaction: Transaction) -> tuple[int, int]:
        ids = await find_some(transaction)
        erased = await erase(
            transaction, ids, client_id=client_id, derived=False, now=now, new_id=random_id
        )
        return len(ids), erased.memories.total()

    found = ERASED_AT_ONCE
    while found >= ERASED_AT_ONCE:
        await cut_reads(await graph.write(find_some), client_id=client_id, graph=graph)
        found, erased = await graph.write(delete_some)
        total += erased
    return total


async def queue_expired(*, now: datetime, new_id: Callable[[], str], graph: Graph) -> None:
    """Queue the deletion of expired memories, for every client that has some. Raises `Unavailable`."""
    found = await graph.rows(DUE_CLIENTS, until=now)
    clients = [one.client_id for one in found]
    await queue_for_clients(EXPIRE, clients, now=now, new_id=new_id, graph=graph)
