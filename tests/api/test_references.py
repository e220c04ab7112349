"""References over HTTP: cards, their content as spans, versions, whose they are, what is refused."""

import asyncio
import itertools
from hashlib import sha256
from typing import Any

import httpx
import msgspec
import pytest
from graphmem_api.bodies import decoded
from graphmem_api.references import CONTENT, REFERENCE

from graphmem.references.types import NewContent, NewReference

PATH = "/api/v0/references"
FIRST = "The Harbour plan costs 49 euros a month. " * 60
SECOND = "The Harbour plan costs 59 euros a month. " * 60


def card(**more: Any) -> dict[str, Any]:
    return {"type": "knowledge_base", "target_id": "kb-1", "label": "Price list", **more}


@pytest.fixture
async def reference(http: httpx.AsyncClient) -> str:
    """The id of a card without content."""
    answer = await http.post(PATH, json=card())
    return answer.json()["id"]


async def put(http: httpx.AsyncClient, id: str, content: str) -> httpx.Response:
    return await http.put(f"{PATH}/{id}/content", json={"content": content})


@pytest.mark.parametrize(("example", "wanted"), [(REFERENCE, NewReference), (CONTENT, NewContent)])
def test_the_examples_can_be_sent(example, wanted: type) -> None:
    assert decoded(msgspec.json.encode(example.value), wanted)


async def test_a_card_keeps_what_was_said_of_its_source(http: httpx.AsyncClient) -> None:
    given = card(  # S1.4
        description="Prices and features of the plans",
        importance=0.9,
        metadata={"path": "docs/prices.md", "pages": [1, 2.5, None], "ä": {"b": True}},
        span_pointer={"span_id": "s-9", "start_byte": 4, "end_byte": 90, "token_estimate": 42},
    )
    made = await http.post(PATH, json=given)
    assert made.status_code == 201
    shown = (await http.get(f"{PATH}/{made.json()['id']}")).json()
    assert shown == made.json()
    assert {name: shown[name] for name in given} == given
    assert (shown["version"], shown["active"], shown["content_sha256"]) == (1, True, None)
    memory = (await http.get(f"/api/v0/memories/{shown['id']}")).json()
    assert memory["text"] == given["description"]
    assert (memory["label"], memory["metadata"]) == ("Price list", given["metadata"])
    assert memory["span_token_estimate"] == 42  # S1.35


async def test_a_span_pointer_says_where_a_source_lies_and_leads_to_nothing(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient
) -> None:
    text = "The rival's prices rise in May."
    theirs = {
        "id": "s-theirs",
        "source_type": "knowledge_base",
        "source_id": "kb",
        "start_byte": 0,
        "end_byte": len(text),
        "content": text,
    }
    assert (await rival_http.post("/api/v0/spans", json=theirs)).status_code == 201
    shown = []
    for span_id in ("s-theirs", "s-unknown"):
        pointer = {"span_id": span_id, "start_byte": 0, "end_byte": len(text)}
        made = await http.post(PATH, json=card(span_pointer=pointer))
        assert made.status_code == 201, "a source may lie elsewhere, and be registered later"
        path = f"/api/v0/memories/{made.json()['id']}/chunk"
        chunk = await http.post(path, json={"max_tokens": 100})
        assert chunk.status_code == 200, chunk.text
        assert text not in chunk.text
        shown.append(chunk.json()["content"])
    assert shown[0] == shown[1]


async def test_many_cards_come_back_in_their_order_and_one_target_may_have_several(
    http: httpx.AsyncClient,
) -> None:
    made = await http.post(PATH, json=[card(label=f"Card {number}") for number in range(5)])
    assert made.status_code == 201
    assert [one["label"] for one in made.json()] == [f"Card {number}" for number in range(5)]
    assert len({one["id"] for one in made.json()}) == 5
    assert {(one["version"], one["active"]) for one in made.json()} == {(1, True)}
    assert isinstance((await http.post(PATH, json=[card()])).json(), list)


