"""Where graphmem's data files are: beside the package in a checkout, inside it when installed."""

from pathlib import Path

_PACKAGE = Path(__file__).parent
_INSTALLED = _PACKAGE / "_data"


def folder(name: str) -> Path:
    """Return the folder `cypher` or `seed`."""
    installed = _INSTALLED / name
    return installed if installed.is_dir() else _PACKAGE.parent / name
