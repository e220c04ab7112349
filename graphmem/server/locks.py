"""Two locks between processes: one for the use of the data folder, one for changes of its server.

Every process that uses the server holds `lock` shared. A process that joins, starts, restarts or stops
the server holds `change.lock` exclusively meanwhile. So no process joins while the last one leaves. The
kernel releases both locks when a process ends, however it ends.
"""

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from graphmem.artifacts.cache import try_lock
from graphmem.errors import DataFolderInUse
from graphmem.model.progress import Progress, silent
from graphmem.server.folder import disk_faults

POLL_SECONDS = 0.05


class UseLock:
    """One process's shared lock on the use of the server; taken and released under the change lock."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "lock"
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this process holds the lock."""
        return self._descriptor is not None

    def take(self) -> None:
        """Take the shared lock, or keep it."""
        if self._descriptor is None:
            self._descriptor = _open(self._path)
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def take_all(self) -> bool:
        """Tell whether no other process uses the server.

        Upgrading a shared flock is not atomic and may drop the share on failure. This is safe here: the
        caller holds the change lock and is leaving.
        """
        if self._descriptor is None:
            self._descriptor = _open(self._path)
        return try_lock(self._descriptor)

    def release(self) -> None:
        """Release the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


@asynccontextmanager
async def changing(
    data_dir: Path, patience: float, progress: Progress = silent
) -> AsyncIterator[None]:
    """Hold the change lock for the length of the block.

    Raises `DataFolderInUse` if another process holds it for more than `patience` seconds.
    """
    descriptor = _open(data_dir / "change.lock")
    try:
        await _wait(descriptor, data_dir, patience, progress)
        yield
    finally:
        os.close(descriptor)


async def _wait(descriptor: int, data_dir: Path, patience: float, progress: Progress) -> None:
    deadline = time.monotonic() + patience
    while not try_lock(descriptor):
        if time.monotonic() > deadline:
            raise DataFolderInUse(
                f"another process has been starting or stopping the server of {data_dir} for "
                f"{patience:.0f} s: end it, or choose another folder with GRAPHMEM_DATA_DIR"
            )
        progress("waiting for another process that is starting Neo4j")
        await asyncio.sleep(POLL_SECONDS)


def _open(path: Path) -> int:
    with disk_faults(path.parent):
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
