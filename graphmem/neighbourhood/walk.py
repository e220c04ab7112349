"""The neighbourhood of a node: what lies within a few edges of it, breadth first, and how it is joined.

Its client is checked at every node. However large a node is, only so many of its edges of each type are
looked at, in the order of the store, and of them the newest nodes are shown.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, get_args

from msgspec import Struct

from graphmem.errors import NodeNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.side import SIDES
from graphmem.model.times import BEGINNING, END
from graphmem.model.vocabulary import Kind
from graphmem.neighbourhood.types import (
    EDGE_TYPES,
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
"""To how many nodes a node leads, but for the one that is asked for: that leads to as many as are shown."""

LOOKED_AT = 200
"""Among how many edges of one type of a node the newest are chosen; of the one that is asked for among
twice as many as may be shown, if that is more."""

QUIET = 200
"""With how many edges a node is no hub: all of them are looked at for edges between what is shown."""

HUBS = 32
"""Between how many hubs, the first, edges are looked for that did not lead to one of them."""

SECONDS = 10.0
"""How long the database works on a step before it cuts it off."""

TEXT_CHARACTERS = 1_000
LIST_ITEMS = 50
NAMED_NODES = 10

HIDDEN = (*(side.embedding for side in SIDES), "search_text", "scope_words", "locked")
"""Properties that only an index or a writer uses."""

ABSENT = {"", *(time.isoformat().replace("+00:00", "Z") for time in (BEGINNING, END))}
"""What stands for nothing where an index filters."""

ADDRESSED = {label.lower(): label for label in LABELS if label.lower() not in get_args(Kind)}
"""The labels that an address may begin with: `conversation:kb-1`, `entity:project beacon`."""

ENTITY = "Entity"


class Key(Struct, frozen=True):
    """A node's element id, which is good for the length of one question."""

    key: str


class Reached(Struct, frozen=True):
    """A node that a step leads to, and the edge over which: element ids."""

    key: str
    edge: str


class Step(Struct, frozen=True):
    """Where the edges of one type lead from a node, the newest first; one more than asked for says more."""

    place: int
    type: str
    looked_at: int
    reached: list[Reached]


class Stored(Struct, frozen=True):
    """What is stored of a node or an edge: its properties' names, and their values in the same order.

    Two lists a node travel faster than a list a property.
    """

    key: str
    names: list[str]
    values: list[Any]

    @property
    def properties(self) -> dict[str, Any]:
        """The properties in the order of their names."""
        return dict(sorted(zip(self.names, self.values, strict=True)))


class StoredNode(Stored, frozen=True):
    """A node as it is stored."""

    labels: list[str]


class StoredEdge(Stored, frozen=True):
    """An edge as it is stored, its ends by their element ids."""

    from_key: str
    to_key: str
    type: str


class ShownGraph(Struct, frozen=True):
    """Nodes and edges between them; whether there were more hubs than edges were looked for between."""

    nodes: list[StoredNode]
    edges: list[StoredEdge]
    many_hubs: bool


NODE_BY_ADDRESS = Query("neighbourhood/node_by_address", Key)
NEIGHBOURS = Query("neighbourhood/neighbours", Step)
SHOWN_GRAPH = Query("neighbourhood/shown_graph", ShownGraph)


class Walk:
    """Where the steps have led so far: each node's depth, in the order in which they were reached."""

    def __init__(self, root: str, limit: int) -> None:
        self.root = root
        self.limit = limit
        self.depths = {root: 0}
        self.tree: list[str] = []
        self.full = False
        self.cut: list[str] = []

    @property
    def room(self) -> int:
        """How many more nodes there may be."""
        return self.limit - len(self.depths)

    def frontier(self, depth: int) -> list[str]:
        """Return the nodes at a depth."""
        return [key for key, at in self.depths.items() if at == depth]

    def add(self, steps: Sequence[Step], *, looked_at: int, fan_out: int) -> None:
        """Keep where one step from every node of the last depth has led, as far as there is room.

        The newest over each type from each node come first, then the second, so that no type and no node
        hides the others.
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
        # From the first node as many are followed as there may be.
        if key == self.root:
            self.full = True
        else:
            self.cut.append(key)


def _place(step: Step) -> int:
    return step.place


def _order(step: Step) -> tuple[int, str]:
    return step.place, step.type


async def neighbourhood(
    node_id: str, asked: NeighbourhoodAsked, *, client_id: str, graph: Graph
) -> Neighbourhood:
    """Return a node and what lies within some edges of it, the nearest first.

    Raises `NodeNotFound`, for another client's too, `TookTooLong`, `Unavailable`.
    """
    root = await _root(node_id, client_id=client_id, graph=graph)
    walk = await _walked(root, asked, client_id=client_id, graph=graph)
    [shown] = await graph.limited(
        SHOWN_GRAPH,
        seconds=SECONDS,
        most=1,
        client_id=client_id,
        keys=list(walk.depths),
        tree=walk.tree,
        types=_types(asked),
        hidden=list(HIDDEN),
        characters=TEXT_CHARACTERS + 1,
        quiet=QUIET,
        hubs=HUBS,
    )
    if not shown.nodes or shown.nodes[0].key != root:
        # It was deleted meanwhile.
        raise NodeNotFound(node_id)
    return told(shown, walk, asked)


def told(shown: ShownGraph, walk: Walk, asked: NeighbourhoodAsked) -> Neighbourhood:
    """Return what a walk has reached as it is shown: by ids instead of element ids, in one order."""
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
    """Return by element id what each node is called: its id, with its label where two share one."""
    ids = {node.key: (_label(node), _own_id(node)) for node in nodes}
    plain = {key: f"entity:{id}" if label == ENTITY else id for key, (label, id) in ids.items()}
    given = list(plain.values())
    shared = {id for id in given if given.count(id) > 1} if len(set(given)) < len(given) else set()
    return {
        key: f"{label.lower()}:{id}" if plain[key] in shared else plain[key]
        for key, (label, id) in ids.items()
    }


async def _root(node_id: str, *, client_id: str, graph: Graph) -> str:
    prefix, _, rest = node_id.partition(":")
    label = ADDRESSED.get(prefix.lower(), "") if rest else ""
    rows = await graph.rows(
        NODE_BY_ADDRESS,
        client_id=client_id,
        id=node_id,
        label=label,
        own_id=rest,
        normalized=normalized(rest),
    )
    if not rows:
        raise NodeNotFound(node_id)
    return rows[0].key


async def _walked(root: str, asked: NeighbourhoodAsked, *, client_id: str, graph: Graph) -> Walk:
    walk = Walk(root, asked.limit)
    for depth in range(asked.depth):
        frontier = walk.frontier(depth)
        if not frontier or (walk.full and not walk.room):
            break
        looked_at = LOOKED_AT if depth else max(LOOKED_AT, 2 * asked.limit)
        fan_out = FAN_OUT if depth else walk.room
        steps = await graph.limited(
            NEIGHBOURS,
            seconds=SECONDS,
            most=len(frontier) * len(EDGE_TYPES),
            client_id=client_id,
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
    """Return the label that a node is addressed by."""
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
    """Return a property's value as JSON shows it: cut where it is long, null where it stands for nothing."""
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
    """Return what was cut, and what would show more."""
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
