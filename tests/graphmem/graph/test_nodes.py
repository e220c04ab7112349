"""What neomodel is told about the graph is what stands in the database, and the other way round."""

from datetime import UTC, datetime
from typing import Any

import pytest
from neomodel import AsyncStructuredNode

from graphmem.embedding import Embedding
from graphmem.graph import nodes
from graphmem.graph.driver import Transaction
from graphmem.jobs.outbox import enqueue
from graphmem.model.vocabulary import KINDS
from graphmem.runtime import Runtime
from graphmem.service import Graphmem
from graphmem.writing.boundary import Draft, Prepared, write
from graphmem.writing.versions import supersede

DECLARED: list[type[AsyncStructuredNode]] = [
    value
    for value in vars(nodes).values()
    if isinstance(value, type)
    and issubclass(value, AsyncStructuredNode)
    and value.__module__ == nodes.__name__
]
BY_LABELS = {frozenset(node.inherited_labels()): node for node in DECLARED}

TYPES = {
    "StringProperty": {"STRING NOT NULL"},
    "IntegerProperty": {"INTEGER NOT NULL"},
    "FloatProperty": {"FLOAT NOT NULL"},
    "BooleanProperty": {"BOOLEAN NOT NULL"},
    "DateTimeNeo4jFormatProperty": {"ZONED DATETIME NOT NULL"},
    "ArrayProperty": {"LIST<FLOAT NOT NULL> NOT NULL"},
}

NODES_OF_CLIENT = """CYPHER 25
MATCH (node {client_id: $client_id})
UNWIND keys(node) AS key
RETURN labels(node) AS labels, key, collect(DISTINCT valueType(node[key])) AS types,
  count(*) AS nodes"""
COUNTS_OF_CLIENT = """CYPHER 25
MATCH (node {client_id: $client_id}) RETURN labels(node) AS labels, count(*) AS nodes"""
EDGES_OF_CLIENT = """CYPHER 25
MATCH (from {client_id: $client_id})-[edge]-()
WITH DISTINCT edge, startNode(edge) AS from, endNode(edge) AS to
RETURN DISTINCT labels(from) AS from, type(edge) AS type, labels(to) AS to, keys(edge) AS keys"""
WITHOUT_CLIENT = """CYPHER 25
MATCH (node:Migration|Installation)
UNWIND keys(node) AS key
RETURN labels(node) AS labels, key, collect(DISTINCT valueType(node[key])) AS types,
  count(*) AS nodes"""


def properties(node: type[AsyncStructuredNode]) -> dict[str, Any]:
    """Return a class's properties by their names in the database."""
    declared = node.defined_properties(aliases=False, rels=False)
    return {value.get_db_property_name(name): value for name, value in declared.items()}


def edges(node: type[AsyncStructuredNode]) -> set[tuple[frozenset[str], str, frozenset[str]]]:
    """Return a class's edges as (labels, type, labels)."""
    declared = node.defined_properties(aliases=False, properties=False).values()
    found = set()
    for edge in declared:
        target = getattr(nodes, edge._raw_class)
        ends = frozenset(node.inherited_labels()), frozenset(target.inherited_labels())
        found.add((ends[0], edge.definition["relation_type"], ends[1]))
    return found


@pytest.fixture
async def written(memory: Graphmem) -> Graphmem:
    """A client with everything that can be written: all optional fields, two sessions, a title."""
    await memory.open_conversation("c", title="Everything")
    said = {"role": "user", "content": "The harbour light is red."}
    await memory.remember(
        "c",
        [
            {**said, "session_id": "a"},
            {
                **said,
                "session_id": "a",
                "name": "Mara",
                "external_id": "m1",
                "importance": 0.9,
                "occurred_at": datetime(2026, 3, 1, tzinfo=UTC),
            },
            {**said, "session_id": "b"},
        ],
    )
    await memory.runtime.graph.write(lambda transaction: fact_and_job(transaction, memory))
    return memory


