"""Files of the data folder: whole, private, and with sentences for the disk's faults."""

import errno
import os
import shutil
import stat
from pathlib import Path
from typing import NamedTuple

import pytest

from graphmem.errors import ServerFailed
from graphmem.server import folder


def test_a_private_file_is_private_from_its_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    sync = os.fsync

    def synced(file: int) -> None:
        seen.append(stat.S_IMODE(os.fstat(file).st_mode))
        sync(file)

    monkeypatch.setattr(os, "fsync", synced)

    folder.write_private(tmp_path / "secret", "text")

    assert (tmp_path / "secret").read_text() == "text"
    assert seen == [0o600]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write_private(tmp_path / "secret", "old")

    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        folder.write_private(tmp_path / "secret", "new")

    assert (tmp_path / "secret").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_too_little_space_is_said_before_neo4j_fails_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage(NamedTuple):
        free: int

    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(20_000_000))

    with pytest.raises(ServerFailed, match=r"has 20 MB free where Neo4j needs 150 MB to start"):
        folder.require_space(tmp_path)


def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)

    folder.create(tmp_path / "data")

    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "data" / "neo4j").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "the disk of .* is full: free some space"),
        (errno.EROFS, "cannot be written: allow it"),
        (errno.EACCES, "cannot be written: allow it"),
        (errno.ENOLCK, "cannot be used .*: mend it"),
    ],
)
def test_a_fault_of_the_disk_says_what_to_do(tmp_path: Path, number: int, sentence: str) -> None:
    with pytest.raises(ServerFailed, match=sentence), folder.disk_faults(tmp_path):
        raise OSError(number, os.strerror(number))
