"""The position of an import in its file, kept in a small file until the import ends.

After a kill the import resumes there. The checkpoint only saves time: a message that is stored already would
change nothing.
"""

import hashlib
import logging
import os
from pathlib import Path

import msgspec
from msgspec import Struct

from graphmem.cli.lines import FilePosition
from graphmem.config import Settings
from graphmem.server.folder import write_private

log = logging.getLogger(__name__)


class Acknowledged(Struct, frozen=True):
    """The position up to which everything is stored, and the id of the last stored memory."""

    place: FilePosition
    memory_id: str


class Checkpoint:
    """The checkpoint file of one import."""

    def __init__(self, path: Path) -> None:
        """Begin with the file as it is."""
        self._path = path
        self._usable = True

    def read(self) -> Acknowledged | None:
        """Return the position of an interrupted import, None if there is none."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Acknowledged)
        except (OSError, msgspec.DecodeError):
            return None

    def write(self, acknowledged: Acknowledged) -> None:
        """Write the position; if that fails, the import goes on without a checkpoint."""
        if not self._usable:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(self._path, msgspec.json.encode(acknowledged).decode())
        except OSError as problem:
            self._usable = False
            log.warning(
                "an interrupted import would start over: %s cannot be written (%s)",
                self._path.parent,
                problem.strerror,
            )

    def remove(self) -> None:
        """Remove the file: the import has ended, or starts over."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as problem:
            log.warning("%s cannot be removed (%s)", self._path, problem.strerror)


def checkpoint(
    file: Path, client_id: str, conversation_id: str | None, settings: Settings
) -> Checkpoint:
    """Return the checkpoint of one file's import for one client into one database."""
    named = (
        os.fsencode(file.resolve()),
        client_id.encode(),
        (conversation_id or "").encode(),
        (settings.neo4j_uri or "").encode(),
        (settings.neo4j_database if settings.neo4j_uri else "").encode(),
    )
    key = hashlib.sha256(b"\0".join(named)).hexdigest()[:32]
    return Checkpoint(settings.data_dir / "imports" / f"{key}.json")
