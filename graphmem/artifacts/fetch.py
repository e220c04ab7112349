"""Fetching the files of a committed list into the cache: in parallel, verified, once."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from graphmem.artifacts.cache import (
    MEGABYTE,
    disk_faults,
    locked,
    read_stamp,
    require_space,
    write_stamp,
)
from graphmem.artifacts.coordinates import list_hash, read_list
from graphmem.model.progress import Progress

if TYPE_CHECKING:
    from graphmem.artifacts.maven import Artifact

THREADS = 8


class Listing(Struct, frozen=True):
    """The title of a list in messages, and the bytes of its files and their unpacked contents."""

    title: str
    bytes_needed: int


LISTINGS = {
    "neo4j": Listing("Neo4j", 400 * MEGABYTE),
    "embedding": Listing("the embedding model", 100 * MEGABYTE),
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


def _waiting(list_name: str) -> str:
    return f"waiting for another process that is fetching {LISTINGS[list_name].title}"


def _fetch_unless_remembered(
    list_name: str, stamp_file: Path, progress: Progress, repository: str | None
) -> list[Path]:
    known = read_stamp(stamp_file, list_hash(list_name))
    if known is not None:
        return known
    # Imported here: the import is slow, and a start with a filled cache does not need it.
    from graphmem.artifacts.maven import Artifact, context

    where = context(stamp_file.parent, repository)
    artifacts = [Artifact(coordinates, where) for coordinates in read_list(list_name)]
    _require_room(list_name, artifacts, stamp_file.parent)
    files = _fetch_all(artifacts, f"fetching {LISTINGS[list_name].title}", progress)
    write_stamp(stamp_file, list_hash(list_name), files)
    return files


def _require_room(list_name: str, artifacts: "list[Artifact]", folder: Path) -> None:
    missing = sum(not artifact.path.exists() for artifact in artifacts)
    require_space(folder, LISTINGS[list_name].bytes_needed * missing // len(artifacts))


def _fetch_all(artifacts: "list[Artifact]", stage: str, progress: Progress) -> list[Path]:
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
