"""What the operating system says about the cache folder, as a sentence that says what to do."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphmem.errors import FetchFailed

MEGABYTE = 1_000_000
FULL = {errno.ENOSPC, errno.EDQUOT}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
REMEDY = "or choose another folder with GRAPHMEM_CACHE_DIR"


@contextmanager
def disk_faults(folder: Path) -> Iterator[None]:
    """Turn a fault of the disk inside the block into `FetchFailed`."""
    try:
        yield
    except OSError as fault:
        raise FetchFailed(_sentence(fault, folder)) from fault


def require_space(folder: Path, needed: int) -> None:
    """Raise `FetchFailed` where the folder's disk has no room for that many bytes."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise FetchFailed(
            f"{folder} has {free // MEGABYTE} MB free where {needed // MEGABYTE} MB are needed: "
            f"free some space {REMEDY}"
        )


def _sentence(fault: OSError, folder: Path) -> str:
    if fault.errno in FULL:
        return f"the disk of {folder} is full: free some space {REMEDY}"
    if fault.errno in FORBIDDEN:
        return f"{folder} cannot be written: allow it {REMEDY}"
    return f"{folder} cannot be used ({fault.strerror or fault}): mend it {REMEDY}"
