"""Running statements of callers: only a few at once, including those that were cut off and do not end.

Each transaction has the id of its statement. Closing the connection ends nearly every statement at once;
one that the server cannot interrupt continues without a caller, and only a restart of the server ends it.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from graphmem.errors import TooManyStatements, Unavailable
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query

AT_ONCE = 4

ENDED_SECONDS = 10.0
"""The time after its limit in which a statement may end: the server checks every two seconds."""

LOOK_SECONDS = 5.0
"""The interval at which a watch looks for statements that do not end, and its time limit for the server."""

PATIENCE_SECONDS = 15.0
"""The time that a statement may continue after it was cut off before the server is restarted."""

MOST_PATIENCE_SECONDS = 600.0
"""The longest such time: it doubles with each restart, since restarts interrupt all other clients."""

QUIET_SECONDS = 3_600.0
"""The time without a lost statement after which the first patience applies again."""


class AtWork(Struct, frozen=True):
    """A running statement: its id, its age, its limit, and whether it was terminated."""

    id: str
    seconds: float
    limit: float
    terminated: bool

    @property
    def is_cut_off(self) -> bool:
        """Whether it continues although no caller waits for it."""
        return self.terminated or self.seconds > self.limit + ENDED_SECONDS


STATEMENTS_AT_WORK = Query("graph/statements_at_work", AtWork)


def metadata(id: str, seconds: float) -> dict[str, Any]:
    """Return the metadata of a transaction, which identify its running statement."""
    return {"graphmem_statement": id, "graphmem_seconds": seconds}


class Statements:
    """Admits statements while fewer than `most` run on a database, whoever sent them."""

    def __init__(self, most: int = AT_ONCE) -> None:
        self._most = most
        self._ours: set[str] = set()
        self._left: set[str] = set()
        """Those that were admitted here and that no caller waits for; the server may still work on some."""

    @asynccontextmanager
    async def admitted(self, id: str, graph: Graph) -> AsyncIterator[None]:
        """Count a statement for the length of the block. Raises `TooManyStatements`, `Unavailable`."""
        if len(self._ours) >= self._most:
            raise TooManyStatements(self._most)
        self._ours.add(id)
        try:
            found = await graph.rows(STATEMENTS_AT_WORK)
            others = {one.id: one for one in found if one.id not in self._ours}
            self._left.intersection_update(others)
            if len(self._ours) + len(others) > self._most:
                cut_off = sum(one.is_cut_off or one.id in self._left for one in others.values())
                raise TooManyStatements(self._most, cut_off)
            try:
                yield
            finally:
                self._left.add(id)
        finally:
            self._ours.discard(id)


class LostStatements:
    """Finds statements that continue long after they were cut off; called repeatedly."""

    def __init__(self) -> None:
        self._next = 0.0
        self._seen: dict[str, float] = {}
        self._last = float("-inf")
        self._patience = PATIENCE_SECONDS

    async def find(self, graph: Graph, now: float | None = None) -> list[str]:
        """Return the ids of the lost statements if the server should be restarted because of them.

        Checks every few seconds, and never waits long.
        """
        now = time.monotonic() if now is None else now
        if now < self._next:
            return []
        self._next = now + LOOK_SECONDS
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                found = await graph.impatient().rows(STATEMENTS_AT_WORK)
        except (TimeoutError, Unavailable):
            return []
        self._seen = {one.id: self._seen.get(one.id, now) for one in found if one.is_cut_off}
        if now - self._last > QUIET_SECONDS:
            self._patience = PATIENCE_SECONDS
        lost = [id for id, since in self._seen.items() if now - since >= self._patience]
        if lost:
            self._last = now
            self._patience = min(2 * self._patience, MOST_PATIENCE_SECONDS)
        return lost
