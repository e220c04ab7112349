"""Summaries over HTTP: three types, versions, sessions they join, what is refused."""

import asyncio
from typing import Any

import httpx
import msgspec
import pytest
from graphmem_api import summaries
from graphmem_api.bodies import decoded
from litestar import Litestar

from graphmem.summaries.types import NewSummary

PATH = "/api/v0/summaries"
THREAD: Any = summaries.THREAD.value
PLAN: Any = summaries.PLAN.value
SESSION: Any = summaries.SESSION.value


@pytest.mark.parametrize("example", [THREAD, PLAN, SESSION])
def test_the_examples_can_be_sent(example: dict[str, Any]) -> None:
    assert decoded(msgspec.json.encode(example), NewSummary)


def test_the_description_shows_how_types_are_told_apart(offline_app: Litestar) -> None:
    document = offline_app.openapi_schema.to_schema()
    body = document["paths"][PATH]["post"]["requestBody"]["content"]["application/json"]["schema"]
    for one in body["oneOf"]:
        shape = document["components"]["schemas"][one["$ref"].rpartition("/")[2]]
        assert "type" in shape["properties"]
        assert "type" in shape["required"]


async def test_a_thread_s_summary_keeps_its_fields_and_counts_its_prompt_text(
    http: httpx.AsyncClient, memory
) -> None:
    made = await http.post(PATH, json=THREAD)  # S1.1
    assert made.status_code == 201
    shown = made.json()
    assert {name: shown[name] for name in THREAD} == THREAD
    assert shown["text"] == (
        "Thread on instagram: 10 messages by 2 participants, sentiment positive, last active "
        "2026-03-02.\n- User asked about pricing\n- Interested in premium plan"
    )
    assert shown["token_count"] == memory.runtime.tokens.count(shown["text"])  # S1.35
    assert shown["occurred_at"] == THREAD["last_activity_at"]
    assert (await http.get(f"{PATH}/{shown['id']}")).json() == shown
    stored = await memory.memory(shown["id"])
    assert (stored.source_type, stored.source_id) == ("thread_summary", "thread-1")
    assert (stored.text, stored.key_points) == (shown["text"], THREAD["key_points"])


async def test_a_plan_s_summary_keeps_its_fields(http: httpx.AsyncClient, memory) -> None:
    given = PLAN | {"content_span_ids": ["s-1", "s-2"], "importance": 0.7}  # S1.2
    shown = (await http.post(PATH, json=given)).json()
    assert {name: shown[name] for name in given} == given
    assert shown["text"] == (
        "Plan content_calendar, phase execution: 5 of 10 done, 5 pending, 0 failed.\n"
        "- Week 1 complete"
    )
    assert (await memory.memory(shown["id"])).content_span_ids == ["s-1", "s-2"]


async def test_summaries_are_found_by_what_they_are_about(http: httpx.AsyncClient, memory) -> None:
    ids = [(await http.post(PATH, json=one)).json()["id"] for one in (THREAD, PLAN, SESSION)]
    for asked, found in (  # S1.30
        ("instagram", ids[0]),
        ("premium", ids[0]),
        ("positive", ids[0]),
        ("content_calendar", ids[1]),
        ("execution", ids[1]),
        ("week", ids[1]),
        ("seconds", ids[2]),
        ("off", ids[2]),
    ):
        answer = await memory.recall(asked, ranking="bm25", kinds=["summary"])
        assert [item.id for item in answer.items] == [found], asked
    # What only stands in the prompt text is no match.
    assert (await memory.recall("participants", ranking="bm25")).items == []


async def test_a_second_summary_of_a_target_is_its_next_version(
    http: httpx.AsyncClient, memory, rival_http: httpx.AsyncClient
) -> None:
    first = (await http.post(PATH, json=THREAD)).json()
    second = (await http.post(PATH, json=THREAD | {"sentiment": "negative"})).json()
    other = (await http.post(PATH, json=SESSION | {"target_id": "thread-1"})).json()
    foreign = (await rival_http.post(PATH, json=THREAD)).json()
    assert [one["version"] for one in (first, second, other, foreign)] == [1, 2, 1, 1]
    listed = (await http.get(PATH, params={"type": "thread"})).json()["summaries"]
    assert [one["id"] for one in listed] == [second["id"]]
    old = (await http.get(f"{PATH}/{first['id']}")).json()
    assert (old["active"], old["sentiment"]) == (False, "positive")
    found = await memory.recall("pricing", kinds=["summary"])
    assert {item.id for item in found.items} == {second["id"], other["id"]}


