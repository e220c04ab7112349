"""Contextual retrieval over HTTP: search, tell me more, sessions' summaries and what is related."""

from typing import Any

import httpx
import pytest

from tests.told_sessions import messages

SEARCH, EXPAND = "/api/v0/contextual/search", "/api/v0/contextual/expand"
QUESTION = {"query": "What was that auth bug?", "top_sessions": 1, "top_k": 1}


async def told(http: httpx.AsyncClient) -> None:
    await http.post("/api/v0/conversations", json={"id": "c"})
    for name in ("bug", "deploy"):
        path = "/api/v0/conversations/c/messages"
        answer = await http.post(path, json={"messages": messages(name)})
        assert answer.status_code == 201, answer.text


async def test_search_then_summarize_then_related_then_more(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient
) -> None:
    # S5.1 S5.27 S5.34
    await told(http)
    answer = await http.post(SEARCH, json=QUESTION)
    assert answer.status_code == 200, answer.text
    [context] = answer.json()["contexts"]
    assert context["session_external_id"] == "bug"
    assert set(context["messages"][0]) == {
        *("id", "idx", "role", "name", "content", "occurred_at", "hit", "score", "excerpt")
    }
    session = f"/api/v0/sessions/{context['session_id']}"
    summary = await http.post(f"{session}/summarize")
    assert (summary.status_code, summary.json()["version"]) == (200, 1)
    assert summary.json()["target_id"] == context["session_id"]
    related = await http.get(f"{session}/related")
    assert related.status_code == 200
    assert [(one["session_external_id"], one["basis"]) for one in related.json()["related"]] == [
        ("deploy", "entities")
    ]
    [hit] = [turn for turn in context["messages"] if turn["hit"]]
    shown = [turn["id"] for turn in context["messages"]]
    more = await http.post(
        EXPAND, json={"memory_id": hit["id"], "direction": "earlier", "shown": shown}
    )
    assert more.status_code == 200, more.text
    assert [turn["idx"] for turn in more.json()["messages"]] == [0, 1]
    for path in (f"{session}/related", "/api/v0/sessions/unknown/related"):
        assert (await rival_http.get(path)).status_code == 404
    assert (await rival_http.post(f"{session}/summarize")).status_code == 404
    assert (await rival_http.post(EXPAND, json={"memory_id": hit["id"]})).status_code == 404
    foreign = (await rival_http.post(SEARCH, json=QUESTION)).json()
    assert (foreign["contexts"], foreign["items"], foreign["fallback"]) == ([], [], "global")


async def test_linked_memories_relate_their_sessions(http: httpx.AsyncClient) -> None:
    # S5.39
    await told(http)
    found = (
        await http.post(SEARCH, json=QUESTION | {"top_sessions": 2, "min_relevance": 0})
    ).json()
    one, other = found["contexts"]
    first, second = one["messages"][0]["id"], other["messages"][0]["id"]
    link = {"from": first, "to": second, "type": "refines"}
    assert (await http.post("/api/v0/links", json=link)).status_code == 201
    related = (await http.get(f"/api/v0/sessions/{one['session_id']}/related")).json()["related"]
    assert [(each["session_id"], each["basis"], each["score"]) for each in related] == [
        (other["session_id"], "links", 0.5)
    ]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        (SEARCH, {"query": "x", "top_sessions": 21}, "top_sessions"),
        (SEARCH, {"query": "x", "unknown": 1}, "unknown"),
        (SEARCH, {"query": "x", "as_of": "2026-03-03T09:00:00"}, "as_of"),
        (SEARCH, {"query": "x", "known_as_of": 7}, "known_as_of"),
        (EXPAND, {}, "memory_id"),
        (EXPAND, {"session_id": "s", "direction": "up"}, "direction"),
        (EXPAND, {"session_id": "s", "max_tokens": 0}, "max_tokens"),
    ],
)
async def test_what_cannot_be_asked_is_refused(
    path: str, body: dict[str, Any], field: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.post(path, json=body)
    assert answer.status_code == 400, answer.text
    assert field in answer.text
    assert answer.headers["content-type"].startswith("application/problem+json")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        (SEARCH, {"query": "x", "top_sessions": 21}, "top_sessions"),
        (EXPAND, {"session_id": "s", "max_tokens": 0}, "max_tokens"),
    ],
)
async def test_beside_a_database_it_is_refused_as_well(
    path: str, body: dict[str, Any], field: str, http: httpx.AsyncClient
) -> None:
    answer = await http.post(path, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert (answer.json()["code"], answer.json()["field"]) == ("invalid_input", field)
