"""The data folder: its files, among them the server's password and record, and faults of its disk."""

import asyncio
import fcntl
import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from graphmem.artifacts import fetch
from graphmem.artifacts.fetch import MEGABYTE, try_lock
from graphmem.errors import DataFolderInUse, ServerFailed
from graphmem.model.progress import Progress, silent

# Two transaction logs of 32 MB are laid out at the first start; the rest is room to work.
BYTES_NEEDED = 150 * MEGABYTE
VARIABLE = "GRAPHMEM_DATA_DIR"
BACKED_UP = "last-backup.json"


class Record(Struct, frozen=True):
    """A started server, so that other processes can join it: its process, port and version of Neo4j.

    `started` is the start of the process, in seconds since 1970.
    """

    pid: int
    started: float
    port: int
    version: str


def home(data_dir: Path) -> Path:
    """Return Neo4j's home folder."""
    return data_dir / "neo4j"


def logs(data_dir: Path) -> Path:
    """Return the folder of Neo4j's logs."""
    return home(data_dir) / "logs"


def incoming(data_dir: Path) -> Path:
    """Return the folder of the copy that a restore makes before it puts it into the store's place."""
    return home(data_dir) / "data.incoming"


def lacks_restored(data_dir: Path) -> bool:
    """Tell whether there is no store since a restore ended before it had put its copy into the place."""
    return incoming(data_dir).exists() and not (home(data_dir) / "data").exists()


def create(data_dir: Path) -> None:
    """Make the missing folders, readable by their owner only."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in (home(data_dir), home(data_dir) / "conf", logs(data_dir)):
        folder.mkdir(mode=0o700, exist_ok=True)


def free_bytes(data_dir: Path) -> int:
    """Return the free bytes of the folder's disk."""
    return shutil.disk_usage(data_dir).free


def require_space(data_dir: Path) -> None:
    """Raise `ServerFailed` if the disk has too little room to open a store.

    Neo4j itself takes minutes to fail on a full disk, and does not say why.
    """
    free = free_bytes(data_dir)
    if free < BYTES_NEEDED:
        raise ServerFailed(
            f"the disk of {data_dir} has {free // MEGABYTE} MB free where Neo4j needs "
            f"{BYTES_NEEDED // MEGABYTE} MB to start: free some space or choose another folder with "
            f"{VARIABLE}"
        )


def write_private(path: Path, text: str) -> None:
    """Write a file atomically, readable by its owner only from its first byte on."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def password(data_dir: Path) -> str:
    """Return the server's password; the first call generates it.

    It is written before the server gets it: the next start can then set it, even after a kill in between.
    """
    path = data_dir / "password"
    known = path.read_text("utf-8").strip() if path.exists() else ""
    if known:
        return known
    generated = secrets.token_urlsafe(32)
    write_private(path, generated + "\n")
    return generated


def read_record(data_dir: Path) -> Record | None:
    """Return the last record, even if its process has ended."""
    try:
        return msgspec.json.decode(_record_file(data_dir).read_bytes(), type=Record)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None


def write_record(data_dir: Path, record: Record) -> None:
    """Write the record for other processes."""
    write_private(_record_file(data_dir), msgspec.json.encode(record).decode())


class BackupNote(Struct, frozen=True):
    """The last whole backup of the folder's store, or the one that it was restored from since."""

    made_at: datetime
    place: str
    restored_at: datetime | None = None


def read_backup_note(data_dir: Path) -> BackupNote | None:
    """Return the note of the last backup; None if there was none."""
    try:
        return msgspec.json.decode((data_dir / BACKED_UP).read_bytes(), type=BackupNote)
    except (OSError, msgspec.DecodeError):
        return None


def note_backup(
    data_dir: Path, backup: Path, made_at: datetime, *, restored_at: datetime | None = None
) -> None:
    """Write the note of a whole backup, or of its restore, for `graphmem doctor`."""
    note = BackupNote(made_at, str(backup.absolute()), restored_at)
    write_private(data_dir / BACKED_UP, msgspec.json.encode(note).decode())


def remove_record(data_dir: Path) -> None:
    """Remove the record."""
    _record_file(data_dir).unlink(missing_ok=True)


def _record_file(data_dir: Path) -> Path:
    return data_dir / "server.json"


@contextmanager
def disk_faults(data_dir: Path) -> Iterator[None]:
    """Turn a fault of the disk inside the block into a `ServerFailed` that names the remedy."""
    with fetch.disk_faults(data_dir, ServerFailed, variable=VARIABLE):
        yield


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