async def test_the_list_goes_on_page_by_page_newest_first(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient
) -> None:
    times = [f"2026-03-0{day}T09:00:00Z" for day in (1, 2, 2, 3, 4)]
    kinds = ["offer", "offer", "brand_kit", "offer", "offer"]
    cards = [
        card(label=f"{place}", occurred_at=time, type=kind)
        for place, (time, kind) in enumerate(zip(times, kinds, strict=True))
    ]
    await http.post(PATH, json=cards)
    found, cursor = [], None
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = (await http.get(PATH, params=query)).json()
        assert len(page["references"]) <= 2
        found += page["references"]
        if (cursor := page["cursor"]) is None:
            break
    assert [one["occurred_at"] for one in found] == sorted(times, reverse=True)
    assert len({one["id"] for one in found}) == 5
    offers = await http.get(PATH, params={"type": "offer", "since": "2026-03-02T09:00:00Z"})
    assert [one["label"] for one in offers.json()["references"]] == ["4", "3", "1"]
    assert (await rival_http.get(PATH)).json() == {"references": [], "cursor": None}
    given = (await http.get(PATH, params={"type": "offer", "limit": 1})).json()["cursor"]
    for path, filters in ((PATH, {}), (PATH, {"type": "brand_kit"}), ("/api/v0/summaries", {})):
        refused = await http.get(path, params={"cursor": given, **filters})
        assert (refused.status_code, refused.json()["field"]) == (400, "cursor"), path


async def test_content_becomes_spans_with_offsets_hashes_and_measured_tokens(
    http: httpx.AsyncClient, memory, reference: str
) -> None:
    content = FIRST + "Die Fähre fährt früh. 渡し船は早い。 ⛴️ " * 40
    data = content.encode()
    answer = await put(http, reference, content)
    assert answer.status_code == 200
    found = answer.json()
    assert (found["id"], found["version"], found["changed"]) == (reference, 1, True)
    assert (found["sha256"], found["bytes"]) == (sha256(data).hexdigest(), len(data))
    tokens = memory.runtime.tokens
    assert found["token_count"] == tokens.count(content)
    assert (found["spans"][0]["start_byte"], found["spans"][-1]["end_byte"]) == (0, len(data))
    for span in found["spans"]:  # S3.34
        part = data[span["start_byte"] : span["end_byte"]]
        assert len(part) <= 1_000
        assert span["hash"] == sha256(part).hexdigest()
        assert span["token_count"] == tokens.count(part.decode())
        assert (span["source_type"], span["source_id"]) == ("knowledge_base", "kb-1")
        shown = await http.get(f"/api/v0/spans/{span['id']}/content")
        assert shown.json()["content"] == part.decode()
    for before, after in itertools.pairwise(found["spans"]):
        assert 0 <= before["end_byte"] - after["start_byte"] <= 100
    card = (await http.get(f"{PATH}/{reference}")).json()
    assert card["content_tokens"] == found["token_count"]


async def test_the_same_content_again_changes_nothing(
    http: httpx.AsyncClient, reference: str
) -> None:
    first = (await put(http, reference, FIRST)).json()
    again = (await put(http, reference, FIRST)).json()
    assert again == first | {"changed": False}
    assert len((await http.get(PATH)).json()["references"]) == 1


