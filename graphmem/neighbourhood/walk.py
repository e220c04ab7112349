"""The neighbourhood of a node: the nodes within a few edges of it, breadth first, and the edges between them.

The client is checked at every node. Of a node with many edges only a limited number of each type is read,
in the order of the store, and of these the newest nodes are shown, before what was superseded.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct

from graphmem.context import Context
from graphmem.errors import NodeNotFound
from graphmem.graph.query import Query
from graphmem.model.times import BEGINNING, END
from graphmem.model.vocabulary import EDGE_TYPES, KINDS, VECTORS
from graphmem.neighbourhood.types import (
    LABELS,
    MOST_NODES,
    Cut,
    CutReason,
    GraphEdge,
    GraphNode,
    Neighbourhood,
    NeighbourhoodAsked,
)
from graphmem.text.entities import normalized

FAN_OUT = 32
"""The number of nodes that are followed from a node; from the requested one only the limit applies."""

LOOKED_AT = 200
"""The number of edges of one type and node from which the newest are chosen.

From the requested node it is twice the number of nodes shown, if that is more.
"""

QUIET = 200
"""The number of edges up to which all edges of a node are searched for those between shown nodes."""

HUBS = 32
"""The number of hubs, the first ones, between which edges outside of the walk are searched."""

SECONDS = 10.0
"""The time limit of the database for one step."""

TEXT_CHARACTERS = 1_000
LIST_ITEMS = 50
NAMED_NODES = 10

HIDDEN = (*sorted(VECTORS), "whole_model", "search_text", "scope_words", "locked", "passages_due")
"""Properties that only indexes and writers use."""

ABSENT = {"", *(time.isoformat().replace("+00:00", "Z") for time in (BEGINNING, END))}
"""Values that mean absence in indexed properties."""

ADDRESSED = {label.lower(): label for label in LABELS if label.lower() not in KINDS}
"""The labels that an address may begin with: `conversation:kb-1`, `entity:project beacon`."""

ENTITY = "Entity"


class NodeKey(Struct, frozen=True):
    """A node's element id, which is valid during one request."""

    key: str


class Neighbour(Struct, frozen=True):
    """A node at the other end of an edge, and the edge: element ids."""

    key: str
    edge: str


class EdgesOfNode(Struct, frozen=True):
    """The neighbours of a node over one type of edge, newest first, and what was superseded behind these.

    One more than requested if there are.
    """

    place: int
    type: str
    looked_at: int
    reached: list[Neighbour]


class StoredProperties(Struct, frozen=True):
    """The properties of a node or an edge: their names, and their values in the same order.

    Two lists for a node are faster to transfer than one list for each property.
    """

    key: str
    names: list[str]
    values: list[Any]

    @property
    def properties(self) -> dict[str, Any]:
        """The properties in the order of their names."""
        return dict(sorted(zip(self.names, self.values, strict=True)))


class StoredNode(StoredProperties, frozen=True):
    """A node as it is stored."""

    labels: list[str]


class StoredEdge(StoredProperties, frozen=True):
    """An edge as it is stored, its ends by their element ids."""

    from_key: str
    to_key: str
    type: str


class ShownGraph(Struct, frozen=True):
    """Nodes and the edges between them; `many_hubs` if edges between some hubs were not searched."""

    nodes: list[StoredNode]
    edges: list[StoredEdge]
    many_hubs: bool


NODE_BY_ADDRESS = Query("neighbourhood/node_by_address", NodeKey)
NEIGHBOURS = Query("neighbourhood/neighbours", EdgesOfNode)
SHOWN_GRAPH = Query("neighbourhood/shown_graph", ShownGraph)


