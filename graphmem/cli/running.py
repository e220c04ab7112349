"""Running a command's work to its end, or to the signal that ends it."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """A signal ended the work, and what it had opened is closed."""

    def __init__(self, number: int) -> None:
        """Remember the signal's number."""
        super().__init__(signal.Signals(number).name)
        # What a shell reports of a program that a signal ended.
        self.exit_code = 128 + number


class Ending:
    """Turns the first signal into the end of a task, and the second into the end of the process."""

    def __init__(self) -> None:
        """Begin with no signal and no task."""
        self.number: int | None = None
        self._cancel: Callable[[], object] = lambda: None

    def ends(self, task: "asyncio.Task[Any]") -> None:
        """Let a signal cancel this task from now on."""
        loop = task.get_loop()
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)

    def heard(self, number: int, frame: FrameType | None) -> None:
        """Take a signal."""
        if self.number is not None:
            os._exit(128 + number)
        self.number = number
        # Not print: the signal may have come in the middle of one.
        os.write(2, b"\nstopping (once more leaves at once)\n")
        self._cancel()


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end; raises `Interrupted` when a signal ended it, after it has cleaned up.

    Not `loop.add_signal_handler`, which would hear a signal beside a web server that handles it.
    """
    ending = Ending()
    try:
        with _hearing(ending), asyncio.Runner() as runner:
            return runner.run(_endable(work, ending))
    except asyncio.CancelledError:
        if ending.number is None:
            raise
        raise Interrupted(ending.number) from None


async def _endable(work: Coroutine[Any, Any, Result], ending: Ending) -> Result:
    task = asyncio.current_task()
    assert task is not None, "a coroutine runs in a task"
    ending.ends(task)
    result = await work
    if ending.number is not None:
        raise Interrupted(ending.number)
    return result


@contextmanager
def _hearing(ending: Ending) -> Iterator[None]:
    # One that is ignored, as nohup ignores SIGHUP, stays so.
    wanted = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, ending.heard) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
