"""Recording reads: what was asked and shown is kept soon after the answer, some reads at a time.

Nobody waits for it, and nobody feels its failure: what cannot be kept is counted, and left out. The
question's text stands on its record only, and goes with its conversation; without one it goes when
everything it was shown is gone. All go when they are old: after `GRAPHMEM_KEEP_ACCESSES_DAYS`.
"""

import asyncio
import contextlib
import contextvars
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query, RowsWritten
from graphmem.model.times import BEGINNING
from graphmem.observing.logs import traced
from graphmem.observing.metrics import LEFT_UNDONE

SECONDS = 1.0
"""How long reads are collected before they are written."""

AT_ONCE = 100
"""How many are written at once; so many are not waited for."""

MOST = 2_000
"""How many may wait; beyond that they are left out, so that a slow database is not buried."""

END_SECONDS = 5.0
"""How long an end waits for what is not written yet."""

SWEEP_SECONDS = 3600.0
"""How often a client's records are looked through for what is to be forgotten."""

FORGOTTEN_AT_ONCE = 5_000

WHAT = "record_reads"


class ShownMemory(Struct, frozen=True):
    """One memory of an answer, in its place."""

    id: str
    rank: int
    score: float
    tokens: int | None = None


class ReadRecord(Struct, frozen=True, kw_only=True):
    """One read; `found` counts the relevant memories, so 0 shows a gap in what is known."""

    id: str
    client_id: str
    operation: str
    at: datetime
    duration_ms: float
    question: str
    conversation_id: str | None
    tokens: int
    found: int
    shown: list[ShownMemory]


class ReadBegan(Struct, frozen=True):
    """When a read began, by the calendar and by a clock that only goes forward."""

    at: datetime
    clock: float


class Seen(Struct, frozen=True, kw_only=True):
    """What a read asked and what its answer showed; `found` counts what was relevant enough."""

    question: str
    conversation_id: str | None
    tokens: int
    found: int
    shown: list[ShownMemory]


class Asker(Struct, frozen=True):
    """A client that has asked."""

    client_id: str


RECORD_READS = Query("accesses/record_reads", RowsWritten, writes=True)
FORGET_READS = Query("accesses/forget_reads", RowsWritten, writes=True)
CLIENTS_WITH_OLD_READS = Query("accesses/clients_with_old_reads", Asker)

Noted = Callable[[], ReadRecord]
"""Tells a read when it is to be written: what costs time is worked out then, in a thread."""

log = logging.getLogger(__name__)


class Recorder:
    """Collects reads and writes them, a hundred or a second's at a time."""

    def __init__(
        self,
        graph: Graph,
        *,
        kept: timedelta | None = None,
        seconds: float = SECONDS,
        most: int = MOST,
    ) -> None:
        """Write to a graph, where records are deleted that are older than they are `kept`."""
        # A database that blinks is not waited for: reads that come meanwhile matter more.
        self._graph = graph.impatient()
        self._kept = kept
        self._seconds = seconds
        self._most = most
        self._waiting: list[Noted] = []
        self._many = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._swept: dict[str, float] = {}

    def note(self, read: Noted) -> None:
        """Take a read to be recorded: at once, without a round trip; what it says is asked for later."""
        if len(self._waiting) >= self._most:
            self._left_out(1, "too many wait")
            return
        self._waiting.append(read)
        if len(self._waiting) >= AT_ONCE:
            self._many.set()
        if self._task is None or self._task.done():
            # Of no request: its spans and its log's lines are the recorder's own.
            self._task = asyncio.get_running_loop().create_task(
                self._empty(), name=WHAT, context=contextvars.Context()
            )

    async def settle(self) -> None:
        """Write now what waits, and wait until it is written."""
        while self._task is not None and not self._task.done():
            self._many.set()
            await asyncio.wait([self._task], timeout=0.05)

    async def end(self) -> None:
        """Write what waits, but not for long, and leave out the rest."""
        try:
            async with asyncio.timeout(END_SECONDS):
                await self.settle()
        except TimeoutError:
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait([self._task])
            self._left_out(len(self._waiting), "the end came first")

    async def _empty(self) -> None:
        while self._waiting:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._many.wait(), self._seconds)
            some, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
            if len(self._waiting) < AT_ONCE:
                self._many.clear()
            await self._write(some)

    async def _write(self, noted: Sequence[Noted]) -> None:
        try:
            reads = await asyncio.to_thread(_worked_out, noted)
        except Exception as problem:
            self._left_out(len(noted), traced(problem))
            return
        by_client: defaultdict[str, list[ReadRecord]] = defaultdict(list)
        for read in reads:
            by_client[read.client_id].append(read)
        for client_id, some in by_client.items():
            try:
                await self._graph.change(
                    RECORD_READS, client_id=client_id, rows=[_row(read) for read in _ordered(some)]
                )
                await self._sweep_now_and_then(client_id)
            except Exception as problem:
                self._left_out(len(some), traced(problem))

    async def _sweep_now_and_then(self, client_id: str) -> None:
        now = time.monotonic()
        if now - self._swept.get(client_id, -SWEEP_SECONDS) < SWEEP_SECONDS:
            return
        if len(self._swept) >= self._most:
            self._swept.clear()
        self._swept[client_id] = now
        before = datetime.now(UTC) - self._kept if self._kept else BEGINNING
        await forget_reads(client_id=client_id, before=before, graph=self._graph)

    def _left_out(self, reads: int, why: str) -> None:
        if reads:
            LEFT_UNDONE.labels(WHAT).inc(reads)
            log.warning("%d reads are not recorded: %s", reads, why)


async def forget_reads(*, client_id: str, before: datetime, graph: Graph) -> int:
    """Delete records from before a time, and of no conversation whose memories are gone; return how many."""
    total = 0
    while True:
        rows = await graph.change(
            FORGET_READS, client_id=client_id, before=before, limit=FORGOTTEN_AT_ONCE
        )
        total += rows[0].written
        if rows[0].written < FORGOTTEN_AT_ONCE:
            return total


async def forget_old_reads(*, before: datetime, graph: Graph) -> int:
    """Delete records of all clients from before a time, some at once; return how many.

    What is cut off is gone on with the next time. Raises `Unavailable`.
    """
    total = 0
    while clients := await graph.rows(
        CLIENTS_WITH_OLD_READS, before=before, limit=FORGOTTEN_AT_ONCE
    ):
        for client in clients:
            total += await forget_reads(client_id=client.client_id, before=before, graph=graph)
    return total


def _worked_out(noted: Sequence[Noted]) -> list[ReadRecord]:
    return [tell() for tell in noted]


def _ordered(reads: Sequence[ReadRecord]) -> list[ReadRecord]:
    """Return reads in the order in which their conversations are locked: the same for everybody."""
    return sorted(reads, key=lambda read: (read.conversation_id or "", read.at, read.id))


def _row(read: ReadRecord) -> dict[str, object]:
    properties = {
        # Records of runs name their run, and have parameters instead of a question.
        "run_id": "",
        "params": "{}",
        "operation": read.operation,
        "at": read.at,
        "question": read.question,
        "tokens": read.tokens,
        "duration_ms": read.duration_ms,
        "found": read.found,
        "shown": len(read.shown),
        "conversation_id": read.conversation_id,
    }
    return {
        "id": read.id,
        "conversation_id": read.conversation_id or "",
        "properties": properties,
        "shown": [
            {"id": one.id, "rank": one.rank, "score": one.score, "tokens": one.tokens}
            for one in read.shown
        ],
    }
