"""The committed lists of fetched files: a Maven coordinate and a SHA-256 in each line."""

import hashlib
from pathlib import Path

from msgspec import Struct

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
