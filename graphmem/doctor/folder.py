"""The data folder of the private server: its record, its locks, its password file."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from graphmem.doctor.findings import Finding, note, ok, problem, warning
from graphmem.server import private
from graphmem.server.folder import home, read_record
from graphmem.server.process import free_port, servers

OTHERS = 0o077
STOP = "`graphmem stop` ends it"


class Use(Struct, frozen=True):
    """Whether a process changes the server, and whether one uses it."""

    changing: bool
    used: bool


def folder(data_dir: Path) -> list[Finding]:
    """Check the parts of the data folder that a start depends on."""
    data_dir = data_dir.resolve()
    if not data_dir.is_dir():
        return [note("data folder", f"{data_dir} does not exist yet; the first start makes it")]
    return [
        *_server(data_dir),
        *_strangers(data_dir),
        *_store_lock(data_dir),
        *_modes(data_dir),
    ]


def password_file(data_dir: Path) -> Path:
    """Return the file of the private server's password."""
    return data_dir.resolve() / "password"


def use(data_dir: Path) -> Use:
    """Tell which of the folder's locks are held; the locks are tried in the order of their users."""
    with _held(data_dir / "change.lock") as ours:
        if not ours:
            return Use(changing=True, used=True)
        with _held(data_dir / "lock") as alone:
            return Use(changing=False, used=not alone)


def _server(data_dir: Path) -> Iterator[Finding]:
    recorded, running, held = read_record(data_dir), private.status(data_dir), use(data_dir)
    if held.changing:
        yield note(
            "locks",
            f"a process is starting or stopping the server of {data_dir} just now",
            "wait, and end that process if it goes on for minutes",
        )
    if running is not None:
        yield ok("private server", f"Neo4j {running.version} runs as process {running.pid}")
        if not held.used:
            yield note(
                "private server",
                "it runs although no process uses it, as after a kill",
                f"the next command joins it; {STOP}",
            )
        return
    if recorded is not None:
        yield note(
            "record",
            f"server.json names process {recorded.pid}, which is not this folder's server any more",
            "nothing: the next start rewrites it",
        )
        if free_port(recorded.port) != recorded.port:
            yield note(
                "port",
                f"another program has taken port {recorded.port}, where the server was",
                "nothing: the next start takes another port; mend what has the old one in writing",
            )
    elif (data_dir / "server.json").exists():
        yield note("record", "server.json cannot be read", "nothing: the next start rewrites it")
    if held.used and not held.changing:
        yield warning(
            "locks",
            f"a process uses {data_dir} although no server of it runs",
            "wait a second, since that process starts the server again; otherwise end that process",
        )


def _strangers(data_dir: Path) -> Iterator[Finding]:
    running = private.status(data_dir)
    for process in servers(data_dir):
        if running is None or process.pid != running.pid:
            yield warning(
                "private server",
                f"process {process.pid} is a Neo4j of this folder that no record names",
                STOP,
            )


def _store_lock(data_dir: Path) -> Iterator[Finding]:
    """Check whether a foreign Neo4j holds the store."""
    if servers(data_dir):
        return
    try:
        with (home(data_dir) / "data" / "databases" / "store_lock").open("rb") as file:
            # Shared and short: Neo4j's own lock is exclusive.
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.lockf(file, fcntl.LOCK_UN)
    except BlockingIOError:
        yield problem(
            "store",
            f"another process holds the store in {data_dir}",
            "end it, or choose another folder with GRAPHMEM_DATA_DIR",
        )
    except OSError:
        return


def _modes(data_dir: Path) -> Iterator[Finding]:
    password = password_file(data_dir)
    if not password.exists():
        if (home(data_dir) / "data" / "databases" / "neo4j").exists():
            yield problem(
                "password",
                f"{password} is missing, and the store was made with the one it held",
                "put it back, or choose another folder with GRAPHMEM_DATA_DIR",
            )
        return
    found = [path for path in (data_dir, password) if _open_to_others(path)]
    for path in found:
        yield warning(
            "permissions",
            f"{path} can be read or changed by other users than its owner",
            f"chmod {'700' if path.is_dir() else '600'} {path}",
        )
    if password.stat().st_uid != os.geteuid():
        yield warning(
            "permissions",
            f"{password} belongs to another user",
            "run graphmem as that user, or choose another folder with GRAPHMEM_DATA_DIR",
        )
    elif not found:
        yield ok("permissions", f"{password} is its owner's alone")


def _open_to_others(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & OTHERS)


@contextmanager
def _held(path: Path) -> Iterator[bool]:
    """Hold a lock exclusively if it is free, for the length of the block; no file is created."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        yield True
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
