"""Fetching: what is not whole and right is fetched, once, and every failure says what to do."""

import errno
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from graphmem.artifacts.fetch import damaged, fetch, fetch_damaged
from graphmem.artifacts.maven import Artifact
from graphmem.errors import FetchFailed
from graphmem.model.progress import silent

ROOT = Path(__file__).parents[3]
NAMES = ["first-1.0.jar", "second-2.0-linux.jar", "third-3.0.jar"]
FIRST = "org/example/first/1.0/first-1.0.jar"


def fetched(repository: Any, cache: Path) -> list[Path]:
    return fetch("neo4j", cache, silent, repository=repository.url)


def test_every_file_comes_in_the_lists_order(repository: Any, tmp_path: Path) -> None:
    files = fetched(repository, tmp_path / "cache")

    assert [file.name for file in files] == NAMES
    assert [file.read_bytes() for file in files] == list(repository.files.values())


def test_progress_says_how_many_are_there(repository: Any, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []

    fetch(
        "neo4j",
        tmp_path / "cache",
        lambda stage, done=0, total=0: told.append((stage, done, total)),
        repository=repository.url,
    )

    assert told == [("fetching Neo4j", done, 3) for done in range(4)]


def test_what_was_fetched_is_not_asked_for_again(repository: Any, tmp_path: Path) -> None:
    first = fetched(repository, tmp_path / "cache")
    repository.asked.clear()

    assert fetched(repository, tmp_path / "cache") == first
    assert not repository.asked


@pytest.mark.parametrize("harm", ["missing", "truncated"])
def test_a_file_that_lost_something_is_fetched_again(
    repository: Any, tmp_path: Path, harm: str
) -> None:
    files = fetched(repository, tmp_path / "cache")
    repository.asked.clear()
    if harm == "missing":
        files[0].unlink()
    else:
        files[0].write_bytes(b"the")

    again = fetched(repository, tmp_path / "cache")

    assert again[0].read_bytes() == repository.files[FIRST]
    assert {path for path in repository.asked if path.endswith(".jar")} == {FIRST}


def test_a_changed_list_is_looked_at_anew(repository: Any, tmp_path: Path) -> None:
    fetched(repository, tmp_path / "cache")
    listed = tmp_path / "lists" / "neo4j.tsv"
    listed.write_text("".join(listed.read_text().splitlines(keepends=True)[:2]))

    assert [file.name for file in fetched(repository, tmp_path / "cache")] == NAMES[:2]


def test_a_corrupt_file_in_the_cache_is_replaced(repository: Any, tmp_path: Path) -> None:
    corrupt = tmp_path / "cache" / "maven" / FIRST
    corrupt.parent.mkdir(parents=True)
    corrupt.write_bytes(b"something else")

    assert fetched(repository, tmp_path / "cache")[0].read_bytes() == repository.files[FIRST]


def test_a_damaged_file_of_the_right_size_is_fetched_again(repository: Any, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    _, second, _ = fetched(repository, cache)
    assert fetch_damaged("neo4j", cache, silent, repository=repository.url) == []
    whole = second.read_bytes()
    second.write_bytes(bytes(len(whole)))
    assert fetched(repository, cache)[1] == second

    assert damaged("neo4j", cache) == [second]
    assert fetch_damaged("neo4j", cache, silent, repository=repository.url) == [second]

    assert second.read_bytes() == whole


def test_a_damaged_file_that_cannot_be_fetched_again_is_named(
    repository: Any, tmp_path: Path
) -> None:
    first, *_ = fetched(repository, tmp_path / "cache")
    first.write_bytes(bytes(first.stat().st_size))

    with pytest.raises(FetchFailed, match="was damaged") as raised:
        fetch_damaged("neo4j", tmp_path / "cache", silent, repository="http://127.0.0.1:1/")
    assert str(first) in str(raised.value)


def test_a_wrong_hash_is_tried_twice_and_then_named(repository: Any, tmp_path: Path) -> None:
    repository.files[FIRST] = b"tampered with"

    with pytest.raises(FetchFailed, match=r"^org.example:first:1.0 is not what was expected"):
        fetched(repository, tmp_path / "cache")

    assert repository.asked[FIRST] == 2
    assert not (tmp_path / "cache" / "maven" / FIRST).exists()


@pytest.mark.parametrize("fault", ["refused", "cut"])
def test_a_passing_fault_is_tried_again(repository: Any, tmp_path: Path, fault: str) -> None:
    repository.faults[FIRST] = [fault, fault]

    assert fetched(repository, tmp_path / "cache")[0].read_bytes() == repository.files[FIRST]
    assert repository.asked[FIRST] == 3


def test_no_network_says_what_to_do(repository: Any, tmp_path: Path) -> None:
    # A port that nothing listens on.
    with pytest.raises(FetchFailed, match=r"check the network .* GRAPHMEM_MAVEN_REPOSITORY"):
        fetch("neo4j", tmp_path / "cache", silent, repository="http://127.0.0.1:9")


def test_a_repository_without_the_file_is_named_as_the_cause(
    repository: Any, tmp_path: Path
) -> None:
    del repository.files[FIRST]

    with pytest.raises(FetchFailed, match=r"repository did not give org.example:first:1.0"):
        fetched(repository, tmp_path / "cache")


def test_too_little_space_is_said_before_anything_is_fetched(
    repository: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage(NamedTuple):
        free: int

    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(50_000_000))

    with pytest.raises(FetchFailed, match=r"50 MB free where 400 MB are needed: free some space"):
        fetched(repository, tmp_path / "cache")
    assert not repository.asked


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, r"is full: free some space or choose .* GRAPHMEM_CACHE_DIR"),
        (errno.EACCES, r"cannot be written: allow it or choose .* GRAPHMEM_CACHE_DIR"),
        (errno.EROFS, r"cannot be written: allow it or choose .* GRAPHMEM_CACHE_DIR"),
        (errno.EIO, r"cannot be used \(Input/output error\)"),
    ],
)
def test_a_fault_of_the_disk_says_what_to_do(
    repository: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    sentence: str,
) -> None:
    def fail(artifact: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Artifact, "_attempt", fail)

    with pytest.raises(FetchFailed, match=sentence):
        fetched(repository, tmp_path / "cache")


