"""Fetching the files of a committed list into the cache: in parallel, verified, once."""

import hashlib
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from graphmem.artifacts.coordinates import Coordinates, list_hash, read_list
from graphmem.artifacts.faults import MEGABYTE, disk_faults, require_space
from graphmem.artifacts.lock import locked
from graphmem.artifacts.stamp import remember, remembered
from graphmem.errors import FetchFailed
from graphmem.model.progress import Progress

if TYPE_CHECKING:
    from jgo.maven import MavenContext

THREADS = 8
# Seconds before each further attempt. With no network at all the answer takes their sum.
PAUSES = (0.5, 1.0, 2.0)
# How long a repository may say nothing before the attempt counts as failed.
TIMEOUT_SECONDS = 30


class Listing(Struct, frozen=True):
    """What a list is called when it is fetched, and the room it takes with what follows from it."""

    title: str
    bytes_needed: int


LISTINGS = {
    "neo4j": Listing("Neo4j", 400 * MEGABYTE),
    "embedding": Listing("the embedding model", 100 * MEGABYTE),
}


def fetch(
    list_name: str, cache_dir: Path, progress: Progress, *, repository: str | None = None
) -> list[Path]:
    """Return the files of a list, fetching what the cache does not have, in the list's order.

    `repository` is the address of a mirror to ask instead of the central repository. Whatever
    `progress` raises ends the fetching. Raises `FetchFailed`.
    """
    folder = cache_dir / "maven"
    stamp_file = folder / f"{list_name}.stamp"
    known = remembered(stamp_file, list_hash(list_name))
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
    known = remembered(stamp_file, list_hash(list_name))
    if known is not None:
        return known
    context = _context(stamp_file.parent, repository)
    artifacts = [Artifact(coordinates, context) for coordinates in read_list(list_name)]
    _require_room(list_name, artifacts, stamp_file.parent)
    files = _fetch_all(artifacts, f"fetching {LISTINGS[list_name].title}", progress)
    remember(stamp_file, list_hash(list_name), files)
    return files


def _context(folder: Path, repository: str | None) -> "MavenContext":
    # Imported here, since a start with a filled cache does not need it and it takes a while.
    from jgo.maven import MavenContext

    # Its warnings would otherwise reach the user's terminal by logging's last resort.
    logging.getLogger("jgo").addHandler(logging.NullHandler())
    logging.getLogger("jgo").propagate = False
    mirrors = {"mirror": repository.rstrip("/")} if repository else None
    return MavenContext(repo_cache=folder, remote_repos=mirrors, timeout=TIMEOUT_SECONDS)


class Artifact:
    """One file of a list, and how it is had."""

    def __init__(self, coordinates: Coordinates, context: "MavenContext") -> None:
        project = context.project(coordinates.group, coordinates.artifact)
        self.coordinates = coordinates
        component = project.at_version(coordinates.version)
        self.source = component.artifact(classifier=coordinates.classifier)
        # Not the source's `cached_path`, which is only known to be a path at run time.
        self.path = context.repo_cache / component.path_prefix / self.source.filename

    def fetch(self) -> Path:
        """Return the verified file; one with a wrong hash is removed and fetched once more."""
        for _ in range(2):
            self._download()
            if _sha256(self.path) == self.coordinates.sha256:
                return self.path
            self.path.unlink()
        raise FetchFailed(
            f"{self.coordinates} is not what was expected (its SHA-256 differs): try again, and if "
            "GRAPHMEM_MAVEN_REPOSITORY names a mirror, try without it"
        )

    def _download(self) -> None:
        for pause in (*PAUSES, None):
            fault = self._attempt()
            if fault is None:
                return
            # What was cut short would otherwise be taken for the whole next time.
            self.path.unlink(missing_ok=True)
            if pause is None:
                raise _unfetched(self.coordinates, fault) from fault
            time.sleep(pause)

    def _attempt(self) -> Exception | None:
        import requests

        try:
            self.source.resolve()
        # RuntimeError is what jgo makes of any answer but 200, ValueError of an odd Retry-After.
        except (requests.RequestException, RuntimeError, ValueError) as fault:
            return fault
        return None


def _unfetched(coordinates: Coordinates, fault: Exception) -> FetchFailed:
    if isinstance(fault, OSError):
        return FetchFailed(
            f"{coordinates} could not be fetched ({type(fault).__name__}): check the network and "
            "its proxy, or name a reachable Maven mirror in GRAPHMEM_MAVEN_REPOSITORY"
        )
    return FetchFailed(
        f"the Maven repository did not give {coordinates}: try again later, or name another one "
        "in GRAPHMEM_MAVEN_REPOSITORY"
    )


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


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