async def test_the_same_content_again_repairs_one_whose_spans_are_gone_or_damaged(
    http: httpx.AsyncClient, memory, reference: str
) -> None:
    first = (await put(http, reference, FIRST)).json()
    kept = first["spans"][2]["id"]
    link = {"from": kept, "to": reference, "type": "references"}
    assert (await http.post("/api/v0/links", json=link)).status_code == 201
    await memory.runtime.graph.execute(
        "MATCH (span:Span {client_id: $client}) WHERE span.id IN $ids "
        "SET span.text = 'lost' WITH span WHERE span.id = $ids[0] DETACH DELETE span",
        client=memory.client_id,
        ids=[first["spans"][0]["id"], first["spans"][1]["id"]],
    )
    chunk = f"/api/v0/memories/{reference}/chunk"
    broken = await http.post(chunk, json={"max_tokens": 5_000})
    assert (broken.status_code, broken.json()["code"]) == (409, "content_damaged")

    answers = await asyncio.gather(*(put(http, reference, FIRST) for _ in range(2)))

    found = [answer.json() for answer in answers if answer.status_code == 200]
    assert any(one["changed"] for one in found)
    assert {(one["id"], one["version"]) for one in found} == {(reference, 1)}
    for one in found:
        assert [span["hash"] for span in one["spans"]] == [span["hash"] for span in first["spans"]]
        assert one["spans"][2]["id"] == kept
    whole = (await http.post(chunk, json={"max_tokens": 5_000})).json()
    assert (whole["content"], whole["truncated"]) == (FIRST, False)
    assert (await put(http, reference, FIRST)).json()["changed"] is False
    assert (await counted(memory))["span"] == len(first["spans"])
    [linked] = (await http.get(f"/api/v0/memories/{kept}/links")).json()["links"]
    assert linked["other_id"] == reference
    order = await memory.runtime.graph.execute(
        "MATCH (a:Span {client_id: $client})-[:NEXT]->(b:Span) "
        "RETURN a.start_byte AS start, b.start_byte AS next ORDER BY start",
        client=memory.client_id,
    )
    starts = [span["start_byte"] for span in first["spans"]]
    assert [(row["start"], row["next"]) for row in order] == list(itertools.pairwise(starts))


async def test_other_content_is_a_new_version_and_the_old_one_is_not_found(
    http: httpx.AsyncClient, memory, reference: str
) -> None:
    old = (await put(http, reference, FIRST)).json()
    new = (await put(http, reference, SECOND)).json()
    assert (new["version"], new["changed"]) == (2, True)
    assert new["id"] != reference
    [listed] = (await http.get(PATH)).json()["references"]
    assert (listed["id"], listed["target_id"], listed["version"]) == (new["id"], "kb-1", 2)
    before = (await http.get(f"{PATH}/{reference}")).json()
    assert (before["active"], before["content_sha256"]) == (False, old["sha256"])
    for span in old["spans"]:
        shown = (await http.get(f"/api/v0/memories/{span['id']}")).json()
        assert (shown["active"], shown["superseded_at"] is None) == (False, False)
    for ranking in ("default", "bm25", "vector"):
        found = await memory.recall("49 euros", ranking=ranking, kinds=["span"], limit=100)
        ids = {item.id for item in found.items}
        assert ids == {span["id"] for span in new["spans"]}


async def test_what_was_superseded_takes_no_content(
    http: httpx.AsyncClient, reference: str
) -> None:
    await put(http, reference, FIRST)
    head = (await put(http, reference, SECOND)).json()["id"]
    for content in (FIRST, SECOND, "Something else."):
        answer = await put(http, reference, content)
        assert (answer.status_code, answer.json()["code"]) == (409, "not_head")
        assert head in answer.json()["detail"]
    assert (await put(http, head, FIRST)).json()["version"] == 3


async def counted(memory) -> dict[str, int]:
    rows = await memory.runtime.graph.execute(
        "MATCH (node:Memory {client_id: $client}) RETURN node.kind AS kind, count(*) AS found",
        client=memory.client_id,
    )
    return {row["kind"]: row["found"] for row in rows}


@pytest.mark.parametrize("with_content", [False, True])
async def test_of_two_contents_at_once_one_wins_and_nothing_is_doubled(
    http: httpx.AsyncClient, memory, reference: str, *, with_content: bool
) -> None:
    there = len((await put(http, reference, FIRST)).json()["spans"]) if with_content else 0
    contents = [f"Writer {number} says so. " * 50 for number in range(6)]
    answers = await asyncio.gather(*(put(http, reference, content) for content in contents))
    won = [answer.json() for answer in answers if answer.status_code == 200]
    lost = {answer.json()["code"] for answer in answers if answer.status_code != 200}
    assert len(won) == 1
    assert lost <= ({"not_head"} if with_content else {"content_changed"})
    assert {answer.status_code for answer in answers} == {200, 409}
    assert await counted(memory) == {
        "reference": 1 + with_content,
        "span": there + len(won[0]["spans"]),
    }


