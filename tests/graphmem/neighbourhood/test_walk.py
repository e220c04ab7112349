"""The neighbourhood of a node on a real Neo4j, against a walk of the test's own over everything."""

import uuid
from collections.abc import AsyncIterator, Iterable
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from graphmem.client import Graphmem
from graphmem.errors import InvalidInput, NodeNotFound
from graphmem.model.vocabulary import EDGE_TYPES
from graphmem.neighbourhood import walk as reading
from graphmem.neighbourhood.types import LABELS, Neighbourhood
from graphmem.runtime import Runtime
from tests.patterned import live
from tests.planted import join, plant

FORGED = """CYPHER 25
MATCH (mine {client_id: $mine}) WHERE coalesce(mine.id, mine.normalized) IS NOT NULL
WITH collect(mine) AS all_mine
MATCH (theirs {client_id: $theirs}) WHERE coalesce(theirs.id, theirs.normalized) IS NOT NULL
WITH all_mine, collect(theirs) AS all_theirs
UNWIND range(0, size(all_mine) - 1) AS place
WITH all_mine[place] AS mine, all_theirs[place % size(all_theirs)] AS theirs,
  all_mine[(place + 1) % size(all_mine)] AS next, place
CREATE (mine)-[:RELATES_TO {score: 1.0}]->(theirs)-[:MENTIONS]->(next)
CREATE (theirs)-[:PART_OF]->(mine)-[:SUPERSEDES]->(theirs)
"""
"""Every node of one client joined to one of the other's, from which the way leads to another of its own."""

ALL_NODES = """CYPHER 25
MATCH (node {client_id: $client}) WHERE coalesce(node.id, node.normalized) IS NOT NULL
RETURN elementId(node) AS key, labels(node) AS labels, node.id AS id, node.normalized AS normalized"""
ALL_EDGES = """CYPHER 25
MATCH (here {client_id: $client})-[edge]->(there {client_id: $client})
RETURN elementId(here) AS here, type(edge) AS type, elementId(there) AS there"""

HUB = """CYPHER 25
MATCH (hub:Memory {client_id: $client, id: $hub})
UNWIND range(1, $number) AS place
CREATE (other:Memory:Message {
  client_id: $client, id: 'n' + toString(place), kind: 'message', active: true,
  text: 'number ' + toString(place), occurred_at: datetime('2026-01-01T00:00:00Z') +
  duration({minutes: place})
})-[:DERIVED_FROM]->(hub)
"""
GONE = "CYPHER 25 MATCH (n {client_id: $client}) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 500 ROWS"


class Oracle(msgspec.Struct):
    """All of a client's nodes, as they are called in an answer, and all edges between them."""

    ids: dict[str, str]
    edges: list[tuple[str, str, str]]

    def around(
        self, root: str, depth: int, types: Iterable[str] = EDGE_TYPES
    ) -> tuple[dict[str, int], list[tuple[str, str, str]]]:
        """Return what lies around a node, with its distance, and the edges between."""
        edges = [one for one in self.edges if one[1] in set(types)]
        depths = {root: 0}
        for distance in range(1, depth + 1):
            for here, _, there in edges:
                for one, other in ((here, there), (there, here)):
                    if depths.get(one) == distance - 1:
                        depths.setdefault(other, distance)
        return depths, sorted(one for one in edges if one[0] in depths and one[2] in depths)


@pytest_asyncio.fixture(scope="module")
async def lived(runtime: Runtime) -> AsyncIterator[Graphmem]:
    """A client with a life, whose graph somebody has joined to that of a rival with the same life."""
    mine = Graphmem(runtime, f"mine-{uuid.uuid4().hex}")
    theirs = Graphmem(runtime, f"theirs-{uuid.uuid4().hex}")
    for one in (mine, theirs):
        await live(one)
    await runtime.afterwards.settle()
    await runtime.graph.execute(FORGED, mine=mine.client_id, theirs=theirs.client_id)
    yield mine
    for one in (mine, theirs):
        await runtime.graph.execute(GONE, client=one.client_id)


@pytest_asyncio.fixture(scope="module")
async def oracle(lived: Graphmem) -> Oracle:
    found = await lived.runtime.graph.execute(ALL_NODES, client=lived.client_id)
    edges = await lived.runtime.graph.execute(ALL_EDGES, client=lived.client_id)
    ids = {one["key"]: one["id"] or f"entity:{one['normalized']}" for one in found}
    assert len(set(ids.values())) == len(ids) > 30
    return Oracle(ids, [(ids[e["here"]], e["type"], ids[e["there"]]) for e in edges])


