"""Showing progress on stderr: bars on a terminal, lines elsewhere."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from graphmem.model.progress import Progress

LINE_SECONDS = 5.0
"""How long a stage may go without a line."""


@contextmanager
def shown(*, transient: bool = False) -> Iterator[Progress]:
    """Have progress shown for the length of the block; `transient` leaves no trace of the bars."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal and not console.is_dumb_terminal:
        from graphmem.cli.bars import bars

        with bars(console, transient=transient) as progress:
            yield progress
    else:
        yield Lines()


class Stage(Struct):
    """What was last said of a stage."""

    began: float
    said: float


class Lines:
    """Says a line when a stage begins, now and then, and when it ends."""

    def __init__(self) -> None:
        """Begin with no stage."""
        self._stages: dict[str, Stage] = {}
        self._lock = threading.Lock()

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Hear how far a stage is."""
        now = time.monotonic()
        with self._lock:
            known = self._stages.get(stage)
            if known is None:
                self._stages[stage] = Stage(now, now)
                _say(f"{stage} …")
            elif total and done == total:
                del self._stages[stage]
                if now - known.began >= 1.0:
                    _say(f"{stage}: {now - known.began:.1f} s")
            elif total and now - known.said >= LINE_SECONDS:
                known.said = now
                _say(f"{stage}: {100 * done // total} %")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
