"""The schema of a client's graph on a real Neo4j: what is exact, what is sampled, and nobody else's."""

import uuid
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from graphmem.client import Graphmem
from graphmem.graph.schema import declared_nodes
from graphmem.model.vocabulary import EDGE_TYPES, INNER_EDGES
from graphmem.neighbourhood import schema as reading
from graphmem.neighbourhood.schema import LabelSample, SampledEdges, edge_types, labels, merged
from graphmem.neighbourhood.types import GraphSchema, LabelShown, PropertyShown
from graphmem.neighbourhood.walk import HIDDEN
from graphmem.runtime import Runtime
from tests.patterned import live
from tests.planted import plant, thread

SECRET = "heliotrope"

FORGED = """CYPHER 25
MATCH (mine:Fact {client_id: $mine}) WITH collect(mine) AS all_mine
MATCH (theirs:Span {client_id: $theirs})
UNWIND all_mine AS mine
CREATE (mine)-[:REFERENCES {note: $secret}]->(theirs)
"""
LABELS_OF_CLIENT = """CYPHER 25
MATCH (node {client_id: $client}) UNWIND labels(node) AS label RETURN label, count(*) AS number"""
EDGES_OF_CLIENT = """CYPHER 25
MATCH (here {client_id: $client})-[edge]->(there {client_id: $client})
RETURN last(labels(here)) AS here, type(edge) AS type, last(labels(there)) AS there, count(*) AS number"""
KEYS_OF_CLIENT = """CYPHER 25
MATCH (node {client_id: $client}) UNWIND labels(node) AS label UNWIND keys(node) AS key
RETURN label, key, count(*) AS number, collect(DISTINCT valueType(node[key])) AS types"""


@pytest_asyncio.fixture(scope="module")
async def lived(runtime: Runtime) -> AsyncIterator[Graphmem]:
    """A client with a life, whose facts somebody has joined to those of a rival who has what it has not."""
    mine = Graphmem(runtime, f"mine-{uuid.uuid4().hex}")
    theirs = Graphmem(runtime, f"theirs-{uuid.uuid4().hex}")
    await live(mine)
    await live(theirs)
    await plant(theirs, {"kind": "span", "text": SECRET, SECRET: SECRET}, thread(text=SECRET))
    await runtime.afterwards.settle()
    await runtime.graph.execute(FORGED, mine=mine.client_id, theirs=theirs.client_id, secret=SECRET)
    yield mine
    for one in (mine, theirs):
        await runtime.graph.execute(
            "MATCH (n {client_id: $client}) DETACH DELETE n", client=one.client_id
        )


def by_label(schema: GraphSchema) -> dict[str, LabelShown]:
    return {one.label: one for one in schema.labels}


async def test_a_small_client_s_labels_and_properties_are_all_told(lived: Graphmem) -> None:
    shown = by_label(await lived.graph_schema())
    counted = await lived.runtime.graph.execute(LABELS_OF_CLIENT, client=lived.client_id)
    there = {row["label"]: row["number"] for row in counted}
    assert {name: one.count for name, one in shown.items() if one.count} == there
    assert all(one.count_is_exact and one.sampled == one.count for one in shown.values())
    keys = await lived.runtime.graph.execute(KEYS_OF_CLIENT, client=lived.client_id)
    expected = {
        (row["label"], row["key"]): row["number"] for row in keys if row["key"] not in HIDDEN
    }
    told = {
        (one.label, prop.name): prop.present for one in shown.values() for prop in one.properties
    }
    assert told == expected
    text = next(prop for prop in shown["Message"].properties if prop.name == "text")
    assert text.types == ["STRING"]
    assert len(text.examples) == 3
    moment = next(prop for prop in shown["Message"].properties if prop.name == "occurred_at")
    assert moment.types == ["ZONED DATETIME"]


async def test_a_small_client_s_edges_are_all_counted(lived: Graphmem) -> None:
    shown = {one.type: one for one in (await lived.graph_schema()).edge_types}
    rows = await lived.runtime.graph.execute(EDGES_OF_CLIENT, client=lived.client_id)
    there = Counter({(row["here"], row["type"], row["there"]): row["number"] for row in rows})
    told = {
        (ends.from_label, one.type, ends.to_label): ends.count
        for one in shown.values()
        for ends in one.ends
    }
    assert told == there
    assert len(there) >= 6
    assert all(one.count_is_exact for one in shown.values())
    assert list(shown) == sorted((*EDGE_TYPES, *INNER_EDGES))
    assert shown["SPAWNED"].count == 0
    reasons = {prop.name: prop for prop in shown["SUPERSEDES"].properties}["reason"]
    assert "two writers at once" in reasons.examples


async def test_nothing_of_a_rival_is_seen(lived: Graphmem) -> None:
    schema = await lived.graph_schema()
    told = msgspec.json.encode(schema).decode()
    assert SECRET not in told
    assert "theirs-" not in told
    assert by_label(schema)["Span"].count == 0
    assert by_label(schema)["Summary"].properties == []
    assert next(one for one in schema.edge_types if one.type == "REFERENCES").count == 0
    nobody = await lived.for_client(f"nobody-{uuid.uuid4().hex}").graph_schema()
    assert [one for one in nobody.labels if one.count or one.properties] == []
    assert [one for one in nobody.edge_types if one.count or one.ends or one.properties] == []
    assert nobody.indexes == schema.indexes


