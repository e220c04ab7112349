"""A copy of the private Neo4j's store, taken while the server runs, and brought back while none does.

Neo4j Community cannot copy a database that is in use. So its files are copied while it works, then the server
is suspended, and those that have changed meanwhile are copied again: it writes nothing then, and the copy is
what a `kill -9` at that moment would leave, from which Neo4j recovers every commit. Callers only wait.
"""

import asyncio
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec
import psutil
from msgspec import Struct

from graphmem.errors import DataFolderInUse, InvalidInput, ServerFailed
from graphmem.model.progress import Progress, silent
from graphmem.server import folder
from graphmem.server.folder import (
    UseLock,
    changing,
    home,
    read_record,
    remove_record,
    write_private,
)
from graphmem.server.private import end_servers
from graphmem.server.process import living, servers

MANIFEST = "backup.json"
"""The file that makes a folder a backup; it is written last."""

UNFINISHED = "unfinished-backup.json"
"""The name of that file until the backup is whole: only a folder that has it is begun anew."""

STORE, PASSWORD = "store", "password"  # the names of a folder and of a file
PATIENCE = 60.0
"""How long another process may be starting or stopping the server."""

STOP_SECONDS = 10.0
"""How long all threads of a server may take to stop."""

CLOCK_NANOSECONDS = 2_000_000_000
"""Two changes of a file within this time may have the same time: some file systems count in two seconds."""

CONTINUE = "import os, signal, sys; sys.stdin.read(); os.kill(int(sys.argv[1]), signal.SIGCONT)"
"""The program that continues a suspended server when the process that suspended it ends, however it ends."""


class BackupFile(Struct, frozen=True):
    """A file of a backup: its path in it, its size, its SHA-256."""

    path: str
    size: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """The contents of a backup: files of a store, or the exports of clients."""

    graphmem_backup: int = 1
    kind: Literal["store", "exports"]
    made_at: datetime
    neo4j: str = ""
    files: list[BackupFile]


class StoreCopied(Struct, frozen=True):
    """A copy of the store: its files, and how long writes waited."""

    files: list[BackupFile]
    paused_seconds: float


class FileState(Struct, frozen=True):
    """What tells whether a file has been changed since."""

    size: int
    changed_at: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> "FileState":
        """Return the state of a file."""
        found = path.stat()
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)

    def is_settled(self, now: int) -> bool:
        """Tell whether a later change would show: it has another time then, as coarse as its clock may be."""
        return self.changed_at < now - CLOCK_NANOSECONDS


class BackupDamaged(InvalidInput):
    """A folder is no whole backup."""

    def __init__(self, path: Path, problem: str) -> None:
        """Name the folder and the problem."""
        super().__init__(str(path), problem)


def read_manifest(backup: Path) -> Manifest:
    """Return the contents of a backup. Raises `BackupDamaged`."""
    try:
        return msgspec.json.decode((backup / MANIFEST).read_bytes(), type=Manifest)
    except OSError as problem:
        raise BackupDamaged(backup, f"is no backup: it has no {MANIFEST}") from problem
    except msgspec.DecodeError as problem:
        raise BackupDamaged(backup, f"{MANIFEST} cannot be read") from problem


def check_apart(backup: Path, data_dir: Path) -> None:
    """Raise `InvalidInput` for a folder in that of the store: its copy would be copied, too."""
    data_dir, store = _places(data_dir)
    for one in (home(data_dir), store):
        if backup.resolve().is_relative_to(one.resolve()):
            raise InvalidInput(
                str(backup),
                f"is in {one}, which would be copied into itself: name a folder outside of it",
            )


def begin_backup(backup: Path) -> None:
    """Make the folder, without the remains of a backup that did not end.

    Raises `InvalidInput` for a folder with anything else.
    """
    backup.mkdir(mode=0o700, parents=True, exist_ok=True)
    there = list(backup.iterdir())
    unfinished = backup / UNFINISHED
    if there and not (unfinished in there and all(map(_is_of_a_backup, there))):
        raise InvalidInput(str(backup), "is not empty: name a new folder for each backup")
    unfinished.touch(mode=0o600)
    for path in there:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path != unfinished:
            path.unlink()
    (backup / STORE).mkdir(mode=0o700)


