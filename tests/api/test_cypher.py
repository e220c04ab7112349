"""Cypher over HTTP: for whom, what comes back, and what is told to who may not or asks wrongly."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from graphmem_api.app import create_app
from litestar import Litestar
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.graph.statements import STATEMENTS_AT_WORK, Statements
from graphmem.runtime import Runtime
from tests.scripted import ScriptedGraph

PATH = "/api/v0/cypher"


def bearer(key: str, **headers: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} | headers


def write_keys(path: Path, ours: str, theirs: str) -> None:
    """Write a file with a key of every role for one client, and one for another."""
    lines = [(ours, role) for role in ("agent", "analyst", "operator")]
    lines.append((theirs, "operator"))
    keys = ["agent", "analyst", "operator", "other"]
    path.write_text(
        "".join(
            f"{client} {role} {hashlib.sha256(key.encode()).hexdigest()}\n"
            for (client, role), key in zip(lines, keys, strict=True)
        )
    )


def with_settings(runtime: Runtime, **settings: Any) -> Litestar:
    return create_app(replace(runtime, settings=replace(runtime.settings, **settings)))


@pytest.fixture
def keys_file(tmp_path: Path, memory: Graphmem, rival: Graphmem) -> Path:
    path = tmp_path / "keys"
    write_keys(path, memory.client_id, rival.client_id)
    return path


@pytest.fixture
def keyed(runtime: Runtime, keys_file: Path) -> Litestar:
    """The application with a key of every role."""
    return with_settings(runtime, keys_file=keys_file)


@pytest_asyncio.fixture
async def operator(keyed: Litestar, asking: Any) -> AsyncIterator[httpx.AsyncClient]:
    """HTTP as an operator."""
    async with asking(keyed, authorization="Bearer operator") as http:
        yield http


@pytest.fixture(scope="module")
def offline_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("offline") / "keys"
    write_keys(path, "us", "them")
    return path


@pytest.fixture(scope="module")
def offline_keyed(offline: Runtime, offline_keys: Path) -> Litestar:
    """The application without a database, with a key of every role."""
    return with_settings(offline, keys_file=offline_keys)


@pytest_asyncio.fixture
async def refusing_operator(
    offline_keyed: Litestar, asking: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """HTTP as an operator of an application without a database."""
    async with asking(offline_keyed, authorization="Bearer operator") as http:
        yield http


async def both_routes(app: Litestar, asking: Any, headers: dict[str, str]) -> tuple[Any, Any]:
    """Ask as someone; return the answers to a statement and to a look at the audit."""
    async with asking(app) as http:
        asked = await http.post(PATH, json={"query": "RETURN 1 AS x"}, headers=headers)
        return asked, await http.get(f"{PATH}/audit", headers=headers)


@pytest.mark.parametrize("key", ["operator", "other"])
async def test_an_operator_s_key_may_ask(key: str, keyed: Litestar, asking: Any) -> None:
    # B3
    asked, listed = await both_routes(keyed, asking, bearer(key))
    assert (asked.status_code, listed.status_code) == (200, 200)


@pytest.mark.parametrize(
    ("key", "status"), [("agent", 403), ("analyst", 403), ("wrong", 401), (None, 401)]
)
async def test_only_an_operator_s_key_may_ask(
    key: str | None, status: int, offline_keyed: Litestar, asking: Any
) -> None:
    # B3
    asked, listed = await both_routes(offline_keyed, asking, bearer(key) if key else {})
    assert (asked.status_code, listed.status_code) == (status, status)
    if status == 403:
        assert asked.json()["code"] == "forbidden"
        assert "operator" in asked.json()["detail"]


async def test_who_may_not_ask_leaves_no_entry_and_learns_nothing(
    keyed: Litestar, asking: Any, memory: Graphmem
) -> None:
    async with asking(keyed) as http:
        for query in ("RETURN 1", "RETRUN", "CREATE (n:Intruder)"):
            answer = await http.post(PATH, json={"query": query}, headers=bearer("agent"))
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
            assert answer.headers["content-type"] == "application/problem+json"
        listed = await http.get(f"{PATH}/audit", headers=bearer("agent"))
        assert (listed.status_code, listed.json()["code"]) == (403, "forbidden")
    assert (await memory.cypher_audit(client_id=memory.client_id)).entries == []


@pytest.mark.parametrize(("cypher", "keys"), [("keys", False), ("off", False), ("off", True)])
async def test_without_keys_it_is_off_until_it_is_turned_on(
    cypher: str, keys: bool, offline: Runtime, offline_keys: Path, asking: Any
) -> None:
    # B3
    app = with_settings(offline, cypher=cypher, keys_file=offline_keys if keys else None)
    answer, listed = await both_routes(app, asking, bearer("operator") if keys else {})
    assert (answer.status_code, listed.status_code) == (403, 403)
    assert "GRAPHMEM_CYPHER=" in answer.json()["detail"]
    if keys:
        agent, _ = await both_routes(app, asking, bearer("agent"))
        assert agent.status_code == 403


@pytest.mark.parametrize("keys", [False, True])
async def test_turned_on_it_answers(
    keys: bool, runtime: Runtime, keys_file: Path, asking: Any
) -> None:
    # B3
    app = with_settings(runtime, cypher="on", keys_file=keys_file if keys else None)
    answer, listed = await both_routes(app, asking, bearer("operator") if keys else {})
    assert (answer.status_code, listed.status_code) == (200, 200)
    if keys:
        agent, _ = await both_routes(app, asking, bearer("agent"))
        assert agent.status_code == 403


async def test_a_table_has_columns_rows_a_plan_and_its_time(
    operator: httpx.AsyncClient, memory: Graphmem
) -> None:
    # B3
    await memory.open_conversation()
    query = (
        "MATCH (c:Conversation {client_id: $client}) "
        "RETURN c, c.client_id AS client, datetime($at) AS at, $odd AS odd ORDER BY client;"
    )
    body = {
        "query": query,
        "parameters": {
            "client": memory.client_id,
            "at": "2026-11-22T00:00Z",
            "odd": [None, {"a": 0.5}],
        },
    }
    answer = await operator.post(PATH, json=body)
    assert answer.status_code == 200
    table = answer.json()
    assert set(table) == {"columns", "rows", "truncated", "plan_summary", "milliseconds"}
    assert table["columns"] == ["c", "client", "at", "odd"]
    [row] = table["rows"]
    assert list(row) == table["columns"]
    assert set(row["c"]) == {"id", "labels", "properties"}
    assert row["c"]["labels"] == ["Conversation"]
    assert row["client"] == memory.client_id
    assert row["at"].startswith("2026-11-22T00:00:00")
    assert row["odd"] == [None, {"a": 0.5}]
    assert table["truncated"] is False
    assert table["plan_summary"]["language"] == "CYPHER 25"
    operators = [one["operator"] for one in table["plan_summary"]["operators"]]
    assert operators[0] == "ProduceResults"
    assert operators[-1] in {"NodeByLabelScan", "NodeIndexSeek"}
    assert "Conversation" in table["plan_summary"]["operators"][-1]["details"]
    assert table["milliseconds"] > 0


async def test_it_sees_every_client(
    operator: httpx.AsyncClient, memory: Graphmem, rival: Graphmem
) -> None:
    made = [await one.open_conversation() for one in (memory, rival)]
    answer = await operator.post(
        PATH,
        json={
            "query": "MATCH (c:Conversation) WHERE c.id IN $ids RETURN c.client_id AS client",
            "parameters": {"ids": [one.id for one in made]},
        },
    )
    clients = {row["client"] for row in answer.json()["rows"]}
    assert clients == {memory.client_id, rival.client_id}


async def test_rows_beyond_the_limit_are_cut_and_that_is_said(operator: httpx.AsyncClient) -> None:
    # B3
    for query, rows, truncated in (
        ("UNWIND range(1, 10000000) AS x RETURN x", 1_000, True),
        ("UNWIND range(1, 1000) AS x RETURN x", 1_000, False),
        (
            "UNWIND range(1, 30) AS x RETURN reduce(s = 'x', i IN range(1, 20) | s + s) AS x",
            7,
            True,
        ),
    ):
        answer = (await operator.post(PATH, json={"query": query})).json()
        assert (len(answer["rows"]), answer["truncated"]) == (rows, truncated)
    body = {"query": "UNWIND range(1, 10) AS x RETURN x", "max_rows": 3}
    answer = (await operator.post(PATH, json=body)).json()
    assert ([row["x"] for row in answer["rows"]], answer["truncated"]) == ([1, 2, 3], True)


async def test_what_takes_too_long_is_a_timeout(operator: httpx.AsyncClient) -> None:
    # B3
    query = "UNWIND range(1, 100000000000) AS x RETURN count(x) AS x"
    answer = await operator.post(PATH, json={"query": query, "timeout_ms": 300})
    assert (answer.status_code, answer.json()["code"]) == (408, "took_too_long")
    assert "0.3 seconds" in answer.json()["detail"]


def sending(body: bytes, left: asyncio.Event) -> Any:
    """Return what an application receives: a body, and later that the caller has hung up."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    return receive


