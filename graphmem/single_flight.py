"""What one turn has found is kept for its sub-turns, and asked for once however many ask at the same time.

The cache belongs to one process and may miss: another process finds the same anew. It is bounded in bytes,
for each client and in all, so that a busy client pushes out nothing but its own turns.
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
"""The client, and everything else that decides what is found."""

TURN_BYTES = 32 << 20
"""The size of all turns that are kept."""

CLIENT_SHARE = 8
"""A client has at most one of so many parts of it."""

KEPT_BYTES = 2_000
"""What a turn takes beside its key and what it has found: a task and the entries of two dictionaries."""

FRESH_SECONDS = 600.0
FAILED_SECONDS = 5.0
"""How long what a turn found is kept; what had to do without something is soon tried again."""


class Kept(Generic[Found]):
    """What a turn has found, or is about to find; `size` is 0 as long as it is being found."""

    def __init__(self, work: "asyncio.Task[Found]") -> None:
        self.work = work
        self.size = 0
        self.until = float("inf")


class SingleFlight(Generic[Found]):
    """Remembers for each turn what was found; of a client the least recently used goes first.

    `size` estimates the bytes of what was found. Where all clients together have too much, the one that has
    most gives way.
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
        """Return what a turn finds, and whether it had been asked for before.

        The work goes on when who asked for it leaves: others may wait for it too.
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

    def _settle(self, key: Key, kept: Kept[Found], work: "asyncio.Task[Found]") -> None:
        """Say until when what was found is believed; what raised is forgotten."""
        if work.cancelled() or work.exception():
            self._drop(key)
            return
        seconds = FAILED_SECONDS if self._failed(work.result()) else FRESH_SECONDS
        kept.until = self._clock() + seconds
        kept.size = KEPT_BYTES + _bytes(key) + self._size(work.result())
        self._sizes[key[0]] += kept.size
        self._make_room(key[0])

    def _make_room(self, client: str) -> None:
        """Let go the turns that are too much: of this client, then of the one that has most."""
        while self._sizes[client] > self._most // CLIENT_SHARE:
            self._drop_oldest(client)
        while self._sizes.total() > self._most:
            self._drop_oldest(max(self._sizes, key=lambda one: self._sizes[one]))

    def _drop_oldest(self, client: str) -> None:
        # A turn that is being found is kept for those who wait for it.
        self._drop(next(key for key, kept in self._turns[client].items() if kept.size))

    def _drop(self, key: Key) -> None:
        """Forget a turn, where it is kept, and its client with the last one."""
        client = key[0]
        turns = self._turns.get(client, OrderedDict())
        if kept := turns.pop(key, None):
            self._sizes[client] -= kept.size
        if not turns:
            self._turns.pop(client, None)
            del self._sizes[client]  # a Counter takes that for one it does not have, too


async def _wait(find: Callable[[], Awaitable[Found]]) -> Found:
    return await find()


def _bytes(key: Key) -> int:
    return sys.getsizeof(key) + sum(map(sys.getsizeof, key))