async def test_the_indexes_are_those_of_our_labels(lived: Graphmem) -> None:
    schema = await lived.graph_schema()
    shown = {one.name: one for one in schema.indexes}
    assert shown["memory_embedding"].type == "VECTOR"
    assert shown["memory_text"].type == "FULLTEXT"
    assert shown["memory_id"].properties == ["client_id", "id"]
    assert all(set(one.labels) <= set(by_label(schema)) for one in schema.indexes)
    assert {one.state for one in schema.indexes} <= {"ONLINE", "POPULATING"}


async def test_no_embedding_nor_what_an_index_alone_uses_is_shown(lived: Graphmem) -> None:
    for one in (await lived.graph_schema()).labels:
        assert {prop.name for prop in one.properties}.isdisjoint(
            {"embedding", "embedding_2", "search_text", "scope_words", "locked"}
        )
    lists = [
        prop.types
        for one in (await lived.graph_schema()).labels
        for prop in one.properties
        if any("LIST<FLOAT>" in name for name in prop.types)
    ]
    assert lists == []


async def test_of_many_nodes_a_sample_is_looked_at_and_the_answer_says_so(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.open_conversation("c")
    said = [
        {"session_id": f"s{n // 5}", "role": "user", "content": f"number {n}"} for n in range(40)
    ]
    await memory.remember("c", said)
    monkeypatch.setattr(reading, "SAMPLED", 10)
    monkeypatch.setattr(reading, "DESCRIBED", 5)
    schema = await memory.graph_schema()
    message = by_label(schema)["Message"]
    assert (message.count, message.count_is_exact, message.sampled) == (40, True, 5)
    part_of = next(one for one in schema.edge_types if one.type == "PART_OF")
    counts = {(one.from_label, one.to_label): one.count for one in part_of.ends}
    assert counts == {("Message", "Session"): 40, ("Session", "Conversation"): 8}
    assert not part_of.count_is_exact

    monkeypatch.setattr(reading, "COUNTED", 25)
    message = by_label(await memory.graph_schema())["Message"]
    assert (message.count, message.count_is_exact) == (25, False)
    whole = by_label(await memory.graph_schema())["Memory"]
    assert (whole.count, whole.count_is_exact) == (25, False)


def test_every_label_that_the_graph_knows_is_shown() -> None:
    text = reading.LABEL_SAMPLES.text
    named = {label for label in declared_nodes() if f"(node:{label} {{client_id:" in text}
    assert set(declared_nodes()) - named - set(reading.KIND_LABELS) == {
        "Migration",
        "Installation",
        "Audit",
    }
    assert {node.label for node in declared_nodes().values() if node.is_memory} == set(
        reading.KIND_LABELS
    )


def described(name: str, **other: Any) -> PropertyShown:
    plain: dict[str, Any] = {"types": ["STRING NOT NULL"], "present": 1, "examples": []}
    return PropertyShown(name=name, **plain | other)


def sampled(label: str, count: int, looked_at: int, *edges: SampledEdges) -> LabelSample:
    return LabelSample(
        label=label,
        count=count,
        sampled=looked_at,
        described=looked_at,
        properties=[described("id")],
        edges=list(edges),
    )


def test_a_memory_is_all_that_its_kinds_are() -> None:
    memory, *_ = labels([sampled("Message", 3, 3), sampled("Fact", 2, 1), sampled("Job", 9, 9)])
    assert (memory.label, memory.count, memory.sampled) == ("Memory", 5, 4)
    assert [(one.name, one.present) for one in memory.properties] == [("id", 2)]


def test_edges_are_projected_to_all_nodes_of_their_label() -> None:
    mentions = SampledEdges(
        type="MENTIONS", to="Entity", count=30, most=5, described=30, properties=[]
    )
    found = {one.type: one for one in edge_types([sampled("Message", 1_000, 100, mentions)])}
    assert (found["MENTIONS"].count, found["MENTIONS"].count_is_exact) == (300, False)
    assert (found["SUPERSEDES"].count, found["SUPERSEDES"].count_is_exact) == (0, False)


def test_a_node_of_more_edges_than_are_looked_at_makes_their_count_inexact() -> None:
    many = SampledEdges(
        type="PERFORMED", to="Access", count=1_000, most=1_000, described=1, properties=[]
    )
    found = {one.type: one for one in edge_types([sampled("Run", 1, 1, many)])}
    assert (found["PERFORMED"].count, found["PERFORMED"].count_is_exact) == (1_000, False)


def test_examples_are_short_and_say_something() -> None:
    long = "y" * 200
    [shown] = merged(
        [
            described("a", examples=["", "9999-12-30T00:00:00Z", long, "x"]),
            described("a", types=["LIST<STRING NOT NULL> NOT NULL"], examples=["x", ["p"] * 9, 1]),
        ]
    )
    assert shown.examples == ["y" * 79 + "…", "x", ["p", "p", "p"]]
    assert shown.types == ["LIST<STRING>", "STRING"]
    assert shown.present == 2
