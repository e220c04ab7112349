"""The data folder: what lies where, files that only their owner reads, and its disk's faults."""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphmem.errors import ServerFailed

MEGABYTE = 1_000_000
# Two transaction logs of 32 MB are laid out at the first start; the rest is room to work.
BYTES_NEEDED = 150 * MEGABYTE
FULL = {errno.ENOSPC, errno.EDQUOT}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
REMEDY = "or choose another folder with GRAPHMEM_DATA_DIR"


def home(data_dir: Path) -> Path:
    """Return the folder that Neo4j takes for its own."""
    return data_dir / "neo4j"


def logs(data_dir: Path) -> Path:
    """Return the folder of Neo4j's logs."""
    return home(data_dir) / "logs"


def exists(data_dir: Path) -> bool:
    """Say whether there is a data folder at all."""
    return data_dir.is_dir()


def create(data_dir: Path) -> None:
    """Make the folders that are not there yet, for their owner alone."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in (home(data_dir), home(data_dir) / "conf", logs(data_dir)):
        folder.mkdir(mode=0o700, exist_ok=True)


def require_space(data_dir: Path) -> None:
    """Raise `ServerFailed` where the disk has no room for a store to be opened.

    Neo4j itself takes minutes to fail on a full disk, and does not say why.
    """
    free = shutil.disk_usage(data_dir).free
    if free < BYTES_NEEDED:
        raise ServerFailed(
            f"the disk of {data_dir} has {free // MEGABYTE} MB free where Neo4j needs "
            f"{BYTES_NEEDED // MEGABYTE} MB to start: free some space {REMEDY}"
        )


def write_private(path: Path, text: str) -> None:
    """Write a file whole or not at all, readable by its owner alone from its first byte on."""
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


@contextmanager
def disk_faults(data_dir: Path) -> Iterator[None]:
    """Turn a fault of the disk inside the block into a `ServerFailed` that says what to do."""
    try:
        yield
    except OSError as fault:
        raise ServerFailed(_sentence(fault, data_dir)) from fault


def _sentence(fault: OSError, data_dir: Path) -> str:
    if fault.errno in FULL:
        return f"the disk of {data_dir} is full: free some space {REMEDY}"
    if fault.errno in FORBIDDEN:
        return f"{data_dir} cannot be written: allow it {REMEDY}"
    return f"{data_dir} cannot be used ({fault.strerror or fault}): mend it {REMEDY}"
