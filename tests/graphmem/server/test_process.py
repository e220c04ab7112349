"""A process is known again, and never taken for another."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from graphmem.server import process
from graphmem.server.folder import Record
from graphmem.server.process import is_ours, listens, living, servers


@pytest.fixture
def stranger() -> Iterator[psutil.Process]:
    """A process that has nothing to do with any data folder."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as stranger:
        yield psutil.Process(stranger.pid)
        stranger.kill()


def test_a_process_is_known_by_its_number_and_start(
    stranger: psutil.Process, tmp_path: Path
) -> None:
    started = stranger.create_time()

    assert living(Record(stranger.pid, started, 1, "x"), tmp_path) == stranger
    assert living(Record(stranger.pid, started - 60, 1, "x"), tmp_path) is None


def test_a_stranger_is_not_ours_and_does_not_listen(
    stranger: psutil.Process, tmp_path: Path
) -> None:
    assert not is_ours(stranger, tmp_path)
    assert not listens(stranger, 7687)
    assert servers(tmp_path) == []


def test_no_record_is_no_process(tmp_path: Path) -> None:
    assert living(None, tmp_path) is None


def test_a_process_that_only_waits_to_be_reaped_is_dead(
    stranger: psutil.Process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Record(stranger.pid, stranger.create_time(), 1, "x")
    # As of another process's child, which only that one can reap.
    monkeypatch.setattr(process, "_reap", lambda pid: None)

    stranger.kill()
    while stranger.status() != psutil.STATUS_ZOMBIE:
        pass

    assert living(record, tmp_path) is None


def test_neo4j_inherits_what_a_java_needs_and_no_secret() -> None:
    secrets = (
        "GRAPHMEM_NEO4J_PASSWORD",
        "GRAPHMEM_LLM_KEY",
        "GRAPHMEM_KEYS_FILE",
        "NEO4J_AUTH",
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "DATABASE_URL",
        "XPATH",
    )
    needed = (
        "PATH",
        "HOME",
        "LANG",
        "LC_CTYPE",
        "TZ",
        "JAVA_HOME",
        "JDK_JAVA_OPTIONS",
        "LD_PRELOAD",
    )
    given = process._environment(dict.fromkeys((*secrets, *needed), "x"))
    assert given == dict.fromkeys(needed, "x") | {"LC_ALL": "C.UTF-8"}
