"""Shared memories over HTTP and MCP: a key, or without keys a setting, says what may be read beside."""

import hashlib
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest
from graphmem_api.app import create_app
from graphmem_api.mcp.memory_tools import (
    RecallAsked,
    SearchContextualAsked,
    WhatDoYouKnowAsked,
    recall,
    search_contextual,
    what_do_you_know,
)
from litestar import Litestar
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.errors import SettingError
from graphmem.remote.client import AsyncClient
from graphmem.runtime import Runtime
from tests.api.test_clients import bearer

QUESTION = "Who has the key of the lighthouse?"
THEIRS = "The key of the lighthouse is with Henrik Aalto."
WAYS = {
    "/api/v0/recall": {"query": QUESTION},
    "/api/v0/search": {"query": QUESTION},
    "/api/v0/contextual/search": {"query": QUESTION},
}


def line(client: str, role: str, key: str, *more: str) -> str:
    return " ".join([client, role, hashlib.sha256(key.encode()).hexdigest(), *more]) + "\n"


@pytest.fixture
async def team(runtime: Runtime) -> str:
    """A client with one message."""
    team = Graphmem(runtime, f"team-{uuid.uuid4().hex}")
    said = [{"session_id": "s", "role": "user", "content": THEIRS}]
    await team.remember("talk", said, create=True)
    return team.client_id


@pytest.fixture
def us() -> str:
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture
def keys_file(tmp_path: Path, us: str, team: str) -> Path:
    path = tmp_path / "keys"
    path.write_text(line(us, "reader", "ours", f"reads={team}") + line(us, "agent", "plain"))
    return path


@pytest.fixture
def keyed(runtime: Runtime, keys_file: Path) -> Litestar:
    return create_app(replace(runtime, settings=replace(runtime.settings, keys_file=keys_file)))


async def test_a_key_reads_what_its_line_says_until_the_line_says_otherwise(
    keyed: Litestar, asking: Any, keys_file: Path, us: str, team: str
) -> None:
    async with asking(keyed) as http:
        for path, body in WAYS.items():
            shared = await http.post(path, json=body, headers=bearer("ours"))
            plain = await http.post(path, json=body, headers=bearer("plain"))
            assert (shared.status_code, plain.status_code) == (200, 200)
            assert THEIRS in shared.text
            assert f'"client_id":"{team}"' in shared.text
            assert THEIRS not in plain.text
        keys_file.write_text(line(us, "reader", "ours"))
        for path, body in WAYS.items():
            after = await http.post(path, json=body, headers=bearer("ours"))
            assert after.status_code == 200
            assert THEIRS not in after.text


async def test_what_is_not_permitted_is_refused_with_a_sentence(
    keyed: Litestar, asking: Any, team: str
) -> None:
    async with asking(keyed) as http:
        for path, body in WAYS.items():
            for key, wanted in (("plain", team), ("ours", "nobody"), ("ours", "*")):
                answer = await http.post(path, json=body | {"reads": [wanted]}, headers=bearer(key))
                assert answer.status_code == 400
                assert answer.headers["content-type"] == "application/problem+json"
                assert "reads" in answer.json()["detail"]
        many = {"query": "x", "reads": [f"c{number}" for number in range(9)]}
        assert (
            await http.post("/api/v0/recall", json=many, headers=bearer("ours"))
        ).status_code == 400


async def test_what_was_shown_can_be_looked_at(keyed: Litestar, asking: Any, team: str) -> None:
    async with asking(keyed) as http:
        found = await http.post("/api/v0/recall", json={"query": QUESTION}, headers=bearer("ours"))
        [item] = found.json()["items"]
        path, whose = f"/api/v0/memories/{item['id']}", {"client_id": team}
        for route in (path, f"{path}/peek", "/api/v0/memories"):
            seen = await http.get(route, params=whose, headers=bearer("ours"))
            refused = await http.get(route, params=whose, headers=bearer("plain"))
            assert (seen.status_code, refused.status_code) == (200, 400)
            assert item["id"] in seen.text
        for route, body in (
            (f"{path}/chunk", {"max_tokens": 50}),
            ("/api/v0/contextual/expand", {"session_id": item["session_id"]}),
        ):
            seen = await http.post(route, json=body | whose, headers=bearer("ours"))
            refused = await http.post(route, json=body | whose, headers=bearer("plain"))
            assert (seen.status_code, refused.status_code) == (200, 400)
            assert THEIRS in seen.text
        for key in ("ours", "plain"):
            assert (await http.get(path, headers=bearer(key))).status_code == 404
        deleted = await http.delete(path, headers=bearer("plain"))
        assert deleted.status_code == 404


async def test_without_keys_a_setting_says_it(
    runtime: Runtime, asking: Any, us: str, team: str
) -> None:
    app = create_app(replace(runtime, settings=replace(runtime.settings, reads=(team,))))
    async with asking(app, X_Client_Id=us) as http:
        for path, body in WAYS.items():
            assert THEIRS in (await http.post(path, json=body)).text
            assert THEIRS not in (await http.post(path, json=body | {"reads": []})).text
    async with asking(app, X_Client_Id=team) as http:
        [own] = (await http.post("/api/v0/recall", json={"query": QUESTION})).json()["items"]
        assert own["client_id"] is None


def test_the_setting_is_refused_beside_keys(runtime: Runtime, keys_file: Path) -> None:
    settings = replace(runtime.settings, keys_file=keys_file, reads=("team",))
    with pytest.raises(SettingError, match=r"GRAPHMEM_READS: .*keys create"):
        create_app(replace(runtime, settings=settings))


async def test_an_agent_is_told_whose_it_is(runtime: Runtime, us: str, team: str) -> None:
    memory = Graphmem(runtime, us, reads=[team])

    known = await recall(RecallAsked(query=QUESTION, ids=True), memory)
    past = await search_contextual(SearchContextualAsked(query=QUESTION), memory)
    listed = await what_do_you_know(WhatDoYouKnowAsked(client_id=team, kinds=["message"]), memory)
    own = await what_do_you_know(WhatDoYouKnowAsked(kinds=["message"]), memory)

    assert known.text.count(f"({team})") == 2
    assert f"({team})" in past.text
    assert THEIRS in listed.text
    assert THEIRS not in own.text
    narrowed = await recall(RecallAsked(query=QUESTION, reads=[]), memory)
    assert THEIRS not in narrowed.text


async def test_a_client_of_the_service_asks_as_the_embedded_one(keyed: Litestar, team: str) -> None:
    app: Any = keyed
    transport = httpx.ASGITransport(app=app)
    async with AsyncClient("http://localhost", key="ours", transport=transport) as remote:
        [item] = (await remote.recall(QUESTION)).items
        assert item.client_id == team
        assert (await remote.memory(item.id, client_id=team)).text == THEIRS
        assert (await remote.peek(item.id, client_id=team)).id == item.id
        whole = await remote.chunk(item.id, max_tokens=50, client_id=team)
        assert whole.content == THEIRS
        assert (await remote.memories(client_id=team)).total == 1
        assert (await remote.search(QUESTION, reads=[])).items == []
        [session] = (await remote.search_contextual(QUESTION)).contexts
        assert session.client_id == team
