"""Every request of the OpenAPI document with every role, without a key, and as another client."""

import hashlib
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from graphmem_api.app import create_app
from graphmem_api.keys import RequestClient, create_key
from graphmem_api.mcp.server import EVERY_TOOL, offered
from graphmem_api.roles import ABOUT, NEEDED, OPERATIONS, ROLES, Role
from litestar import Litestar
from msgspec import Struct
from msgspec.structs import replace

from graphmem.cli import keys as command
from graphmem.client import Graphmem
from graphmem.runtime import Runtime
from tests.api.test_openapi import remembered

OPEN = {"live", "ready"}
"""Operations that need no key."""

QUESTIONS = {
    "chunk",
    "context_pre_retrieve",
    "expand_context",
    "explain",
    "hyde_retrieve",
    "recall",
    "retrieve_memory",
    "retrieve_memory_raw",
    "run_pattern",
    "search",
    "search_contextual",
    "search_spans",
    "verify",
}
"""Requests with a body that change nothing."""

SECRET = "The lighthouse keeper hides the spare key under the third buoy."


class Operation(Struct, frozen=True):
    """One request of the document."""

    id: str
    method: str
    path: str
    body: Any = None

    def filled(self, known: dict[str, str]) -> str:
        """Return the path with ids."""
        return re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], "x"), self.path)


def operations(app: Litestar) -> Iterator[Operation]:
    """Yield the requests of the document, each with its first example of a body."""
    for path, item in app.openapi_schema.to_schema()["paths"].items():
        for method, operation in item.items():
            content = operation.get("requestBody", {}).get("content", {})
            shown = content.get("application/json", {}).get("examples", {})
            body: Any = next((one["value"] for one in shown.values()), {})
            yield Operation(operation["operationId"], method.upper(), path, body)


def bearer(role: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {role}"}


@pytest.fixture
def keyed(offline: Runtime, tmp_path: Path) -> Litestar:
    """The application without a database, with a key of each role, of the same name."""
    path = tmp_path / "keys"
    digests = {role: hashlib.sha256(role.encode()).hexdigest() for role in ROLES}
    path.write_text("".join(f"us {role} {digest}\n" for role, digest in digests.items()))
    return create_app(replace(offline, settings=replace(offline.settings, keys_file=path)))


def test_every_request_has_its_role_and_only_questions_need_no_agent(keyed: Litestar) -> None:
    every = {one.id: one for one in operations(keyed)}
    assert every.keys() - OPEN == NEEDED.keys() - {"mcp"}
    assert sum(map(len, OPERATIONS.values())) == len(NEEDED)
    changing = {id for id, one in every.items() if one.method != "GET"} - QUESTIONS
    for id in every.keys() - OPEN:
        reads = NEEDED[id] in {"reader", "analyst"}
        assert not (reads and id in changing), id
        assert reads or id in changing or NEEDED[id] == "operator", id


async def test_each_role_is_let_in_exactly_where_the_table_says(
    keyed: Litestar, asking: Any
) -> None:
    found, expected = {}, {}
    async with asking(keyed) as http:
        for one in operations(keyed):
            if one.id in OPEN:
                continue
            for role in ROLES:
                sent = {} if one.body == {} else {"json": one.body}
                answer = await http.request(
                    one.method,
                    one.filled({"client_id": "us"}),
                    headers=bearer(role) | {"X-Forwarded-For": "1"},
                    **sent,
                )
                found[one.id, role] = answer.status_code == 403
                expected[one.id, role] = ROLES.index(role) < ROLES.index(NEEDED[one.id])
                assert answer.status_code != 401
                if found[one.id, role]:
                    assert f"yours is of the role {role}" in answer.json()["detail"]
    assert found == expected


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer unknown"}, 401),
        ({"Authorization": "Basic operator"}, 401),
        ({"X-Client-Id": "us"}, 401),
        (bearer("operator") | {"X-Client-Id": "them"}, 401),
    ],
)
async def test_no_request_is_let_in_without_a_good_key_or_for_another_client(
    headers: dict[str, str], status: int, keyed: Litestar, asking: Any
) -> None:
    async with asking(keyed) as http:
        found = {
            one.id: (
                await http.request(
                    one.method, one.filled({}), headers=headers | {"X-Forwarded-For": "1"}
                )
            ).status_code
            for one in operations(keyed)
            if one.id not in OPEN
        }
        found["mcp"] = (await http.post("/mcp", headers=headers)).status_code
    assert found == dict.fromkeys(found, status)


async def test_a_request_that_is_not_in_the_table_is_for_operators(
    keyed: Litestar, asking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(NEEDED, "show_memory")
    async with asking(keyed) as http:
        refused = await http.get("/api/v0/memories/x", headers=bearer("agent"))
        admitted = await http.get("/api/v0/memories/x", headers=bearer("operator"))
    assert (refused.status_code, admitted.status_code) == (403, 500)


def test_the_document_and_the_command_tell_the_roles(keyed: Litestar) -> None:
    paths = keyed.openapi_schema.to_schema()["paths"]
    told = {
        one["operationId"]: one["description"] for item in paths.values() for one in item.values()
    }
    assert told["remember"].endswith("With keys, for the roles agent and operator.")
    assert told["ask_cypher"].endswith("With keys, for the role operator.")
    assert "With keys" not in told["recall"]
    assert command.ROLES == ROLES
    assert ABOUT.keys() == set(ROLES)


@pytest.mark.parametrize("role", ROLES)
def test_a_key_gets_only_tools_that_make_requests_of_its_role(role: Role) -> None:
    tools = offered("all", role=role).tools
    assert {tool.operation for tool in EVERY_TOOL} <= NEEDED.keys()
    for tool in EVERY_TOOL:
        assert (tool in tools) == (ROLES.index(role) >= ROLES.index(NEEDED[tool.operation]))
    assert not any(tool.writes for tool in tools) or role in {"agent", "operator"}
    assert {"recall", "search_contextual"} <= {tool.name for tool in tools}


async def exported(http: httpx.AsyncClient) -> list[str]:
    """Return the nodes and edges of a client as the export has them."""
    answer = await http.get("/api/v0/export")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    return sorted(json.dumps(line) for line in lines if "node" in line or "edge" in line)


async def test_another_client_gets_and_changes_nothing_with_our_ids(
    runtime: Runtime,
    memory: Graphmem,
    rival: Graphmem,
    tmp_path: Path,
    asking: Any,
    every_query: None,
) -> None:
    path = tmp_path / "keys"
    now = datetime.now(UTC)
    ours, _ = create_key(path, RequestClient(memory.client_id, "agent"), expires_in=None, now=now)
    theirs, _ = create_key(path, RequestClient(rival.client_id, "agent"), expires_in=None, now=now)
    app = create_app(replace(runtime, settings=replace(runtime.settings, keys_file=path)))
    async with asking(app, **bearer(ours)) as http:
        known = await remembered(http) | {"client_id": memory.client_id}
        fact = {"content": SECRET, "conversation_id": known["conversation_id"]}
        await http.post("/api/v0/facts", json=fact)
        before = await exported(http)
        async with asking(app, **bearer(theirs)) as foreign:
            for one in operations(app):
                if one.id in OPEN:
                    continue
                sent = {} if one.body == {} else {"json": one.body}
                answer = await foreign.request(one.method, one.filled(known), **sent)
                assert answer.status_code < 500, (one.id, answer.text)
                assert "lighthouse" not in answer.text, one.id
        assert len(before) > 5
        assert await exported(http) == before
