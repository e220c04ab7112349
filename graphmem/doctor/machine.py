"""The machine: Java, room on its disks, memory; and the data folder of the private server."""

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import psutil
from msgspec import Struct

from graphmem.artifacts.fetch import LISTINGS, MEGABYTE, damaged, read_stamp
from graphmem.artifacts.maven import list_hash
from graphmem.config import Settings, machine_memory, size
from graphmem.doctor.findings import Finding, note, ok, problem, refused, warning
from graphmem.errors import JavaNotFound
from graphmem.model.times import present
from graphmem.server import private
from graphmem.server.command import VECTOR_MODULE, find_java
from graphmem.server.folder import (
    BYTES_NEEDED,
    BackupNote,
    home,
    incoming,
    lacks_restored,
    read_backup_note,
    read_record,
)
from graphmem.server.process import free_port, servers

COMFORTABLE_BYTES = 2_000 * MEGABYTE
"""Below this free space a growing store gets a warning."""

OTHER_BYTES = 700 * MEGABYTE
"""The memory of the service with its model, and of Java outside its heap."""


def java(environ: Mapping[str, str] | None = None) -> list[Finding]:
    """Check for a Java that can run the private Neo4j."""
    environ = os.environ if environ is None else environ
    try:
        found = find_java(environ)
    except JavaNotFound as missing:
        return [refused("java", missing)]
    chosen = environ.get("JAVA_HOME")
    vector = "" if found.has_vector_module else f", without {VECTOR_MODULE}: searches are slower"
    findings = [ok("java", f"Java {found.version} ({found.path}){vector}")]
    if chosen and (Path(chosen) / "bin" / "java").resolve() != found.path:
        findings.append(
            warning(
                "java",
                f"JAVA_HOME names {chosen}, which has no Java that can run Neo4j",
                f"let it name a Java 25; meanwhile {found.path} is used",
            )
        )
    return findings


def data_disk(settings: Settings) -> list[Finding]:
    """Check the disk of the private server's store."""
    return [_disk("disk of the data", settings.data_dir, BYTES_NEEDED, "GRAPHMEM_DATA_DIR")]


def cache(settings: Settings, *, private: bool) -> list[Finding]:
    """Check the disk of the cache, and whether files are still to be fetched."""
    folder = settings.cache_dir
    wanted = [
        name
        for name, needed in (("neo4j", private), ("embedding", settings.embedding_model is None))
        if needed and read_stamp(folder / "maven" / f"{name}.stamp", list_hash(name)) is None
    ]
    # In a container the model is present without its jar.
    if "embedding" in wanted and (folder / "models").is_dir():
        wanted.remove("embedding")
    needed = sum(LISTINGS[name].bytes_needed for name in wanted)
    findings = [_disk("disk of the cache", folder, needed, "GRAPHMEM_CACHE_DIR", comfortable=0)]
    if private:
        findings += _damaged(folder)
    if wanted:
        titles = " and ".join(LISTINGS[name].title for name in wanted)
        findings.append(
            note("cache", f"{titles} will be fetched at the next start, which takes a network")
        )
    return findings


def _damaged(cache_dir: Path) -> Iterator[Finding]:
    for file in damaged("neo4j", cache_dir):
        yield problem(
            "cache",
            f"{file} is not the file that was fetched: Neo4j may not start, or fail while it runs",
            "remove it: the next start fetches it again",
        )


def memory(settings: Settings, *, runs: bool) -> list[Finding]:
    """Check whether the private server fits into the machine's memory."""
    needed = size(settings.neo4j_heap) + size(settings.neo4j_page_cache) + OTHER_BYTES
    total, available = machine_memory(), psutil.virtual_memory().available
    said = f"{_gigabytes(total)}, of which Neo4j and the service take {_gigabytes(needed)}"
    remedy = "lower GRAPHMEM_NEO4J_HEAP and GRAPHMEM_NEO4J_PAGE_CACHE, or use a larger machine"
    if needed > total:
        return [problem("memory", f"the machine has {said}", remedy)]
    if not runs and needed > available:
        free = _gigabytes(available)
        return [
            warning("memory", f"only {free} of memory are free; {said}", f"free some, or {remedy}")
        ]
    return [ok("memory", f"the machine has {said}")]