async def test_many_summaries_of_one_target_at_once_make_one_chain(
    http: httpx.AsyncClient, memory
) -> None:
    answers = await asyncio.gather(
        *(http.post(PATH, json=THREAD | {"message_count": n}) for n in range(8))
    )
    assert {answer.status_code for answer in answers} == {201}
    by_version = {answer.json()["version"]: answer.json()["id"] for answer in answers}
    assert sorted(by_version) == list(range(1, 9))
    rows = await memory.runtime.graph.execute(
        "MATCH (new:Memory {client_id: $client})-[:SUPERSEDES]->(old:Memory) "
        "RETURN new.id AS new, old.id AS old",
        client=memory.client_id,
    )
    assert {(row["new"], row["old"]) for row in rows} == {
        (by_version[n + 1], by_version[n]) for n in range(1, 8)
    }
    [listed] = (await http.get(PATH)).json()["summaries"]
    assert listed["id"] == by_version[8]


async def test_a_target_that_is_a_session_is_joined_and_goes_with_its_conversation(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, memory, rival, conversation: str
) -> None:
    message = {"session_id": "monday", "role": "user", "content": "The lamp is red."}
    said = await http.post(f"{conversation}/messages", json={"messages": [message]})
    session = (await memory.memory(said.json()["ids"][0])).session_id
    mine, later = [
        (await http.post(PATH, json=SESSION | {"target_id": session})).json() for _ in range(2)
    ]
    named = (await http.post(PATH, json=SESSION | {"target_id": "monday"})).json()
    foreign = (await rival_http.post(PATH, json=SESSION | {"target_id": session})).json()
    rows = await memory.runtime.graph.execute(
        "MATCH (summary:Summary)-[:SUMMARIZES]->(session:Session {id: $session}) "
        "RETURN collect(summary.id) AS ids",
        session=session,
    )
    assert sorted(rows[0]["ids"]) == sorted([mine["id"], later["id"]])
    shown = await memory.memory(later["id"])
    assert (shown.conversation_id, shown.session_id) == (conversation.rpartition("/")[2], session)
    await http.delete(conversation)
    listed = (await http.get(PATH)).json()["summaries"]
    assert [one["id"] for one in listed] == [named["id"]]
    assert (await rival.summary(foreign["id"])).active


async def test_the_list_is_by_activity_and_goes_on_page_by_page(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient
) -> None:
    for day in (3, 1, 2, 2):  # S1.3
        for given in (THREAD, PLAN):
            time = f"2026-03-0{day}T09:30:00Z"
            target = f"{day}-{time if day != 2 else len(given)}"
            made = await http.post(
                PATH, json=given | {"target_id": target, "last_activity_at": time}
            )
            assert made.status_code == 201
    found, cursor = [], None
    while True:
        query = {"limit": 4} | ({"cursor": cursor} if cursor else {})
        page = (await http.get(PATH, params=query)).json()
        found += page["summaries"]
        if (cursor := page["cursor"]) is None:
            break
    days = [one["last_activity_at"][8:10] for one in found]
    assert days == sorted(days, reverse=True)
    assert len({one["id"] for one in found}) == len(found) == 6
    since = await http.get(PATH, params={"type": "plan", "since": "2026-03-02T09:30:00Z"})
    assert [one["last_activity_at"][8:10] for one in since.json()["summaries"]] == ["03", "02"]
    assert {one["type"] for one in since.json()["summaries"]} == {"plan"}
    assert (await rival_http.get(PATH)).json() == {"summaries": [], "cursor": None}


async def test_unknown_and_foreign_summaries_look_the_same(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, conversation: str
) -> None:
    id = (await http.post(PATH, json=PLAN)).json()["id"]
    message = {"session_id": "s", "role": "user", "content": "x"}
    said = await http.post(f"{conversation}/messages", json={"messages": [message]})
    for asker, wanted in ((rival_http, id), (http, "no-such"), (http, said.json()["ids"][0])):
        answer = await asker.get(f"{PATH}/{wanted}")
        assert (answer.status_code, answer.json()["code"]) == (404, "memory_not_found")
        assert answer.json()["detail"] == f"no memory '{wanted}'"


