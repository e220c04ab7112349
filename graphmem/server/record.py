"""The record of the running server: what another process needs to know to join it."""

from pathlib import Path

import msgspec
from msgspec import Struct

from graphmem.server.folder import write_private


class Record(Struct, frozen=True):
    """A server that was started: its process, when that started, its port, Neo4j's version."""

    pid: int
    started: float
    port: int
    version: str


def read(data_dir: Path) -> Record | None:
    """Return the last record, whether or not its process still lives."""
    try:
        return msgspec.json.decode(_file(data_dir).read_bytes(), type=Record)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def write(data_dir: Path, record: Record) -> None:
    """Leave the record for other processes."""
    write_private(_file(data_dir), msgspec.json.encode(record).decode())


def remove(data_dir: Path) -> None:
    """Take the record away."""
    _file(data_dir).unlink(missing_ok=True)


def _file(data_dir: Path) -> Path:
    return data_dir / "server.json"
