"""Links over HTTP: of each type, made once, seen from both ends, between memories of one client."""

import asyncio
import uuid
from typing import Any

import httpx
import msgspec
import pytest
from graphmem_api.bodies import decoded
from graphmem_api.links import LINK, add_links

from graphmem.client import Graphmem
from graphmem.errors import LinkNotFound
from graphmem.memories.links import NewLink
from graphmem.model.vocabulary import LINK_TYPES, LinkType

PATH = "/api/v0/links"
GOOD = {"from": str(uuid.UUID(int=1)), "to": str(uuid.UUID(int=2)), "type": "refines"}
"""A link that could be, between memories that are not there."""


@pytest.fixture
async def three(http: httpx.AsyncClient) -> list[str]:
    """The ids of three references."""
    cards = [{"type": "offer", "target_id": f"o-{n}", "label": f"Offer {n}"} for n in range(3)]
    return [one["id"] for one in (await http.post("/api/v0/references", json=cards)).json()]


async def listed(http: httpx.AsyncClient, id: str, **query: Any) -> list[dict[str, Any]]:
    answer = await http.get(f"/api/v0/memories/{id}/links", params=query)
    assert answer.status_code == 200
    return answer.json()["links"]


async def edges(memory: Graphmem) -> int:
    rows = await memory.runtime.graph.execute(
        "MATCH (:Memory {client_id: $client})-[link]->(:Memory) RETURN count(link) AS found",
        client=memory.client_id,
    )
    return rows[0]["found"]


def test_the_example_can_be_sent() -> None:
    assert decoded(msgspec.json.encode(LINK.value), NewLink)


@pytest.mark.parametrize("type", LINK_TYPES)
def test_the_method_and_the_route_name_the_type(type: LinkType) -> None:
    assert f"`{type}`" in (Graphmem.link.__doc__ or "")
    assert f"`{type}`" in (add_links.fn.__doc__ or "")


@pytest.mark.parametrize("type", LINK_TYPES)
async def test_a_link_is_seen_from_both_ends_and_made_once(
    type: str, http: httpx.AsyncClient, memory, three: list[str]
) -> None:
    one, other, _ = three
    given = {"from": one, "to": other, "type": type}
    first = await http.post(PATH, json=given)  # S1.4
    again = await http.post(PATH, json=given)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == given | {"start_byte": None, "end_byte": None, "created": True}
    assert again.json() == first.json() | {"created": False}
    [seen] = await listed(http, one)
    assert {name: seen[name] for name in ("id", "type", "direction", "other_id", "other_kind")} == {
        "id": one,
        "type": type,
        "direction": "out",
        "other_id": other,
        "other_kind": "reference",
    }
    [back] = await listed(http, other)
    assert (back["direction"], back["other_id"]) == ("in", one)
    assert back["created_at"] == seen["created_at"]
    assert await edges(memory) == 1


async def test_a_plain_link_beside_one_with_bytes_is_another_link(
    http: httpx.AsyncClient, memory, three: list[str]
) -> None:
    plain = {"from": three[0], "to": three[1], "type": "references"}
    ranged = plain | {"start_byte": 0, "end_byte": 9}
    assert (await http.post(PATH, json=ranged)).status_code == 201

    many = await http.post(PATH, json=[plain, plain])
    again = await http.post(PATH, json=[plain, ranged])
    assert (many.status_code, again.status_code) == (201, 200)
    assert {(one["start_byte"], one["end_byte"]) for one in await listed(http, three[0])} == {
        (None, None),
        (0, 9),
    }
    assert await edges(memory) == 2

    assert (await http.delete(PATH, params=plain)).status_code == 204
    assert (await http.delete(PATH, params=plain)).status_code == 404
    [left] = await listed(http, three[1])
    assert (left["start_byte"], left["end_byte"]) == (0, 9)
    assert (await http.post(PATH, json=plain)).status_code == 201


async def test_relates_to_holds_both_ways_and_is_kept_once(
    http: httpx.AsyncClient, memory, three: list[str]
) -> None:
    one, other, _ = three
    await http.post(PATH, json={"from": one, "to": other, "type": "related_to"})
    for given in (
        {"from": other, "to": one, "type": "relates_to"},
        {"from": one, "to": other, "type": "relates_to"},
    ):
        answer = await http.post(PATH, json=given)
        assert (answer.status_code, answer.json()["type"]) == (200, "relates_to")
    assert await edges(memory) == 1
    await http.post(PATH, json={"from": one, "to": other, "type": "refines"})
    answer = await http.post(PATH, json={"from": other, "to": one, "type": "refines"})
    assert answer.status_code == 201
    assert await edges(memory) == 3


async def test_bytes_tell_references_apart(
    http: httpx.AsyncClient, memory, three: list[str]
) -> None:
    one, other, _ = three
    given = {"from": one, "to": other, "type": "references"}
    ranges = [{"start_byte": 0, "end_byte": 9}, {"start_byte": 9, "end_byte": 12}]
    for _ in range(2):
        await http.post(PATH, json=[given | part for part in ranges])
    assert await edges(memory) == 2
    found = await listed(http, other)
    assert sorted((link["start_byte"], link["end_byte"]) for link in found) == [(0, 9), (9, 12)]
    made = await memory.link(one, other, "references", start_byte=0, end_byte=9)
    assert not made.created


