import errno
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner, Result

from graphmem import config
from graphmem.cli.main import Commands, commands
from graphmem.cli.options import LISTENING, NEO4J, RUNNING
from graphmem.cli.running import Interrupted
from graphmem.errors import MemoryNotFound
from graphmem.observing.logs import show_log

HEAVY = (
    "neo4j",
    "neomodel",
    "litestar",
    "uvicorn",
    "fastembed",
    "onnxruntime",
    "bpe_openai",
    "rich",
    "mcp",
    "pydantic",
)
NAMES = sorted(commands.commands)
SETTINGS = {
    "serve": LISTENING + RUNNING,
    "demo": LISTENING + RUNNING,
    "stop": ("data_dir",),
    "fetch": ("cache_dir", "embedding_model", "maven_repository", "reranker"),
    "install": (),
    "uninstall": (),
    "cypher": NEO4J,
}


@pytest.fixture(autouse=True)
def quiet():
    show_log("info")


def raised(problem: BaseException) -> Result:
    """Return what a user sees of a command that raises this."""

    def fail() -> None:
        raise problem

    group = Commands("graphmem", commands={"fail": click.Command("fail", callback=fail)})
    return CliRunner().invoke(group, ["fail"])


def test_there_are_these_commands():
    assert NAMES == [
        "backup",
        "cypher",
        "demo",
        "doctor",
        "export",
        "fetch",
        "hook",
        "import",
        "install",
        "keys",
        "mcp",
        "migrate",
        "patterns",
        "recall",
        "reembed",
        "restore",
        "runs",
        "serve",
        "stop",
        "uninstall",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_help_teaches_with_examples_and_names_the_variables(name):
    result = CliRunner().invoke(commands, [name, "--help"], terminal_width=200)
    assert result.exit_code == 0
    assert "Examples:\n" in result.output
    if isinstance(commands.commands[name], click.Group):
        return
    for setting in (*SETTINGS.get(name, RUNNING), "log_level"):
        assert f"--{setting.replace('_', '-')} " in result.output
        assert config.variable(setting) in result.output


def test_a_password_is_no_option():
    assert "neo4j_password" not in (*LISTENING, *RUNNING, *NEO4J)


def test_what_graphmem_reports_is_one_sentence_and_exit_code_2():
    result = raised(MemoryNotFound("m1"))
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", "Error: no memory 'm1'\n")


def test_notes_follow_the_sentence():
    problem = MemoryNotFound("m1")
    problem.add_note("nothing was imported")
    assert raised(problem).stderr == "Error: no memory 'm1'; nothing was imported\n"


def test_of_errors_that_happened_together_the_first_is_reported():
    result = raised(ExceptionGroup("legs", [MemoryNotFound("m1"), MemoryNotFound("m2")]))
    assert (result.exit_code, result.stderr) == (2, "Error: no memory 'm1'\n")


def test_the_unexpected_is_a_sentence_with_a_hint_and_exit_code_1():
    result = raised(ValueError("odd\nmore"))
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: something unexpected went wrong: ValueError: odd; "
        "--debug or GRAPHMEM_LOG_LEVEL=debug shows where\n"
    )


def test_debug_shows_where_the_unexpected_came_from():
    show_log("debug")
    result = raised(ValueError("odd"))
    assert result.exit_code == 1
    assert "Traceback" in result.stderr


@pytest.mark.parametrize(
    ("problem", "exit_code"),
    [(Interrupted(2), 130), (Interrupted(15), 143), (KeyboardInterrupt(), 130)],
)
def test_a_signal_ends_quietly_with_its_exit_code(problem, exit_code):
    result = raised(problem)
    assert (result.exit_code, result.output.strip()) == (exit_code, "")


def test_a_reader_that_left_is_no_error():
    result = raised(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert (result.exit_code, result.output) == (1, "")
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize(
    "line",
    [
        "backup {0}/file/x",
        "backup /proc/nope",
        "export {0}/file/x --client acme",
        "export {0}/none/x",
        "export /proc/nope",
        "export {0}/long",
        "keys create acme --keys-file {0}/file/x",
        "recall who --data-dir {0}/file/x",
        "serve --port 0 --data-dir {0}/file/x",
        "restore {0}/backup",
        "backup {0}/new --data-dir {0}/file/x",
        "import {0}/story.jsonl",
    ],
)
def test_a_path_that_cannot_be_used_is_one_sentence_and_exit_code_2(line, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "backup" / "backup.json").mkdir(parents=True)
    arguments = line.replace("/long", "/" + 300 * "x").format(tmp_path).split()
    (tmp_path / "story.jsonl").symlink_to("story.jsonl")
    # Nothing answers there: what is noticed only after a start is told as another error.
    away = {} if "--data-dir" in line else {"GRAPHMEM_NEO4J_URI": "bolt://127.0.0.1:1"}
    result = CliRunner().invoke(commands, arguments, env=away)
    assert result.exit_code == 2, result.output
    [told] = [one for one in result.stderr.splitlines() if one.startswith("Error: ")]
    assert "unexpected" not in told
    assert any(path in told for path in (str(tmp_path), "/proc/nope"))


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (PermissionError(errno.EACCES, "x", "/a"), "/a: may not be read or written by this user"),
        (OSError(errno.EROFS, "x", b"/a"), "/a: is on a disk that can only be read"),
        (IsADirectoryError(errno.EISDIR, "x", "/a", None, "/b"), "/b: is a folder, not a file"),
        (OSError(errno.EIO, "Input/output error", "/a"), "/a: cannot be used (Input/output error)"),
        (OSError(errno.ENOSPC, "No space left on device"), "a disk is full: free some space"),
    ],
)
def test_an_error_of_a_path_is_told_with_it(problem, told):
    result = raised(problem)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {told}")


@pytest.mark.parametrize("path", ["java", "/usr/lib/graphmem/cypher/a.cypher"])
def test_a_path_that_the_caller_may_not_have_named_is_not_blamed_on_it(path):
    """An executable, or a file of the installation, may be missing too."""
    told = raised(FileNotFoundError(errno.ENOENT, "x", path)).stderr
    assert told == (
        f"Error: {path}: is not there, or cannot be made there; if you named this path, name another one; "
        "--debug or GRAPHMEM_LOG_LEVEL=debug shows where\n"
    )


def test_an_error_of_the_system_without_a_path_is_unexpected():
    assert raised(ConnectionResetError(errno.ECONNRESET, "reset")).exit_code == 1


def test_the_program_ends_quietly_when_its_reader_left():
    with subprocess.Popen(
        [sys.executable, "-m", "graphmem", "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_help_loads_nothing_heavy_of_its_own():
    script = (
        "import sys, graphmem; before = set(sys.modules)\n"
        "from graphmem.cli.main import commands\n"
        f"for name in {NAMES}: commands.main([name, '--help'], standalone_mode=False)\n"
        "print(*(set(sys.modules) - before), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert loaded.isdisjoint(HEAVY)


def test_the_module_is_the_command() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "graphmem", "--version"], capture_output=True, text=True, check=True
    )
    assert ended.stdout.startswith("graphmem, version ")