@pytest_asyncio.fixture
async def hub(memory: Graphmem) -> AsyncIterator[str]:
    """A memory that 2,000 others are derived from."""
    [id] = await plant(memory, {"kind": "fact", "text": "The hub.", "version": 1, "keywords": []})
    await memory.runtime.graph.execute(HUB, client=memory.client_id, hub=id, number=2_000)
    yield id
    await memory.runtime.graph.execute(GONE, client=memory.client_id)


def shape(found: Neighbourhood) -> tuple[dict[str, int], list[tuple[str, str, str]]]:
    """Return an answer as the oracle gives it."""
    edges = [(edge.from_id, edge.type, edge.to_id) for edge in found.edges]
    return {node.id: node.depth for node in found.nodes}, sorted(edges)


@pytest.mark.parametrize("depth", [1, 2, 3])
async def test_around_every_node_there_is_what_its_client_has_there_and_nothing_else(
    lived: Graphmem, oracle: Oracle, depth: int
) -> None:
    # B2
    for id in oracle.ids.values():
        found = await lived.neighbourhood(id, depth=depth, limit=500)
        assert shape(found) == oracle.around(id, depth), id
        assert not found.truncated
        assert found.why == []


@pytest.mark.parametrize(
    "types", [["SUPERSEDES"], ["part_of", "MENTIONS"], "Returned, contradicts"]
)
async def test_only_edges_of_the_types_that_are_named_are_followed_and_shown(
    lived: Graphmem, oracle: Oracle, types: Any
) -> None:
    named = types.split(",") if isinstance(types, str) else types
    stored = [name.strip().upper() for name in named]
    followed = set()
    for id in oracle.ids.values():
        found = await lived.neighbourhood(id, depth=2, types=types, limit=500)
        assert shape(found) == oracle.around(id, 2, stored)
        followed |= {edge.type for edge in found.edges}
    assert followed == set(stored)


async def test_foreign_nodes_take_nobody_s_place(memory: Graphmem, rival: Graphmem) -> None:
    own = await plant(memory, *({"kind": "span", "text": f"part {n}"} for n in range(4)))
    await join(memory, "REFINES", *((other, own[0]) for other in own[1:]))
    other = (await plant(rival, {"kind": "span", "text": "their part"}))[0]
    await rival.runtime.graph.execute(HUB, client=rival.client_id, hub=other, number=50)
    await rival.runtime.graph.execute(
        "CYPHER 25 MATCH (n:Message {client_id: $theirs}) "
        "MATCH (own:Memory {client_id: $mine, id: $id}) CREATE (n)-[:REFINES]->(own)",
        theirs=rival.client_id,
        mine=memory.client_id,
        id=own[0],
    )
    found = await memory.neighbourhood(own[0], depth=3, limit=5)
    assert {node.id for node in found.nodes} == set(own)
    assert not found.truncated


async def test_a_foreign_node_looks_like_none(memory: Graphmem, rival: Graphmem) -> None:
    [id] = await plant(memory, {"kind": "message", "text": "Mine.", "idx": 0, "role": "user"})
    assert (await memory.neighbourhood(id)).nodes[0].id == id
    for unknown in (
        id,
        "nothing",
        f"memory:{id}",
        "entity:nobody",
        "entity:",
        ":",
        "",
        "x" * 9_999,
    ):
        with pytest.raises(NodeNotFound) as told:
            await rival.neighbourhood(unknown)
        assert str(told.value) == f"no node {unknown!r}"


@pytest.mark.parametrize(
    ("asked", "field", "legal"),
    [
        ({"depth": 0}, "depth", ">= 1"),
        ({"depth": 4}, "depth", "<= 3"),
        ({"limit": 0}, "limit", ">= 1"),
        ({"limit": 501}, "limit", "<= 500"),
        (
            {"types": ["PART_OF", "LIKES"]},
            "types[1]",
            "it is one of ALIAS_OF, CONTINUES, CONTRADICTS",
        ),
        ({"types": []}, "types", "at least 1 entry"),
        ({"types": ""}, "types[0]", "SUPERSEDES, WROTE"),
    ],
)
async def test_what_cannot_be_asked_is_told_with_what_can(
    memory: Graphmem, asked: dict[str, Any], field: str, legal: str
) -> None:
    with pytest.raises(InvalidInput) as told:
        await memory.neighbourhood("x", **asked)
    assert told.value.field == field
    assert legal in str(told.value)


