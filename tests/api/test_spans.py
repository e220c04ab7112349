"""Spans over HTTP: registered, replaced, verified; without content a card alone."""

import asyncio
from hashlib import sha256
from typing import Any

import httpx
import msgspec
import pytest
from graphmem_api.bodies import decoded
from graphmem_api.spans import SPAN

from graphmem.client import Graphmem
from graphmem.references.types import NewSpan
from tests.planted import plant, thread

PATH = "/api/v0/spans"
TEXT = "Information about product pricing and features."
CARD = {
    "id": "span-1",
    "source_type": "knowledge_base",
    "source_id": "kb-123",
    "start_byte": 0,
    "end_byte": 1000,
    "hash": "abc123",
    "token_count": 250,
}


def span(text: str = TEXT, **more: Any) -> dict[str, Any]:
    """Return a span of a source with its content."""
    given = {"source_type": "knowledge_base", "source_id": "kb-123", "start_byte": 10}
    return given | {"end_byte": 10 + len(text.encode()), "content": text} | more


def test_the_example_can_be_sent() -> None:
    assert decoded(msgspec.json.encode(SPAN.value), NewSpan)


async def test_a_span_is_shown_as_it_was_registered(http: httpx.AsyncClient, memory) -> None:
    metadata = {"importance": 0.9, "recency": 12.5, "tags": ["prices", "plans"]}
    given = span(id="s:1", hash=sha256(TEXT.encode()).hexdigest().upper(), metadata=metadata)
    made = await http.post(PATH, json=given)  # S3.5 S3.15
    assert made.status_code == 201
    shown = (await http.get(f"{PATH}/s:1")).json()
    assert shown == made.json()
    for name in ("id", "source_type", "source_id", "start_byte", "end_byte", "metadata"):
        assert shown[name] == given[name]
    assert shown["hash"] == sha256(TEXT.encode()).hexdigest()
    assert (shown["has_content"], "content" in shown) == (True, False)
    content = await http.get(f"{PATH}/s:1/content")
    assert content.json() == {
        "id": "s:1",
        "content": TEXT,
        "hash": shown["hash"],
        "token_count": shown["token_count"],
    }
    stored = await memory.memory("s:1")
    assert (stored.importance, stored.tags, stored.recency) == (0.9, ["prices", "plans"], 12.5)
    assert (await memory.span("s:1")).hash == shown["hash"]
    assert (await memory.span_content("s:1")).content == TEXT


async def test_tokens_are_measured_whatever_the_caller_says(
    http: httpx.AsyncClient, memory
) -> None:
    shown = (await http.post(PATH, json=span(token_count=9_999))).json()
    assert shown["token_count"] == memory.runtime.tokens.count(TEXT)


async def test_without_content_a_span_keeps_its_card_and_is_not_searched(
    http: httpx.AsyncClient, memory
) -> None:
    made = await http.post(PATH, json=CARD | {"metadata": {"tags": ["lighthouse"]}})  # S3.15
    assert made.status_code == 201
    shown = (await http.get(f"{PATH}/span-1")).json()
    assert {name: shown[name] for name in CARD} == CARD
    assert shown["has_content"] is False
    content = (await http.get(f"{PATH}/span-1/content")).json()
    assert content == {"id": "span-1", "content": None, "hash": "abc123", "token_count": 250}
    for ranking in ("default", "vector", "bm25"):
        found = await memory.recall("lighthouse", ranking=ranking)
        assert found.items == []
    stored = (await http.get("/api/v0/memories/span-1")).json()
    assert (stored["text"], stored["active"], stored["valid_at"]) == ("", False, None)
    bare = {name: value for name, value in CARD.items() if name not in {"id", "token_count"}}
    guessed = (await http.post(PATH, json=bare | {"end_byte": 9})).json()
    assert guessed["token_count"] == 3  # S3.5
    peek = (await http.get(f"/api/v0/memories/{guessed['id']}/peek")).json()
    assert peek["token_estimate"] == 3


