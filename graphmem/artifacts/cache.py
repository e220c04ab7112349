"""The cache folder: a lock between processes, stamps of verified files, and faults of a disk."""

import errno
import fcntl
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from graphmem.errors import FetchFailed, SetupError

MEGABYTE = 1_000_000
FULL = {errno.ENOSPC, errno.EDQUOT}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
POLL_SECONDS = 0.2


@contextmanager
def locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a lock between processes for the block; `waiting` is called while another process holds it.

    The kernel releases the lock when its process ends, however it ends. An error raised by `waiting` ends
    the wait.
    """
    with path.open("ab") as file:
        while not try_lock(file.fileno()):
            waiting()
            time.sleep(POLL_SECONDS)
        yield


def try_lock(descriptor: int) -> bool:
    """Take an exclusive lock on an open file; return whether that was possible."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Stamp(Struct, frozen=True):
    """Proof that every file of one version of a list was verified; the next start compares sizes only."""

    list_hash: str
    sizes: dict[str, int]


def read_stamp(stamp_file: Path, list_hash: str) -> list[Path] | None:
    """Return the files if this version of the list was verified and none is missing or truncated."""
    try:
        stamp = msgspec.json.decode(stamp_file.read_bytes(), type=Stamp)
        whole = stamp.list_hash == list_hash and all(
            (stamp_file.parent / name).stat().st_size == size for name, size in stamp.sizes.items()
        )
    except (OSError, msgspec.DecodeError):
        return None
    return [stamp_file.parent / name for name in stamp.sizes] if whole else None


def write_stamp(stamp_file: Path, list_hash: str, files: list[Path]) -> None:
    """Write the stamp of verified files."""
    sizes = {str(file.relative_to(stamp_file.parent)): file.stat().st_size for file in files}
    unfinished = stamp_file.with_suffix(".unfinished")
    unfinished.write_bytes(msgspec.json.encode(Stamp(list_hash, sizes)))
    unfinished.replace(stamp_file)


@contextmanager
def disk_faults(
    folder: Path, error: type[SetupError] = FetchFailed, *, variable: str = "GRAPHMEM_CACHE_DIR"
) -> Iterator[None]:
    """Turn a fault of the disk inside the block into `error`; `variable` names the folder's setting."""
    try:
        yield
    except OSError as fault:
        raise error(
            f"{_sentence(fault, folder)} or choose another folder with {variable}"
        ) from fault


def require_space(folder: Path, needed: int) -> None:
    """Raise `FetchFailed` if the folder's disk has less than `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise FetchFailed(
            f"{folder} has {free // MEGABYTE} MB free where {needed // MEGABYTE} MB are needed: "
            "free some space or choose another folder with GRAPHMEM_CACHE_DIR"
        )


def _sentence(fault: OSError, folder: Path) -> str:
    if fault.errno in FULL:
        return f"the disk of {folder} is full: free some space"
    if fault.errno in FORBIDDEN:
        return f"{folder} cannot be written: allow it"
    return f"{folder} cannot be used ({fault.strerror or fault}): mend it"
