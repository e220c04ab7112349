"""Episodes over HTTP: of new messages, of known ones, of a range; nothing is half done."""

import asyncio
from typing import Any

import httpx
import pytest

from graphmem.client import Graphmem
from graphmem.runtime import Runtime

EPISODES = "/api/v0/episodes"
SHAPE = """CYPHER 25
MATCH (episode:Episode {client_id: $client_id})-[:PART_OF]->(conversation:Conversation)
OPTIONAL MATCH (message:Message)-[:PART_OF]->(episode)
WITH episode, conversation, message ORDER BY message.position
RETURN episode.id AS id, conversation.id AS conversation_id, collect(message.id) AS messages,
  [(episode)-[:NEXT]->(next:Episode) | next.id] AS next, episode.stability AS stability,
  episode.last_reviewed_at = episode.end_at AS reviewed_at_end, episode.session_id AS session_id,
  episode.search_text AS search_text"""
MESSAGES = "CYPHER 25 MATCH (m:Message {client_id: $client_id}) RETURN count(m) AS messages"

SAID = [
    ("user", "I've been doing Python for 5 years but my new team is all Rust."),
    ("assistant", "That's a big shift. What prompted it?"),
    ("user", "The trading system needs microsecond latency, Python can't cut it."),
    ("user", "Also I need to learn it within 3 months."),
]


def messages(session: str = "one", **more: Any) -> list[dict[str, Any]]:
    return [
        {"session_id": session, "role": role, "content": content} | more for role, content in SAID
    ]


async def opened(http: httpx.AsyncClient) -> str:
    return (await http.post("/api/v0/conversations", json={})).json()["id"]


async def said(http: httpx.AsyncClient, conversation_id: str, **more: Any) -> list[str]:
    path = f"/api/v0/conversations/{conversation_id}/messages"
    return (await http.post(path, json={"messages": messages(**more)})).json()["ids"]


async def shape(runtime: Runtime, memory: Graphmem) -> dict[str, dict[str, Any]]:
    rows = await runtime.graph.execute(SHAPE, client_id=memory.client_id)
    return {row["id"]: row for row in rows}


