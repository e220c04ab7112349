"""The context of a use case: its client, the others that it reads, and the parts of a running graphmem."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from graphmem.accesses import ReadBegan, ReadRecord, Recorder, Seen
from graphmem.embedding import Embedder
from graphmem.errors import InvalidInput
from graphmem.graph.driver import Graph
from graphmem.graph.installation import Calibration
from graphmem.graph.statements import Statements
from graphmem.jobs.afterwards import Afterwards
from graphmem.llm import LanguageModel
from graphmem.model.times import present
from graphmem.model.vocabulary import bare_id, marked_id, marked_row, owner_of
from graphmem.retrieval.reranking import Reranker
from graphmem.retrieval.understanding import Vocabulary
from graphmem.single_flight import SingleFlight
from graphmem.tokens import TokenCounter

Row = TypeVar("Row")
Result = TypeVar("Result")

CLIENTS_AT_ONCE = 3
"""The clients that one request reads at the same time: each takes some connections to the database."""


def random_id() -> str:
    """Return an id that cannot be guessed."""
    return str(uuid.uuid4())


class Context(Struct, frozen=True, kw_only=True):
    """The client of a use case, and its dependencies.

    One is made for each request: `graph`, `embedder` and `calibration` belong to one embedding model, even if
    the installation changes its model meanwhile. Pure functions take plain arguments instead.
    """

    client_id: str
    permitted: tuple[str, ...] = ()
    """The other clients that the caller may read; see `reading`."""
    reads: tuple[str, ...] = ()
    """The other clients that this use case reads beside its own."""
    mark: str = ""
    """The client with which the ids of its results are marked; '' for the caller's own."""
    graph: Graph
    embedder: Embedder
    tokens: TokenCounter
    vocabulary: Vocabulary
    calibration: Calibration
    afterwards: Afterwards = field(default_factory=Afterwards)
    statements: Statements = field(default_factory=Statements)
    reranker: Reranker | None = None
    llm: LanguageModel | None = None
    turns: SingleFlight[Any] | None = None
    """The cached findings of turns; None if nothing is cached."""
    recorder: Recorder | None = None
    """None if reads are not recorded."""
    now: Callable[[], datetime] = present
    new_id: Callable[[], str] = random_id

    def reading(self, wanted: Sequence[str] | None) -> "Context":
        """Return a context that also reads the wanted other clients, by default all that are permitted.

        Raises `InvalidInput` for a client that is not permitted, whether it exists or not.
        """
        others = self.permitted if wanted is None else tuple(dict.fromkeys(wanted))
        for one in others:
            self._check(one, "reads")
        others = tuple(one for one in others if one != self.client_id)
        return replace(self, reads=others) if others else self

    def of(self, client_id: str | None) -> "Context":
        """Return the context of the client to which an item belongs, None for the caller's own.

        Raises `InvalidInput` as `reading` does.
        """
        if client_id is None or client_id == self.client_id:
            return self
        self._check(client_id, "client_id")
        return self._other(client_id)

    def _check(self, client_id: str, field: str) -> None:
        if client_id != self.client_id and client_id not in self.permitted:
            others = ", ".join(self.permitted) or "none"
            raise InvalidInput(
                field, f"{client_id!r} is no client that you may read; beside your own: {others}"
            )

    def _other(self, client_id: str) -> "Context":
        """Return the context of another client, in which nothing is recorded or kept."""
        return replace(
            self,
            client_id=client_id,
            permitted=(),
            reads=(),
            mark=client_id,
            turns=None,
            recorder=None,
        )

    @property
    def every(self) -> list["Context"]:
        """The contexts of all clients that are read, the caller's own first."""
        if not self.reads:
            return [self]
        return [replace(self, reads=()), *map(self._other, self.reads)]

    async def each(self, work: Callable[["Context"], Awaitable[Iterable[Row]]]) -> list[Row]:
        """Return the results of all clients that are read, at the same time; ids of others are marked."""
        if not self.reads:
            return list(await work(self))
        every = self.every
        parts = await a_few_at_once([partial(work, one) for one in every])
        return [row for one, part in zip(every, parts, strict=True) for row in one.marked(part)]

    async def each_of(
        self,
        ids: Iterable[str],
        work: Callable[["Context", list[str]], Awaitable[Iterable[Row]]],
    ) -> list[Row]:
        """Return the results for ids, each of which is looked up in its own client and nowhere else."""
        if not self.reads:
            return list(await work(self, list(ids)))
        wanted: dict[str, list[str]] = {}
        for id in ids:
            wanted.setdefault(owner_of(id), []).append(bare_id(id))
        # An id whose mark names no client that is read is looked up nowhere.
        some = [one for one in self.every if one.mark in wanted]
        parts = await a_few_at_once([partial(work, one, wanted[one.mark]) for one in some])
        return [row for one, part in zip(some, parts, strict=True) for row in one.marked(part)]

    def as_given(self, id: str, one: "Context") -> str:
        """Return the id, as `each_of` was given it, that its work for one of the clients got as `id`."""
        return marked_id(one.mark, id) if self.reads else id

    def marked(self, rows: Iterable[Row]) -> list[Row]:
        """Return results, of another client with marked ids."""
        return [marked_row(self.mark, row) for row in rows] if self.mark else list(rows)

    def read_begins(self) -> ReadBegan:
        """Return the start of a read, for `record_read`."""
        return ReadBegan(self.now(), time.perf_counter())

    def record_read(self, operation: str, began: ReadBegan, seen: Callable[[], Seen]) -> None:
        """Record a read soon after its answer; `seen` is called then, in a thread."""
        if self.recorder is None:
            return
        id = self.new_id()
        duration_ms = round((time.perf_counter() - began.clock) * 1000, 3)

        def record() -> ReadRecord:
            known = seen()
            return ReadRecord(
                id=id,
                client_id=self.client_id,
                operation=operation,
                at=began.at,
                duration_ms=duration_ms,
                question=known.question,
                conversation_id=known.conversation_id,
                tokens=known.tokens,
                found=known.found,
                shown=known.shown,
            )

        self.recorder.note(record)


async def a_few_at_once(works: Sequence[Callable[[], Awaitable[Result]]]) -> list[Result]:
    """Return the results of some work for each of several clients, in their order."""
    free = asyncio.Semaphore(CLIENTS_AT_ONCE)

    async def do(work: Callable[[], Awaitable[Result]]) -> Result:
        async with free:
            return await work()

    return await asyncio.gather(*map(do, works))
