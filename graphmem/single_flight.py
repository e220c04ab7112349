"""The findings of a turn are cached for its sub-turns; concurrent requests for a turn share one search.

The cache belongs to one process and may miss: another process searches again. It is bounded in time, and in
bytes for each client and in total, so that a busy client displaces only its own turns.
"""

import asyncio
import sys
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Generic, TypeVar

Found = TypeVar("Found")
Key = tuple[str, ...]
"""The client, and all other inputs of a turn's findings."""

TURN_BYTES = 32 << 20
"""The maximum size of all cached turns."""

CLIENT_SHARE = 8
"""A client's share of it is at most one part in this number."""

KEPT_BYTES = 2_000
"""The size of an entry besides key and findings: a task and the entries of two dictionaries."""

FRESH_SECONDS = 600.0
FAILED_SECONDS = 5.0
"""The times for which findings are cached; incomplete findings are soon tried again."""


class Kept(Generic[Found]):
    """The findings of a turn, or the search for them; `size` is 0 while it runs."""

    def __init__(self, work: "asyncio.Task[Found]") -> None:
        self.work = work
        self.size = 0
        self.until = float("inf")
        self.expiry: asyncio.TimerHandle | None = None
        """What drops the findings when they expire, also in a process that nobody asks any more."""


class SingleFlight(Generic[Found]):
    """Caches the findings of each turn; a client's least recently used turns are dropped first.

    `size` estimates the bytes of the findings. If all clients together exceed the limit, the one with most
    bytes is reduced.
    """

    def __init__(
        self,
        failed: Callable[[Found], bool],
        *,
        size: Callable[[Found], int] = sys.getsizeof,
        most: int = TURN_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._failed = failed
        self._size = size
        self._most = most
        self._clock = clock
        self._turns: dict[str, OrderedDict[Key, Kept[Found]]] = {}
        self._sizes: Counter[str] = Counter()

    async def get(self, key: Key, find: Callable[[], Awaitable[Found]]) -> tuple[Found, bool]:
        """Return a turn's findings, and whether they had been requested before.

        The work continues when its caller leaves: others may wait for it too.
        """
        kept = self._turns[key[0]].get(key) if key[0] in self._turns else None
        known = kept is not None and self._clock() < kept.until
        if kept is None or not known:
            self._drop(key)
            kept = Kept(asyncio.ensure_future(_wait(find)))
            kept.work.add_done_callback(partial(self._settle, key, kept))
            self._turns.setdefault(key[0], OrderedDict())[key] = kept
        self._turns[key[0]].move_to_end(key)
        return await asyncio.shield(kept.work), known

    def forget(self, client: str) -> None:
        """Drop all turns of a client; a search that runs is not cached when it ends."""
        for key in list(self._turns.get(client, ())):
            self._drop(key)

    def _settle(self, key: Key, kept: Kept[Found], work: "asyncio.Task[Found]") -> None:
        """Set the expiry of the findings; drop a search that raised. One that was dropped changes nothing."""
        raised = work.cancelled() or work.exception() is not None
        if self._turns.get(key[0], OrderedDict()).get(key) is not kept:
            return
        if raised:
            self._drop(key)
            return
        seconds = FAILED_SECONDS if self._failed(work.result()) else FRESH_SECONDS
        kept.until = self._clock() + seconds
        kept.expiry = asyncio.get_running_loop().call_later(seconds, self._drop, key)
        kept.size = KEPT_BYTES + _bytes(key) + self._size(work.result())
        self._sizes[key[0]] += kept.size
        self._make_room(key[0])

    def _make_room(self, client: str) -> None:
        """Drop the turns beyond the limits: of this client, then of the one with most bytes."""
        while self._sizes[client] > self._most // CLIENT_SHARE:
            self._drop_oldest(client)
        while self._sizes.total() > self._most:
            self._drop_oldest(max(self._sizes, key=lambda one: self._sizes[one]))

    def _drop_oldest(self, client: str) -> None:
        # A turn whose search is running is kept for its waiting callers.
        self._drop(next(key for key, kept in self._turns[client].items() if kept.size))

    def _drop(self, key: Key) -> None:
        """Drop a turn, if it is cached, and its client with the last one."""
        client = key[0]
        turns = self._turns.get(client, OrderedDict())
        if kept := turns.pop(key, None):
            self._sizes[client] -= kept.size
            if kept.expiry is not None:
                kept.expiry.cancel()
        if not turns:
            self._turns.pop(client, None)
            del self._sizes[client]  # A Counter accepts a missing key here.


async def _wait(find: Callable[[], Awaitable[Found]]) -> Found:
    return await find()


def _bytes(key: Key) -> int:
    return sys.getsizeof(key) + sum(map(sys.getsizeof, key))
