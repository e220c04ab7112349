"""A lock between processes for what only one of them should fetch or unpack."""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

POLL_SECONDS = 0.2


@contextmanager
def locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock for the length of the block; `waiting` is called while another holds it.

    The kernel lets go of the lock when its process ends, however it ends. What `waiting` raises
    ends the wait.
    """
    with path.open("ab") as file:
        while not _taken(file.fileno()):
            waiting()
            time.sleep(POLL_SECONDS)
        yield


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
