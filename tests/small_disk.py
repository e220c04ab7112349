"""A disk of a few hundred megabytes, which a test fills."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

SIZE = 700
FILLER = "filler"


@pytest.fixture
def small_disk(tmp_path: Path, own_server: None) -> Iterator[Path]:
    """A disk of a few hundred megabytes."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}m", "tmpfs", str(mounted)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    yield mounted
    subprocess.run(["umount", "--lazy", str(mounted)], check=True)


def leave(disk: Path, megabytes: int) -> None:
    """Fill a disk until so much is free; `fill` goes on from there."""
    with (disk / FILLER).open("wb", buffering=0) as file:
        while psutil.disk_usage(str(disk)).free > megabytes * 1_000_000:
            file.write(b"\0" * (1 << 20))


def fill(disk: Path) -> Path:
    """Fill a disk to its last byte, and return the file that does."""
    filler = disk / FILLER
    with filler.open("ab", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return filler