async def at_work(memory: Graphmem) -> bool:
    """Tell whether the database works on a statement of a client."""
    sent = {one.id for one in (await memory.cypher_audit(client_id=memory.client_id)).entries}
    return any(one.id in sent for one in await memory.runtime.graph.rows(STATEMENTS_AT_WORK))


async def test_a_caller_who_hangs_up_cancels_its_statement(
    keyed: Litestar, memory: Graphmem
) -> None:
    body = b'{"query": "UNWIND range(1, 1000000000000) AS x RETURN count(x)", "timeout_ms": 60000}'
    headers = {"authorization": "Bearer operator", "content-type": "application/json"}
    scope: Any = {
        "type": "http",
        "method": "POST",
        "path": PATH,
        "raw_path": PATH.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "scheme": "http",
        "http_version": "1.1",
    }
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    left = asyncio.Event()
    asked = asyncio.create_task(keyed(scope, sending(body, left), send))
    async with asyncio.timeout(300):
        while not await at_work(memory):
            await asyncio.sleep(0.05)
        left.set()
        await asked
        await memory.runtime.afterwards.settle()
        [entry] = (await memory.cypher_audit(client_id=memory.client_id)).entries
        assert (entry.outcome, sent) == ("cancelled", [])
        while await at_work(memory):
            await asyncio.sleep(0.05)