class Walk:
    """The nodes reached so far with their depths, in the order in which they were reached."""

    def __init__(self, root: str, limit: int) -> None:
        self.root = root
        self.limit = limit
        self.depths = {root: 0}
        self.tree: list[str] = []
        self.full = False
        self.cut: list[str] = []

    @property
    def room(self) -> int:
        """The number of nodes that may be added."""
        return self.limit - len(self.depths)

    def frontier(self, depth: int) -> list[str]:
        """Return the nodes at a depth."""
        return [key for key, at in self.depths.items() if at == depth]

    def add(self, steps: Sequence[EdgesOfNode], *, looked_at: int, fan_out: int) -> None:
        """Add the neighbours of the nodes of the last depth, as far as there is room.

        The newest over each type from each node come first, then the second newest, so that no type and no
        node displaces the others.
        """
        depth = max(self.depths.values()) + 1
        frontier = self.frontier(depth - 1)
        chosen = []
        for place, of_node in groupby(sorted(steps, key=_order), _place):
            by_type = list(of_node)
            ranked = ((rank, one) for step in by_type for rank, one in enumerate(step.reached))
            ordered = sorted(ranked, key=lambda pair: pair[0])
            chosen += [(rank, place, one) for rank, one in ordered[:fan_out]]
            if len(ordered) > fan_out or any(step.looked_at > looked_at for step in by_type):
                self._leave_out(frontier[place])
        for _, _, one in sorted(chosen, key=lambda three: three[:2]):
            if one.key in self.depths:
                continue
            if not self.room:
                self.full = True
                break
            self.depths[one.key] = depth
            self.tree.append(one.edge)

    def _leave_out(self, key: str) -> None:
        # The requested node is cut by the limit alone.
        if key == self.root:
            self.full = True
        else:
            self.cut.append(key)


def _place(step: EdgesOfNode) -> int:
    return step.place


def _order(step: EdgesOfNode) -> tuple[int, str]:
    return step.place, step.type


async def show_neighbourhood(
    node_id: str, asked: NeighbourhoodAsked, context: Context
) -> Neighbourhood:
    """Return a node and the nodes within some edges of it, nearest first, and the edges between them.

    The id is that of a memory, session, conversation, run, review, context, access or job, the first of
    these that has it; `conversation:ID` names a conversation, `entity:NAME` an entity.
    Raises `NodeNotFound`, also for a node of another client, `TookTooLong`, `Unavailable`.
    """
    root = await _find_root(node_id, context)
    walk = await _walk(root, asked, context)
    [shown] = await context.graph.limited(
        SHOWN_GRAPH,
        seconds=SECONDS,
        most=1,
        client_id=context.client_id,
        keys=list(walk.depths),
        tree=walk.tree,
        types=_types(asked),
        hidden=list(HIDDEN),
        characters=TEXT_CHARACTERS + 1,
        quiet=QUIET,
        hubs=HUBS,
    )
    if not shown.nodes or shown.nodes[0].key != root:
        # It was deleted in the meantime.
        raise NodeNotFound(node_id)
    return rendered(shown, walk, asked)


def rendered(shown: ShownGraph, walk: Walk, asked: NeighbourhoodAsked) -> Neighbourhood:
    """Return the result of a walk, with ids in place of element ids, in a stable order."""
    ids = named(shown.nodes)
    places = {node.key: place for place, node in enumerate(shown.nodes)}
    nodes = [_node(one, ids[one.key], walk.depths[one.key]) for one in shown.nodes]
    edges = sorted(
        shown.edges,
        key=lambda one: (
            places[one.from_key],
            places[one.to_key],
            one.type,
            repr(one.properties),
            one.key,
        ),
    )
    why = list(_why(walk, ids, many_hubs=shown.many_hubs, asked=asked))
    return Neighbourhood(
        nodes=nodes,
        edges=[
            GraphEdge(
                from_id=ids[one.from_key],
                to_id=ids[one.to_key],
                type=one.type,
                properties={name: _value(value) for name, value in one.properties.items()},
            )
            for one in edges
        ],
        truncated=bool(why),
        why=why,
    )


