"""The graph over HTTP: the neighbourhood of a node and the schema, for one client."""

import uuid
from collections.abc import AsyncIterator
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import pytest
import pytest_asyncio
from litestar import Litestar

from graphmem.client import Graphmem
from graphmem.model.vocabulary import EDGE_TYPES
from graphmem.runtime import Runtime
from tests.patterned import live
from tests.planted import join, plant


class Life(NamedTuple):
    """A client's life, which tests only read."""

    http: httpx.AsyncClient
    memory: Graphmem
    ids: dict[str, str]


@pytest_asyncio.fixture(scope="module")
async def life(runtime: Runtime, app: Litestar, asking: Any) -> AsyncIterator[Life]:
    memory = Graphmem(runtime, f"test-{uuid.uuid4().hex}")
    ids = await live(memory)
    async with asking(app, x_client_id=memory.client_id) as http:
        yield Life(http, memory, ids)


async def test_a_neighbourhood_is_nodes_and_edges(life: Life) -> None:
    # B2
    http, _, ids = life
    answer = await http.get(f"/api/v0/graph/{ids['tea']}", params={"depth": 2})
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["nodes"][0]["id"] == ids["tea"]
    assert told["nodes"][0]["labels"] == ["Memory", "Fact"]
    assert told["nodes"][0]["properties"]["text"] == "Mara drinks only tea"
    assert [node["depth"] for node in told["nodes"]] == sorted(
        node["depth"] for node in told["nodes"]
    )
    contradiction = {"from": ids["tea"], "to": ids["coffee"], "type": "CONTRADICTS"}
    assert contradiction in [
        {key: edge[key] for key in ("from", "to", "type")} for edge in told["edges"]
    ]
    assert "entity:mara" in [node["id"] for node in told["nodes"]]
    assert told["truncated"] is False
    assert told["why"] == []
    again = await http.get(f"/api/v0/graph/{ids['tea']}?depth=2")
    assert again.content == answer.content


async def test_python_and_http_answer_the_same(life: Life) -> None:
    http, memory, ids = life
    over_http = (await http.get(f"/api/v0/graph/{ids['tea']}?depth=3&limit=2")).json()
    in_process = await memory.neighbourhood(ids["tea"], depth=3, limit=2)
    assert [node["id"] for node in over_http["nodes"]] == [node.id for node in in_process.nodes]
    assert over_http["why"][0]["reason"] == in_process.why[0].reason == "limit"
    schema = (await http.get("/api/v0/graph/schema")).json()
    labels = {one.label: one.count for one in (await memory.graph_schema()).labels}
    assert {one["label"]: one["count"] for one in schema["labels"]} == labels


class Joined(NamedTuple):
    """Four spans that are only read: the first is joined to each of the others by an edge of a type."""

    http: httpx.AsyncClient
    ids: list[str]


@pytest_asyncio.fixture(scope="module")
async def joined(runtime: Runtime, app: Litestar, asking: Any) -> AsyncIterator[Joined]:
    memory = Graphmem(runtime, f"test-{uuid.uuid4().hex}")
    a, b, c, d = await plant(memory, *({"kind": "span", "text": f"part {n}"} for n in range(4)))
    await join(memory, "REFINES", (a, b))
    await join(memory, "REFERENCES", (c, a))
    await join(memory, "CONTRADICTS", (a, d))
    async with asking(app, x_client_id=memory.client_id) as http:
        yield Joined(http, [a, b, c, d])


@pytest.mark.parametrize(
    "query",
    [
        "types=REFINES&types=REFERENCES",
        "types=refines,References",
        "types=refines&types=references,refines",
        "types=refines%2C%20references",
    ],
)
async def test_types_are_named_several_times_or_with_commas(query: str, joined: Joined) -> None:
    http, [a, b, c, _] = joined
    told = (await http.get(f"/api/v0/graph/{a}?{query}")).json()
    assert {node["id"] for node in told["nodes"]} == {a, b, c}
    assert {edge["type"] for edge in told["edges"]} == {"REFINES", "REFERENCES"}
    assert len((await http.get(f"/api/v0/graph/{a}")).json()["nodes"]) == 4