async def test_beyond_a_number_of_statements_the_next_is_told_when_to_come_again(
    runtime: Runtime, memory: Graphmem, asking: Any
) -> None:
    statements = Statements(1)
    crowded = replace(runtime, statements=statements)
    app = with_settings(crowded, cypher="on", keys_file=None)
    headers = {"x-client-id": memory.client_id}
    async with asking(app) as http:
        async with statements.admitted("another", Countless()):
            answer = await http.post(PATH, json={"query": "RETURN 1"}, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (429, "too_many_statements")
        assert int(answer.headers["retry-after"]) > 0
        assert (answer.json()["limit"], "GRAPHMEM_CYPHER_AT_ONCE" in answer.text) == (1, True)
    assert (await memory.cypher_audit(client_id=memory.client_id)).entries == []


class Countless(ScriptedGraph):
    """A database that works on nothing."""

    def __init__(self) -> None:
        super().__init__({"graph/statements_at_work": []})


async def test_a_refusal_names_the_rule_and_the_place(operator: httpx.AsyncClient) -> None:
    # B3
    answer = await operator.post(PATH, json={"query": "MATCH (n)\n  CREATE (m:Intruder) RETURN m"})
    assert answer.status_code == 403
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["code"] == "cypher_write"
    assert problem["type"] == "urn:graphmem:problem:cypher_write"
    assert problem["place"] == {"line": 2, "column": 3, "offset": 12}
    assert "only statements that read" in problem["detail"]


async def test_a_mistake_comes_with_neo4j_s_words_and_the_place(
    operator: httpx.AsyncClient,
) -> None:
    answer = await operator.post(PATH, json={"query": "MATCH (n)\nRETURN m"})
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["field"]) == (
        400,
        "cypher_mistake",
        "query",
    )
    assert problem["place"] == {"line": 2, "column": 8, "offset": 17}
    assert "Variable `m` not defined (line 2, column 8 (offset: 17))" in problem["detail"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": " "}, "query"),
        ({"query": "x" * 32_769}, "query"),
        ({"query": 1}, "query"),
        ({"query": "RETURN 1", "parameters": []}, "parameters"),
        ({"query": "RETURN 1", "max_rows": 0}, "max_rows"),
        ({"query": "RETURN 1", "max_rows": 50_001}, "max_rows"),
        ({"query": "RETURN 1", "timeout_ms": 60_001}, "timeout_ms"),
        ({"query": "RETURN 1", "client_id": "x"}, "client_id"),
    ],
)
async def test_what_cannot_be_used_is_named(
    body: dict[str, object], field: str, refusing_operator: httpx.AsyncClient
) -> None:
    answer = await refusing_operator.post(PATH, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["field"] == field


async def test_a_parameter_that_the_driver_cannot_send_is_named(
    operator: httpx.AsyncClient,
) -> None:
    body = {"query": "RETURN $x", "parameters": {"x": 2**63}}
    answer = await operator.post(PATH, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["field"] == "parameters"
    assert "from -2^63 to 2^63 - 1" in answer.json()["detail"]


async def test_what_cannot_be_used_leaves_no_entry(
    operator: httpx.AsyncClient, memory: Graphmem
) -> None:
    answer = await operator.post(PATH, json={"query": "RETURN 1", "max_rows": 0})
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["field"]) == ("invalid_input", "max_rows")
    assert (await memory.cypher_audit(client_id=memory.client_id)).entries == []


async def test_the_audit_is_read_page_by_page(
    operator: httpx.AsyncClient, memory: Graphmem
) -> None:
    # B3
    for query in ("RETURN 1", "CREATE (n:Intruder)", "RETRUN"):
        await operator.post(PATH, json={"query": query})
    await memory.runtime.afterwards.settle()
    mine = {"client_id": memory.client_id, "limit": "2"}
    first = (await operator.get(f"{PATH}/audit", params=mine)).json()
    assert [one["query"] for one in first["entries"]] == ["RETRUN", "CREATE (n:Intruder)"]
    assert [one["outcome"] for one in first["entries"]] == ["mistaken", "refused"]
    assert {one["via"] for one in first["entries"]} == {"http"}
    rest = (await operator.get(f"{PATH}/audit", params=mine | {"cursor": first["cursor"]})).json()
    assert [one["query"] for one in rest["entries"]] == ["RETURN 1"]
    assert rest["cursor"] is None
    answer = await operator.get(f"{PATH}/audit", params={"limit": "0"})
    assert (answer.status_code, answer.json()["field"]) == (400, "limit")
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "params", [{"limit": "0"}, {"outcome": "lost"}, {"cursor": "x"}, {"client": "x"}]
)
async def test_what_cannot_be_asked_of_the_audit_is_named(
    params: dict[str, str], refusing_operator: httpx.AsyncClient
) -> None:
    answer = await refusing_operator.get(f"{PATH}/audit", params=params)
    assert (answer.status_code, answer.json()["field"]) == (400, next(iter(params)))