def test_a_cache_folder_that_cannot_be_is_a_sentence(repository: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(FetchFailed, match="cannot be used"):
        fetched(repository, tmp_path / "file" / "cache")


def test_two_at_once_fetch_each_file_once(repository: Any, tmp_path: Path) -> None:
    threads = [
        threading.Thread(target=fetched, args=(repository, tmp_path / "cache")) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [repository.asked[path] for path in repository.files] == [1, 1, 1]


def test_what_progress_raises_ends_the_fetching(repository: Any, tmp_path: Path) -> None:
    def stop(stage: str, done: int = 0, total: int = 0) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("neo4j", tmp_path / "cache", stop, repository=repository.url)
    assert [file.name for file in fetched(repository, tmp_path / "cache")] == NAMES


def ended(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program of Python in a process of its own, to its end."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)


def test_a_start_with_a_filled_cache_does_not_load_the_fetching_libraries() -> None:
    program = (
        "import sys; import graphmem.client;"
        "print(*sorted({'jgo', 'requests'} & sys.modules.keys()), sep=', ')"
    )

    assert ended(program).stdout.strip() == ""


def test_what_the_fetching_library_warns_of_stays_off_the_terminal() -> None:
    # In a process of its own, since pytest hears every logger.
    program = (
        "import logging; logging.basicConfig(); import graphmem.artifacts.maven;"
        "logging.getLogger('jgo.maven').warning('heard')"
    )

    done = ended(program)

    assert (done.stdout, done.stderr) == ("", "")
