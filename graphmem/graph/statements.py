"""Callers' statements at work: a few at once, counting those that were cut off and do not end.

Each transaction of a statement carries its id. Closing the connection ends nearly every statement at once;
what the server cannot interrupt goes on without a caller, and only a restart of the server ends it.
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
"""How long after its limit a statement may end: the server looks for expired ones every two seconds."""

LOOK_SECONDS = 5.0
"""How often a watch looks for statements that do not end, and how long it waits for the server."""

PATIENCE_SECONDS = 15.0
"""How long a statement may go on after it was cut off before the server is restarted."""


class AtWork(Struct, frozen=True):
    """A statement that the server works on: its id, since when, its limit, and whether it was told to end."""

    id: str
    seconds: float
    limit: float
    terminated: bool

    @property
    def is_cut_off(self) -> bool:
        """Whether it goes on although nobody waits for it."""
        return self.terminated or self.seconds > self.limit + ENDED_SECONDS


STATEMENTS_AT_WORK = Query("graph/statements_at_work", AtWork)


def metadata(id: str, seconds: float) -> dict[str, Any]:
    """Return what a transaction carries, by which its statement is known at work."""
    return {"graphmem_statement": id, "graphmem_seconds": seconds}


class Statements:
    """Lets statements in while fewer than `most` are at work on a database, whoever sent them."""

    def __init__(self, most: int = AT_ONCE) -> None:
        self._most = most
        self._ours: set[str] = set()

    @asynccontextmanager
    async def admitted(self, id: str, graph: Graph) -> AsyncIterator[None]:
        """Count a statement for the length of the block. Raises `TooManyStatements`, `Unavailable`."""
        if len(self._ours) >= self._most:
            raise TooManyStatements(self._most)
        self._ours.add(id)
        try:
            found = await graph.rows(STATEMENTS_AT_WORK)
            others = {one.id: one for one in found if one.id not in self._ours}
            if len(self._ours) + len(others) > self._most:
                raise TooManyStatements(self._most, sum(one.is_cut_off for one in others.values()))
            yield
        finally:
            self._ours.discard(id)


class LostStatements:
    """Finds statements that go on long after they were cut off; is asked again and again."""

    def __init__(self) -> None:
        self._next = 0.0
        self._seen: dict[str, float] = {}

    async def find(self, graph: Graph, now: float | None = None) -> list[str]:
        """Return the ids of those that do not end; looks every few seconds, and never waits long."""
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
        return [id for id, since in self._seen.items() if now - since >= PATIENCE_SECONDS]
