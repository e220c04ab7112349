"""The examples of the README and the guides as they stand: Python is run, curl is sent, commands exist.

The commands of the pages in `PASTED` are run too, one after the other, in a folder as the page assumes it.
"""

import ast
import asyncio
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import click
import httpx
import pytest
from anyio.from_thread import BlockingPortal
from click.testing import CliRunner
from graphmem_api.app import create_app
from msgspec.structs import replace

import graphmem
from graphmem.blocking.generated import BlockingGraphmem
from graphmem.cli.lines import read_lines
from graphmem.cli.main import commands
from graphmem.client import Graphmem
from graphmem.config import Settings
from tests.environments import environment_of
from tests.stub_llm import StubModel, stub_model

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in [
        ROOT / "README.md",
        ROOT / "docs/getting-started.md",
        *ROOT.glob("docs/guides/*.md"),
    ]
)

PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
CURL = re.compile(r"^ *(curl (?:.*\\\n)*.*)$", re.MULTILINE)
SYNCHRONOUS = re.compile(r"^with graphmem\.", re.MULTILINE)
MAKE = re.compile(r"^ +(make [^#\n]*)", re.MULTILINE)
PASTED = ("README.md", "docs/guides/bring-your-history.md")
PROGRAM = """\
#!/bin/sh
exec {python} -m graphmem "$@"
"""
COMMAND = re.compile(r"^ +(?:\.venv/bin/)?graphmem ([^#\n]*)", re.MULTILINE)


def of_pages(wanted: re.Pattern[str]) -> list[Any]:
    """Return every example of a kind, with its page for a name."""
    return [
        pytest.param(found, id=f"{page}-{place}")
        for page in PAGES
        for place, found in enumerate(wanted.findall((ROOT / page).read_text()))
    ]


@pytest.fixture
def opened(memory: Graphmem, monkeypatch: pytest.MonkeyPatch) -> Graphmem:
    """`graphmem.open` opens the memory of this test."""

    @contextlib.asynccontextmanager
    async def open_it(**given: Any) -> AsyncIterator[Graphmem]:
        yield memory

    monkeypatch.setattr(graphmem, "open", open_it)
    monkeypatch.setattr("asyncio.run", lambda work: work.close())
    return memory


@pytest.fixture
async def model() -> AsyncIterator[StubModel]:
    """A language model that repeats what it is told first."""
    async with stub_model() as stub:
        stub.answer = lambda body: body["messages"][0]["content"]
        yield stub


def typed(*lines: str) -> Callable[[str], str]:
    """Return an `input` that gets these lines."""
    rest = iter(lines)
    return lambda prompt: next(rest)


async def in_a_thread(code: CodeType, names: dict[str, Any], memory: Graphmem) -> None:
    """Run an example that does not await, with the test's memory for a service."""
    async with BlockingPortal() as portal:

        @contextlib.contextmanager
        def client(url: str, **given: Any) -> Iterator[BlockingGraphmem]:
            yield BlockingGraphmem(memory, portal)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(graphmem, "Client", client)
            patch.setattr(graphmem, "open", lambda **given: client(""))
            await asyncio.to_thread(exec, code, names)


