"""A private server for tests: the real one, or a substitute that starts at once."""

import asyncio
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from graphmem.artifacts.fetch import write_stamp
from graphmem.artifacts.maven import list_hash
from graphmem.config import Settings, load
from graphmem.model.progress import Progress
from graphmem.server import private, process
from graphmem.server.command import ENTRY_POINT, home_argument
from graphmem.server.process import Database

HERE = Path(__file__).parent


class Participants:
    """Other processes that use the server of a data folder."""

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[str]] = []

    def start(self, data_dir: Path) -> "subprocess.Popen[str]":
        """Start one, without waiting until it has joined."""
        process = subprocess.Popen(
            [sys.executable, str(HERE / "participant.py"), str(data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    async def server_of(self, process: "subprocess.Popen[str]") -> int:
        """Return the number of the server's process as a participant sees it."""
        assert process.stdout is not None
        line = await asyncio.to_thread(process.stdout.readline)
        return int(line)

    async def leave(self, process: "subprocess.Popen[str]") -> None:
        """Let one leave, and wait until it has left."""
        await asyncio.to_thread(process.communicate, "leave\n", 30)

    def kill(self, process: "subprocess.Popen[str]") -> None:
        """Kill one without a chance to leave."""
        process.kill()
        process.communicate()

    def end(self) -> None:
        """End all processes that a failed test left running."""
        for started in self._started:
            if started.poll() is None:
                self.kill(started)


@pytest.fixture
def participants(monkeypatch: pytest.MonkeyPatch) -> Iterator[Participants]:
    """A function that starts processes that use the server."""
    monkeypatch.setenv("PYTHONPATH", str(HERE.parents[2]))
    participants = Participants()
    yield participants
    participants.end()


def kill_servers(data_dir: Path) -> None:
    """Kill every server of a test's data folder."""
    for found in psutil.process_iter(["cmdline"]):
        if home_argument(data_dir.resolve()) in (found.info["cmdline"] or []):
            found.kill()


@pytest.fixture
def stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole_program: None
) -> Iterator[Settings]:
    """Return settings of a server whose Java, jars and login are substitutes."""
    cache, home = tmp_path / "cache", tmp_path / "java"
    jar = cache / "maven" / "org" / "neo4j" / "neo4j" / "2026.09.0" / "neo4j-2026.09.0.jar"
    jar.parent.mkdir(parents=True)
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr(ENTRY_POINT, "org.neo4j.server.StandIn\n")
    write_stamp(cache / "maven" / "neo4j.stamp", list_hash("neo4j"), [jar])
    make_java(home, 25, (HERE / "stand_in.py").read_text())
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("GRAPHMEM_CACHE_DIR", str(cache))
    monkeypatch.setenv("JAVA_STAND_IN", "")
    monkeypatch.setattr(process, "log_in", _answers)
    # The jar is not that of the list.
    monkeypatch.setattr(private, "fetch_damaged_jars", _none_is_damaged)
    yield load(data_dir=tmp_path / "data", neo4j_start_seconds=10)
    kill_servers(tmp_path / "data")


async def _answers(port: int, password: str) -> Database:
    return Database("online", "")


async def _none_is_damaged(settings: Settings, progress: Progress) -> bool:
    return False


def make_java(home: Path, version: int, source: str) -> Path:
    """Make a Java home whose java is a Python program."""
    (home / "bin").mkdir(parents=True)
    (home / "release").write_text(f'IMPLEMENTOR="A test"\nJAVA_VERSION="{version}.0.1"\n')
    java = home / "bin" / "java"
    java.write_text(f"#!{sys.executable}\n{source}")
    java.chmod(0o755)
    return java


@pytest.fixture
def java_home() -> Callable[[Path, int, str], Path]:
    """Return a function that makes a Java home."""
    return make_java


@pytest.fixture
def eventually() -> Any:
    """Return a function that waits until a condition is true."""

    async def wait(holds: Callable[[], bool], seconds: float = 10.0) -> None:
        async with asyncio.timeout(seconds):
            while not holds():
                await asyncio.sleep(0.02)

    return wait