@pytest.mark.parametrize(
    ("example", "change", "field", "said"),
    [
        (THREAD, {"type": "book"}, "type", "one of thread, plan, session"),
        (THREAD, {"target_id": " "}, "target_id", "is blank"),
        (THREAD, {"target_id": "t" * 257}, "target_id", "of at most 256 characters"),
        (THREAD, {"platform": ""}, "platform", "at least 1 character"),
        (THREAD, {"participant_count": -1}, "participant_count", ">= 0"),
        (THREAD, {"message_count": 1.5}, "message_count", "a whole number"),
        (THREAD, {"message_count": 2**63}, "message_count", "<= 2147483648"),
        (THREAD, {"key_points": ["a", "\t"]}, "key_points[1]", "is blank"),
        (THREAD, {"key_points": ["a"] * 101}, "key_points", "of at most 100 entries"),
        (THREAD, {"key_points": ["a" * 10_001]}, "key_points[0]", "at most 10,000"),
        (THREAD, {"key_points": None}, "key_points", "a list"),
        (THREAD, {"sentiment": " "}, "sentiment", "is blank"),
        (THREAD, {"last_activity_at": None}, "last_activity_at", "a time"),
        (THREAD, {"last_activity_at": "2026-03-02T09:30:00"}, "last_activity_at", "zone"),
        (THREAD, {"plan_type": "x"}, "plan_type", "unknown field"),
        (THREAD, {"token_count": 5}, "token_count", "unknown field"),
        (PLAN, {"total_nodes": 9}, "total_nodes", "less than completed, pending and failed"),
        (PLAN, {"current_phase": ""}, "current_phase", "at least 1 character"),
        (PLAN, {"content_span_ids": [" "]}, "content_span_ids[0]", "is blank"),
        (PLAN, {"importance": -0.1}, "importance", ">= 0.0"),
        (SESSION, {"text": "  "}, "text", "is blank"),
        (SESSION, {"text": "t" * 100_001}, "text", "at most 100,000"),
        (SESSION, {"topics": [1]}, "topics[0]", "a text"),
    ],
)
async def test_a_summary_that_cannot_be_is_refused(
    example: dict[str, Any],
    change: dict[str, Any],
    field: str,
    said: str,
    refusing: httpx.AsyncClient,
) -> None:
    answer = await refusing.post(PATH, json=example | change)
    assert answer.status_code in ({413} if said.startswith("at most") else {400})
    assert answer.json()["field"] == field
    assert said in answer.json()["detail"]


@pytest.mark.parametrize(
    ("example", "change", "status", "code"),
    [
        (THREAD, {"key_points": ["a" * 10_001]}, 413, "too_large"),
        (PLAN, {"total_nodes": 9}, 400, "invalid_input"),
        (SESSION, {"text": "  "}, 400, "invalid_input"),
    ],
    ids=["thread", "plan", "session"],
)
async def test_a_summary_that_is_refused_is_not_written(
    example: dict[str, Any], change: dict[str, Any], status: int, code: str, http: httpx.AsyncClient
) -> None:
    answer = await http.post(PATH, json=example | change)
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["field"].partition("[")[0] == next(iter(change))
    assert (await http.get(PATH)).json()["summaries"] == []


async def test_what_is_missing_is_named(refusing: httpx.AsyncClient) -> None:
    for example in (THREAD, PLAN, SESSION):
        needed = example.keys() - {"key_points", "topics"}
        for name in needed | (example.keys() & {"key_points"} if example is THREAD else set()):
            given = {key: value for key, value in example.items() if key != name}
            answer = await refusing.post(PATH, json=given)
            assert (answer.status_code, answer.json()["field"]) == (400, name)


@pytest.mark.parametrize(
    "query", ["type=book", "limit=0", "limit=201", "since=x", "cursor=x", "a=b"]
)
async def test_a_list_that_cannot_be_is_refused(query: str, refusing: httpx.AsyncClient) -> None:
    answer = await refusing.get(f"{PATH}?{query}")
    assert (answer.status_code, answer.json()["field"]) == (400, query.partition("=")[0])


async def test_beside_a_database_it_is_refused_as_well(http: httpx.AsyncClient) -> None:
    answer = await http.get(f"{PATH}?limit=0")
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert answer.json()["field"] == "limit"


async def test_half_a_character_is_refused(refusing: httpx.AsyncClient) -> None:
    text = msgspec.json.encode(PLAN).decode().replace("Week 1 complete", r"\ud83d")
    answer = await refusing.post(PATH, content=text, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["field"]) == (400, "key_milestones[0]")
