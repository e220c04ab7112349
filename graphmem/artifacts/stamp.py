"""What was verified once is remembered, so that the next start only looks at sizes."""

from pathlib import Path

import msgspec
from msgspec import Struct


class Stamp(Struct, frozen=True):
    """That every file of one version of a list was fetched and verified."""

    list_hash: str
    sizes: dict[str, int]


def remembered(stamp_file: Path, list_hash: str) -> list[Path] | None:
    """Return the files if this very list was verified and none is missing or cut short."""
    try:
        stamp = msgspec.json.decode(stamp_file.read_bytes(), type=Stamp)
        whole = stamp.list_hash == list_hash and all(
            (stamp_file.parent / name).stat().st_size == size for name, size in stamp.sizes.items()
        )
    except (OSError, msgspec.DecodeError):
        return None
    return [stamp_file.parent / name for name in stamp.sizes] if whole else None


def remember(stamp_file: Path, list_hash: str, files: list[Path]) -> None:
    """Leave the stamp for files that were verified."""
    sizes = {str(file.relative_to(stamp_file.parent)): file.stat().st_size for file in files}
    unfinished = stamp_file.with_suffix(".unfinished")
    unfinished.write_bytes(msgspec.json.encode(Stamp(list_hash, sizes)))
    unfinished.replace(stamp_file)
