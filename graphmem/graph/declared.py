"""The graph as neomodel's classes declare it, as plain values: labels, properties, edges and their ends.

neomodel is imported with the first call: only the graph schema and the doctor need it.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import Struct

MEMORY = "Memory"

_TYPES = {
    "StringProperty": "STRING NOT NULL",
    "IntegerProperty": "INTEGER NOT NULL",
    "FloatProperty": "FLOAT NOT NULL",
    "BooleanProperty": "BOOLEAN NOT NULL",
    "DateTimeNeo4jFormatProperty": "ZONED DATETIME NOT NULL",
}
"""The type of a value in the database, as `valueType()` names it, by neomodel's class."""

_EMPTY_LIST = "LIST<NOTHING> NOT NULL"


class DeclaredProperty(Struct, frozen=True):
    """A property: the types that its values may have, and whether every node has it."""

    types: frozenset[str]
    required: bool


class DeclaredEdge(Struct, frozen=True):
    """A type of edge between two labels, and the properties of such an edge."""

    type: str
    from_label: str
    to_label: str
    properties: Mapping[str, DeclaredProperty]


class DeclaredNode(Struct, frozen=True):
    """A class of nodes: all labels of such a node, its properties, and the edges that begin at it."""

    label: str
    labels: frozenset[str]
    properties: Mapping[str, DeclaredProperty]
    edges: tuple[DeclaredEdge, ...]

    @property
    def is_memory(self) -> bool:
        """Whether such nodes are memories."""
        return MEMORY in self.labels


@cache
def declared_nodes() -> Mapping[str, DeclaredNode]:
    """Return the classes of nodes by label, in the order of `nodes.py`; `Memory` is never alone."""
    from neomodel import AsyncStructuredNode

    from graphmem.graph import nodes

    found = [
        value
        for value in vars(nodes).values()
        if isinstance(value, type)
        and issubclass(value, AsyncStructuredNode)
        and value is not AsyncStructuredNode
        and not value.__subclasses__()
    ]
    return {node.__label__: _node(node) for node in found}


@cache
def edge_sources() -> Mapping[str, frozenset[str]]:
    """Return the labels of the nodes at which edges of each type begin."""
    edges = [edge for node in declared_nodes().values() for edge in node.edges]
    return {
        type: frozenset(edge.from_label for edge in edges if edge.type == type)
        for type in sorted({edge.type for edge in edges})
    }


def _node(node: Any) -> DeclaredNode:
    relationships = node.defined_properties(properties=False, aliases=False).values()
    return DeclaredNode(
        label=node.__label__,
        labels=frozenset(node.inherited_labels()),
        properties=_properties(node),
        edges=tuple(_edge(node.__label__, relationship) for relationship in relationships),
    )


def _edge(from_label: str, relationship: Any) -> DeclaredEdge:
    relationship.lookup_node_class()
    definition = relationship.definition
    return DeclaredEdge(
        type=definition["relation_type"],
        from_label=from_label,
        to_label=definition["node_class"].__label__,
        properties=_properties(definition["model"]) if definition["model"] else {},
    )


def _properties(declaring: Any) -> dict[str, DeclaredProperty]:
    """Return the properties that a class declares, by their names in the database."""
    return {
        value.get_db_property_name(name): DeclaredProperty(_types(value), value.required)
        for name, value in declaring.defined_properties(aliases=False, rels=False).items()
    }


def _types(value: Any) -> frozenset[str]:
    if type(value).__name__ != "ArrayProperty":
        return frozenset({_TYPES[type(value).__name__]})
    item = _TYPES[type(value.base_property).__name__]
    return frozenset({f"LIST<{item}> NOT NULL", _EMPTY_LIST})