async def test_a_hub_stays_within_its_bounds(memory: Graphmem, hub: str) -> None:
    found = await memory.neighbourhood(hub)
    assert [node.depth for node in found.nodes] == [0] + [1] * 99
    assert {(edge.to_id, edge.type) for edge in found.edges} == {(hub, "DERIVED_FROM")}
    assert len(found.edges) == 99
    times = [node.properties["occurred_at"] for node in found.nodes[1:]]
    assert times == sorted(times, reverse=True)
    assert found.truncated
    assert [(cut.reason, cut.at) for cut in found.why] == [("limit", [hub])]
    assert "500" in found.why[0].remedy
    assert await memory.neighbourhood(hub) == found
    for depth in (2, 3):
        most = await memory.neighbourhood(hub, depth=depth, limit=500)
        assert len(most.nodes) == 500
        assert len(most.edges) == 499


async def test_of_what_is_looked_at_the_newest_is_shown(memory: Graphmem) -> None:
    [id] = await plant(memory, {"kind": "fact", "text": "the middle", "keywords": []})
    await memory.runtime.graph.execute(HUB, client=memory.client_id, hub=id, number=200)
    found = await memory.neighbourhood(id, limit=5)
    assert [node.id for node in found.nodes] == [id, "n200", "n199", "n198", "n197"]


async def test_former_versions_of_a_neighbour_do_not_hide_the_others(memory: Graphmem) -> None:
    centre = await memory.remember_fact("The harbour master keeps a ledger")
    older = await memory.remember_fact("Item 7 belongs to the rope shed")
    priced = await memory.remember_fact("Lamp oil costs nine crowns")
    for one in (older, priced):
        await memory.link(centre.id, one.id, "references")
    head = priced.id
    for price in range(4):
        head = (await memory.supersede_fact(head, f"Lamp oil costs {price} crowns")).id

    shown = await memory.neighbourhood(centre.id, types="references", limit=3)
    assert {node.id for node in shown.nodes} == {centre.id, older.id, head}


async def test_of_a_hub_farther_away_a_few_are_shown_and_it_is_named(
    memory: Graphmem, hub: str
) -> None:
    found = await memory.neighbourhood("n7", depth=2, limit=500)
    assert [node.id for node in found.nodes[:2]] == ["n7", hub]
    assert len(found.nodes) == 2 + reading.FAN_OUT
    assert [(cut.reason, cut.at) for cut in found.why] == [("fan_out", [hub])]
    assert not (await memory.neighbourhood("n7", depth=1)).truncated


async def test_a_limit_that_just_fits_cuts_nothing(memory: Graphmem) -> None:
    ids = await plant(memory, *({"kind": "span", "text": f"part {n}"} for n in range(4)))
    await join(memory, "REFINES", *((ids[0], other) for other in ids[1:]))
    whole = await memory.neighbourhood(ids[0], limit=4, depth=3)
    assert len(whole.nodes) == 4
    assert not whole.truncated
    for limit in (1, 2, 3):
        cut = await memory.neighbourhood(ids[0], limit=limit, depth=3)
        assert cut.nodes == whole.nodes[:limit]
        assert [one.reason for one in cut.why] == ["limit"]


async def test_a_type_of_many_edges_does_not_hide_the_others(memory: Graphmem, hub: str) -> None:
    rare = await plant(memory, *({"kind": "summary", "text": f"sum {n}"} for n in range(3)))
    await join(memory, "REFINES", *((one, hub) for one in rare))
    await join(memory, "SUPERSEDES", (hub, "n5"))
    found = await memory.neighbourhood(hub, limit=8)
    types = [edge.type for edge in found.edges]
    assert types.count("REFINES") == 3
    assert types.count("SUPERSEDES") == 1
    assert "n5" in {node.id for node in found.nodes}


async def test_edges_between_two_that_are_shown_are_shown_each(memory: Graphmem) -> None:
    a, b, c = await plant(memory, *({"kind": "span", "text": f"part {n}"} for n in range(3)))
    await join(memory, "REFINES", (a, b), (a, c), (b, c), (c, b))
    await join(memory, "REFERENCES", (a, b), (a, b))
    found = await memory.neighbourhood(a)
    shown = [(edge.from_id, edge.type, edge.to_id) for edge in found.edges]
    assert sorted(shown) == sorted(
        [
            (a, "REFINES", b),
            (a, "REFINES", c),
            (b, "REFINES", c),
            (c, "REFINES", b),
            (a, "REFERENCES", b),
            (a, "REFERENCES", b),
        ]
    )
    assert len(found.nodes) == 3


