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
"""How many nodes a neighbourhood holds, the one that is asked for included, and the most it may."""


class NeighbourhoodAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a neighbourhood reaches, along which edges, and how many nodes it may hold."""

    depth: Annotated[int, Meta(ge=1, le=MOST_DEPTH, description="how many edges away")] = 1
    types: (
        Annotated[
            list[EdgeType],
            Meta(
                min_length=1,
                max_length=64,
                description="along edges of these types only, in any case, with commas or several times: "
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
            description="at most so many nodes, the one that is asked for included",
        ),
    ] = NODES


class GraphNode(Struct, frozen=True, kw_only=True):
    """One node: what is stored, without embeddings and what only an index or a writer uses.

    A text beyond 1,000 characters and a list beyond 50 items are cut, and named in `shortened`. `depth`
    is how many edges it lies from the node that was asked for.
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
    """Why something is missing, at which nodes (the first ten), and what would show more."""

    reason: CutReason
    at: list[str]
    remedy: str


class Neighbourhood(Struct, frozen=True, kw_only=True):
    """Nodes, the nearest first, and every edge of the asked types between them.

    `truncated` says that there is more than is shown; `why` says what was cut.
    """

    nodes: list[GraphNode]
    edges: list[GraphEdge]
    truncated: bool
    why: list[Cut]


class PropertyShown(Struct, frozen=True, kw_only=True):
    """A property among the sampled: its types, how many of them have it, and a few short values."""

    name: str
    types: list[str]
    present: int
    examples: list[Any]


class LabelShown(Struct, frozen=True, kw_only=True):
    """A label: how many nodes have it, and what their properties are in a sample.

    `count_is_exact` is false where counting ended: there are at least so many. `sampled` nodes, spread
    evenly over those, were looked at for the properties.
    """

    label: str
    count: int
    count_is_exact: bool
    sampled: int
    properties: list[PropertyShown]


class EndsShown(Struct, frozen=True, kw_only=True):
    """From which label to which edges of a type lead, and how many."""

    from_label: str = field(name="from")
    to_label: str = field(name="to")
    count: int


class EdgeTypeShown(Struct, frozen=True, kw_only=True):
    """A type of edge: how many there are, between which labels, with which properties.

    `count_is_exact` is true where every node that such edges begin at was looked at; else the counts
    are estimates from a sample of those nodes. `sampled` edges were looked at for the properties.
    """

    type: str
    count: int
    count_is_exact: bool
    ends: list[EndsShown]
    sampled: int
    properties: list[PropertyShown]


class IndexShown(Struct, frozen=True, kw_only=True):
    """An index of the database: it serves all clients and says nothing of any."""

    name: str
    type: str
    labels: list[str]
    properties: list[str]
    state: str


class GraphSchema(Struct, frozen=True, kw_only=True):
    """What is in the client's graph; `sampling` says what is exact and what is estimated."""

    labels: list[LabelShown]
    edge_types: list[EdgeTypeShown]
    indexes: list[IndexShown]
    sampling: str