def test_there_are_examples_of_every_kind() -> None:
    assert min(len(of_pages(PYTHON)), len(of_pages(CURL)), len(of_pages(COMMAND))) >= 5


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if PYTHON.search((ROOT / page).read_text())],
)
async def test_the_python_of_a_page_runs_from_top_to_bottom(
    page: str, opened: Graphmem, model: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    monkeypatch.setenv("OPENAI_BASE_URL", model.url)
    names: dict[str, Any] = {"memory": opened, "graphmem": graphmem}
    for text in PYTHON.findall((ROOT / page).read_text()):
        code = compile(text, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if SYNCHRONOUS.search(text):
            monkeypatch.setattr("builtins.input", typed("Our ferry is called Kestrel.", ""))
            monkeypatch.setattr("sys.argv", ["agent.py", "What is our ferry called?"])
            await in_a_thread(code, names, opened)
            # A page goes on with an open memory, not with the one that its program has closed.
            names["memory"] = opened
            continue
        waiting = eval(code, names)
        if waiting is not None:
            await waiting
        if "main" in names:
            await names.pop("main")()
    if any("remember" in text for text in PYTHON.findall((ROOT / page).read_text())):
        assert (await opened.memories()).total > 0


@pytest.mark.usefixtures("whole_program")
@pytest.mark.parametrize("place", [pytest.param(0, id="chat.py"), pytest.param(1, id="agent.py")])
async def test_a_second_run_of_a_pasted_program_remembers_the_first(
    place: int, neo4j_settings: Settings, model: StubModel, tmp_path: Path
) -> None:
    program = tmp_path / "pasted.py"
    page = (ROOT / "docs/guides/frameworks.md").read_text("utf-8")
    program.write_text(PYTHON.findall(page)[place], "utf-8")
    address = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": model.url}
    ferry = f"Kestrel-{uuid.uuid4().hex}"

    async def run(text: str) -> str:
        result = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, str(program), text],
            input=f"{text}\n\n",
            cwd=tmp_path,
            env=environment_of(neo4j_settings) | address,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=300,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    await run(f"Our ferry is called {ferry}.")
    assert ferry in await run("What is our ferry called?")


@pytest.mark.parametrize("line", of_pages(CURL))
async def test_a_curl_gets_what_it_asks_for(line: str, memory: Graphmem, tmp_path: Path) -> None:
    words = shlex.split(line.replace("\\\n", " "))
    body = words[words.index("-d") + 1].encode() if "-d" in words else None
    method = words[words.index("-X") + 1] if "-X" in words else "POST" if body else "GET"
    [address] = [word for word in words if word.startswith("localhost:8000/")]
    headers = {"Content-Type": "application/json"} if body else {}
    path = address.removeprefix("localhost:8000")
    # Cypher over HTTP is off unless somebody asks for it.
    settings = replace(memory.runtime.settings, cypher="on")
    if "Authorization: Bearer $KEY" in words:
        keys = tmp_path / "keys.txt"
        create = ["keys", "create", memory.client_id, "--keys-file", str(keys)]
        headers["Authorization"] = f"Bearer {CliRunner().invoke(commands, create).stdout.strip()}"
        settings = replace(settings, keys_file=keys)
    else:
        headers["X-Client-Id"] = memory.client_id
    runtime = replace(memory.runtime, settings=settings)
    app: Any = create_app(runtime)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        answer = await http.request(method, path, content=body, headers=headers)
    assert answer.is_success, answer.text


@pytest.mark.parametrize("line", of_pages(COMMAND))
def test_a_command_exists_with_its_options(line: str) -> None:
    name, *words = shlex.split(line.replace("$(date +%F)", "today"))
    if name.startswith("-"):
        return
    command = commands.commands[name]
    if isinstance(command, click.Group):
        command = command.commands[words[0]]
    options = {one for param in command.params for one in param.opts}
    assert {word for word in words if word.startswith("--")} <= options | {"--help"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the program in `.venv`, and the file that a page brings."""
    program = tmp_path / ".venv/bin/graphmem"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM.format(python=sys.executable), "utf-8")
    program.chmod(0o755)
    shutil.copy(ROOT / "tests/imports/chatgpt.json", tmp_path / "conversations.json")
    return tmp_path


@pytest.mark.parametrize("page", PASTED)
def test_the_commands_of_a_page_run_in_order(
    page: str, folder: Path, neo4j_settings: Settings, whole_program: None
) -> None:
    lines = re.findall(
        r"^ {4}((?:\.venv/bin/)?graphmem .*)$", (ROOT / page).read_text(), re.MULTILINE
    )
    assert lines
    environment = environment_of(neo4j_settings)
    search = f"{folder / '.venv/bin'}{os.pathsep}{environment['PATH']}"
    for line in lines:
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=folder,
            env=environment | {"PATH": search},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert (done.returncode, done.stderr.count("Error")) == (0, 0), f"{line}\n{done.stderr}"
        if "lighthouse" in line:
            assert "It is 42 metres high." in done.stdout


def test_the_table_of_the_guide_to_python_has_every_method() -> None:
    page = (ROOT / "docs/guides/python.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    named = set(re.findall(r"\w+", " ".join(re.findall("`[^`]+`", " ".join(rows)))))
    methods = {name for name in dir(Graphmem) if not name.startswith("_")}
    assert methods - named == set()


def test_a_line_with_the_fields_of_the_guide_is_read() -> None:
    page = (ROOT / "docs/guides/bring-your-history.md").read_text()
    [row] = [line for line in page.splitlines() if line.startswith("| your own |")]
    fields = re.findall(r"`(\w+)`", row)
    written = json.dumps(dict.fromkeys(fields, "user")).encode()

    [line] = read_lines(io.BytesIO(written), None)
    assert (line.conversation_id, line.message.content) == ("user", "user")


@pytest.mark.parametrize("line", of_pages(MAKE))
def test_a_target_of_make_exists(line: str) -> None:
    done = subprocess.run(
        [*shlex.split(line)[:1], "--dry-run", *shlex.split(line)[1:]],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    # A folder of that name is no target.
    assert "Nothing to be done" not in done.stdout