async def test_an_edge_between_two_hubs_is_shown(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = await plant(memory, *({"kind": "span", "text": f"part {n}"} for n in range(3)))
    await join(memory, "REFINES", (a, b), (a, c), (b, c))
    whole = await memory.neighbourhood(a)
    monkeypatch.setattr(reading, "QUIET", 0)
    assert await memory.neighbourhood(a) == whole
    monkeypatch.setattr(reading, "HUBS", 2)
    few = await memory.neighbourhood(a)
    assert few.nodes == whole.nodes
    # What led there is shown however many hubs there are.
    assert [edge for edge in whole.edges if edge.from_id == a] == few.edges
    assert [cut.reason for cut in few.why] == ["hubs"]


async def test_whoever_shares_an_id_is_named_with_its_label(memory: Graphmem) -> None:
    await memory.open_conversation("kb-1")
    said = {"session_id": "s", "role": "user", "content": "Mooring lines are stored in Bremen."}
    [message] = (await memory.remember("kb-1", [said])).ids
    [fact, odd] = await plant(
        memory,
        {"kind": "fact", "id": "kb-1", "text": "Lines are in Bremen.", "keywords": []},
        {"kind": "fact", "id": "entity:bremen", "text": "An odd id.", "keywords": []},
    )
    await join(memory, "DERIVED_FROM", (fact, message))
    assert (await memory.neighbourhood("kb-1")).nodes[0].labels == ["Memory", "Fact"]
    found = await memory.neighbourhood("conversation:kb-1", depth=3, types=["PART_OF"])
    assert found.nodes[0].labels == ["Conversation"]
    assert (found.nodes[0].id, found.nodes[-1].id) == ("kb-1", message)
    both = await memory.neighbourhood("Memory:kb-1", depth=3)
    shown = {node.id: node.labels[-1] for node in both.nodes}
    assert shown["memory:kb-1"] == "Fact"
    assert shown["conversation:kb-1"] == "Conversation"
    assert shown["entity:bremen"] == "Entity"
    assert {"from": "memory:kb-1", "to": message} in [
        {"from": edge.from_id, "to": edge.to_id} for edge in both.edges
    ]
    for id, label in shown.items():
        assert (await memory.neighbourhood(id)).nodes[0].labels[-1] in {label, "Fact"}
    assert (await memory.neighbourhood(odd)).nodes[0].properties["text"] == "An odd id."
    assert (await memory.neighbourhood("ENTITY:The Bremen")).nodes[0].labels == ["Entity"]


async def test_every_kind_of_node_can_be_asked_for(lived: Graphmem) -> None:
    run = await lived.run(agent_type="a", episode_id="e")
    await run.retrieve("coffee", max_tokens=200)
    context = await lived.create_context(max_tokens=2_000)
    rows = await lived.runtime.graph.execute(
        "CYPHER 25 CREATE (:Review {client_id: $client, id: 'the-review', query: 'q'}) "
        "WITH 1 AS one MATCH (n:Session|Conversation|Access|Job {client_id: $client}) "
        "RETURN head(labels(n)) AS label, min(n.id) AS id",
        client=lived.client_id,
    )
    ids = {row["label"]: row["id"] for row in rows}
    ids |= {"Run": run.id, "Context": context.id, "Review": "the-review"}
    assert set(ids) == set(LABELS[LABELS.index("Session") :]) - {"Entity"}
    for label, id in ids.items():
        for address in (id, f"{label.lower()}:{id}"):
            root = (await lived.neighbourhood(address)).nodes[0]
            assert (root.labels, root.id, root.depth) == ([label], id, 0)
    performed = await lived.neighbourhood(run.id, types="performed")
    assert {node.labels[-1] for node in performed.nodes[1:]} == {"Access"}
    assert len(performed.nodes) == 3


async def test_it_shows_what_is_stored_but_for_what_only_an_index_uses(memory: Graphmem) -> None:
    text = "🌊" * 1_500
    [id, short] = await plant(
        memory,
        {"kind": "span", "text": text, "tags": [str(n) for n in range(60)]},
        {"kind": "span", "text": "🌊" * 1_000},
    )
    [node] = (await memory.neighbourhood(id)).nodes
    assert node.properties["text"] == "🌊" * 1_000
    assert node.properties["tags"] == [str(n) for n in range(50)]
    assert node.shortened == ["tags", "text"]
    assert not {"embedding", "embedding_2", "search_text", "scope_words", "locked"} & set(
        node.properties
    )
    assert node.properties["client_id"] == memory.client_id
    assert node.properties["occurred_at"] == "2026-03-02T09:30:00Z"
    assert node.properties["invalid_at"] is None
    assert node.properties["conversation_id"] is None
    assert (await memory.neighbourhood(short)).nodes[0].shortened == []