@pytest.mark.parametrize(
    ("query", "field", "legal"),
    [
        ("depth=0", "depth", ">= 1"),
        ("depth=4", "depth", "<= 3"),
        ("depth=two", "depth", "a whole number"),
        ("limit=501", "limit", "<= 500"),
        ("limit=0", "limit", ">= 1"),
        ("limit=1&limit=2", "limit", "twice"),
        ("types=LIKES", "types[0]", ", ".join(EDGE_TYPES)),
        ("types=PART_OF&types=`x`", "types[1]", "it is one of ALIAS_OF"),
        ("types=", "types[0]", "WROTE"),
        ("type=PART_OF", "type", "unknown field"),
    ],
)
async def test_what_cannot_be_asked_is_told_with_what_can(
    query: str, field: str, legal: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.get(f"/api/v0/graph/x?{query}")
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["field"] == field
    assert legal in answer.json()["detail"]


async def test_beside_a_database_it_is_told_as_well(joined: Joined) -> None:
    answer = await joined.http.get(f"/api/v0/graph/{joined.ids[0]}?depth=4")
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["field"]) == ("invalid_input", "depth")


async def test_a_foreign_node_is_not_found_as_an_unknown_one(
    life: Life, rival_http: httpx.AsyncClient
) -> None:
    http, memory, ids = life
    [session] = [
        node.id
        for node in (await memory.neighbourhood("life", types="part_of")).nodes
        if node.properties.get("external_id") == "joint"
    ]
    for id in (ids["tea"], session, "life", "conversation:life", "entity:Lyra Voss", "unknown"):
        mine = await http.get(f"/api/v0/graph/{quote(id)}")
        assert mine.status_code == (404 if id == "unknown" else 200)
        answer = await rival_http.get(f"/api/v0/graph/{quote(id)}")
        assert answer.status_code == 404
        assert answer.json()["code"] == "node_not_found"
        assert answer.json()["detail"] == f"no node {id!r}"


async def test_the_schema_is_the_client_s_own(life: Life, rival_http: httpx.AsyncClient) -> None:
    told = (await life.http.get("/api/v0/graph/schema")).json()
    labels = {one["label"]: one for one in told["labels"]}
    assert labels["Message"]["count"] == 7
    assert labels["Message"]["count_is_exact"] is True
    types = {one["type"]: one for one in told["edge_types"]}
    assert types["SUPERSEDES"]["ends"][0] == {"from": "Fact", "to": "Fact", "count": 2}
    assert {"memory_embedding", "memory_text", "memory_id"} <= {
        one["name"] for one in told["indexes"]
    }
    assert "exact" in told["sampling"]
    foreign = await rival_http.get("/api/v0/graph/schema")
    assert foreign.status_code == 200
    assert "Lyra" not in foreign.text
    assert not any(one["count"] for one in foreign.json()["labels"])


async def test_an_id_of_any_characters_is_an_id(http: httpx.AsyncClient, memory: Graphmem) -> None:
    await memory.open_conversation("c")
    said = {"session_id": "s", "role": "user", "content": "Our pipeline is called `ci/cd`."}
    [id] = (await memory.remember("c", [said])).ids
    for path in ("entity:ci%2Fcd", "entity:ci/cd"):
        told = (await http.get(f"/api/v0/graph/{path}")).json()
        assert [node["id"] for node in told["nodes"]] == ["entity:ci/cd", id]
    for id in ("%00", "%F0%9F%8C%8A", "a%20b", "x' OR 1=1 //", "%25", "entity:%F0%9F%8C%8A"):
        answer = await http.get(
            f"/api/v0/graph/{id}" if "%" in id else f"/api/v0/graph/{quote(id)}"
        )
        assert answer.status_code == 404, answer.text
