"""neomodel's classes declare everything that is written to the database, and nothing else."""

import uuid
from typing import Any

import pytest
import pytest_asyncio
from neomodel import AsyncStructuredNode
from neomodel.async_.relationship_manager import AsyncRelationshipDefinition

from graphmem.cli.story import StoryLoader
from graphmem.client import Graphmem
from graphmem.errors import CypherRefused, NotFound
from graphmem.graph import nodes
from graphmem.graph.schema import declared_nodes
from graphmem.model.vocabulary import KINDS, kind_label
from graphmem.runtime import Runtime

Edge = tuple[frozenset[str], str, frozenset[str]]

DECLARED: list[type[AsyncStructuredNode]] = [
    value
    for value in vars(nodes).values()
    if isinstance(value, type)
    and issubclass(value, AsyncStructuredNode)
    and value.__module__ == nodes.__name__
]
BY_LABELS = {node.labels: node for node in declared_nodes().values()}

UNSEEN = {"Hold", "Usage"}
"""Nodes that are gone when the operation they serve has ended, or made for clients with limits only."""

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


def edges(node: type[AsyncStructuredNode]) -> dict[Edge, set[str]]:
    """Return the edges that a class itself declares, (labels, type, labels), with their properties."""
    found: dict[Edge, set[str]] = {}
    for edge in vars(node).values():
        if isinstance(edge, AsyncRelationshipDefinition):
            edge.lookup_node_class()
            definition: dict[str, Any] = edge.definition
            target = definition["node_class"]
            ends = frozenset(node.inherited_labels()), frozenset(target.inherited_labels())
            model = definition["model"]
            own = model.defined_properties(aliases=False, rels=False) if model else {}
            found[ends[0], definition["relation_type"], ends[1]] = set(own)
    return found


@pytest_asyncio.fixture(scope="module")
async def written(runtime: Runtime, whole_story: None) -> Graphmem:
    """A client with everything that can be written: the story, and what it does not have."""
    memory = Graphmem(runtime, f"nodes-{uuid.uuid4().hex}")
    story = StoryLoader(memory)
    ids = await story.load()
    annotations: Any = {"metadata": {"page": 1}, "tags": ["story"]}
    await memory.annotate(ids["message:m001"], **annotations, expires_at="2099-01-01T00:00:00Z")
    await memory.change_conversation(story.conversation_id, **annotations)
    await catalogued(memory, ids["message:m001"])
    await concluded(memory, story.conversation_id)
    await performed(memory)
    await memory.cypher("RETURN $x AS x", {"x": 1})
    with pytest.raises(CypherRefused):
        await memory.cypher("CREATE (n)")
    await runtime.afterwards.settle()
    return memory


async def catalogued(memory: Graphmem, message: str) -> None:
    """Write spans with and without content, links of every type, and a context."""
    place: dict[str, Any] = {"source_type": "knowledge_base", "source_id": "kb", "start_byte": 0}
    content = "Tides turn twice a day."
    span = await memory.register_span(
        **place,
        end_byte=len(content),
        content=content,
        metadata={"importance": 0.7, "recency": 0.5, "tags": ["tide"]},
    )
    card = await memory.register_span(**place, end_byte=10, token_count=5)
    for type in ("relates_to", "references", "refines", "contradicts", "derived_from"):
        await memory.link(span.id, message, type)
    await memory.link(card.id, message, "references", start_byte=0, end_byte=4)
    context = await memory.create_context(max_tokens=2_000, system_prompt="You are Quill.")
    assert (await memory.add_to_context(context.id, span.id)).added


async def concluded(memory: Graphmem, conversation: str) -> None:
    """Say a fact again and one like it, ask for episodes, rate one, cut what was said, sum up anew."""
    await memory.set_categories(["user_fact", "guideline"])
    for fact in ("Mara has two cats.", "Mara has two cats.", "Mara has three cats."):
        await memory.remember_fact(fact, conversation_id=conversation)
    said = {"role": "user", "content": "The harbour light is red.", "session_id": "later"}
    await memory.remember(conversation, [{**said, "importance": 0.9}, said])
    long = "The harbour light is red, and the buoy is green. " * 30
    await memory.remember(conversation, [{**said, "content": long}])
    names = "Anna, or Anna Stone, runs Continuous Integration (CI); RetryPolicy is retry_policy."
    await memory.remember_fact(names, conversation_id=conversation)
    assert (await memory.find_aliases()).made >= 3
    for old in (await memory.summaries(type="session")).summaries:
        await memory.add_summary(type="session", target_id=old.target_id, text="Nothing at all.")
    await memory.undo_alias("Anna")
    await memory.segment(conversation)
    await memory.retrieve_memory("harbour light", conversation)
    await memory.runtime.afterwards.settle()
    [review, *_] = (await memory.reviews()).reviews
    await memory.review(review.episodes[0].id, "good")


