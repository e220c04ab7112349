"""Annotations and forgetting over HTTP: who may do it, and what is refused."""

import hashlib
from pathlib import Path
from typing import Any

import httpx
import pytest
from graphmem_api.app import create_app
from litestar import Litestar
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.context import Context
from graphmem.forgetting.forget import forget_client
from graphmem.forgetting.types import Receipt
from graphmem.runtime import Runtime

PREFIX = "/api/v0"
SECRET = "Anna Petrova takes insulin."


@pytest.fixture
def keyed(runtime: Runtime, memory: Graphmem, rival: Graphmem, tmp_path: Path) -> Litestar:
    """The application with keys: `ours` of an agent, `theirs` of an operator who is another client."""
    path = tmp_path / "keys"
    rows = ((memory.client_id, "agent", "ours"), (rival.client_id, "operator", "theirs"))
    path.write_text(
        "".join(
            f"{client} {role} {hashlib.sha256(key.encode()).hexdigest()}\n"
            for client, role, key in rows
        )
    )
    return create_app(replace(runtime, settings=replace(runtime.settings, keys_file=path)))


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def test_a_memory_is_annotated_and_found_by_tag(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient
) -> None:
    id = (await http.post(f"{PREFIX}/facts", json={"fact": SECRET, "tags": ["a"]})).json()["id"]
    url = f"{PREFIX}/memories/{id}"

    answer = await http.patch(url, json={"tags": ["b", "c"], "metadata": {"n": 1}})

    assert answer.status_code == 200
    assert (answer.json()["tags"], answer.json()["metadata"]) == (["b", "c"], {"n": 1})
    for tags, total in (("b,c", 1), ("b,a", 0)):
        found = await http.get(f"{PREFIX}/memories", params={"tags": tags})
        assert found.json()["total"] == total
    found = await http.post(f"{PREFIX}/recall", json={"query": "insulin", "tags": ["b"]})
    assert [item["id"] for item in found.json()["items"]] == [id]
    assert (await rival_http.patch(url, json={"tags": []})).status_code == 404
    refused = await http.patch(url, json={"tags": ["a,b"]})
    assert (refused.status_code, refused.json()["field"]) == (400, "tags[0]")
    assert (await http.patch(url, json={"text": "another"})).status_code == 400


async def test_forgetting_is_counted_done_and_proved(http: httpx.AsyncClient) -> None:
    await http.post(f"{PREFIX}/facts", json={"fact": SECRET})
    asked = {"name": "Anna Petrova"}
    counted = (await http.post(f"{PREFIX}/forget", json=asked | {"dry_run": True})).json()
    found = (await http.post(f"{PREFIX}/forget/verify", json={"text": SECRET})).json()
    assert not found["forgotten"]
    assert {("Fact" in one["labels"], one["property"]) for one in found["places"]} == {
        (True, "search_text"),
        (True, "text"),
    }

    receipt = (await http.post(f"{PREFIX}/forget", json=asked)).json()

    assert receipt["memories"] == counted["memories"] == {"fact": 1}
    assert (receipt["dry_run"], counted["dry_run"]) == (False, True)
    proof = (await http.post(f"{PREFIX}/forget/verify", json={"text": SECRET})).json()
    assert proof == {"forgotten": True, "places": []}


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("forget", {}, "body"),
        ("forget", {"dry_run": True}, "body"),
        ("forget", {"everything": True}, "everything"),
        ("forget/verify", {}, "text"),
        ("forget/verify", {"text": "a", "id": "b"}, "text"),
    ],
)
async def test_an_unclear_request_is_refused(
    http: httpx.AsyncClient, path: str, body: Any, field: str
) -> None:
    answer = await http.post(f"{PREFIX}/{path}", json=body)
    assert (answer.status_code, answer.json()["field"]) == (400, field)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/forget"),
        ("DELETE", "/memories/m"),
        ("DELETE", "/conversations/c"),
        ("DELETE", "/contexts/x"),
    ],
)
async def test_a_dry_run_that_a_deletion_does_not_read_in_the_query_string_deletes_nothing(
    method: str, path: str, refusing: httpx.AsyncClient
) -> None:
    body = {"name": "Mara"} if method == "POST" else None
    answer = await refusing.request(
        method, f"{PREFIX}{path}", params={"dry_run": "true"}, json=body
    )
    assert (answer.status_code, answer.json()["field"]) == (400, "dry_run")


