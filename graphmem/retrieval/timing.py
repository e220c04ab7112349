"""How long the stages of an answer took."""

import time


class Stopwatch:
    """Counts milliseconds between laps."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._laps: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        """Say that a stage has ended."""
        now = time.perf_counter()
        self._laps[stage] = round((now - self._last) * 1000, 3)
        self._last = now

    def laps(self) -> dict[str, float]:
        """Return the milliseconds of each stage, and of all."""
        return self._laps | {"total": round((self._last - self._start) * 1000, 3)}
