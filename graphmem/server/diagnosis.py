"""The reason why Neo4j did not start, from its logs, with a remedy."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from graphmem.errors import DataFolderInUse, ServerFailed, SetupError
from graphmem.server.folder import logs
from graphmem.server.process import CONSOLE, NEO4J_LOG

TAIL_LINES = 20
# Java's warnings and stack traces do not help to start Neo4j.
NOISE = ("WARNING: ", "at ", "... ")


class PortTaken(Exception):
    """Another program took the port after it was found free."""


class Cause(Struct, frozen=True):
    """The signs of a cause in a log, and the error that reports it."""

    signs: tuple[str, ...]
    error: type[SetupError]
    sentence: str


CAUSES = (
    Cause(
        ("Lock file has been locked by another process", "StoreLockException", "FileLockException"),
        DataFolderInUse,
        "another process holds the store in {data_dir}: end it, or choose another folder with "
        "GRAPHMEM_DATA_DIR",
    ),
    Cause(
        ("UnsupportedClassVersionError",),
        ServerFailed,
        "this Java is too old for Neo4j: let JAVA_HOME name Java 25 (or 21 and newer)",
    ),
    Cause(
        ("No space left on device", "Disk quota exceeded"),
        ServerFailed,
        "the disk of {data_dir} is full: free some space or choose another folder with "
        "GRAPHMEM_DATA_DIR",
    ),
    Cause(
        ("Read-only file system", "AccessDeniedException"),
        ServerFailed,
        "Neo4j cannot write in {data_dir}: allow it or choose another folder with "
        "GRAPHMEM_DATA_DIR",
    ),
    Cause(
        (
            "Unknown store version",
            "UpgradeNotAllowed",
            "UnableToMigrateException",
            "UnsupportedLogVersionException",
            "No matching KernelVersion",
        ),
        ServerFailed,
        "the store in {data_dir} was written by another version of Neo4j than this one can read: "
        "use the graphmem that wrote it and export, or choose another folder with "
        "GRAPHMEM_DATA_DIR",
    ),
    Cause(
        (
            "Could not reserve enough space",
            "There is insufficient memory",
            "Cannot allocate memory",
        ),
        ServerFailed,
        "there is not enough memory for Neo4j: free some or lower GRAPHMEM_NEO4J_HEAP and "
        "GRAPHMEM_NEO4J_PAGE_CACHE",
    ),
)
UNKNOWN = Cause(
    (),
    ServerFailed,
    "Neo4j {happened}: its last lines are below, the rest is in {logs}",
)
PORT_SIGNS = ("Address already in use", "PortBindException", "java.net.BindException")


def failure(happened: str, data_dir: Path, reason: str = "") -> SetupError | PortTaken:
    """Return the error for a server that did not start, from its logs or from a given reason."""
    told = [*_lines_of(logs(data_dir) / CONSOLE), *_lines_of(logs(data_dir) / NEO4J_LOG)]
    said = "\n".join([reason, *told])
    if any(sign in said for sign in PORT_SIGNS):
        return PortTaken()
    cause = next((known for known in CAUSES if any(sign in said for sign in known.signs)), UNKNOWN)
    sentence = cause.sentence.format(data_dir=data_dir, logs=logs(data_dir), happened=happened)
    return cause.error("\n".join([sentence, *filter(None, [reason]), *told[-TAIL_LINES:]]))


def _lines_of(log: Path) -> Sequence[str]:
    try:
        lines = log.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [line for line in lines if not line.lstrip().startswith(NOISE)]
