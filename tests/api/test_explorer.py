"""The files of the page: how they are answered, under which policy, and that they name no other server."""

import re
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest
from graphmem_api.app import create_app
from graphmem_api.explorer import FILES, HEADERS, PAGE
from litestar import Litestar
from msgspec.structs import replace

from graphmem import config
from graphmem.runtime import Runtime
from tests.api.conftest import client_of


async def test_the_root_answers_with_the_page_under_a_strict_policy(
    refusing: httpx.AsyncClient,
) -> None:
    answer = await refusing.get("/")

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.content == FILES[PAGE]
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert not re.search(r"unsafe|\*|data:|http", policy)


async def test_every_file_that_the_page_names_is_answered_with_its_type(
    refusing: httpx.AsyncClient,
) -> None:
    named = set(re.findall(r'"/explorer/([\w.]+)"', FILES[PAGE].decode()))
    named |= {name for text in FILES.values() for name in _imports(text.decode())}

    assert {"main.js", "style.css", "icon.svg", "graph.js"} <= named
    for name in named:
        answer = await refusing.get(f"/explorer/{name}")
        assert answer.content == FILES[name]
        kind = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
        assert answer.headers["content-type"].startswith(kind[name.rpartition(".")[2]])
        assert answer.headers.items() >= {k.lower(): v for k, v in HEADERS.items()}.items()


def _imports(text: str) -> list[str]:
    return re.findall(r'from "\./([\w.]+)"', text)


@pytest.mark.parametrize(
    "path", ["nothing.js", "__init__.py", "..%2Fapp.py", "%2e%2e/app.py", "main.js/x", ""]
)
async def test_what_is_no_file_of_the_page_is_not_found(
    refusing: httpx.AsyncClient, path: str
) -> None:
    assert (await refusing.get(f"/explorer/{path}")).status_code == 404


def test_no_file_makes_elements_of_text_or_names_another_server() -> None:
    made = re.compile(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function")
    for name, content in FILES.items():
        text = content.decode()
        assert not made.search(text), name
        assert set(re.findall(r"https?://[^\s\"']+", text)) <= {"http://www.w3.org/2000/svg"}, name
        assert "localStorage" not in text, name
        assert not re.search(r"sessionStorage[^\n]*key", text), name


async def test_the_page_needs_no_key_and_its_requests_do(offline: Runtime, tmp_path: Path) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text("acme agent " + "0" * 64)
    app = create_app(_with_keys(offline, keys))
    async with client_of(app) as client:
        assert (await client.get("/")).status_code == 200
        assert (await client.get("/api/v0/conversations")).status_code == 401


def _with_keys(offline: Runtime, keys: Path) -> Runtime:
    return replace(offline, settings=config.load({}, record="off", keys_file=keys))


async def test_a_foreign_page_may_still_not_ask(offline_app: Litestar) -> None:
    async with client_of(offline_app, origin="https://evil.example") as client:
        assert (await client.get("/api/v0/conversations")).status_code == 403


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node to parse JavaScript")
@pytest.mark.parametrize("name", sorted(name for name in FILES if name.endswith(".js")))
def test_each_script_is_a_valid_module(name: str) -> None:
    command = ["node", "--check", "--input-type=module"]
    parsed = subprocess.run(command, input=FILES[name], capture_output=True, check=False)
    assert parsed.returncode == 0, parsed.stderr.decode()
