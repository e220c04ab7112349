"""Whether the database answers: a process that lives may have a database that has given up."""

import asyncio
import time

from msgspec import Struct
from neo4j.exceptions import DatabaseError

from graphmem.errors import GraphmemError, Unavailable
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query

LOOK_SECONDS = 5.0
"""The interval at which the database is asked, and the time that it has to answer."""

FAILED_SECONDS = 10.0
"""The time for which the database may say that it failed: it does not recover by itself."""

SILENT_SECONDS = 60.0
"""The time for which it may not answer at all: one that has too much to do is slow."""


CONFIRM_SECONDS = 15.0
"""The time that a database has to answer before it is restarted: one that was suspended is slow at first."""


class Answered(Struct, frozen=True):
    """The answer of a database that can read."""

    read: int


ANSWERS = Query("graph/answers", Answered)


class Pulse:
    """Notices a database that has failed, or has stopped answering; called repeatedly."""

    def __init__(self) -> None:
        self._next = 0.0
        self._since: dict[str, float] = {}

    async def lost(self, graph: Graph, now: float | None = None) -> str | None:
        """Return the reason to restart the database, None if there is none. Asks every few seconds."""
        now = time.monotonic() if now is None else now
        if now < self._next:
            return None
        self._next = now + LOOK_SECONDS
        state = await _state(graph, LOOK_SECONDS)
        self._since = {state: self._since.get(state, now)} if state else {}
        if state == "failed" and now - self._since[state] >= FAILED_SECONDS:
            return "its database has failed"
        if state == "silent" and now - self._since[state] >= SILENT_SECONDS:
            return f"its database has not answered for {SILENT_SECONDS:g} s"
        return None

    async def is_lost(self, graph: Graph) -> bool:
        """Tell whether the database still fails or is silent; what was noticed before no longer counts."""
        self._since = {}
        return await _state(graph, CONFIRM_SECONDS) is not None


async def _state(graph: Graph, seconds: float) -> str | None:
    """Return `failed` or `silent`; None if the database answers, or is just starting."""
    try:
        async with asyncio.timeout(seconds):
            await graph.impatient().rows(ANSWERS)
    except TimeoutError:
        return "silent"
    except Unavailable as problem:
        return "failed" if isinstance(problem.__cause__, DatabaseError) else None
    except GraphmemError:
        return None
    return None