async def test_the_same_content_from_two_at_once_is_written_once(
    http: httpx.AsyncClient, memory, reference: str
) -> None:
    answers = await asyncio.gather(*(put(http, reference, FIRST) for _ in range(4)))
    assert {answer.status_code for answer in answers} == {200}
    assert sum(answer.json()["changed"] for answer in answers) == 1
    assert len({str(answer.json()["spans"]) for answer in answers}) == 1
    assert (await counted(memory))["span"] == len(answers[0].json()["spans"])


async def test_a_new_version_is_linked_as_the_old_one_was(
    http: httpx.AsyncClient, reference: str
) -> None:
    await put(http, reference, FIRST)
    other, quoting = [one["id"] for one in (await http.post(PATH, json=[card(), card()])).json()]
    links = [
        {"from": reference, "to": other, "type": "relates_to"},
        {"from": other, "to": reference, "type": "derived_from"},
        {"from": quoting, "to": reference, "type": "references", "start_byte": 0, "end_byte": 9},
    ]
    assert (await http.post("/api/v0/links", json=links)).status_code == 201
    new = (await put(http, reference, SECOND)).json()["id"]
    found = (await http.get(f"/api/v0/memories/{new}/links")).json()["links"]
    assert {(one["other_id"], one["type"], one["direction"]) for one in found} == {
        (other, "relates_to", "out"),
        (other, "derived_from", "in"),
    }


async def test_unknown_and_foreign_references_look_the_same(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, reference: str
) -> None:
    span = (await http.post("/api/v0/spans", json=SPAN)).json()["id"]
    for id in (reference, span, "no-such"):
        for method, below in (("GET", ""), ("PUT", "/content")):
            asker = rival_http if id == reference else http
            body = {"content": "x"} if method == "PUT" else None
            answer = await asker.request(method, f"{PATH}/{id}{below}", json=body)
            assert (answer.status_code, answer.json()["code"]) == (404, "memory_not_found")
            assert answer.json()["detail"] == f"no memory '{id}'"
    assert (await http.get(f"{PATH}/{reference}")).json()["content_sha256"] is None


SPAN = {
    "source_type": "offer",
    "source_id": "o",
    "start_byte": 0,
    "end_byte": 5,
    "content": "Hello",
}


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"type": "thread"}, "type", "one of brand_kit, episode_log, knowledge_base"),
        ({"target_id": ""}, "target_id", "at least 1 character"),
        ({"target_id": " "}, "target_id", "is blank"),
        ({"target_id": "t" * 257}, "target_id", "of at most 256 characters"),
        ({"label": "\n"}, "label", "is blank"),
        ({"label": "l" * 4_097}, "label", "at most 4,096"),
        ({"description": ""}, "description", "at least 1 character"),
        ({"description": " "}, "description", "is blank"),
        ({"description": "d" * 100_001}, "description", "at most 100,000"),
        ({"importance": 1.1}, "importance", "<= 1.0"),
        ({"importance": "high"}, "importance", "a number"),
        ({"metadata": [1]}, "metadata", "an object or null"),
        ({"metadata": {"a": "b" * 100_000}}, "metadata", "at most 100,000"),
        ({"span_pointer": {}}, "span_pointer.span_id", "missing required"),
        ({"span_pointer": {"span_id": " "}}, "span_pointer.span_id", "is blank"),
        ({"span_pointer": {"span_id": "s", "start_byte": -1}}, "span_pointer.start_byte", ">= 0"),
        (
            {"span_pointer": {"span_id": "s", "start_byte": 9, "end_byte": 9}},
            "span_pointer.end_byte",
            "not beyond start_byte",
        ),
        ({"occurred_at": "2026-03-02T09:00:00"}, "occurred_at", "zone"),
        ({"occurred_at": "9999-12-31T00:00:00Z"}, "occurred_at", "a time lies between"),
        ({"colour": "red"}, "colour", "unknown field"),
        ({"client_id": "other"}, "client_id", "unknown field"),
    ],
)
async def test_a_card_that_cannot_be_is_refused(
    change: dict[str, Any], field: str, said: str, refusing: httpx.AsyncClient
) -> None:
    one = await refusing.post(PATH, json=card(**change))
    assert one.status_code in ({413} if said.startswith("at most") else {400})
    assert one.json()["field"] == field
    assert said in one.json()["detail"]
    many = await refusing.post(PATH, json=[card(), card(**change)])
    assert many.json()["field"] == f"[1].{field}"