async def test_what_graphmem_found_shows_its_score_and_basis(
    http: httpx.AsyncClient, memory, three: list[str]
) -> None:
    await memory.runtime.graph.execute(
        "MATCH (a:Memory {client_id: $client, id: $one}), (b:Memory {client_id: $client, id: $other}) "
        "CREATE (a)-[:RELATES_TO {score: 0.75, basis: 'similar'}]->(b)",
        client=memory.client_id,
        one=three[0],
        other=three[1],
    )
    [seen] = await listed(http, three[1])
    assert (seen["score"], seen["basis"], seen["created_at"]) == (0.75, "similar", None)
    answer = await http.post(PATH, json={"from": three[1], "to": three[0], "type": "relates_to"})
    assert answer.status_code == 200


async def test_links_are_filtered_and_go_on_page_by_page(
    http: httpx.AsyncClient, three: list[str]
) -> None:
    text = "The lamp is red."
    span = {"source_type": "offer", "source_id": "o", "start_byte": 0, "end_byte": len(text)}
    made = await http.post("/api/v0/spans", json=[span | {"content": text} for _ in range(5)])
    spans = [one["id"] for one in made.json()]
    links = [{"from": three[0], "to": id, "type": "derived_from"} for id in spans]
    links += [{"from": id, "to": three[0], "type": "contradicts"} for id in three[1:]]
    assert (await http.post(PATH, json=links)).status_code == 201
    found, cursor = [], None
    while True:
        query = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        page = (await http.get(f"/api/v0/memories/{three[0]}/links", params=query)).json()
        assert len(page["links"]) <= 3
        found += page["links"]
        if (cursor := page["cursor"]) is None:
            break
    assert sorted(link["other_id"] for link in found) == sorted([*spans, *three[1:]])
    by_kind = await listed(http, three[0], kind="reference")
    assert sorted(link["other_id"] for link in by_kind) == sorted(three[1:])
    by_type = await listed(http, three[0], type="derived_from")
    assert sorted(link["other_id"] for link in by_type) == sorted(spans)
    assert await listed(http, three[0], type="related_to") == []


async def test_made_by_many_at_once_a_link_is_there_once(
    http: httpx.AsyncClient, memory, three: list[str]
) -> None:
    one, other, _ = three
    answers = await asyncio.gather(
        *(
            http.post(PATH, json={"from": a, "to": b, "type": "relates_to"})
            for a, b in [(one, other), (other, one)] * 8
        )
    )
    assert {answer.status_code for answer in answers} <= {200, 201}
    assert sum(answer.status_code == 201 for answer in answers) == 1
    assert await edges(memory) == 1


async def test_unknown_and_foreign_memories_look_the_same_and_nothing_is_linked(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, memory, three: list[str]
) -> None:
    card = {"type": "offer", "target_id": "o", "label": "Offer"}
    foreign = (await rival_http.post("/api/v0/references", json=card)).json()["id"]
    for id in (foreign, "0" * len(foreign)):
        for ends in ({"from": three[0], "to": id}, {"from": id, "to": three[0]}):
            good = {"from": three[0], "to": three[1], "type": "refines"}
            answer = await http.post(PATH, json=[good, ends | {"type": "references"}])
            assert (answer.status_code, answer.json()["code"]) == (404, "memory_not_found")
            assert answer.json()["detail"] == f"no memory '{id}'"
        answer = await http.get(f"/api/v0/memories/{id}/links")
        assert answer.json()["detail"] == f"no memory '{id}'"
    assert await edges(memory) == 0
    assert await listed(rival_http, foreign) == []


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"type": "supersedes"}, "type", "one of contradicts, derived_from, references, refines"),
        ({"type": "RELATES_TO"}, "type", "one of"),
        ({"type": None}, "type", "a text"),
        ({"to": ""}, "to", "at least 1 character"),
        ({"to": " "}, "to", "is blank"),
        ({"to": 7}, "to", "a text"),
        ({"from": "x" * 257}, "from", "at most 256"),
        ({"start_byte": 1}, "start_byte", "only links of the type references"),
        ({"type": "references", "start_byte": 1}, "end_byte", "is missing"),
        ({"type": "references", "end_byte": 1}, "start_byte", "is missing"),
        ({"type": "references", "start_byte": 4, "end_byte": 4}, "end_byte", "not beyond"),
        ({"type": "references", "start_byte": -1, "end_byte": 4}, "start_byte", ">= 0"),
        ({"basis": "similar"}, "basis", "unknown field"),
    ],
)
async def test_a_link_that_cannot_be_is_refused(
    change: dict[str, Any], field: str, said: str, refusing: httpx.AsyncClient
) -> None:
    one = await refusing.post(PATH, json=GOOD | change)
    assert (one.status_code, one.json()["field"]) == (400, field)
    assert said in one.json()["detail"]
    many = await refusing.post(PATH, json=[GOOD, GOOD | change])
    assert (many.status_code, many.json()["field"]) == (400, f"[1].{field}")


