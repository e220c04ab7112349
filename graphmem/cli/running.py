"""Running a command's work until it or a signal ends it, with its progress on stderr."""

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from graphmem.model.progress import Progress
from graphmem.observing.logs import shows_json

Result = TypeVar("Result")

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

STOPPING = "stopping (once more leaves at once)"

log = logging.getLogger(__name__)


class Interrupted(Exception):
    """A signal ended the work, after its cleanup."""

    def __init__(self, number: int) -> None:
        """Remember the signal's number."""
        super().__init__(signal.Signals(number).name)
        # The exit code that a shell reports after a signal.
        self.exit_code = 128 + number


class SignalEnd:
    """Cancels a task at the first signal, and ends the process at the second."""

    def __init__(self) -> None:
        """Begin with no signal and no task."""
        self.number: int | None = None
        self._cancel: Callable[[], object] = lambda: None

    def watch(self, task: "asyncio.Task[Any]") -> None:
        """Let a signal cancel this task from now on."""
        loop = task.get_loop()
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Take a signal."""
        if self.number is not None:
            os._exit(128 + number)
        self.number = number
        # Not print: the signal may have interrupted one.
        is_json = shows_json()
        line = msgspec.json.encode({"message": STOPPING}).decode() if is_json else f"\n{STOPPING}"
        os.write(2, f"{line}\n".encode())
        self._cancel()


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run the work to its end. Raises `Interrupted` if a signal ended it, after its cleanup.

    Not by `loop.add_signal_handler`: a web server inside the work handles signals itself.
    """
    ending = SignalEnd()
    try:
        with _handle_signals(ending), asyncio.Runner() as runner:
            return runner.run(_cancellable(work, ending))
    except asyncio.CancelledError:
        if ending.number is None:
            raise
        raise Interrupted(ending.number) from None


async def _cancellable(work: Coroutine[Any, Any, Result], ending: SignalEnd) -> Result:
    task = asyncio.current_task()
    assert task is not None, "a coroutine runs in a task"
    ending.watch(task)
    result = await work
    if ending.number is not None:
        raise Interrupted(ending.number)
    return result


@contextmanager
def _handle_signals(ending: SignalEnd) -> Iterator[None]:
    # An ignored signal stays ignored: nohup ignores SIGHUP.
    wanted = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, ending.handle) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if TYPE_CHECKING:
    from rich import progress as rich_progress
    from rich.console import Console

LINE_SECONDS = 5.0
"""The time between two lines about a stage."""


@contextmanager
def show_progress(*, transient: bool = False) -> Iterator[Progress]:
    """Show progress for the length of the block; with `transient` the bars disappear at its end."""
    if shows_json():
        yield ProgressLines(log.info)
        return
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


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class ProgressLines:
    """Says a line when a stage begins, every few seconds, and when it ends."""

    def __init__(self, say: Callable[[str], None] = _say) -> None:
        """Begin with no stage."""
        self._say = say
        self._stages: dict[str, ShownStage] = {}
        self._lock = threading.Lock()

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Take the progress of a stage."""
        now = time.monotonic()
        with self._lock:
            known = self._stages.get(stage)
            if known is None:
                self._stages[stage] = ShownStage(now, now)
                self._say(f"{stage} …")
            elif total and done == total:
                del self._stages[stage]
                if now - known.began >= 1.0:
                    self._say(f"{stage}: {now - known.began:.1f} s")
            elif total and now - known.said >= LINE_SECONDS:
                known.said = now
                self._say(f"{stage}: {100 * done // total} %")


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
