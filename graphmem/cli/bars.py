"""Progress on a terminal: a bar for each stage."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from graphmem.model import progress


@contextmanager
def bars(console: Console, *, transient: bool) -> Iterator[progress.Progress]:
    """Have bars on this terminal for the length of the block."""
    columns = (
        SpinnerColumn(finished_text="[green]✓"),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=transient) as shown:
        stages = Stages(shown)
        yield stages
        stages.close()


class Stages:
    """The bars of the stages that were heard of."""

    def __init__(self, shown: Progress) -> None:
        """Begin with no bar."""
        self._shown = shown
        self._tasks: dict[str, TaskID] = {}
        self._lock = threading.Lock()

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Hear how far a stage is."""
        with self._lock:
            if stage not in self._tasks:
                self._tasks[stage] = self._shown.add_task(stage, total=None)
            self._shown.update(self._tasks[stage], completed=done, total=total or None)
            if total and done == total:
                del self._tasks[stage]

    def close(self) -> None:
        """Take away the bars that never came to an end, such as one that waited."""
        for task in self._tasks.values():
            self._shown.update(task, visible=False)