async def test_a_link_that_is_refused_is_not_made(
    http: httpx.AsyncClient, memory: Graphmem, three: list[str]
) -> None:
    good = {"from": three[0], "to": three[1], "type": "refines"}
    for body, field in (
        (good | {"type": "supersedes"}, "type"),
        ([good, good | {"type": "references", "start_byte": 1}], "[1].end_byte"),
    ):
        answer = await http.post(PATH, json=body)
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
        assert answer.json()["field"] == field
    assert await edges(memory) == 0


async def test_a_memory_is_not_linked_to_itself(refusing: httpx.AsyncClient) -> None:
    answer = await refusing.post(PATH, json=GOOD | {"to": GOOD["from"]})
    assert (answer.status_code, answer.json()["field"]) == (400, "to")


@pytest.mark.parametrize(
    "query", ["type=supersedes", "kind=book", "limit=0", "limit=201", "cursor=x", "colour=red"]
)
async def test_a_list_that_cannot_be_is_refused(query: str, refusing: httpx.AsyncClient) -> None:
    answer = await refusing.get(f"/api/v0/memories/{GOOD['from']}/links?{query}")
    assert (answer.status_code, answer.json()["field"]) == (400, query.partition("=")[0])


async def test_beside_a_database_it_is_refused_as_well(http: httpx.AsyncClient) -> None:
    answer = await http.get(f"/api/v0/memories/{GOOD['from']}/links?limit=0")
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert answer.json()["field"] == "limit"


async def test_an_edge_forged_to_another_client_s_memory_is_not_listed(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, memory: Graphmem, three: list[str]
) -> None:
    card = {"type": "offer", "target_id": "theirs", "label": "Theirs"}
    theirs = (await rival_http.post("/api/v0/references", json=card)).json()["id"]
    await memory.runtime.graph.execute(
        "MATCH (mine:Memory {client_id: $client, id: $mine}), (theirs:Memory {id: $theirs}) "
        "CREATE (mine)-[:RELATES_TO {created_at: datetime()}]->(theirs)",
        client=memory.client_id,
        mine=three[0],
        theirs=theirs,
    )
    assert await listed(http, three[0]) == []
    assert await listed(rival_http, theirs) == []


@pytest.mark.parametrize(
    ("made", "named"),
    [
        ({"type": "refines"}, {"type": "refines"}),
        ({"type": "relates_to"}, {"type": "related_to", "turned": True}),
        ({"type": "references"}, {"type": "references"}),
        (
            {"type": "references", "start_byte": 3, "end_byte": 9},
            {"type": "references", "start_byte": 3, "end_byte": 9},
        ),
    ],
)
async def test_a_link_is_deleted_by_what_it_was_made_from(
    http: httpx.AsyncClient,
    rival_http: httpx.AsyncClient,
    memory: Graphmem,
    three: list[str],
    made: dict[str, Any],
    named: dict[str, Any],
) -> None:
    one, other, third = three
    kept = [
        {"from": one, "to": third, "type": "references", "start_byte": 0, "end_byte": 9},
        {"from": other, "to": one, "type": "refines"},
        {"from": one, "to": other, "type": "contradicts"},
    ]
    await http.post(PATH, json=[*kept, {"from": one, "to": other} | made])
    before = await edges(memory)
    ends = {"from": other, "to": one} if named.pop("turned", False) else {"from": one, "to": other}

    foreign = await rival_http.delete(PATH, params=ends | named)
    unknown = await http.delete(PATH, params={"from": "x", "to": "y"} | named)
    for answer in (foreign, unknown):
        assert (answer.status_code, answer.json()["code"]) == (404, "link_not_found")
    assert await edges(memory) == before
    gone = await http.delete(PATH, params=ends | named)
    assert (gone.status_code, gone.content) == (204, b"")
    assert await edges(memory) == before - 1
    again = await http.delete(PATH, params=ends | named)
    assert again.status_code == 404
    assert len(await listed(http, one)) == 3


async def test_a_link_to_delete_is_named_whole(refusing: httpx.AsyncClient) -> None:
    for change, field in (
        ({"type": "supersedes"}, "type"),
        ({"from": None}, "from"),
        ({"start_byte": 4}, "start_byte"),
        ({"colour": "red"}, "colour"),
    ):
        given = {name: value for name, value in (GOOD | change).items() if value is not None}
        answer = await refusing.delete(PATH, params=given)
        assert (answer.status_code, answer.json()["field"]) == (400, field)


async def test_a_link_is_deleted_from_python(memory: Graphmem, three: list[str]) -> None:
    await memory.link(three[0], three[1], "references", start_byte=0, end_byte=4)
    with pytest.raises(LinkNotFound, match="with these bytes, or with none"):
        await memory.unlink(three[0], three[1], "references")
    await memory.unlink(three[0], three[1], "references", start_byte=0, end_byte=4)
    assert (await memory.links(three[0])).links == []