@pytest.mark.parametrize("path", ["memories/m", "conversations/c", "contexts/x", "clients/refused"])
async def test_a_dry_run_in_the_body_of_a_deletion_deletes_nothing(
    path: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.request("DELETE", f"{PREFIX}/{path}", json={"dry_run": True})
    assert (answer.status_code, answer.json()["field"]) == (400, "body")


async def test_the_document_tells_of_every_deletion_that_a_legal_hold_refuses(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    talk = (await memory.open_conversation()).id
    fact = (await memory.remember_fact(SECRET)).id
    span = {"id": "s", "source_type": "offer", "source_id": "o", "start_byte": 0, "end_byte": 5}
    await memory.register_spans([span | {"content": "Night"}])
    await memory.begin_hold("case 9")
    paths = (await http.get("/schema/openapi.json")).json()["paths"]
    for method, template, path, body in (
        ("DELETE", "/conversations/{conversation_id}", f"/conversations/{talk}", None),
        ("DELETE", "/memories/{memory_id}", f"/memories/{fact}", None),
        ("DELETE", "/clients/{client_id}", f"/clients/{memory.client_id}", None),
        ("POST", "/forget", "/forget", {"memory_ids": [fact]}),
        ("POST", "/spans", "/spans", span | {"content": "Noon."}),
    ):
        answer = await http.request(method, f"{PREFIX}{path}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (409, "legal_hold"), path
        assert "409" in paths[f"{PREFIX}{template}"][method.lower()]["responses"], template


async def test_a_client_in_the_path_that_cannot_be_one_is_refused_by_its_name(
    http: httpx.AsyncClient,
) -> None:
    path = f"{PREFIX}/clients/a%20b"
    for method, url, body in (
        ("DELETE", path, None),
        ("PUT", f"{path}/hold", {"reason": "case"}),
        ("DELETE", f"{path}/hold", None),
    ):
        answer = await http.request(method, url, json=body)
        assert (answer.status_code, answer.json()["field"]) == (400, "client_id"), method


async def test_only_an_operator_gives_a_client_its_tokens_of_the_day_again(
    keyed: Litestar, asking: Any, memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[bool] = []

    async def forget(context: Context, *, dry_run: bool, keeps_tokens: bool) -> Receipt:
        kept.append(keeps_tokens)
        return await forget_client(context, dry_run=True)

    monkeypatch.setattr("graphmem.forgetting.forget.forget_client", forget)
    async with asking(keyed) as http:
        for key in ("ours", "theirs"):
            path = f"{PREFIX}/clients/{memory.client_id}"
            assert (await http.delete(path, headers=bearer(key))).status_code == 200
    assert kept == [True, False]


async def test_a_client_forgets_itself_and_an_operator_any(
    keyed: Litestar, asking: Any, memory: Graphmem, rival: Graphmem
) -> None:
    await memory.remember_fact(SECRET)
    await rival.remember_fact(SECRET)
    ours, theirs = (f"{PREFIX}/clients/{one.client_id}" for one in (memory, rival))
    async with asking(keyed) as http:
        for method, path in (
            ("DELETE", theirs),
            ("PUT", f"{ours}/hold"),
            ("DELETE", f"{ours}/hold"),
        ):
            body = {"reason": "case"} if method == "PUT" else None
            answer = await http.request(method, path, headers=bearer("ours"), json=body)
            assert answer.status_code == 403, path
        held = await http.put(f"{ours}/hold", headers=bearer("theirs"), json={"reason": "case 7"})
        assert held.status_code == 204
        refused = await http.delete(ours, headers=bearer("ours"))
        assert (refused.status_code, refused.json()["code"]) == (409, "legal_hold")
        assert "case 7" in refused.json()["detail"]
        assert (await http.delete(f"{ours}/hold", headers=bearer("theirs"))).status_code == 204
        counted = await http.delete(ours, headers=bearer("ours"), params={"dry_run": True})
        assert counted.json()["memories"] == {"fact": 1}
        gone = await http.delete(ours, headers=bearer("theirs"))
        assert gone.json()["memories"] == {"fact": 1}
        bad = await http.delete(f"{PREFIX}/clients/a b", headers=bearer("theirs"))
        assert bad.status_code == 400
    assert (await memory.memories()).total == 0
    assert (await rival.memories()).total == 1