async def performed(memory: Graphmem) -> None:
    """Have a run with a child do everything that a run does, one thing in vain."""
    run = await memory.run(agent_type="a", episode_id="e", operation_id="begin")
    page = await run.retrieve("harbour", max_tokens=300)
    await run.retrieve("harbour", max_tokens=300, cursor=page.cursor)
    child = await run.subcall(agent_type="b", budget_fraction=0.5)
    await child.write(type="log", content="The light is red.")
    with pytest.raises(NotFound):
        await child.peek("no-such-span")
    await run.end("success")


async def test_every_property_in_the_database_is_declared_with_its_type(
    written: Graphmem, runtime: Runtime
):
    rows = await runtime.graph.execute(NODES_OF_CLIENT, client_id=written.client_id)
    rows += await runtime.graph.execute(WITHOUT_CLIENT)
    assert rows

    for row in rows:
        declared = BY_LABELS[frozenset(row["labels"])].properties
        assert row["key"] in declared, row
        assert set(row["types"]) <= declared[row["key"]].types, row


@pytest.mark.parametrize("label", declared_nodes())
async def test_a_required_property_is_on_every_node(
    written: Graphmem, runtime: Runtime, label: str
):
    node = declared_nodes()[label]
    labels = node.labels
    rows = await runtime.graph.execute(NODES_OF_CLIENT, client_id=written.client_id)
    holding = {row["key"]: row["nodes"] for row in rows if set(row["labels"]) == labels}
    counted = await runtime.graph.execute(COUNTS_OF_CLIENT, client_id=written.client_id)
    nodes_of_kind = sum(row["nodes"] for row in counted if set(row["labels"]) == labels)

    required = {name for name, value in node.properties.items() if value.required}
    assert {name for name in required if holding.get(name, 0) < nodes_of_kind} == set()
    assert nodes_of_kind or label in {"Migration", "Installation"} | UNSEEN


@pytest.mark.parametrize("label", ["Conversation", "Session", "Message"])
async def test_what_is_declared_is_in_the_database(written: Graphmem, runtime: Runtime, label: str):
    node = declared_nodes()[label]
    rows = await runtime.graph.execute(NODES_OF_CLIENT, client_id=written.client_id)

    found = {row["key"] for row in rows if set(row["labels"]) == node.labels}
    assert set(node.properties) - found <= {
        "locked",
        "embedding_2",
        "other_truncated",
        "passages_due",
        "names_due",
        "summarized_idx",
        "given_idx",
        "episode_deleted",
        "episode_consolidated_at",
        "taken_back",
        "whole_embedding",
        "whole_model",
    }


async def test_migrations_and_the_installation_hold_what_is_declared(runtime: Runtime):
    rows = await runtime.graph.execute(WITHOUT_CLIENT)

    for label in ("Migration", "Installation"):
        declared = declared_nodes()[label].properties
        found = {row["key"] for row in rows if row["labels"] == [label]}
        required = {name for name, value in declared.items() if value.required}
        assert required <= found <= set(declared)


async def test_the_edges_in_the_database_are_those_declared(written: Graphmem, runtime: Runtime):
    rows = await runtime.graph.execute(EDGES_OF_CLIENT, client_id=written.client_id)
    declared = {edge: keys for node in DECLARED for edge, keys in edges(node).items()}

    seen: set[Edge] = set()
    for row in rows:
        start, end = set(row["from"]), set(row["to"])
        fits = {
            edge
            for edge in declared
            if edge[0] <= start and edge[1] == row["type"] and edge[2] <= end
        }
        assert fits, row
        assert any(set(row["keys"]) <= declared[edge] for edge in fits), row
        seen |= fits
    unseen = {edge for edge in declared if not {*edge[0], *edge[2]} & UNSEEN}
    assert unseen - seen == set()


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
    memories = {node.labels for node in declared_nodes().values() if node.is_memory}

    assert memories == {frozenset({"Memory", kind_label(kind)}) for kind in KINDS}


@pytest.mark.parametrize("node", DECLARED)
def test_neomodel_would_install_nothing(node: type[AsyncStructuredNode]):
    for value in node.defined_properties(aliases=False, rels=False).values():
        asked = (value.unique_index, value.index, value.fulltext_index, value.vector_index)
        assert not any(asked)