async def fact_and_job(transaction: Transaction, memory: Graphmem) -> None:
    """Write a fact, a version that supersedes it, and a job."""
    now, client_id = datetime(2026, 3, 1, tzinfo=UTC), memory.client_id
    old, new = (fact(f"{client_id}-{number}", client_id, now) for number in (1, 2))
    await write(transaction, [old], client_id=client_id)
    await supersede(
        transaction, old.draft.id, new, client_id=client_id, now=now, reason="it was wrong"
    )
    await enqueue(
        transaction, client_id=client_id, id="j", kind="no-worker", key="k", payload={}, now=now
    )


def fact(id: str, client_id: str, now: datetime) -> Prepared:
    """Return a fact that is ready to be written."""
    draft = Draft(
        id=id,
        client_id=client_id,
        kind="fact",
        text=id,
        search_text=id,
        embedded_text=id,
        source_type="fact",
        occurred_at=now,
        created_at=now,
        valid_at=now,
    )
    return Prepared(draft, Embedding([1.0] + [0.0] * 383, False), 1)


async def test_every_property_in_the_database_is_declared_with_its_type(
    written: Graphmem, runtime: Runtime
):
    rows = await runtime.graph.execute(NODES_OF_CLIENT, client_id=written.client_id)
    rows += await runtime.graph.execute(WITHOUT_CLIENT)
    assert rows

    for row in rows:
        declared = properties(BY_LABELS[frozenset(row["labels"])])
        assert row["key"] in declared, row
        assert set(row["types"]) <= TYPES[type(declared[row["key"]]).__name__], row


@pytest.mark.parametrize("node", [nodes.Conversation, nodes.Session, nodes.Message])
async def test_every_declared_property_is_in_the_database_and_a_required_one_on_every_node(
    written: Graphmem, runtime: Runtime, node: type[AsyncStructuredNode]
):
    labels = set(node.inherited_labels())
    rows = await runtime.graph.execute(NODES_OF_CLIENT, client_id=written.client_id)
    holding = {row["key"]: row["nodes"] for row in rows if set(row["labels"]) == labels}
    counted = await runtime.graph.execute(COUNTS_OF_CLIENT, client_id=written.client_id)
    nodes_of_kind = sum(row["nodes"] for row in counted if set(row["labels"]) == labels)

    assert set(properties(node)) == set(holding)
    required = {name for name, value in properties(node).items() if value.required}
    assert {name for name in required if holding[name] < nodes_of_kind} == set()


async def test_migrations_and_the_installation_hold_what_is_declared(runtime: Runtime):
    rows = await runtime.graph.execute(WITHOUT_CLIENT)

    for node in (nodes.Migration, nodes.Installation):
        found = {row["key"] for row in rows if row["labels"] == node.inherited_labels()}
        assert found == set(properties(node))


async def test_the_edges_in_the_database_are_those_declared(written: Graphmem, runtime: Runtime):
    rows = await runtime.graph.execute(EDGES_OF_CLIENT, client_id=written.client_id)

    found = {(frozenset(row["from"]), row["type"], frozenset(row["to"])) for row in rows}
    assert found == {edge for node in DECLARED for edge in edges(node)}
    keys = {row["type"]: set(row["keys"]) for row in rows}
    superseding = set(nodes.Superseding.defined_properties(aliases=False, rels=False))
    assert keys == {"PART_OF": set(), "NEXT": set(), "SUPERSEDES": superseding}


async def test_an_edge_stays_inside_its_client(
    written: Graphmem, rival: Graphmem, runtime: Runtime
):
    await rival.open_conversation("c")
    said = {"role": "user", "content": "The harbour light is red.", "session_id": "a"}
    await rival.remember("c", [said, said])

    rows = await runtime.graph.execute(
        "CYPHER 25 MATCH (a {client_id: $client_id})--(b) RETURN DISTINCT b.client_id AS client",
        client_id=written.client_id,
    )
    assert rows == [{"client": written.client_id}]


def test_every_kind_of_memory_is_a_class_beside_memory():
    kinds = {frozenset({"Memory", kind.capitalize()}) for kind in KINDS}
    declared = {labels for labels in BY_LABELS if "Memory" in labels}

    assert declared == kinds | {frozenset({"Memory"})}


@pytest.mark.parametrize("node", DECLARED)
def test_neomodel_would_install_nothing(node: type[AsyncStructuredNode]):
    for value in properties(node).values():
        asked = (value.unique_index, value.index, value.fulltext_index, value.vector_index)
        assert not any(asked)