async def test_a_summary_is_a_span_of_all_its_bytes_as_in_a_run(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    [id] = await plant(memory, thread())
    text = thread()["text"]
    run = await memory.run(agent_type="a", episode_id="e")
    peeked = (await run.peek(id)).span

    shown = (await http.get(f"{PATH}/{id}")).json()
    content = (await http.get(f"{PATH}/{id}/content")).json()

    assert await memory.span(id) == peeked
    assert (shown["start_byte"], shown["end_byte"]) == (0, len(text.encode()))
    assert shown["hash"] == content["hash"] == sha256(text.encode()).hexdigest()
    assert (content["content"], content["token_count"]) == (text, shown["token_count"])


async def test_many_spans_are_registered_in_order(http: httpx.AsyncClient) -> None:
    texts = [f"Line {number} of the log." for number in range(30)]  # S3.16
    made = await http.post(PATH, json=[span(text, id=f"l-{n}") for n, text in enumerate(texts)])
    assert [one["id"] for one in made.json()] == [f"l-{n}" for n in range(30)]
    for number in (0, 29):
        content = (await http.get(f"{PATH}/l-{number}/content")).json()
        assert content["content"] == texts[number]


async def test_the_same_id_again_replaces_the_span(http: httpx.AsyncClient, memory) -> None:
    first = (await http.post(PATH, json=span("The lamp is red.", id="lamp"))).json()  # S3.17
    other = (await http.post(PATH, json=span("A buoy."))).json()["id"]
    links = [
        {"from": "lamp", "to": other, "type": "relates_to"},
        {"from": other, "to": "lamp", "type": "references", "start_byte": 0, "end_byte": 4},
    ]
    await http.post("/api/v0/links", json=links)
    linked = (await http.get("/api/v0/memories/lamp/links")).json()
    new = (await http.post(PATH, json=span("The lamp is green.", id="lamp", source_id="b"))).json()
    assert (new["source_id"], new["hash"] != first["hash"]) == ("b", True)
    assert (await http.get(f"{PATH}/lamp/content")).json()["content"] == "The lamp is green."
    assert (await http.get("/api/v0/memories/lamp/links")).json() == linked
    assert [item.id for item in (await memory.recall("green", ranking="bm25")).items] == ["lamp"]
    assert (await memory.recall("red", ranking="bm25")).items == []
    await http.post(PATH, json=CARD | {"id": "lamp"})
    assert (await http.get(f"{PATH}/lamp/content")).json()["content"] is None
    assert (await memory.recall("green", ranking="bm25")).items == []


async def test_registered_by_many_at_once_it_is_there_once(http: httpx.AsyncClient, memory) -> None:
    texts = [f"Writer {number} says so." for number in range(8)]
    answers = await asyncio.gather(*(http.post(PATH, json=span(text, id="one")) for text in texts))
    assert {answer.status_code for answer in answers} == {201}
    rows = await memory.runtime.graph.execute(
        "MATCH (node:Memory {client_id: $client}) RETURN collect(node.text) AS texts",
        client=memory.client_id,
    )
    assert len(rows[0]["texts"]) == 1
    assert rows[0]["texts"][0] in texts


async def test_linked_spans_of_one_batch_are_replaced_with_their_link(
    http: httpx.AsyncClient,
) -> None:
    both = [span("The first half.", id="a"), span("The second half.", id="b")]
    await http.post(PATH, json=both)
    await http.post("/api/v0/links", json={"from": "a", "to": "b", "type": "refines"})
    await http.post(PATH, json=both)
    found = (await http.get("/api/v0/memories/a/links")).json()["links"]
    assert [(one["other_id"], one["type"]) for one in found] == [("b", "refines")]


async def test_ids_of_other_memories_and_of_contents_are_not_taken(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient
) -> None:
    card = {"type": "offer", "target_id": "o", "label": "Offer"}
    reference = (await http.post("/api/v0/references", json=card)).json()["id"]
    content = await http.put(
        f"/api/v0/references/{reference}/content", json={"content": "Two for one."}
    )
    part = content.json()["spans"][0]["id"]
    for id, whose in ((reference, "a reference"), (part, "a reference's content")):
        answer = await http.post(PATH, json=[span(id="new"), span(id=id)])
        assert (answer.status_code, answer.json()["code"]) == (409, "id_taken")
        assert whose in answer.json()["detail"]
        assert (await http.get(f"{PATH}/new")).status_code == 404
    assert (await http.get(f"{PATH}/{part}/content")).json()["content"] == "Two for one."
    assert (await rival_http.post(PATH, json=span(id=part))).status_code == 201
    assert (await http.get(f"{PATH}/{part}/content")).json()["content"] == "Two for one."


async def test_tags_find_a_span(http: httpx.AsyncClient, memory) -> None:
    made = await http.post(PATH, json=span(metadata={"tags": ["onboarding"]}))  # S3.49
    found = await memory.recall("onboarding", ranking="bm25")
    assert [item.id for item in found.items] == [made.json()["id"]]


async def test_a_text_that_was_tampered_with_is_not_shown(http: httpx.AsyncClient, memory) -> None:
    await http.post(PATH, json=span(id="s"))  # S3.41
    await memory.runtime.graph.execute(
        "MATCH (span:Memory {client_id: $client, id: 's'}) SET span.text = span.text + '!'",
        client=memory.client_id,
    )
    answer = await http.get(f"{PATH}/s/content")
    assert (answer.status_code, answer.json()["code"]) == (409, "content_damaged")
    assert "pricing" not in answer.text


async def test_a_span_that_lost_its_text_is_registered_again(
    http: httpx.AsyncClient, memory
) -> None:
    await http.post(PATH, json=span(id="s:1"))
    await memory.runtime.graph.execute(
        "MATCH (span:Span {client_id: $client_id, id: 's:1'}) REMOVE span.text",
        client_id=memory.client_id,
    )

    assert (await http.post(PATH, json=span(id="s:1"))).status_code == 201
    assert (await http.get(f"{PATH}/s:1/content")).json()["content"] == TEXT


@pytest.mark.parametrize("below", ["", "/content"])
async def test_unknown_and_foreign_spans_look_the_same(
    below: str, http: httpx.AsyncClient, rival_http: httpx.AsyncClient
) -> None:
    id = (await http.post(PATH, json=span())).json()["id"]
    card = {"type": "offer", "target_id": "o", "label": "Offer"}
    reference = (await http.post("/api/v0/references", json=card)).json()["id"]
    for asker, wanted in ((rival_http, id), (http, "no-such"), (http, reference)):
        answer = await asker.get(f"{PATH}/{wanted}{below}")
        assert (answer.status_code, answer.json()["code"]) == (404, "span_not_found")
        assert answer.json()["detail"] == f"Span not found: {wanted}"


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"id": "a b"}, "id", "1–128 of letters"),
        ({"id": ""}, "id", "1–128 of letters"),
        ({"source_type": "thread"}, "source_type", "episode_log"),
        ({"source_type": "span"}, "source_type", "one of"),
        ({"source_id": " "}, "source_id", "is blank"),
        ({"start_byte": -1}, "start_byte", ">= 0"),
        ({"start_byte": 2**63}, "start_byte", "<= 9007199254740992"),
        ({"end_byte": 0}, "end_byte", ">= 1"),
        ({"end_byte": 10}, "end_byte", "not beyond start_byte"),
        ({"end_byte": 58}, "end_byte", "but the content has 47 bytes"),
        ({"hash": "abc123"}, "hash", "not the content's SHA-256"),
        ({"hash": ""}, "hash", "at least 1 character"),
        ({"token_count": 0}, "token_count", ">= 1"),
        ({"token_count": "7"}, "token_count", "a whole number"),
        ({"content": ""}, "content", "at least 1 character"),
        ({"content": " " * 47}, "content", "is blank"),
        ({"content": "x" * 1_000_001}, "content", "at most 1,000,000"),
        ({"metadata": {"importance": 2}}, "metadata.importance", "<= 1.0"),
        ({"metadata": {"recency": 1e300}}, "metadata.recency", "<= 1"),
        ({"metadata": {"tags": ["a", " "]}}, "metadata.tags[1]", "is blank"),
        ({"metadata": {"tags": ["a"] * 101}}, "metadata.tags", "of at most 100 entries"),
        ({"metadata": {"colour": "red"}}, "metadata.colour", "unknown field"),
        ({"occurred_at": "2026-03-02"}, "occurred_at", "with a zone"),
        ({"colour": "red"}, "colour", "unknown field"),
    ],
)
async def test_a_span_that_cannot_be_is_refused(
    change: dict[str, Any], field: str, said: str, refusing: httpx.AsyncClient
) -> None:
    one = await refusing.post(PATH, json=span() | change)
    assert one.status_code in ({413} if said.startswith("at most") else {400})
    assert one.json()["field"] == field
    assert said in one.json()["detail"]
    many = await refusing.post(PATH, json=[span(id="good"), span() | change])
    assert many.json()["field"] == f"[1].{field}"


