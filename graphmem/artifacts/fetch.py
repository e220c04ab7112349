"""Fetching the files of a committed list into the cache: in parallel, verified, once."""

import errno
import fcntl
import logging
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from graphmem.artifacts.maven import Artifact, context, list_hash, read_list, sha256_of
from graphmem.errors import FetchFailed, SetupError
from graphmem.model.progress import Progress

MEGABYTE = 1_000_000
FULL = {errno.ENOSPC, errno.EDQUOT}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
POLL_SECONDS = 0.2

log = logging.getLogger(__name__)


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


THREADS = 8


class FileList(Struct, frozen=True):
    """The title of a list in messages, and the bytes of its files and their unpacked contents."""

    title: str
    bytes_needed: int


LISTINGS = {
    "neo4j": FileList("Neo4j", 400 * MEGABYTE),
    "embedding": FileList("the embedding model", 100 * MEGABYTE),
}


def fetch(
    list_name: str, cache_dir: Path, progress: Progress, *, repository: str | None = None
) -> list[Path]:
    """Return the files of a list in its order; missing ones are fetched into the cache.

    `repository` is the address of a mirror that replaces the central repository. An error raised by
    `progress` ends the fetch. Raises `FetchFailed`.
    """
    folder = cache_dir / "maven"
    stamp_file = folder / f"{list_name}.stamp"
    known = read_stamp(stamp_file, list_hash(list_name))
    if known is not None:
        return known
    with disk_faults(cache_dir):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(cache_dir / f"{list_name}.lock", lambda: progress(_waiting(list_name))):
            return _fetch_unless_remembered(list_name, stamp_file, progress, repository)


def damaged(list_name: str, cache_dir: Path) -> list[Path]:
    """Return the files of a fetched list whose contents have changed since they were verified."""
    files = read_stamp(cache_dir / "maven" / f"{list_name}.stamp", list_hash(list_name)) or []
    return [
        file
        for file, coordinates in zip(files, read_list(list_name), strict=False)
        if sha256_of(file) != coordinates.sha256
    ]


def fetch_damaged(
    list_name: str, cache_dir: Path, progress: Progress, *, repository: str | None = None
) -> list[Path]:
    """Fetch the files again whose contents have changed; return them. Raises `FetchFailed`."""
    found = damaged(list_name, cache_dir)
    if not found:
        return []
    names = ", ".join(map(str, found))
    log.warning("files of the cache are damaged and are fetched again: %s", names)
    with disk_faults(cache_dir):
        for file in found:
            file.unlink(missing_ok=True)
    try:
        fetch(list_name, cache_dir, progress, repository=repository)
    except FetchFailed as problem:
        raise FetchFailed(
            f"{names} was damaged and has to be fetched again: {problem}"
        ) from problem
    return found


def _waiting(list_name: str) -> str:
    return f"waiting for another process that is fetching {LISTINGS[list_name].title}"


def _fetch_unless_remembered(
    list_name: str, stamp_file: Path, progress: Progress, repository: str | None
) -> list[Path]:
    known = read_stamp(stamp_file, list_hash(list_name))
    if known is not None:
        return known
    where = context(stamp_file.parent, repository)
    artifacts = [Artifact(coordinates, where) for coordinates in read_list(list_name)]
    _require_room(list_name, artifacts, stamp_file.parent)
    files = _fetch_all(artifacts, f"fetching {LISTINGS[list_name].title}", progress)
    write_stamp(stamp_file, list_hash(list_name), files)
    return files


def _require_room(list_name: str, artifacts: list[Artifact], folder: Path) -> None:
    missing = sum(not artifact.path.exists() for artifact in artifacts)
    require_space(folder, LISTINGS[list_name].bytes_needed * missing // len(artifacts))


def _fetch_all(artifacts: list[Artifact], stage: str, progress: Progress) -> list[Path]:
    with ThreadPoolExecutor(THREADS, "fetch") as pool:
        futures = [pool.submit(artifact.fetch) for artifact in artifacts]
        try:
            _follow(futures, lambda done: progress(stage, done, len(futures)))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _follow(futures: list[Future[Path]], heard: Callable[[int], None]) -> None:
    heard(0)
    for done, future in enumerate(as_completed(futures), start=1):
        future.result()
        heard(done)
