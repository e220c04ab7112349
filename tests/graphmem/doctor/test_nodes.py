"""The doctor on what is stored: what neomodel's classes do not declare is named."""

import pytest
from msgspec.structs import replace

from graphmem.doctor.findings import Finding
from graphmem.doctor.integrity import agreement, edge_problems, foreign_names, node_problems
from graphmem.graph.inspection import (
    KNOWN_NAMES,
    STORED_EDGES,
    STORED_NODES,
    KnownNames,
    StoredEdges,
    StoredNodes,
    StoredProperty,
)
from graphmem.graph.schema import MEMORY, declared_nodes, edge_sources
from tests.scripted import ScriptedGraph

NAMES = KnownNames(labels=[MEMORY, "Fact"], edge_types=["NEXT"], keys=[])


def facts(**changed: StoredProperty | None) -> StoredNodes:
    """Return three facts as they should be, but for some properties."""
    properties = {
        name: StoredProperty(name, [sorted(one.types)[-1]], 3)
        for name, one in declared_nodes()["Fact"].properties.items()
        if one.required
    }
    return StoredNodes(
        label="Fact",
        nodes=3,
        combinations=[[MEMORY, "Fact"]],
        properties=[one for one in (properties | changed).values() if one],
    )


def edge(type: str, start: list[str], end: list[str], *properties: StoredProperty) -> StoredEdges:
    return StoredEdges(
        type=type, from_labels=start, to_labels=end, edges=2, properties=list(properties)
    )


def told(findings: list[Finding]) -> list[tuple[str, str]]:
    assert all(one.remedy for one in findings if one.severity != "ok")
    return [(one.severity, one.what) for one in findings]


async def test_a_graph_as_it_is_declared_is_in_order():
    next_fact = edge("SUPERSEDES", [MEMORY, "Fact"], [MEMORY, "Fact"])
    graph = ScriptedGraph(
        {STORED_NODES.name: [facts()], STORED_EDGES.name: [next_fact], KNOWN_NAMES.name: [NAMES]}
    )

    [finding] = await agreement(graph)

    assert (finding.severity, "as graphmem's" in finding.what) == ("ok", True)
    asked = dict(graph.asked)
    assert set(asked[STORED_NODES.name]["labels"]) == {MEMORY, *declared_nodes()}
    assert asked[STORED_EDGES.name]["types"] == list(edge_sources())


async def test_an_empty_graph_is_in_order():
    names = KnownNames(labels=[], edge_types=[], keys=[])
    graph = ScriptedGraph({STORED_NODES.name: [], STORED_EDGES.name: [], KNOWN_NAMES.name: [names]})
    assert [one.severity for one in await agreement(graph)] == ["ok"]


async def test_a_problem_leaves_nothing_in_order():
    broken = facts(importance=StoredProperty("importance", ["STRING NOT NULL"], 3))
    graph = ScriptedGraph(
        {STORED_NODES.name: [broken], STORED_EDGES.name: [], KNOWN_NAMES.name: [NAMES]}
    )
    assert [one.severity for one in await agreement(graph)] == ["problem"]


def test_a_value_of_another_type_is_a_problem():
    stored = facts(
        importance=StoredProperty("importance", ["FLOAT NOT NULL", "STRING NOT NULL"], 3)
    )
    assert told(list(node_problems([stored]))) == [
        ("problem", "Fact.importance has values of the type STRING instead of FLOAT")
    ]


def test_an_empty_list_is_a_list_of_any_type():
    stored = facts(keywords=StoredProperty("keywords", ["LIST<NOTHING> NOT NULL"], 3))
    assert list(node_problems([stored])) == []


@pytest.mark.parametrize(
    ("stored", "what"),
    [
        (
            facts(importance=None, text=None),
            "some of 3 Fact nodes lack required properties: text (3), importance (3)",
        ),
        (
            facts(version=StoredProperty("version", ["INTEGER NOT NULL"], 2)),
            "some of 3 Fact nodes lack required properties: version (1)",
        ),
    ],
)
def test_a_required_property_that_is_absent_is_a_problem(stored: StoredNodes, what: str):
    [finding] = node_problems([stored])
    assert (finding.severity, finding.what) == ("problem", what)
    assert "MATCH (n:Fact) WHERE n." in finding.remedy


def test_the_properties_that_searches_filter_on_are_left_to_their_own_rule():
    assert list(node_problems([facts(category=None, search_text=None)])) == []


def test_a_node_without_a_label_of_its_kind_is_a_problem():
    bare = replace(facts(), label=MEMORY, combinations=[[MEMORY], ["Kept", "Fact", MEMORY]])
    [(severity, what)] = told(list(node_problems([bare])))
    assert (severity, "no labels but Memory:" in what) == ("problem", True)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (edge("PART_OF", [MEMORY, "Message"], ["Session"]), []),
        (edge("MENTIONS", [MEMORY, "Summary", "Kept"], ["Entity"]), []),
        (
            edge("SUPERSEDES", [MEMORY, "Fact"], ["Entity"]),
            [
                (
                    "problem",
                    "2 SUPERSEDES edges lead from Fact, Memory to Entity, which graphmem never writes",
                )
            ],
        ),
        (
            edge(
                "REFINES",
                [MEMORY, "Fact"],
                [MEMORY, "Fact"],
                StoredProperty("created_at", ["STRING NOT NULL"], 2),
                StoredProperty("weight", ["FLOAT NOT NULL"], 1),
            ),
            [
                (
                    "problem",
                    "REFINES.created_at has values of the type STRING instead of ZONED DATETIME",
                ),
            ],
        ),
    ],
)
def test_the_ends_and_properties_of_edges_are_compared(
    stored: StoredEdges, expected: list[tuple[str, str]]
):
    assert told(list(edge_problems([stored]))) == expected


def test_names_of_others_are_worth_a_note():
    names = KnownNames(
        labels=[MEMORY, "Fact", "Invoice"], edge_types=["NEXT", "PAYS", "BILLS"], keys=[]
    )
    colour, weight = (StoredProperty(name, ["STRING NOT NULL"], 1) for name in ("colour", "weight"))
    refining = edge("REFINES", [MEMORY, "Fact"], [MEMORY, "Fact"], weight)

    assert told(list(foreign_names(names, [facts(colour=colour)], [refining, refining]))) == [
        ("note", "the database also holds labels that are not graphmem's: Invoice"),
        ("note", "the database also holds types of edges that are not graphmem's: BILLS, PAYS"),
        (
            "note",
            "the database also holds properties that are not graphmem's: Fact.colour, REFINES.weight",
        ),
    ]
