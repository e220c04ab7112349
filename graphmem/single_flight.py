"""What one turn has found is kept for its sub-turns, and asked for once however many ask at the same time.

The cache belongs to one process and may miss: another process finds the same anew.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Generic, TypeVar

Found = TypeVar("Found")
Key = tuple[str, ...]
"""Client, conversation, turn, and the times that it asks for: `as_of` and `known_as_of`."""

TURNS_KEPT = 1_000
FRESH_SECONDS = 600.0
FAILED_SECONDS = 5.0
"""How long what a turn found is kept; what had to do without something is soon tried again."""


class Kept(Generic[Found]):
    """What a turn has found, or is about to find."""

    def __init__(self, work: "asyncio.Task[Found]") -> None:
        self.work = work
        self.until = float("inf")


class SingleFlight(Generic[Found]):
    """Remembers for each turn what was found; the least recently used goes first."""

    def __init__(
        self,
        failed: Callable[[Found], bool],
        *,
        most: int = TURNS_KEPT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._failed = failed
        self._most = most
        self._clock = clock
        self._kept: OrderedDict[Key, Kept[Found]] = OrderedDict()

    async def get(self, key: Key, find: Callable[[], Awaitable[Found]]) -> tuple[Found, bool]:
        """Return what a turn finds, and whether it had been asked for before.

        The work goes on when who asked for it leaves: others may wait for it too.
        """
        kept = self._kept.get(key)
        known = kept is not None and self._clock() < kept.until
        if kept is None or not known:
            kept = Kept(asyncio.ensure_future(_wait(find)))
            kept.work.add_done_callback(partial(self._settle, key, kept))
            self._kept[key] = kept
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return await asyncio.shield(kept.work), known

    def _settle(self, key: Key, kept: Kept[Found], work: "asyncio.Task[Found]") -> None:
        """Say until when what was found is believed; what raised is forgotten."""
        if work.cancelled() or work.exception():
            if self._kept.get(key) is kept:
                del self._kept[key]
            return
        seconds = FAILED_SECONDS if self._failed(work.result()) else FRESH_SECONDS
        kept.until = self._clock() + seconds


async def _wait(find: Callable[[], Awaitable[Found]]) -> Found:
    return await find()