def _is_of_a_backup(path: Path) -> bool:
    """Tell whether an unfinished backup may have made this; `write_private` has names of its own."""
    return any(map(path.match, (STORE, PASSWORD, UNFINISHED, f".{PASSWORD}.*", f".{UNFINISHED}.*")))


def end_backup(backup: Path, manifest: Manifest) -> None:
    """Write the contents of a backup, which is whole from now on."""
    write_private(backup / UNFINISHED, msgspec.json.encode(manifest).decode() + "\n")
    (backup / UNFINISHED).replace(backup / MANIFEST)


def described(path: Path, inside: Path, *, sync: bool = True) -> BackupFile:
    """Return the size and the hash of a file; with `sync` it is on the disk then."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        if sync:
            os.fsync(file.fileno())
        return BackupFile(path.relative_to(inside).as_posix(), file.tell(), digest.hexdigest())


async def copy_store(data_dir: Path, backup: Path, *, progress: Progress = silent) -> StoreCopied:
    """Copy the store and its password into a backup; the server, if one runs, is suspended meanwhile.

    Raises `ServerFailed` if there is no store, `DataFolderInUse`.
    """
    data_dir, store = _places(data_dir)
    if not (store / "databases").is_dir():
        raise ServerFailed(f"there is no store in {data_dir}: nothing can be backed up")
    async with changing(data_dir, PATIENCE):
        progress("copying the store")
        process = living(read_record(data_dir), data_dir) or next(iter(servers(data_dir)), None)
        copied = await asyncio.to_thread(_copy_tree, store, backup / STORE, {})
        began = time.perf_counter()
        with suspended(process) if process else contextlib.nullcontext():
            await asyncio.to_thread(_copy_tree, store, backup / STORE, copied)
        paused = time.perf_counter() - began if process else 0.0
    write_private(backup / PASSWORD, folder.password(data_dir) + "\n")
    files = await asyncio.to_thread(_described_tree, backup)
    progress("copying the store", 1, 1)
    return StoreCopied(files, round(paused, 3))


@contextmanager
def suspended(process: psutil.Process) -> Iterator[None]:
    """Suspend a process for the length of the block; it goes on also if this process is killed."""
    # Not a thread: it has to outlive us.
    guard = subprocess.Popen(  # noqa: S603  # the command is ours
        [sys.executable, "-I", "-S", "-c", CONTINUE, str(process.pid)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        process.suspend()
        _wait_until_stopped(process)
        yield
    finally:
        process.resume()
        guard.communicate()


def _wait_until_stopped(process: psutil.Process) -> None:
    """Wait until every thread has stopped: each ends its call of the system first."""
    deadline = time.monotonic() + STOP_SECONDS
    while not _is_stopped(process):
        if time.monotonic() > deadline:
            raise ServerFailed(
                f"Neo4j could not be suspended within {STOP_SECONDS:.0f} s: its disk does not answer"
            )
        time.sleep(0.005)


def _is_stopped(process: psutil.Process) -> bool:
    tasks = Path(f"/proc/{process.pid}/task")
    if not tasks.is_dir():
        return bool(process.status() == psutil.STATUS_STOPPED)
    states = set()
    for task in tasks.iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            # The name in parentheses may hold anything.
            states.add((task / "stat").read_text().rpartition(")")[2].split()[0])
    return states <= {"T", "t", "X", "Z"}


def check_backup(manifest: Manifest, backup: Path, progress: Progress) -> None:
    """Read the files of a backup.

    Raises `BackupDamaged` for one that is outside of it, missing, or not as it was.
    """
    for one in manifest.files:
        source = backup / one.path
        if not source.resolve().is_relative_to(backup.resolve()):
            raise BackupDamaged(backup, f"{MANIFEST} names {one.path!r}, which is outside of it")
        if not source.is_file():
            raise BackupDamaged(backup, f"the file {one.path} is missing")
    for one in _shown("checking the backup", manifest, progress):
        # Not written to the disk: it may be read-only.
        _require_same(one, described(backup / one.path, backup, sync=False), backup)


async def restore_store(
    data_dir: Path, backup: Path, *, replace: bool, now: datetime, progress: Progress = silent
) -> Path | None:
    """Bring a store back, checked against the contents of its backup; return where the former one is now.

    Raises `BackupDamaged`, `InvalidInput` if there is a store that is not to be replaced, `DataFolderInUse`.
    """
    manifest = read_manifest(backup)
    data_dir, store = _places(data_dir)
    folder.create(data_dir)
    incoming = folder.incoming(data_dir)
    async with _alone(data_dir):
        if store.exists() and not replace:
            raise InvalidInput(
                str(data_dir),
                "has a store already: --replace puts it aside, or name another folder with --data-dir",
            )
        await asyncio.to_thread(check_backup, manifest, backup, progress)
        # Not the folder itself: without a store it keeps the next start from making an empty one.
        shutil.rmtree(incoming / STORE, ignore_errors=True)
        await asyncio.to_thread(_copy, manifest, backup, incoming, progress)
        aside = _put_aside(data_dir, store, now) if store.exists() else None
        write_private(data_dir / PASSWORD, (backup / PASSWORD).read_text("utf-8"))
        remove_record(data_dir)
        (incoming / STORE).rename(store)
        folder.note_backup(data_dir, backup, manifest.made_at, restored_at=now)
        shutil.rmtree(incoming)
    return aside


def _places(data_dir: Path) -> tuple[Path, Path]:
    """Return the data folder under its one name, and the store in it."""
    data_dir = data_dir.resolve()
    return data_dir, home(data_dir) / "data"


@asynccontextmanager
async def _alone(data_dir: Path) -> AsyncIterator[None]:
    """Hold the data folder, in which no server runs then. Raises `DataFolderInUse`."""
    use = UseLock(data_dir)
    try:
        async with changing(data_dir, PATIENCE):
            if not use.take_all():
                raise DataFolderInUse(
                    f"another process uses the server of {data_dir}: end that process, then restore"
                )
            await end_servers(data_dir)
            yield
    finally:
        use.release()


def _put_aside(data_dir: Path, store: Path, now: datetime) -> Path:
    """Move a store and its password out of the way; return the folder."""
    aside = data_dir / f"replaced-{now:%Y%m%dT%H%M%S}"
    aside.mkdir(mode=0o700)
    if (data_dir / PASSWORD).exists():
        shutil.copy2(data_dir / PASSWORD, aside / PASSWORD)
    store.rename(aside / STORE)
    return aside


def _copy(manifest: Manifest, backup: Path, into: Path, progress: Progress) -> None:
    """Copy the files of a backup. Raises `BackupDamaged` for one that has changed meanwhile."""
    for one in _shown("copying the store", manifest, progress):
        target = into / one.path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copyfile(backup / one.path, target)
        _require_same(one, described(target, into), backup)


def _shown(stage: str, manifest: Manifest, progress: Progress) -> Iterator[BackupFile]:
    """Yield the files of a backup, and show the share of their bytes that is done."""
    total, done = sum(one.size for one in manifest.files), 0
    progress(stage)
    for one in manifest.files:
        yield one
        done += one.size
        if done < total:
            progress(stage, done, total)
    progress(stage, 1, 1)


def _require_same(one: BackupFile, found: BackupFile, backup: Path) -> None:
    if found != one:
        raise BackupDamaged(backup, f"the file {one.path} is not as it was: its SHA-256 is another")


def _copy_tree(store: Path, into: Path, copied: Mapping[Path, FileState]) -> dict[Path, FileState]:
    """Copy the files that were not copied or may have changed since; return the states of those that stay so.

    While the server works a file may vanish; the next copy does not have it then.
    """
    states: dict[Path, FileState] = {}
    there = set(_files(store, into))
    for relative in sorted(there):
        path, now = store / relative, time.time_ns()
        with contextlib.suppress(FileNotFoundError):
            state = FileState.of(path)
            if copied.get(relative) != state:
                shutil.copyfile(path, into / relative)
            if state.is_settled(now):
                states[relative] = state
    for relative in set(_files(into, into)) - there:
        (into / relative).unlink()
    return states


def _files(folder: Path, into: Path) -> Iterator[Path]:
    """Yield the paths of the files in a folder, but not of its lock; make their folders in another one."""
    for place, folders, files in os.walk(folder):
        inside = Path(place).relative_to(folder)
        for name in folders:
            (into / inside / name).mkdir(mode=0o700, exist_ok=True)
        yield from (inside / name for name in files if name != "store_lock")


def _described_tree(backup: Path) -> list[BackupFile]:
    paths = [backup / PASSWORD, *sorted((backup / STORE).rglob("*"))]
    return [described(path, backup) for path in paths if path.is_file()]
