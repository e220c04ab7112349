"""The schema of a client's graph: labels, properties, edges and indexes, at a bounded cost.

Nodes are counted by indexes that begin with the client, up to a bound. Their properties and edges are those
of a sample that is spread evenly over them, so that neither the data of other clients nor all the data of a
large client is scanned.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.graph.inspection import SHOWN_INDEXES
from graphmem.graph.query import Query
from graphmem.graph.schema import MEMORY, edge_sources
from graphmem.model.vocabulary import KINDS, kind_label
from graphmem.neighbourhood.types import (
    EdgeTypeShown,
    EndsShown,
    GraphSchema,
    IndexShown,
    LabelShown,
    PropertyShown,
)
from graphmem.neighbourhood.walk import ABSENT, HIDDEN
from graphmem.text.names import UNCASED

COUNTED = 100_000
"""The number up to which the nodes of a label are counted."""

SAMPLED = 1_000
"""The number of nodes of a label whose outgoing edges are read."""

DESCRIBED = 100
"""The number of nodes of a label, and of edges of a type between two labels, whose properties are read."""

EDGES = 1_000
"""The number of edges of a node that are read."""

EXAMPLES = 3
EXAMPLE_CHARACTERS = 80

SECONDS = 10.0
"""The time limit of the database for the schema."""

KIND_LABELS = tuple(map(kind_label, KINDS))

SAMPLING = (
    f"Labels: counts are exact up to {COUNTED:,} nodes a label, beyond it `count_is_exact` is false and "
    f"there are at least so many. Properties: types, presence and examples are those of at most "
    f"{DESCRIBED} nodes a label, spread evenly over those that were counted; a property that is rarer may "
    f"be missing. Edges: counted at at most {SAMPLED:,} nodes of the label that they begin at and {EDGES:,} "
    "edges of each; exact where `count_is_exact`, else projected to all nodes of the label. Indexes: all of "
    "the database on these labels, exact. Embeddings, and what only an index or a writer uses, are left out. "
    f"Names (`Entity`) are found by their capital letters, in German by the words beside them. In "
    f"{', '.join(UNCASED.values())} only those in Latin letters, in quotation marks and beside a title."
)


class SampledEdges(Struct, frozen=True):
    """Edges of a type from the sampled nodes of a label to another label; properties of some."""

    type: str
    to: str
    count: int
    most: int
    described: int
    properties: list[PropertyShown]


class LabelSample(Struct, frozen=True):
    """A label: the number of its nodes, and the properties and edges of the sampled ones."""

    label: str
    count: int
    sampled: int
    described: int
    properties: list[PropertyShown]
    edges: list[SampledEdges]

    @property
    def is_whole(self) -> bool:
        """Whether every node of the label was read, with all its edges."""
        return self.sampled == self.count and sum(one.most for one in self.edges) < EDGES


LABEL_SAMPLES = Query("neighbourhood/label_samples", LabelSample)


async def show_graph_schema(context: Context) -> GraphSchema:
    """Return the schema of the client's graph; `sampling` says which numbers are exact.

    Raises `TookTooLong`, `Unavailable`.
    """
    samples = await context.graph.limited(
        LABEL_SAMPLES,
        seconds=SECONDS,
        most=len(KIND_LABELS) + 100,
        client_id=context.client_id,
        kinds=[{"kind": kind, "label": kind_label(kind)} for kind in KINDS],
        counted=COUNTED,
        sampled=SAMPLED,
        described=DESCRIBED,
        edges=EDGES,
        hidden=list(HIDDEN),
        # Values that mean absence are removed from the examples later.
        examples=EXAMPLES + len(ABSENT),
        characters=EXAMPLE_CHARACTERS + 1,
    )
    known = {MEMORY, *(sample.label for sample in samples)}
    indexes = [
        IndexShown(
            name=index.name,
            type=index.type,
            labels=index.labels,
            properties=index.properties,
            state=index.state,
        )
        for index in await context.graph.rows(SHOWN_INDEXES)
        if known & set(index.labels)
    ]
    return GraphSchema(
        labels=labels(samples), edge_types=edge_types(samples), indexes=indexes, sampling=SAMPLING
    )


def labels(samples: Sequence[LabelSample]) -> list[LabelShown]:
    """Return the labels, first `Memory`, the sum of its kinds."""
    kinds = [sample for sample in samples if sample.label in KIND_LABELS]
    shown = [
        LabelShown(
            label=sample.label,
            count=min(sample.count, COUNTED),
            count_is_exact=sample.count <= COUNTED,
            sampled=sample.described,
            properties=merged(sample.properties),
        )
        for sample in samples
    ]
    memory = LabelShown(
        label=MEMORY,
        count=sum(min(kind.count, COUNTED) for kind in kinds),
        count_is_exact=all(kind.count <= COUNTED for kind in kinds),
        sampled=sum(kind.described for kind in kinds),
        properties=merged(one for kind in kinds for one in kind.properties),
    )
    return [memory, *shown]


def edge_types(samples: Sequence[LabelSample]) -> list[EdgeTypeShown]:
    """Return the types of edges, also those that do not occur, with counts projected from the samples."""
    by_type: Mapping[str, list[tuple[LabelSample, SampledEdges]]] = defaultdict(list)
    for sample in samples:
        for edges in sample.edges:
            by_type[edges.type].append((sample, edges))
    whole = {sample.label for sample in samples if sample.is_whole}
    return [
        _edge_type(type, by_type.get(type, []), whole)
        for type in sorted({*edge_sources(), *by_type})
    ]


def _edge_type(
    type: str, found: Sequence[tuple[LabelSample, SampledEdges]], whole: set[str]
) -> EdgeTypeShown:
    ends = [
        EndsShown(from_label=sample.label, to_label=edges.to, count=_projected(sample, edges))
        for sample, edges in found
    ]
    sources = {*edge_sources().get(type, ()), *(sample.label for sample, _ in found)}
    return EdgeTypeShown(
        type=type,
        count=sum(one.count for one in ends),
        count_is_exact=sources <= whole,
        ends=sorted(ends, key=lambda one: (-one.count, one.from_label, one.to_label)),
        sampled=sum(edges.described for _, edges in found),
        properties=merged(one for _, edges in found for one in edges.properties),
    )


def _projected(sample: LabelSample, edges: SampledEdges) -> int:
    """Return the number of edges of all counted nodes, projected from the sampled ones."""
    return round(edges.count * min(sample.count, COUNTED) / sample.sampled)


def merged(properties: Iterable[PropertyShown]) -> list[PropertyShown]:
    """Return each property once, with readable types and a few short examples."""
    by_name: dict[str, PropertyShown] = {}
    for one in properties:
        before = by_name.get(
            one.name, PropertyShown(name=one.name, types=[], present=0, examples=[])
        )
        by_name[one.name] = replace(
            before,
            types=sorted({*before.types, *map(_readable, one.types)}),
            present=before.present + one.present,
            examples=_distinct([*before.examples, *map(_short, one.examples)]),
        )
    return sorted(by_name.values(), key=lambda one: one.name)


def _readable(type: str) -> str:
    """Return a type without NOT NULL, which is true of every stored value."""
    return type.replace(" NOT NULL", "")


def _distinct(examples: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for one in examples:
        if one not in found and not (isinstance(one, str) and one in ABSENT):
            found.append(one)
    return found[:EXAMPLES]


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(one) for one in value[:EXAMPLES]]
    if isinstance(value, str) and len(value) > EXAMPLE_CHARACTERS:
        return f"{value[: EXAMPLE_CHARACTERS - 1]}…"
    return value
