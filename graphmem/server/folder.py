"""The data folder: its files, among them the server's password and record, and faults of its disk."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from graphmem.artifacts import cache
from graphmem.artifacts.cache import MEGABYTE
from graphmem.errors import ServerFailed

# Two transaction logs of 32 MB are laid out at the first start; the rest is room to work.
BYTES_NEEDED = 150 * MEGABYTE
VARIABLE = "GRAPHMEM_DATA_DIR"


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


def exists(data_dir: Path) -> bool:
    """Tell whether the data folder exists."""
    return data_dir.is_dir()


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
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def write_record(data_dir: Path, record: Record) -> None:
    """Write the record for other processes."""
    write_private(_record_file(data_dir), msgspec.json.encode(record).decode())


def remove_record(data_dir: Path) -> None:
    """Remove the record."""
    _record_file(data_dir).unlink(missing_ok=True)


def _record_file(data_dir: Path) -> Path:
    return data_dir / "server.json"


@contextmanager
def disk_faults(data_dir: Path) -> Iterator[None]:
    """Turn a fault of the disk inside the block into a `ServerFailed` that names the remedy."""
    with cache.disk_faults(data_dir, ServerFailed, variable=VARIABLE):
        yield
