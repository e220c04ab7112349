"""Showing progress on stderr: bars on a terminal, lines elsewhere."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from graphmem.model.progress import Progress

if TYPE_CHECKING:
    from rich import progress as rich_progress
    from rich.console import Console

LINE_SECONDS = 5.0
"""The time between two lines about a stage."""


@contextmanager
def show_progress(*, transient: bool = False) -> Iterator[Progress]:
    """Show progress for the length of the block; with `transient` the bars disappear at its end."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal and not console.is_dumb_terminal:
        with show_bars(console, transient=transient) as progress:
            yield progress
    else:
        yield ProgressLines()


class ShownStage(Struct):
    """The times, in seconds of the monotonic clock, when a stage began and was last mentioned."""

    began: float
    said: float


class ProgressLines:
    """Prints a line when a stage begins, every few seconds, and when it ends."""

    def __init__(self) -> None:
        """Begin with no stage."""
        self._stages: dict[str, ShownStage] = {}
        self._lock = threading.Lock()

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Take the progress of a stage."""
        now = time.monotonic()
        with self._lock:
            known = self._stages.get(stage)
            if known is None:
                self._stages[stage] = ShownStage(now, now)
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


@contextmanager
def show_bars(console: "Console", *, transient: bool) -> Iterator[Progress]:
    """Show a bar for each stage on this terminal for the length of the block."""
    # Imported here, since rich takes a while and is used on terminals only.
    from rich import progress

    columns = (
        progress.SpinnerColumn(finished_text="[green]✓"),
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(bar_width=30),
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
    )
    with progress.Progress(*columns, console=console, transient=transient) as shown:
        bars = ProgressBars(shown)
        yield bars
        bars.close()


class ProgressBars:
    """The bars of the stages that have begun."""

    def __init__(self, shown: "rich_progress.Progress") -> None:
        """Begin with no bar."""
        self._shown = shown
        self._tasks: dict[str, rich_progress.TaskID] = {}
        self._lock = threading.Lock()

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Take the progress of a stage."""
        with self._lock:
            if stage not in self._tasks:
                self._tasks[stage] = self._shown.add_task(stage, total=None)
            self._shown.update(self._tasks[stage], completed=done, total=total or None)
            if total and done == total:
                del self._tasks[stage]

    def close(self) -> None:
        """Hide the bars of stages that did not end, such as a wait."""
        for task in self._tasks.values():
            self._shown.update(task, visible=False)
