"""Who uses the data folder, and who changes its server: two locks between processes.

Every process that uses the server holds `lock` shared. Whoever joins, starts, restarts or stops
holds `change.lock` alone meanwhile, so what it finds stays true until it is done: nobody arrives
while the last one leaves. The kernel releases both when a process ends, however it ends.
"""

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from graphmem.errors import DataFolderInUse
from graphmem.model.progress import Progress, silent
from graphmem.server.folder import disk_faults

POLL_SECONDS = 0.05


class UseLock:
    """One process's share of the server, taken and given up under the change lock only."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "lock"
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this process has its share."""
        return self._descriptor is not None

    def take(self) -> None:
        """Take a share, or keep it."""
        if self._descriptor is None:
            self._descriptor = _opened(self._path)
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def take_all(self) -> bool:
        """Say whether nobody else has a share.

        Going from shared to alone is not atomic, and where it fails the share may be lost: under
        the change lock nobody notices, and only who leaves asks.
        """
        if self._descriptor is None:
            self._descriptor = _opened(self._path)
        return _taken(self._descriptor)

    def release(self) -> None:
        """Give the share up."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


@asynccontextmanager
async def changing(
    data_dir: Path, patience: float, progress: Progress = silent
) -> AsyncIterator[None]:
    """Hold the change lock for the length of the block.

    Raises `DataFolderInUse` when another process holds it for longer than `patience` seconds.
    """
    descriptor = _opened(data_dir / "change.lock")
    try:
        await _wait(descriptor, data_dir, patience, progress)
        yield
    finally:
        os.close(descriptor)


async def _wait(descriptor: int, data_dir: Path, patience: float, progress: Progress) -> None:
    deadline = time.monotonic() + patience
    while not _taken(descriptor):
        if time.monotonic() > deadline:
            raise DataFolderInUse(
                f"another process has been starting or stopping the server of {data_dir} for "
                f"{patience:.0f} s: end it, or choose another folder with GRAPHMEM_DATA_DIR"
            )
        progress("waiting for another process that is starting Neo4j")
        await asyncio.sleep(POLL_SECONDS)


def _opened(path: Path) -> int:
    with disk_faults(path.parent):
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
