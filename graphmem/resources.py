"""The location of graphmem's data files: beside the package in a checkout, inside it when installed."""

from pathlib import Path
from typing import Any

import msgspec

_PACKAGE = Path(__file__).parent
_INSTALLED = _PACKAGE / "_data"


def folder(name: str) -> Path:
    """Return the folder `cypher` or `seed`."""
    installed = _INSTALLED / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def records(name: str) -> list[dict[str, Any]]:
    """Return the records of a file of JSON Lines in `seed/`, one for each line."""
    return [msgspec.json.decode(line) for line in (folder("seed") / name).read_bytes().splitlines()]