def _disk(
    subject: str, folder: Path, needed: int, variable: str, comfortable: int = COMFORTABLE_BYTES
) -> Finding:
    there = _existing(folder)
    remedy = f"free some space or choose another folder with {variable}"
    if not os.access(there, os.W_OK | os.X_OK):
        return problem(subject, f"{there} cannot be written", f"allow it, or {remedy}")
    free = shutil.disk_usage(there).free
    if free < needed:
        return problem(
            subject,
            f"{folder} has {free // MEGABYTE} MB free where {needed // MEGABYTE} MB are needed",
            remedy,
        )
    if free < comfortable:
        return warning(subject, f"{folder} has only {free // MEGABYTE:,} MB free", remedy)
    return ok(subject, f"{folder} has {_gigabytes(free)} free")


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _gigabytes(number: int) -> str:
    return f"{number / 1e9:,.1f} GB"


OTHERS = 0o077
OLD_BACKUP = timedelta(days=7)
STOP = "`graphmem stop` ends it"


class Use(Struct, frozen=True):
    """Whether a process changes the server, and whether one uses it."""

    changing: bool
    used: bool


def folder(data_dir: Path) -> list[Finding]:
    """Check the parts of the data folder that a start depends on."""
    data_dir = data_dir.resolve()
    if left := [] if data_dir.is_dir() else servers(data_dir):
        pids = ", ".join(str(process.pid) for process in left)
        said = f"{data_dir} is gone, and its Neo4j still runs (process {pids})"
        return [
            problem("data folder", said, "end graphmem and that process, then `graphmem restore`")
        ]
    if not data_dir.is_dir():
        return [note("data folder", f"{data_dir} does not exist yet; the first start makes it")]
    return [
        *_server(data_dir),
        *_strangers(data_dir),
        *_store_lock(data_dir),
        *_interrupted(data_dir),
        *_modes(data_dir),
        *_backup(data_dir, present()),
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


def _interrupted(data_dir: Path) -> Iterator[Finding]:
    """Check whether a restore has ended before the store was in its place."""
    if lacks_restored(data_dir) and not use(data_dir).changing:
        yield problem(
            "store",
            f"there is none in {data_dir}, since a restore was interrupted",
            f"repeat `graphmem restore`, or delete {incoming(data_dir)} to begin with an empty store",
        )


def _backup(data_dir: Path, now: datetime) -> Iterator[Finding]:
    """Check the age of the last backup of a store, or of its restore from one."""
    if not (home(data_dir) / "data" / "databases" / "neo4j").exists():
        return
    last, remedy = read_backup_note(data_dir), "`graphmem backup DIR`, every night"
    if last is None:
        yield note("backup", f"{data_dir} was never backed up by graphmem", remedy)
    elif last.restored_at is not None:
        yield _restore(last, last.restored_at, now, remedy)
    elif now - last.made_at > OLD_BACKUP:
        days = (now - last.made_at).days
        yield warning("backup", f"the last backup, in {last.place}, is {days} days old", remedy)
    else:
        yield ok("backup", f"the last one is of {last.made_at:%Y-%m-%d %H:%M} UTC, in {last.place}")


def _restore(last: BackupNote, restored_at: datetime, now: datetime, remedy: str) -> Finding:
    what = (
        f"the store was restored on {restored_at:%Y-%m-%d} from the backup of "
        f"{last.made_at:%Y-%m-%d %H:%M} UTC, in {last.place}, and was not backed up since"
    )
    return (
        warning("backup", what, remedy)
        if now - restored_at > OLD_BACKUP
        else note("backup", what, remedy)
    )


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
