"""Recording reads: the question and the returned memories are stored soon after the answer, in batches.

No caller waits for it or sees its failures: reads that cannot be stored are counted and dropped. The
question's text is only on its record, and is left out if a memory of the answer is deleted before that. The
record is deleted with its conversation; without one, when all memories of the answer are deleted; in any case
after `GRAPHMEM_KEEP_ACCESSES_DAYS`.
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
"""The time during which reads are collected before they are written."""

AT_ONCE = 100
"""The batch size; a full batch is written without waiting."""

MOST = 2_000
"""The maximum number of waiting reads; more are dropped, so as not to overload a slow database."""

END_SECONDS = 5.0
"""The time that the end waits for unwritten reads."""

SWEEP_SECONDS = 3600.0
"""The interval at which a client's expired records are deleted."""

READS_AT_ONCE = 60
"""The reads that one transaction deletes: each has an edge to every memory of its answer, up to 1,500.

A transaction of the private Neo4j deletes some 100,000 edges within the memory that it may have.
"""

RELEVANT = 0.35
"""The least relevance, 0–1, of a memory that counts as found in the record of a read."""

WHAT = "record_reads"


class ShownMemory(Struct, frozen=True):
    """One memory of an answer, with its rank."""

    id: str
    rank: int
    score: float
    tokens: int | None = None


class ReadRecord(Struct, frozen=True, kw_only=True):
    """One read; `found` counts the relevant memories, so 0 shows a knowledge gap."""

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
    """The start of a read, by the wall clock and by the monotonic clock."""

    at: datetime
    clock: float


class SeenMemory(Struct, frozen=True):
    """One memory of an answer; `owner` is the client that it belongs to, None for the caller's own."""

    id: str
    rank: int
    score: float
    owner: str | None
    is_relevant: bool
    tokens: int | None = None


class Seen(Struct, frozen=True, kw_only=True):
    """The question of a read, and the memories in its answer; `found` counts the relevant ones."""

    question: str
    conversation_id: str | None
    tokens: int
    found: int
    shown: list[ShownMemory]

    @classmethod
    def of(
        cls, question: str, hits: Sequence[SeenMemory], *, conversation_id: str | None, tokens: int
    ) -> "Seen":
        """Return the record of an answer.

        It holds nothing of other clients, which could not make it forgotten: so a question that has found a
        relevant memory of another client is not kept.
        """
        relevant = [one for one in hits if one.is_relevant]
        return cls(
            question="" if any(one.owner for one in relevant) else question,
            conversation_id=conversation_id,
            tokens=tokens,
            found=len(relevant),
            shown=[
                ShownMemory(one.id, one.rank, one.score, one.tokens)
                for one in hits
                if one.owner is None
            ],
        )


class Asker(Struct, frozen=True):
    """A client that has asked."""

    client_id: str


RECORD_READS = Query("accesses/record_reads", RowsWritten, writes=True)
FORGET_READS = Query("accesses/forget_reads", RowsWritten, writes=True)
CLIENTS_WITH_OLD_READS = Query("accesses/clients_with_old_reads", Asker)

NOBODY = ""
"""No client has this id."""

Noted = Callable[[], ReadRecord]
"""Returns a read when it is written: expensive work is done then, in a thread."""

log = logging.getLogger(__name__)


class Recorder:
    """Collects reads, and writes a hundred at a time or once a second."""

    def __init__(
        self,
        graph: Graph,
        *,
        kept: timedelta | None = None,
        seconds: float = SECONDS,
        most: int = MOST,
    ) -> None:
        """Write to a graph; delete records there that are older than `kept`."""
        # No retries while the database is unavailable: newer reads matter more.
        self._graph = graph.impatient()
        self._kept = kept
        self._seconds = seconds
        self._most = most
        self._waiting: list[Noted] = []
        self._many = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._swept: dict[str, float] = {}

    def note(self, read: Noted) -> None:
        """Accept a read at once, without a round trip; its content is computed later."""
        if len(self._waiting) >= self._most:
            self._left_out(1, "too many wait")
            return
        self._waiting.append(read)
        if len(self._waiting) >= AT_ONCE:
            self._many.set()
        if self._task is None or self._task.done():
            # Outside of any request: its spans and log lines belong to the recorder.
            self._task = asyncio.get_running_loop().create_task(
                self._empty(), name=WHAT, context=contextvars.Context()
            )

    async def settle(self) -> None:
        """Write the waiting reads now, and wait until they are written."""
        while self._task is not None and not self._task.done():
            self._many.set()
            await asyncio.wait([self._task], timeout=0.05)

    async def end(self) -> None:
        """Write the waiting reads, but not for long, and drop the rest."""
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

    async def prepare(self) -> None:
        """Have the database plan its part of recording; nothing is written. Raises `Unavailable`."""
        unknown = {"id": "", "conversation_id": "unknown", "properties": {}, "shown": []}
        await self._graph.change(RECORD_READS, client_id=NOBODY, rows=[unknown])
        await forget_reads(client_id=NOBODY, before=BEGINNING, graph=self._graph)

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
    """Delete older records, and those of no conversation whose memories are deleted; return their number."""
    total = 0
    while True:
        rows = await graph.change(
            FORGET_READS, client_id=client_id, before=before, limit=READS_AT_ONCE
        )
        total += rows[0].written
        if rows[0].written < READS_AT_ONCE:
            return total


async def forget_old_reads(*, before: datetime, graph: Graph) -> int:
    """Delete records of all clients from before a time, in batches; return their number.

    After an interruption the next call continues. Raises `Unavailable`.
    """
    total = 0
    while clients := await graph.rows(CLIENTS_WITH_OLD_READS, before=before, limit=READS_AT_ONCE):
        for client in clients:
            total += await forget_reads(client_id=client.client_id, before=before, graph=graph)
    return total


def _worked_out(noted: Sequence[Noted]) -> list[ReadRecord]:
    return [tell() for tell in noted]


def _ordered(reads: Sequence[ReadRecord]) -> list[ReadRecord]:
    """Return reads in the order in which all writers lock their conversations."""
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