async def test_a_card_that_is_refused_is_not_written(http: httpx.AsyncClient) -> None:
    for body, status, code, field in (
        (card(importance=1.1), 400, "invalid_input", "importance"),
        ([card(), card(label="l" * 4_097)], 413, "too_large", "[1].label"),
    ):
        answer = await http.post(PATH, json=body)
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert answer.json()["field"] == field
    assert (await http.get(PATH)).json()["references"] == []


@pytest.mark.parametrize("body", [[], "x", 1, [[]], [card()] * 1_001])
async def test_a_body_that_is_neither_a_card_nor_some_is_refused(
    body: Any, refusing: httpx.AsyncClient
) -> None:
    assert (await refusing.post(PATH, json=body)).status_code == 400


@pytest.mark.parametrize("label", [r"\ud800", r"a\udc00b"])
async def test_half_a_character_is_refused(label: str, refusing: httpx.AsyncClient) -> None:
    for part in (f'"label": "{label}"', f'"label": "x", "metadata": {{"{label}": 1}}'):
        answer = await refusing.post(
            PATH,
            content=f'{{"type": "offer", "target_id": "t", {part}}}',
            headers={"Content-Type": "application/json"},
        )
        assert answer.status_code == 400
        assert answer.json()["field"].startswith(("label", "metadata"))


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"content": ""}, 400, "content"),
        ({"content": " \n\t"}, 400, "content"),
        ({"content": None}, 400, "content"),
        ({}, 400, "content"),
        ({"content": "x", "more": 1}, 400, "more"),
        ({"content": "ä" * 500_001}, 413, "content"),
    ],
)
async def test_a_content_that_cannot_be_is_refused(
    body: Any, status: int, field: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.put(f"{PATH}/unknown/content", json=body)
    assert (answer.status_code, answer.json()["field"]) == (status, field)


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [(" \n\t", 400, "invalid_input"), ("ä" * 500_001, 413, "too_large")],
    ids=["blank", "too long"],
)
async def test_a_content_that_is_refused_is_not_written(
    content: str, status: int, code: str, http: httpx.AsyncClient, reference: str
) -> None:
    answer = await put(http, reference, content)
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["field"] == "content"
    assert (await http.get(f"{PATH}/{reference}")).json()["content_sha256"] is None


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("type=thread", "type"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("since=2026-01-01", "since"),
        ("since=2026-01-01T00:00:00", "since"),
        ("since=0001-01-01T00:00:00Z", "since"),
        ("cursor=nonsense", "cursor"),
        ("colour=red", "colour"),
    ],
)
async def test_a_list_that_cannot_be_is_refused(
    query: str, field: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.get(f"{PATH}?{query}")
    assert (answer.status_code, answer.json()["field"]) == (400, field)


async def test_beside_a_database_it_is_refused_as_well(http: httpx.AsyncClient) -> None:
    answer = await http.get(f"{PATH}?limit=0")
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert answer.json()["field"] == "limit"
