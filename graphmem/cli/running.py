"""Running a command's work until it ends, or until a signal ends it."""

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
        os.write(2, b"\nstopping (once more leaves at once)\n")
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
