"""neomodel's classes, the vocabulary and the schema files agree; only those who need neomodel import it."""

import subprocess
import sys

import pytest

from graphmem.doctor.schema import wanted
from graphmem.graph.schema import MEMORY, declared_nodes, edge_sources, schema_files
from graphmem.model.vocabulary import EDGE_TYPES, INNER_EDGES, KINDS, LINK_TYPES, STEPS, kind_label
from tests.generated_queries import generated, written

KIND_LABELS = frozenset(map(kind_label, KINDS))


def test_the_types_of_edges_are_those_that_the_vocabulary_names():
    assert list(edge_sources()) == sorted((*EDGE_TYPES, *INNER_EDGES))


@pytest.mark.parametrize("step", STEPS)
def test_a_hop_follows_stored_types_of_edges(step: str):
    assert step.upper() in EDGE_TYPES


@pytest.mark.parametrize("type", LINK_TYPES)
def test_any_memory_may_be_linked_to_any_other(type: str):
    ends = {
        (edge.from_label, edge.to_label)
        for node in declared_nodes().values()
        for edge in node.edges
        if edge.type == type.upper()
    }
    assert {(label, MEMORY) for label in KIND_LABELS} <= ends


def test_edges_of_memories_begin_at_each_kind_and_never_at_memory_alone():
    assert edge_sources()["MENTIONS"] == KIND_LABELS
    assert edge_sources()["RELATES_TO"] == KIND_LABELS | {"Session"}
    assert edge_sources()["PART_OF"] == {"Episode", "Message", "Session", "Span"}
    assert edge_sources()["HOLDS"] == {"Context", "Run"}


def test_properties_have_their_names_and_types_of_the_database():
    message = declared_nodes()["Message"]

    assert "uid" not in message.properties
    assert message.properties["id"].types == {"STRING NOT NULL"}
    assert message.properties["id"].required
    assert message.properties["embedding"].types == {
        "LIST<FLOAT NOT NULL> NOT NULL",
        "LIST<NOTHING> NOT NULL",
    }
    assert not message.properties["name"].required


def test_every_index_and_constraint_is_on_declared_properties():
    for one in wanted(schema_files(), dimensions=384):
        nodes = [node for node in declared_nodes().values() if one.label in node.labels]
        assert nodes, one.name
        for node in nodes:
            assert set(one.properties) <= set(node.properties), one.name


@pytest.mark.parametrize("name", generated())
def test_what_is_made_from_the_vocabulary_is_current(name: str):
    assert generated()[name] == written(name), "`make queries` writes it"


NEOMODEL = """
import importlib, sys
for module in ("graphmem", "graphmem.cli.main", "graphmem.runtime", "graphmem.doctor.examination"):
    importlib.import_module(module)
    if "neomodel" in sys.modules:
        sys.exit(f"{module} imports neomodel")
"""


def test_neomodel_is_imported_only_where_it_is_needed():
    subprocess.run([sys.executable, "-c", NEOMODEL], check=True)