async def test_an_episode_of_new_messages_stores_them_and_says_what_they_said(
    http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    conversation_id = await opened(http)
    answer = await http.post(
        EPISODES, json={"conversation_id": conversation_id, "messages": messages()}
    )
    assert answer.status_code == 201, answer.text
    episode = answer.json()
    assert any(word in episode["title"].lower() for word in ("rust", "python", "latency"))
    assert any(content in episode["summary"] for _, content in SAID)
    assert episode["surprise"] == 0.5
    found = (await shape(runtime, memory))[episode["id"]]
    assert found["messages"] == episode["message_ids"]
    assert (found["conversation_id"], found["reviewed_at_end"]) == (conversation_id, True)
    assert found["session_id"]
    shown = [(await http.get(f"/api/v0/memories/{id}")).json() for id in episode["message_ids"]]
    assert [(one["role"], one["text"]) for one in shown] == SAID
    segmented = await http.post(f"/api/v0/conversations/{conversation_id}/segment")
    assert (segmented.status_code, segmented.json()["episodes"]) == (200, [])


async def test_what_is_given_stands_and_surprise_makes_it_last(  # S2.17
    http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    conversation_id = await opened(http)
    ids = await said(http, conversation_id)
    given = {
        "title": "Career switch to Rust",
        "summary": "User switching careers from Python to Rust.",
        "start_at": "2026-01-15T10:00:00Z",
        "end_at": "2026-01-15T10:05:00Z",
    }
    about = {"conversation_id": conversation_id, "message_ids": ids} | given
    kept = [
        (await http.post(EPISODES, json=about | {"surprise": value})).json() for value in (0.0, 1.0)
    ]
    for one in kept:
        assert {name: one[name] for name in given} == given
    found = await shape(runtime, memory)
    calm, exciting = (found[one["id"]]["stability"] for one in kept)
    assert exciting == pytest.approx(1.5 * calm)
    assert found[kept[0]["id"]]["search_text"] == given["summary"]


async def test_a_range_is_named_by_either_name_of_its_session(http: httpx.AsyncClient) -> None:
    conversation_id = await opened(http)
    ids = await said(http, conversation_id)
    internal = (await http.get(f"/api/v0/memories/{ids[0]}")).json()["session_id"]
    for session_id in ("one", internal):
        about = {"session_id": session_id, "from_idx": 1, "to_idx": 2}
        kept = await http.post(EPISODES, json={"conversation_id": conversation_id, "range": about})
        assert kept.json()["message_ids"] == ids[1:3]


async def test_episodes_follow_each_other_in_time_whatever_came_first(
    http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    conversation_id = await opened(http)
    made = {}
    for day in (3, 1, 2, 5, 4):
        body = {
            "conversation_id": conversation_id,
            "messages": messages(occurred_at=f"2026-03-0{day}T09:00:00Z"),
            "title": "t",
            "summary": f"What was said on day {day}",
        }
        made[day] = (await http.post(EPISODES, json=body)).json()["id"]
    found = await shape(runtime, memory)
    assert [found[made[day]]["next"] for day in range(1, 6)] == [
        *([made[day]] for day in range(2, 6)),
        [],
    ]


async def test_what_repeats_is_no_surprise_and_what_departs_is_one(
    http: httpx.AsyncClient,
) -> None:
    conversation_id = await opened(http)
    surprises = []
    for content in (
        "The ferry timetable changes in April: the first boat leaves the harbour at six.",
        "The ferry timetable changes in April: the first boat leaves the harbour at seven.",
        "My grandmother taught me to bake cardamom buns with pearl sugar.",
    ):
        said = [{"session_id": "s", "role": "user", "content": content}]
        body = {"conversation_id": conversation_id, "messages": said}
        surprises.append((await http.post(EPISODES, json=body)).json()["surprise"])
    assert surprises[1] < 0.3 < 0.7 < surprises[2]


async def test_known_messages_are_not_doubled(
    http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    conversation_id = await opened(http)
    named = [one | {"external_id": f"x{n}"} for n, one in enumerate(messages())]
    body = {"conversation_id": conversation_id, "messages": named}
    one, two = [(await http.post(EPISODES, json=body)).json() for _ in range(2)]
    assert one["message_ids"] == two["message_ids"]
    [count] = await runtime.graph.execute(MESSAGES, client_id=memory.client_id)
    assert count["messages"] == len(SAID)


async def test_an_episode_sent_again_is_the_same_one_and_says_so(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    conversation_id = await opened(http)
    ids = await said(http, conversation_id)
    body = {"conversation_id": conversation_id, "message_ids": ids[:3]}
    both = await asyncio.gather(*(http.post(EPISODES, json=body) for _ in range(2)))
    assert [one.status_code for one in both] == [201, 201]
    first, second = sorted((one.json() for one in both), key=lambda one: one["action"])
    assert (first["action"], second["action"]) == ("new", "repeated")
    assert second == first | {"action": "repeated"}
    by_range = {"session_id": "one", "from_idx": 0, "to_idx": 2}
    again = {"conversation_id": conversation_id, "range": by_range, "title": first["title"]}
    assert (await http.post(EPISODES, json=again)).json() == second
    assert list(await shape(runtime, memory)) == [first["id"]]
    others = [
        body | {"title": "Another title"},
        body | {"summary": "Another summary."},
        body | {"surprise": 0.123},
        body | {"start_at": "2025-01-01T00:00:00Z"},
        body | {"message_ids": ids[:2]},
        body | {"message_ids": ids},
    ]
    made = [(await http.post(EPISODES, json=other)).json() for other in others]
    assert [one["action"] for one in made] == ["new"] * len(others)
    for other, one in zip(others, made, strict=True):
        assert (await http.post(EPISODES, json=other)).json() == one | {"action": "repeated"}
    theirs = await opened(rival_http)
    foreign = await rival_http.post(EPISODES, json=body | {"conversation_id": theirs})
    assert foreign.status_code == 404
    with_names = {
        "conversation_id": conversation_id,
        "messages": [
            one | {"external_id": f"m{place}"} for place, one in enumerate(messages("two"))
        ],
    }
    new, known = [(await http.post(EPISODES, json=with_names)).json() for _ in range(2)]
    assert known == new | {"action": "repeated"}


async def test_foreign_and_unknown_ids_look_the_same(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    conversation_id, theirs = await opened(http), await opened(rival_http)
    mine = await said(http, conversation_id)
    foreign = await said(rival_http, theirs, session="theirs")
    elsewhere = await said(http, await opened(http), session="elsewhere")
    range_ = {"from_idx": 0, "to_idx": 1}
    for change, code in (
        ({"conversation_id": theirs, "messages": messages()}, "conversation_not_found"),
        ({"conversation_id": "nobody-s", "messages": messages()}, "conversation_not_found"),
        ({"message_ids": [mine[0], foreign[0]]}, "memory_not_found"),
        ({"message_ids": [mine[0], elsewhere[0]]}, "memory_not_found"),
        ({"message_ids": ["nothing"]}, "memory_not_found"),
        ({"range": {"session_id": "theirs"} | range_}, "session_not_found"),
        ({"range": {"session_id": "nobody-s"} | range_}, "session_not_found"),
    ):
        answer = await http.post(EPISODES, json={"conversation_id": conversation_id} | change)
        assert (answer.status_code, answer.json()["code"]) == (404, code)
    assert await shape(runtime, memory) == {}


@pytest.mark.parametrize(
    ("change", "field", "told"),
    [
        ({}, "messages", "exactly one"),
        ({"message_ids": ["a"], "messages": messages()}, "message_ids", "exactly one"),
        ({"message_ids": []}, "message_ids", "at least 1 entry"),
        ({"messages": messages() * 51}, "messages", "at most 200"),
        ({"messages": [{"session_id": "s", "content": "x"}]}, "messages[0].role", "missing"),
        ({"messages": messages(), "surprise": 1.1}, "surprise", "<= 1.0"),
        ({"messages": messages(), "title": " "}, "title", "blank"),
        ({"messages": messages(), "summary": ""}, "summary", "at least 1 character"),
        ({"messages": messages(), "start_at": "2026-01-01T00:00:00"}, "start_at", "its zone"),
        ({"messages": messages(), "end_at": "9999-01-01T00:00:00Z"}, "end_at", "future"),
        ({"messages": messages(), "start_at": "9999-01-01T00:00:00Z"}, "start_at", "future"),
        (
            {"messages": messages(occurred_at="9999-01-01T00:00:00Z")},
            "messages[0].occurred_at",
            "future",
        ),
        ({"range": {"session_id": "one", "from_idx": -1, "to_idx": 0}}, "range.from_idx", ">= 0"),
    ],
)
async def test_what_cannot_be_an_episode_is_named(
    change: dict[str, Any], field: str, told: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.post(EPISODES, json={"conversation_id": "unknown"} | change)
    assert answer.status_code == 400, answer.text
    assert answer.json()["field"] == field
    assert told in answer.json()["detail"]


async def test_what_cannot_be_an_episode_writes_nothing(
    http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    conversation_id = await opened(http)
    await said(http, conversation_id)
    backwards = {"start_at": "2026-01-02T00:00:00Z", "end_at": "2026-01-01T00:00:00Z"}
    for change, field, told in (
        ({"range": {"session_id": "one", "from_idx": 9, "to_idx": 8}}, "range", "from 0 to 3"),
        ({"messages": messages("two")} | backwards, "end_at", "before start_at"),
        ({"messages": messages("two"), "title": " "}, "title", "blank"),
    ):
        answer = await http.post(EPISODES, json={"conversation_id": conversation_id} | change)
        assert answer.status_code == 400, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.json()["code"], answer.json()["field"]) == ("invalid_input", field)
        assert told in answer.json()["detail"]
    assert await shape(runtime, memory) == {}
    [count] = await runtime.graph.execute(MESSAGES, client_id=memory.client_id)
    assert count["messages"] == len(SAID)


async def test_segmenting_and_consolidating_a_conversation_that_is_not_there(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient
) -> None:
    theirs = await opened(rival_http)
    for id in (theirs, "nobody-s"):
        for action in ("segment", "consolidate"):
            answer = await http.post(f"/api/v0/conversations/{id}/{action}")
            assert (answer.status_code, answer.json()["code"]) == (404, "conversation_not_found")
    answer = await http.post(f"/api/v0/conversations/{theirs}/segment?leave_growing=perhaps")
    assert (answer.status_code, answer.json()["field"]) == (400, "leave_growing")


async def test_without_a_model_consolidating_says_that_it_is_off(http: httpx.AsyncClient) -> None:
    conversation_id = await opened(http)
    answer = await http.post(f"/api/v0/conversations/{conversation_id}/consolidate")
    assert answer.status_code == 200
    assert (answer.json()["consolidated"], answer.json()["reason"]) == (False, "no_llm")


async def test_segmenting_makes_episodes_of_all_and_leaves_what_may_grow_if_asked(
    http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    conversation_id = await opened(http)
    ids = await said(http, conversation_id)
    path = f"/api/v0/conversations/{conversation_id}/segment"
    left = (await http.post(f"{path}?leave_growing=true")).json()
    assert (left["episodes"], left["left"]) == ([], 4)
    made = (await http.post(path)).json()
    assert (len(made["episodes"]), made["messages"], made["left"]) == (1, 4, 0)
    assert made["reviews"]["reviews"] == 0
    assert (await shape(runtime, memory))[made["episodes"][0]]["messages"] == ids
    assert (await http.post(path)).json()["episodes"] == []
