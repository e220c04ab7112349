"""The routes, from opening a conversation to deleting it."""

from typing import Any

import httpx
import pytest
from litestar import Litestar

MESSAGES = [
    {
        "session_id": "monday",
        "role": "user",
        "name": "Mara",
        "content": "The deploy failed with error E-4711 on the staging host.",
        "occurred_at": "2026-03-02T09:30:00+01:00",
        "external_id": "m-1",
    },
    {"session_id": "monday", "role": "assistant", "content": "The disk of staging was full."},
    {"session_id": "tuesday", "role": "tool", "content": "Lunch is at noon."},
]


async def test_a_conversation_is_opened_once(http: httpx.AsyncClient) -> None:
    first = await http.post("/api/v0/conversations", json={"id": "atlas:1", "title": "Atlas"})
    again = await http.post("/api/v0/conversations", json={"id": "atlas:1"})
    assert (first.status_code, first.json()) == (
        201,
        {"id": "atlas:1", "title": "Atlas", "metadata": None, "tags": [], "created": True},
    )
    assert (again.status_code, again.json()["title"]) == (200, "Atlas")


async def test_what_was_remembered_is_recalled_within_the_budget(
    http: httpx.AsyncClient, conversation: str
) -> None:
    written = await http.post(f"{conversation}/messages", json={"messages": MESSAGES})
    assert written.status_code == 201
    assert len(set(written.json()["ids"])) == 3
    answer = await http.post(
        "/api/v0/recall",
        json={"query": "E-4711", "conversation_id": conversation.rpartition("/")[2], "limit": 1},
    )
    assert answer.status_code == 200
    recalled = answer.json()
    assert recalled["items"][0]["external_id"] == "m-1"
    assert recalled["items"][0]["session_external_id"] == "monday"
    assert "E-4711" in recalled["context"]
    assert recalled["tokens_used"] <= 2048
    assert recalled["timings"] is None


async def test_the_same_external_id_gives_the_same_memory(
    http: httpx.AsyncClient, conversation: str
) -> None:
    first = await http.post(f"{conversation}/messages", json={"messages": MESSAGES[:1]})
    again = await http.post(f"{conversation}/messages", json={"messages": MESSAGES[:1]})
    assert first.json()["ids"] == again.json()["ids"]


async def test_a_memory_is_shown_and_deleted(http: httpx.AsyncClient, conversation: str) -> None:
    written = await http.post(f"{conversation}/messages", json={"messages": MESSAGES[:1]})
    path = f"/api/v0/memories/{written.json()['ids'][0]}"
    shown = await http.get(path)
    assert shown.status_code == 200
    assert shown.json()["occurred_at"] == "2026-03-02T08:30:00Z"
    assert shown.json()["superseded_at"] is None
    deleted = await http.delete(path)
    assert (deleted.status_code, deleted.json()["memories"]) == (200, 1)
    assert (await http.get(path)).status_code == 404
    assert (await http.delete(path)).status_code == 404


async def test_deleting_a_conversation_says_how_much_it_took(
    http: httpx.AsyncClient, conversation: str
) -> None:
    await http.post(f"{conversation}/messages", json={"messages": MESSAGES})
    deleted = await http.delete(conversation)
    assert deleted.status_code == 200
    assert deleted.json() == {"conversations": 1, "sessions": 2, "memories": 3}
    assert (await http.delete(conversation)).status_code == 404


async def test_an_empty_result_is_a_result(http: httpx.AsyncClient) -> None:
    answer = await http.post("/api/v0/recall", json={"query": "anything?", "conversation_id": "no"})
    assert (answer.status_code, answer.json()["items"]) == (200, [])


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_unknown_and_foreign_memories_look_the_same(
    method: str, http: httpx.AsyncClient, rival_http: httpx.AsyncClient, conversation: str
) -> None:
    written = await http.post(f"{conversation}/messages", json={"messages": MESSAGES[:1]})
    foreign = written.json()["ids"][0]
    unknown = "0" * len(foreign)
    same = {"X-Request-Id": "same"}
    answers = [
        await rival_http.request(method, f"/api/v0/memories/{id}", headers=same)
        for id in (foreign, unknown)
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content.replace(foreign.encode(), unknown.encode()) == answers[1].content
    assert answers[0].headers.raw == answers[1].headers.raw


async def test_a_foreign_conversation_takes_no_messages_and_is_not_deleted(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, conversation: str
) -> None:
    id = conversation.rpartition("/")[2]
    unknown = f"/api/v0/conversations/{'0' * len(id)}"
    same = {"X-Request-Id": "same"}
    for method, below, body in (
        ("POST", "/messages", {"messages": MESSAGES}),
        ("DELETE", "", None),
    ):
        foreign, missing = [
            await rival_http.request(method, path + below, json=body, headers=same)
            for path in (conversation, unknown)
        ]
        assert foreign.status_code == missing.status_code == 404
        assert foreign.content.replace(id.encode(), b"0" * len(id)) == missing.content
    assert (await http.delete(conversation)).json()["memories"] == 0


@pytest.mark.parametrize(
    "id",
    [
        "no-such",
        "a" * 20_000,
        "nul%00byte",
        "%ED%A0%80",
        "%FF%FE",
        "%F0%9F%98%80",
        "%E2%80%AE",
        "%0A",
        "%7B%7D",
        "a%20OR%20true",
    ],
)
async def test_a_path_id_that_cannot_be_is_not_found(id: str, http: httpx.AsyncClient) -> None:
    await check_not_found(id, http)


@pytest.mark.parametrize("id", ["one%2Ftwo", "..%2F.."])
async def test_a_path_id_with_a_slash_names_no_route(id: str, refusing: httpx.AsyncClient) -> None:
    await check_not_found(id, refusing)


async def check_not_found(id: str, http: httpx.AsyncClient) -> None:
    """Assert that no route finds anything by an id in its path."""
    message = {"messages": MESSAGES[:1]}
    for method, path, body in (
        ("GET", f"/api/v0/memories/{id}", None),
        ("DELETE", f"/api/v0/memories/{id}", None),
        ("DELETE", f"/api/v0/conversations/{id}", None),
        ("POST", f"/api/v0/conversations/{id}/messages", message),
    ):
        answer = await http.request(method, path, json=body)
        assert (answer.status_code, answer.headers["content-type"]) == (
            404,
            "application/problem+json",
        )
        assert len(answer.json()["detail"]) <= 1_000


async def test_without_the_header_the_client_is_the_default_one(
    app: Litestar, asking: Any, http: httpx.AsyncClient, conversation: str
) -> None:
    id = conversation.rpartition("/")[2]
    await http.post(f"{conversation}/messages", json={"messages": MESSAGES})
    async with asking(app) as nameless:
        asked = await nameless.post("/api/v0/recall", json={"query": "E-4711"})
        assert id not in {item["conversation_id"] for item in asked.json()["items"]}
        opened = await nameless.post("/api/v0/conversations", json={"title": "of nobody named"})
    async with asking(app, x_client_id="default") as named:
        path = f"/api/v0/conversations/{opened.json()['id']}"
        assert (await named.delete(path)).status_code == 200
