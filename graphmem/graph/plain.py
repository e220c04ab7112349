"""Neo4j's answers as plain JSON: without the driver's types, without embeddings, of bounded size."""

import base64
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from neo4j.graph import Node, Path, Relationship
from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration, Time
from neo4j.vector import Vector

from graphmem.model.side import SIDES

EMBEDDINGS = frozenset(side.embedding for side in SIDES)

SHORTEST_EMBEDDING = 64
"""A shorter list of numbers is no embedding: every model has at least so many dimensions."""

UNIT = 1e-3
"""The tolerance of an embedding's length: models make it 1, Neo4j stores four bytes per number."""


class TooBig(Exception):
    """A value exceeds the budget of an answer."""


class Budget(Struct):
    """The remaining size of an answer: estimated bytes of JSON, and values."""

    size: int
    values: int

    def take(self, size: int) -> None:
        """Take the size of a value. Raises `TooBig`."""
        self.size -= size
        self.values -= 1
        if self.size < 0 or self.values < 0:
            raise TooBig


class Plain:
    """Converts values to JSON within a budget.

    With `named` the statement mentions embeddings, and every long list of fractions counts as one.
    """

    def __init__(self, budget: Budget, *, named: bool = False) -> None:
        self._budget = budget
        self._named = named

    def row(self, columns: Sequence[str], values: Iterable[Any]) -> dict[str, Any]:
        """Return a row as a map of its columns. Raises `TooBig`."""
        return {self.text(name): self.value(one) for name, one in zip(columns, values, strict=True)}

    def value(self, value: Any) -> Any:
        """Return a value as JSON. Raises `TooBig`."""
        make = SHAPES.get(type(value))
        if make is not None:
            return make(self, value)
        if isinstance(value, Relationship):  # each type of relationship is a class of its own
            return self.relationship(value)
        if isinstance(value, Point):
            return self.point(value)
        return self.text(str(value))

    def scalar(self, value: Any) -> Any:
        """Return a value of a JSON type."""
        self._budget.take(8)
        return value

    def fraction(self, value: float) -> float | str:
        """Return a number; as a text if JSON has no number for it: NaN, Infinity, -Infinity."""
        if math.isfinite(value):
            return self.scalar(value)  # type: ignore[no-any-return]
        return self.text("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity")

    def text(self, value: str) -> str:
        """Return a text."""
        self._budget.take(len(value) + 3)
        return value

    def items(self, values: Iterable[Any]) -> list[Any] | None:
        """Return a list, or None for an embedding."""
        self._budget.take(2)
        values = list(values)
        if is_embedding(values, named=self._named):
            return None
        return [self.value(one) for one in values]

    def fields(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return a map without lists that have an embedding's name."""
        self._budget.take(2)
        return {
            self.text(name): self.value(one)
            for name, one in values.items()
            if not (name in EMBEDDINGS and isinstance(one, list | Vector))
        }

    def node(self, node: Node) -> dict[str, Any]:
        """Return a node: its id, labels and properties."""
        return {
            "id": self.text(node.element_id),
            "labels": sorted(map(self.text, node.labels)),
            "properties": self.fields(node),
        }

    def relationship(self, one: Relationship) -> dict[str, Any]:
        """Return a relationship: its id, type and properties, and the ids of its nodes."""
        start, end = one.nodes
        return {
            "id": self.text(one.element_id),
            "type": self.text(one.type),
            "start": self.text(start.element_id) if start else None,
            "end": self.text(end.element_id) if end else None,
            "properties": self.fields(one),
        }

    def path(self, path: Path) -> dict[str, Any]:
        """Return a path: its nodes, and the relationships between them, in order."""
        return {
            "nodes": [self.node(one) for one in path.nodes],
            "relationships": [self.relationship(one) for one in path.relationships],
        }

    def time(self, value: Date | DateTime | Time | Duration) -> str:
        """Return a time or a duration in ISO 8601."""
        return self.text(value.iso_format())

    def point(self, point: Point) -> dict[str, Any]:
        """Return a point: its reference system and its coordinates."""
        axes = ("x", "y", "z") if point.srid in CARTESIAN else ("longitude", "latitude", "height")
        coordinates = map(self.fraction, point)
        return {"srid": self.scalar(point.srid), **dict(zip(axes, coordinates, strict=False))}

    def octets(self, value: bytes | bytearray) -> str:
        """Return bytes in Base64."""
        return self.text(base64.b64encode(value).decode())

    def vector(self, value: Vector) -> list[Any] | None:
        """Return a vector as the list of its numbers, or None for an embedding."""
        return self.items(value.to_native())


CARTESIAN = frozenset({7203, 9157})
"""The ids of the reference systems with x, y and z."""

SHAPES: Mapping[type, Callable[[Plain, Any], Any]] = {
    type(None): Plain.scalar,
    bool: Plain.scalar,
    int: Plain.scalar,
    float: Plain.fraction,
    str: Plain.text,
    list: Plain.items,
    dict: Plain.fields,
    Node: Plain.node,
    Relationship: Plain.relationship,
    Path: Plain.path,
    Date: Plain.time,
    DateTime: Plain.time,
    Time: Plain.time,
    Duration: Plain.time,
    bytes: Plain.octets,
    bytearray: Plain.octets,
    Vector: Plain.vector,
}


def is_embedding(values: list[Any], *, named: bool) -> bool:
    """Tell whether a list is an embedding: long, of fractions only, and of length 1."""
    if len(values) < SHORTEST_EMBEDDING or not all(type(one) is float for one in values):
        return False
    return named or abs(math.hypot(*values) - 1.0) <= UNIT
