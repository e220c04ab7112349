"""Lists over HTTP: conversations, sessions, messages, memories, and for operators the clients."""

from typing import Any

import httpx
import pytest

from graphmem.client import Graphmem

PREFIX = "/api/v0"


async def said(http: httpx.AsyncClient, *texts: str) -> None:
    await http.post(f"{PREFIX}/conversations", json={"id": "c", "title": "Harbour"})
    messages = [{"session_id": "s", "role": "user", "content": text} for text in texts]
    await http.post(f"{PREFIX}/conversations/c/messages", json={"messages": messages})


async def test_a_chat_is_loaded_again_page_by_page(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient
) -> None:
    await said(http, "one", "two", "three")

    [conversation] = (await http.get(f"{PREFIX}/conversations")).json()["conversations"]
    assert (conversation["id"], conversation["title"]) == ("c", "Harbour")
    assert (conversation["sessions"], conversation["messages"]) == (1, 3)
    [session] = (await http.get(f"{PREFIX}/conversations/c/sessions")).json()["sessions"]
    assert (session["external_id"], session["messages"]) == ("s", 3)
    url = f"{PREFIX}/conversations/c/messages"
    first = (await http.get(url, params={"order": "newest", "limit": 2})).json()
    assert [one["text"] for one in first["messages"]] == ["three", "two"]
    assert first["total"] == 3
    assert "title" not in first["messages"][0]
    rest = await http.get(url, params={"order": "newest", "limit": 2, "cursor": first["cursor"]})
    assert [one["text"] for one in rest.json()["messages"]] == ["one"]
    assert rest.json()["cursor"] is None
    for path in ("conversations/c/sessions", "conversations/c/messages"):
        assert (await rival_http.get(f"{PREFIX}/{path}")).status_code == 404
    for path in ("conversations", "memories"):
        answer = (await rival_http.get(f"{PREFIX}/{path}")).json()
        assert answer == {path: [], "total": 0, "cursor": None}


async def test_memories_are_listed_by_kind(http: httpx.AsyncClient) -> None:
    await said(http, "one")
    await http.post(f"{PREFIX}/facts", json={"fact": "Mara keeps bees"})

    answer = await http.get(f"{PREFIX}/memories", params={"kinds": "fact,episode"})

    assert [one["text"] for one in answer.json()["memories"]] == ["Mara keeps bees"]
    assert answer.json()["total"] == 1


async def test_a_session_is_named_in_its_conversation_as_its_caller_does(
    http: httpx.AsyncClient,
) -> None:
    await said(http, "one", "two")
    other = {"messages": [{"session_id": "s", "role": "user", "content": "one elsewhere"}]}
    await http.post(f"{PREFIX}/conversations", json={"id": "d"})
    await http.post(f"{PREFIX}/conversations/d/messages", json=other)
    [session] = (await http.get(f"{PREFIX}/conversations/c/sessions")).json()["sessions"]
    named = {"session_id": "s", "conversation_id": "c"}

    by_id = await http.get(f"{PREFIX}/memories", params={"session_id": session["id"]})
    by_name = await http.get(f"{PREFIX}/memories", params=named)
    found = await http.post(f"{PREFIX}/search", json={"query": "one", "match": "exact", **named})
    alone = await http.get(f"{PREFIX}/memories", params={"session_id": "s"})

    assert by_id.json()["total"] == 2
    assert by_name.json() == by_id.json()
    assert [one["snippet"] for one in found.json()["items"]] == ["one"]
    assert alone.json()["total"] == 0


@pytest.mark.parametrize(
    ("path", "asked", "field"),
    [
        ("memories", {"kinds": "fact,dream"}, "kinds[1]"),
        ("memories", {"order": "sideways"}, "order"),
        ("memories", {"limit": "0"}, "limit"),
        ("memories", {"since": "yesterday"}, "since"),
        ("memories", {"cursor": "bm9uZQ=="}, "cursor"),
        ("memories", {"colour": "red"}, "colour"),
        ("conversations", {"limit": "201"}, "limit"),
        ("conversations", {"cursor": "?"}, "cursor"),
        ("conversations/c/messages", {"cursor": "?"}, "cursor"),
    ],
)
async def test_a_wrong_question_is_told_its_field(
    http: httpx.AsyncClient, path: str, asked: dict[str, str], field: str
) -> None:
    answer = await http.get(f"{PREFIX}/{path}", params=asked)

    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["field"] == field


async def test_a_zone_whose_sign_is_lost_in_the_query_string_is_told_so(
    http: httpx.AsyncClient,
) -> None:
    url = f"{PREFIX}/memories?since=2026-03-01T00:00:00"
    refused = await http.get(f"{url}+01:00")
    assert (refused.status_code, refused.json()["field"]) == (400, "since")
    assert "send the zone as %2B01:00" in refused.json()["detail"]
    assert (await http.get(f"{url}%2B01:00")).status_code == 200


async def test_operators_see_the_clients_with_their_counts(
    http: httpx.AsyncClient, memory: Graphmem, rival: Graphmem
) -> None:
    await said(http, "one", "two")
    await rival.remember_facts([{"fact": "Mara keeps bees"}])

    clients: dict[str, Any] = {}
    cursor = None
    while True:
        asked = {"limit": 100} | ({"cursor": cursor} if cursor else {})
        page = (await http.get(f"{PREFIX}/clients", params=asked)).json()
        assert page["clients"]
        assert not clients.keys() & {one["id"] for one in page["clients"]}
        clients |= {one["id"]: one for one in page["clients"]}
        cursor = page["cursor"]
        if cursor is None:
            break

    assert list(clients) == sorted(clients)
    mine, other = clients[memory.client_id], clients[rival.client_id]
    assert (mine["conversations"], mine["memories"], mine["by_kind"]["message"]) == (1, 2, 2)
    assert (other["conversations"], other["by_kind"]["fact"]) == (0, 1)
    assert mine["last_written_at"] is not None
    assert mine["last_read_at"] is None
