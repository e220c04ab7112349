"""The graph as an analyst of one client sees it: the neighbourhood of a node, and the schema."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from graphmem.model.vocabulary import EDGE_TYPES, KINDS, EdgeType, kind_label, stored_type

LABELS: tuple[str, ...] = (
    "Memory",
    *map(kind_label, KINDS),
    "Session",
    "Conversation",
    "Run",
    "Access",
    "Review",
    "Context",
    "Job",
    "Entity",
)
"""The labels of the nodes that have an id of their own; each memory has two of them."""


def edge_types(given: Iterable[str]) -> list[str]:
    """Return the stored types of edges for names in any case."""
    return [stored_type(name) for name in given]


MOST_DEPTH = 3
NODES = 100
MOST_NODES = 500
"""The default and the maximum number of nodes in a neighbourhood, its centre included."""


class NeighbourhoodAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The depth of a neighbourhood, its types of edges, and its maximum number of nodes."""

    depth: Annotated[int, Meta(ge=1, le=MOST_DEPTH, description="maximum distance in edges")] = 1
    types: (
        Annotated[
            list[EdgeType],
            Meta(
                min_length=1,
                max_length=64,
                description="only edges of these types, in any case, with commas or repeated: "
                + ", ".join(EDGE_TYPES),
            ),
        ]
        | None
    ) = None
    limit: Annotated[
        int,
        Meta(
            ge=1,
            le=MOST_NODES,
            description="maximum number of nodes, the centre included",
        ),
    ] = NODES


class GraphNode(Struct, frozen=True, kw_only=True):
    """One node with its properties, without embeddings and those that only an index or a writer uses.

    A text beyond 1,000 characters and a list beyond 50 items are cut, and named in `shortened`. `depth` is
    the distance from the centre in edges.
    """

    id: str
    labels: list[str]
    properties: dict[str, Any]
    depth: int
    shortened: list[str] = []


class GraphEdge(Struct, frozen=True, kw_only=True):
    """One edge between two nodes of the answer, by their ids."""

    from_id: str = field(name="from")
    to_id: str = field(name="to")
    type: str
    properties: dict[str, Any]


CutReason = Literal["limit", "fan_out", "hubs"]


class Cut(Struct, frozen=True, kw_only=True):
    """The reason for missing nodes or edges, where they are missing (the first ten nodes), and the remedy."""

    reason: CutReason
    at: list[str]
    remedy: str


class Neighbourhood(Struct, frozen=True, kw_only=True):
    """Nodes, nearest first, and every edge of the requested types between them.

    `truncated` is true if the answer is not complete; `why` names the limit that cut it.
    """

    nodes: list[GraphNode]
    edges: list[GraphEdge]
    truncated: bool
    why: list[Cut]


class PropertyShown(Struct, frozen=True, kw_only=True):
    """A property in the sample: its types, the number of nodes or edges with it, and a few short values."""

    name: str
    types: list[str]
    present: int
    """The number of nodes or edges of the sample that have it."""
    examples: list[Any]


class LabelShown(Struct, frozen=True, kw_only=True):
    """A label: the number of its nodes, and their properties in a sample.

    `count_is_exact` is false if counting ended early: then `count` is a minimum. The properties are those of
    `sampled` nodes, spread evenly.
    """

    label: str
    count: int
    count_is_exact: bool
    sampled: int
    properties: list[PropertyShown]


class EndsShown(Struct, frozen=True, kw_only=True):
    """The labels at both ends of edges of a type, and the number of these edges."""

    from_label: str = field(name="from")
    to_label: str = field(name="to")
    count: int


class EdgeTypeShown(Struct, frozen=True, kw_only=True):
    """A type of edge: the number of its edges, their end labels, and their properties.

    `count_is_exact` is true if all nodes where such edges begin were examined; else the counts are estimates
    from a sample of these nodes. The properties are those of `sampled` edges.
    """

    type: str
    count: int
    count_is_exact: bool
    ends: list[EndsShown]
    sampled: int
    properties: list[PropertyShown]


class IndexShown(Struct, frozen=True, kw_only=True):
    """An index of the database, which serves all clients and reveals nothing about any."""

    name: str
    type: str
    labels: list[str]
    properties: list[str]
    state: str


class GraphSchema(Struct, frozen=True, kw_only=True):
    """The contents of the client's graph; `sampling` says which parts are exact and which are estimates."""

    labels: list[LabelShown]
    edge_types: list[EdgeTypeShown]
    indexes: list[IndexShown]
    sampling: str
