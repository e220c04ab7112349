"""Running the command line: in this process, and as the program that a user starts."""

import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from graphmem.cli.main import commands
from graphmem.config import Settings
from tests.environments import environment_of

SECONDS = 300


@pytest.fixture
def environment(neo4j_settings: Settings) -> dict[str, str]:
    """The environment of a user whose graphmem uses the tests' Neo4j."""
    return environment_of(neo4j_settings)


@pytest.fixture
def invoke(environment: dict[str, str]) -> Callable[..., Result]:
    """Run a command in this process, on the tests' Neo4j."""

    def invoked(*arguments: str) -> Result:
        return CliRunner().invoke(commands, arguments, env=environment)

    return invoked


@pytest.fixture
def graphmem(
    environment: dict[str, str], whole_program: None
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command as a program, on the tests' Neo4j."""

    def done(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            program(*arguments),
            env=environment,
            text=True,
            encoding="utf-8",
            capture_output=True,
            timeout=SECONDS,
            check=False,
            **options,
        )

    return done


@pytest.fixture
def started(
    environment: dict[str, str], whole_program: None
) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start a command as a program that keeps running; it is ended with the test."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> "subprocess.Popen[str]":
        running.append(
            subprocess.Popen(
                program(*arguments),
                env=environment | {"PYTHONUNBUFFERED": "1"},
                text=True,
                encoding="utf-8",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        )
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def client_id() -> str:
    """A client of this test's own."""
    return f"cli-{uuid.uuid4().hex}"


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """A file of three messages."""
    path = tmp_path / "story.jsonl"
    path.write_text(
        '{"conversation_id": "harbour", "session_id": "s", "role": "user", "external_id": "a",'
        ' "content": "The lighthouse keeper is called Ansgar."}\n'
        '{"conversation_id": "harbour", "session_id": "s", "role": "assistant",'
        ' "external_id": "b", "content": "Noted: Ansgar keeps the lighthouse."}\n'
        '{"conversation_id": "kitchen", "session_id": "t", "role": "user", "external_id": "c",'
        ' "content": "Pancakes need eggs, flour and milk."}\n',
        "utf-8",
    )
    return path


def program(*arguments: str) -> list[str]:
    """Return the command line of a graphmem program."""
    return [sys.executable, "-m", "graphmem", *arguments]
