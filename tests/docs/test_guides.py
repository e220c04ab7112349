"""The examples of the README and the guides as they stand: Python is run, curl is sent, commands exist."""

import ast
import asyncio
import contextlib
import re
import shlex
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import click
import httpx
import pytest
from anyio.from_thread import BlockingPortal
from graphmem_api.app import create_app

import graphmem
from graphmem.blocking.generated import BlockingGraphmem
from graphmem.cli.main import commands
from graphmem.client import Graphmem

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


async def in_a_thread(code: CodeType, names: dict[str, Any], memory: Graphmem) -> None:
    """Run an example that does not await, with the test's memory for a service."""
    async with BlockingPortal() as portal:

        @contextlib.contextmanager
        def client(url: str, **given: Any) -> Iterator[BlockingGraphmem]:
            yield BlockingGraphmem(memory, portal)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(graphmem, "Client", client)
            await asyncio.to_thread(exec, code, names)


def test_there_are_examples_of_every_kind() -> None:
    assert min(len(of_pages(PYTHON)), len(of_pages(CURL)), len(of_pages(COMMAND))) >= 5


@pytest.mark.parametrize(
    "page",
    ["README.md", "docs/getting-started.md", "docs/guides/python.md", "docs/guides/frameworks.md"],
)
async def test_the_python_of_a_page_runs_from_top_to_bottom(page: str, opened: Graphmem) -> None:
    names: dict[str, Any] = {"memory": opened, "graphmem": graphmem}
    for text in PYTHON.findall((ROOT / page).read_text()):
        code = compile(text, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if "graphmem.Client(" in text:
            await in_a_thread(code, names, opened)
            continue
        waiting = eval(code, names)
        if waiting is not None:
            await waiting
        if "main" in names:
            await names.pop("main")()
    assert (await opened.memories()).total > 0


@pytest.mark.parametrize("line", of_pages(CURL))
async def test_a_curl_gets_what_it_asks_for(line: str, memory: Graphmem) -> None:
    words = shlex.split(line.replace("\\\n", " "))
    body = words[words.index("-d") + 1].encode() if "-d" in words else None
    method = words[words.index("-X") + 1] if "-X" in words else "POST" if body else "GET"
    [address] = [word for word in words if word.startswith("localhost:8000/")]
    headers = {"Content-Type": "application/json"} if body else {}
    path = address.removeprefix("localhost:8000")
    app: Any = create_app(memory.runtime)
    transport = httpx.ASGITransport(app=app)
    headers["X-Client-Id"] = memory.client_id
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
