"""Patterns over HTTP: the catalogue, running one, and what is told to who asks wrongly."""

import httpx
import pytest

from graphmem.client import Graphmem
from tests.patterned import ASKED, live


async def test_the_catalogue_tells_all_that_is_needed_to_ask(refusing: httpx.AsyncClient) -> None:
    answer = await refusing.get("/api/v0/patterns")
    assert answer.status_code == 200
    patterns = {one["name"]: one for one in answer.json()["patterns"]}
    assert set(patterns) == set(ASKED)
    for one in patterns.values():
        assert one["title"]
        assert one["description"]
        assert one["columns"][-1]["name"] == "memory_ids"
    timeline = {one["name"]: one for one in patterns["timeline"]["parameters"]}
    assert timeline["name"]["required"] is True
    assert (timeline["limit"]["least"], timeline["limit"]["most"]) == (1, 1000)
    assert "client_id" not in timeline


async def test_every_example_of_the_catalogue_is_legal(http: httpx.AsyncClient) -> None:
    for one in (await http.get("/api/v0/patterns")).json()["patterns"]:
        path = f"/api/v0/patterns/{one['name']}"
        answer = await http.post(path, json={"parameters": one["example"]})
        assert answer.status_code == 200, answer.text
        assert answer.json()["columns"] == [column["name"] for column in one["columns"]]


async def test_a_pattern_answers_columns_and_rows_with_their_memories(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, memory: Graphmem
) -> None:
    # B6
    await live(memory)
    path = "/api/v0/patterns/decisions_reversed"
    answer = await http.post(path, json={"parameters": {"category": "architectural_decision"}})
    assert answer.status_code == 200
    [row] = answer.json()["rows"]
    assert row["reason"] == "two writers at once"
    assert len(row["memory_ids"]) == 3
    shown = await http.get(f"/api/v0/memories/{row['memory_ids'][0]}")
    assert shown.json()["text"] == row["before"]
    assert answer.json()["truncated"] is False
    assert (await rival_http.post(path, json={"parameters": {}})).json()["rows"] == []
    assert (await http.post(path, json={})).json()["rows"] == answer.json()["rows"]


async def test_an_unknown_pattern_is_not_found(refusing: httpx.AsyncClient) -> None:
    answer = await refusing.post("/api/v0/patterns/none", json={})
    assert answer.status_code == 404
    assert answer.json()["code"] == "pattern_not_found"
    assert "recurring_themes" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("name", "body", "field", "legal"),
    [
        ("bridges", {"parameters": {"comon": 2}}, "parameters.comon", "`common` is"),
        ("bridges", {"parameters": {"limit": 1001}}, "parameters.limit", "from 1 to 1,000"),
        ("bridges", {"parameters": {"client_id": "x"}}, "parameters.client_id", "no such"),
        ("duplicates", {"parameters": {"kind": "noise"}}, "parameters.kind", "episode, fact"),
        ("timeline", {"parameters": {}}, "parameters.name", "is missing"),
        ("timeline", {"parameter": {}}, "parameter", "unknown field"),
        ("timeline", {"parameters": []}, "parameters", "object"),
        ("timeline", {"parameters": {"name": "x", "since": "2026"}}, "parameters.since", "zone"),
    ],
)
async def test_what_cannot_be_used_is_told_with_what_can(
    name: str, body: dict[str, object], field: str, legal: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.post(f"/api/v0/patterns/{name}", json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["field"] == field
    assert legal in answer.json()["detail"]


async def test_beside_a_database_it_is_told_as_well(http: httpx.AsyncClient) -> None:
    body = {"parameters": {"limit": 1001}}
    answer = await http.post("/api/v0/patterns/bridges", json=body)
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["field"]) == ("invalid_input", "parameters.limit")
