"""When an operation began, and how long ago that is."""

import time
from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from graphmem.runs.types import AccessEntry

Tell = Callable[[AccessEntry], None]
"""Is told of each operation: what its record holds."""


class Clock(Struct, frozen=True):
    """Where an operation has its time from, and when it began."""

    now: Callable[[], datetime]
    at: datetime
    started: float

    @classmethod
    def start(cls, now: Callable[[], datetime]) -> "Clock":
        """Return a clock that begins now."""
        return cls(now, now(), time.perf_counter())

    @property
    def milliseconds(self) -> float:
        """How long ago it began."""
        return round((time.perf_counter() - self.started) * 1000, 3)
