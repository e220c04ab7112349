"""How far an import has come, kept in a small file until it has ended: after a kill it goes on there.

What a line means does not depend on it: a message that is there already changes nothing. It only saves
asking for each.
"""

import hashlib
import logging
import os
from pathlib import Path

import msgspec
from msgspec import Struct

from graphmem.cli.lines import Place
from graphmem.config import Settings
from graphmem.server.folder import write_private

log = logging.getLogger(__name__)


class Acknowledged(Struct, frozen=True):
    """The place up to which everything is stored, and the last memory that was."""

    place: Place
    memory_id: str


class Checkpoint:
    """The file that keeps how far one import has come."""

    def __init__(self, path: Path) -> None:
        """Begin with whatever there is."""
        self._path = path
        self._usable = True

    def read(self) -> Acknowledged | None:
        """Return how far it came before."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Acknowledged)
        except (OSError, msgspec.DecodeError):
            return None

    def write(self, acknowledged: Acknowledged) -> None:
        """Keep how far it is; where that cannot be, the import goes on without."""
        if not self._usable:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(self._path, msgspec.json.encode(acknowledged).decode())
        except OSError as problem:
            self._usable = False
            log.warning(
                "an interrupted import would begin anew: %s cannot be written (%s)",
                self._path.parent,
                problem.strerror,
            )

    def remove(self) -> None:
        """Take the file away: the import has ended, or begins anew."""
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
