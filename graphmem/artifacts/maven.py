"""Fetched files: committed lists of Maven coordinates with their SHA-256, and one file from a repository.

A fetch is repeated after a passing fault, and what arrives is verified.
"""

import hashlib
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from graphmem.errors import FetchFailed

if TYPE_CHECKING:  # jgo and requests are slow to import, and a filled cache needs neither
    from jgo.maven import MavenContext

FOLDER = Path(__file__).parent


class Coordinates(Struct, frozen=True):
    """The place of a file in a Maven repository, and its SHA-256."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

    def __str__(self) -> str:
        named = [self.group, self.artifact, self.version, self.classifier]
        return ":".join(part for part in named if part)


def read_list(name: str) -> list[Coordinates]:
    """Return the coordinates of a list in its order, which matters on a class path."""
    return [_parsed(line) for line in _list_file(name).read_text("utf-8").splitlines()]


def list_hash(name: str) -> str:
    """Return the hash of a list's file."""
    return hashlib.sha256(_list_file(name).read_bytes()).hexdigest()


def _list_file(name: str) -> Path:
    return FOLDER / f"{name}.tsv"


def _parsed(line: str) -> Coordinates:
    coordinates, sha256 = line.split("\t")
    group, artifact, version, *classifier = coordinates.split(":")
    return Coordinates(group, artifact, version, "".join(classifier), sha256.strip())


# Seconds before each further attempt. Without any network a failure takes their sum.
PAUSES = (0.5, 1.0, 2.0)
# The time without any data after which an attempt counts as failed.
TIMEOUT_SECONDS = 30

# The library's own warnings stay off the user's terminal: important problems are raised.
logging.getLogger("jgo").addHandler(logging.NullHandler())
logging.getLogger("jgo").propagate = False


def context(folder: Path, repository: str | None) -> "MavenContext":
    """Return the source and target of files; `repository` replaces the central one."""
    from jgo.maven import MavenContext

    mirrors = {"mirror": repository.rstrip("/")} if repository else None
    return MavenContext(repo_cache=folder, remote_repos=mirrors, timeout=TIMEOUT_SECONDS)


class Artifact:
    """One file of a list, and its download."""

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
            if sha256_of(self.path) == self.coordinates.sha256:
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
            # The next attempt would take a truncated file for a whole one.
            self.path.unlink(missing_ok=True)
            if pause is None:
                raise _unfetched(self.coordinates, fault) from fault
            time.sleep(pause)

    def _attempt(self) -> Exception | None:
        import requests

        try:
            self.source.resolve()
        # jgo raises RuntimeError for any status but 200, ValueError for a malformed Retry-After.
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


def sha256_of(path: Path) -> str:
    """Return the hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