def named(nodes: Sequence[StoredNode]) -> dict[str, str]:
    """Return the id of each node by its element id, with the label in front where two share an id."""
    ids = {node.key: (_label(node), _own_id(node)) for node in nodes}
    plain = {key: f"entity:{id}" if label == ENTITY else id for key, (label, id) in ids.items()}
    given = list(plain.values())
    shared = {id for id in given if given.count(id) > 1} if len(set(given)) < len(given) else set()
    return {
        key: f"{label.lower()}:{id}" if plain[key] in shared else plain[key]
        for key, (label, id) in ids.items()
    }


async def _find_root(node_id: str, context: Context) -> str:
    prefix, _, rest = node_id.partition(":")
    label = ADDRESSED.get(prefix.lower(), "") if rest else ""
    rows = await context.graph.rows(
        NODE_BY_ADDRESS,
        client_id=context.client_id,
        id=node_id,
        label=label,
        own_id=rest,
        normalized=normalized(rest),
    )
    if not rows:
        raise NodeNotFound(node_id)
    return rows[0].key


async def _walk(root: str, asked: NeighbourhoodAsked, context: Context) -> Walk:
    walk = Walk(root, asked.limit)
    for depth in range(asked.depth):
        frontier = walk.frontier(depth)
        if not frontier or (walk.full and not walk.room):
            break
        looked_at = LOOKED_AT if depth else max(LOOKED_AT, 2 * asked.limit)
        fan_out = FAN_OUT if depth else walk.room
        steps = await context.graph.limited(
            NEIGHBOURS,
            seconds=SECONDS,
            most=len(frontier) * len(EDGE_TYPES),
            client_id=context.client_id,
            frontier=frontier,
            known=list(walk.depths),
            types=_types(asked),
            looked_at=looked_at,
            fan_out=fan_out,
        )
        walk.add(steps, looked_at=looked_at, fan_out=fan_out)
    return walk


def _types(asked: NeighbourhoodAsked) -> list[str]:
    return sorted(set(asked.types or EDGE_TYPES))


def _label(node: StoredNode) -> str:
    """Return the label for a node's address."""
    return next((label for label in node.labels if label.lower() in ADDRESSED), node.labels[0])


def _own_id(node: StoredNode) -> str:
    return str(node.properties["normalized" if _label(node) == ENTITY else "id"])


def _node(stored: StoredNode, id: str, depth: int) -> GraphNode:
    properties = stored.properties
    return GraphNode(
        id=id,
        labels=sorted(stored.labels, key=lambda label: (label != "Memory", label)),
        properties={name: _value(value) for name, value in properties.items()},
        depth=depth,
        shortened=[name for name, value in properties.items() if _is_long(value)],
    )


def _value(value: Any) -> Any:
    """Return a property's value for JSON: cut if it is long, null if it means absence."""
    if isinstance(value, str):
        return None if value in ABSENT else value[:TEXT_CHARACTERS]
    return value[:LIST_ITEMS] if isinstance(value, list) else value


def _is_long(value: Any) -> bool:
    return (isinstance(value, str) and len(value) > TEXT_CHARACTERS) or (
        isinstance(value, list) and len(value) > LIST_ITEMS
    )


def _why(
    walk: Walk, ids: Mapping[str, str], *, many_hubs: bool, asked: NeighbourhoodAsked
) -> list[Cut]:
    """Return the cuts with their reasons and remedies."""
    narrower = "name fewer types, or ask at a node farther out"
    larger = f"a larger limit shows more, {MOST_NODES} at most; else {narrower}"
    found: list[tuple[bool, CutReason, list[str], str]] = [
        (walk.full, "limit", [walk.root], larger if asked.limit < MOST_NODES else narrower),
        (
            bool(walk.cut),
            "fan_out",
            walk.cut,
            f"ask at these nodes: of each {FAN_OUT} are followed",
        ),
        (
            many_hubs,
            "hubs",
            [],
            f"edges between hubs are looked for among the first {HUBS}: ask for fewer nodes",
        ),
    ]
    return [
        Cut(reason=reason, at=[ids[key] for key in keys if key in ids][:NAMED_NODES], remedy=remedy)
        for holds, reason, keys, remedy in found
        if holds
    ]