@pytest.mark.parametrize(
    ("change", "status", "code", "field"),
    [
        ({"end_byte": 58}, 400, "invalid_input", "[1].end_byte"),
        ({"content": "x" * 1_000_001}, 413, "too_large", "[1].content"),
        ({"id": "good"}, 400, "invalid_input", "[1].id"),
    ],
    ids=["length", "too long", "twice"],
)
async def test_of_spans_that_are_refused_none_is_written(
    change: dict[str, Any], status: int, code: str, field: str, http: httpx.AsyncClient
) -> None:
    answer = await http.post(PATH, json=[span(id="good"), span() | change])
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["field"] == field
    assert (await http.get(f"{PATH}/good")).status_code == 404


async def test_an_id_that_stands_twice_is_refused(refusing: httpx.AsyncClient) -> None:
    answer = await refusing.post(PATH, json=[span(id="a"), span(id="b"), span(id="a")])
    assert (answer.status_code, answer.json()["field"]) == (400, "[2].id")


@pytest.mark.parametrize("body", [[], "x", [span()] * 1_001])
async def test_a_body_that_is_neither_a_span_nor_some_is_refused(
    body: Any, refusing: httpx.AsyncClient
) -> None:
    assert (await refusing.post(PATH, json=body)).status_code == 400


async def test_half_a_character_is_refused(refusing: httpx.AsyncClient) -> None:
    text = msgspec.json.encode(span()).decode().replace("pricing", r"\udfff")
    answer = await refusing.post(PATH, content=text, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["field"]) == (400, "content")
