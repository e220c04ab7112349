"""The rules of the stored data: nothing dangles, chains are whole, and nodes and edges are as declared."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from graphmem.conversations.remember import SEGMENT, SUMMARIZE_SESSIONS
from graphmem.doctor.findings import Finding, note, ok, problem
from graphmem.doctor.schema import searched_properties
from graphmem.graph.driver import Graph
from graphmem.graph.inspection import (
    BROKEN_CHAINS,
    CONVERSATIONS_TO_WORK_ON,
    COUNTED_MEMORIES,
    COUNTED_PASSAGES,
    EDGES_BETWEEN_CLIENTS,
    FACTS_WITHOUT_PREDECESSOR,
    HASHED_SPANS,
    KNOWN_NAMES,
    MEMORIES_TO_CUT,
    MEMORIES_TO_NAME,
    MEMORIES_WITHOUT_CONVERSATION,
    MEMORIES_WITHOUT_EMBEDDING,
    MEMORIES_WITHOUT_FILTERS,
    MESSAGES_WITHOUT_SESSION,
    PASSAGES_WITHOUT_EMBEDDING,
    PASSAGES_WITHOUT_MEMORY,
    SESSIONS_WITHOUT_CONVERSATION,
    SPANS_TO_HASH,
    STORED_EDGES,
    STORED_NODES,
    SUMMARIES_WITHOUT_SESSION,
    SUPERSEDED_WITHOUT_VERSION,
    Defect,
    KnownNames,
    SpanToHash,
    StoredEdges,
    StoredNodes,
    StoredProperty,
)
from graphmem.graph.query import Query
from graphmem.graph.schema import (
    MEMORY,
    DeclaredEdge,
    DeclaredNode,
    DeclaredProperty,
    declared_nodes,
    edge_sources,
)
from graphmem.memories.passages import PASSAGES_JOB
from graphmem.memories.write import NAMES_JOB
from graphmem.model.times import present
from graphmem.model.validation import counted

SCANNED = 1_000_000
"""The number of nodes or edges that one check looks at."""

MOST = 1_000
"""The number of defects of a kind after which counting stops."""

SPANS_HASHED = 10_000
"""The number of spans whose texts are compared with their hashes."""

HASHED_AT_ONCE = 4_000_000
"""The characters of the texts that are read at once."""

RESTORE = "restore them from a backup, or delete them by id"


class Rule(Struct, frozen=True):
    """A rule: the query for its violations, and their name."""

    query: Query[Defect]
    thing: str
    breaks: str
    remedy: str
    may_be_right: bool = False
    """Whether graphmem may have left it so itself: then it is told as a note."""


RULES = (
    Rule(
        MESSAGES_WITHOUT_SESSION,
        "message",
        "outside any session",
        f"they are found and show no neighbours: {RESTORE}",
    ),
    Rule(
        SESSIONS_WITHOUT_CONVERSATION,
        "session",
        "outside any conversation",
        "deleting that conversation would leave them: restore them from a backup, or delete them",
    ),
    Rule(
        MEMORIES_WITHOUT_CONVERSATION,
        "memory",
        "in a conversation that does not exist",
        f"open a conversation with that id again, then delete it with them, or {RESTORE}",
    ),
    Rule(
        BROKEN_CHAINS,
        "session",
        "with messages that are not one chain of NEXT",
        "neighbours of a message are lost: restore it from a backup, or import it again",
    ),
    Rule(
        EDGES_BETWEEN_CLIENTS,
        "edge",
        "between two clients",
        "no query follows them, and none of ours makes them: find out what writes here, delete them",
    ),
    Rule(
        MEMORIES_WITHOUT_FILTERS,
        "memory",
        "without a property that searches filter on",
        f"no search finds them: {RESTORE}",
    ),
    Rule(
        MEMORIES_WITHOUT_EMBEDDING,
        "memory",
        "without an embedding",
        "they are found by their words alone: delete them and remember them again",
    ),
    Rule(
        PASSAGES_WITHOUT_MEMORY,
        "passage",
        "of a memory that does not exist",
        "no search finds them, and they only take room: delete them by id",
    ),
    Rule(
        PASSAGES_WITHOUT_EMBEDDING,
        "passage",
        "without an embedding",
        "they are found by their words alone: delete their memories and remember these again",
    ),
    Rule(
        SUPERSEDED_WITHOUT_VERSION,
        "memory",
        "ended by a newer version that does not supersede it",
        "lists of versions end there, and the past may be answered wrongly: restore the edge SUPERSEDES or "
        "the newer version from a backup, or delete them by id",
    ),
    Rule(
        FACTS_WITHOUT_PREDECESSOR,
        "fact",
        "of a second or later version that supersedes none",
        "nothing, if a conversation with the earlier versions was deleted; otherwise restore these from a "
        "backup",
        may_be_right=True,
    ),
    Rule(
        SUMMARIES_WITHOUT_SESSION,
        "summary",
        "of a session to which it is not joined by SUMMARIZES",
        f"they are not shown with their session, nor forgotten with its messages: {RESTORE}",
    ),
)

SPAN_RULE = 1
"""The rule about the texts of spans, which is no single query."""


async def check_rule(graph: Graph, rule: Rule, *, scanned: int = SCANNED) -> list[Finding]:
    """Check whether a rule holds."""
    [defect] = await graph.rows(rule.query, scanned=scanned, most=MOST)
    if not defect.found:
        return []
    number = counted(defect.found, rule.thing)
    if defect.found >= MOST:
        number = f"at least {number}"
    examples = ", ".join(defect.examples)
    what = f"{number} {rule.breaks}{examples and f', such as {examples}'}"
    return [(note if rule.may_be_right else problem)("integrity", what, rule.remedy)]


async def check_span_texts(graph: Graph, *, hashed: int = SPANS_HASHED) -> list[Finding]:
    """Check whether the texts of spans fit their hashes, which the database cannot compute."""
    spans = await graph.rows(SPANS_TO_HASH, limit=hashed + 1)
    changed: list[str] = []
    for batch in _batches(spans[:hashed]):
        some = [{"client_id": one.client_id, "id": one.id} for one in batch]
        changed += [
            one.id
            for one in await graph.rows(HASHED_SPANS, spans=some)
            if hashlib.sha256(one.text.encode()).hexdigest() != one.sha256
        ]
    return list(_changed(changed, hashed if len(spans) > hashed else None))


def _batches(spans: Iterable[SpanToHash]) -> Iterator[list[SpanToHash]]:
    """Return spans in parts whose texts have a bounded length together."""
    batch: list[SpanToHash] = []
    characters = 0
    for one in spans:
        if batch and characters + one.characters > HASHED_AT_ONCE:
            yield batch
            batch, characters = [], 0
        batch.append(one)
        characters += one.characters
    if batch:
        yield batch


def _changed(changed: Sequence[str], bound: int | None) -> Iterator[Finding]:
    if changed:
        what = f"{counted(len(changed), 'span')} with another text than that of the stored SHA-256"
        yield problem(
            "integrity",
            f"{what}, such as {', '.join(changed[:3])}",
            "reading them is refused: put the content of their reference again, or register them again; "
            f"otherwise {RESTORE}",
        )
    if bound is not None:
        yield note("integrity", f"only the texts of {bound:,} spans are compared with their hashes")


async def amount(graph: Graph, *, scanned: int = SCANNED) -> list[Finding]:
    """Report the number of memories, and whether all are checked."""
    [row] = await graph.rows(COUNTED_MEMORIES)
    [parts] = await graph.rows(COUNTED_PASSAGES)
    return list(_amount(row.memories, parts.passages, scanned))


def _amount(memories: int, passages: int, scanned: int) -> Iterator[Finding]:
    also = f", and {counted(passages, 'passage')} of the long ones" if passages else ""
    yield ok("memories", f"{counted(memories, 'memory')} stored{also}")
    if memories > scanned:
        yield note("integrity", f"only the first {scanned:,} of each kind are looked at")


async def unfinished(graph: Graph) -> list[Finding]:
    """Report the work on stored memories that waits for the jobs, as after an upgrade."""
    [uncut] = await graph.rows(MEMORIES_TO_CUT)
    [unnamed] = await graph.rows(MEMORIES_TO_NAME)
    waiting = {
        kind: (await graph.rows(CONVERSATIONS_TO_WORK_ON, kind=kind, now=present()))[0]
        for kind in (SUMMARIZE_SESSIONS, SEGMENT)
    }
    return list(
        _unfinished(
            uncut.memories,
            unnamed.memories,
            summaries=waiting[SUMMARIZE_SESSIONS].conversations,
            episodes=waiting[SEGMENT].conversations,
        )
    )


def _unfinished(uncut: int, unnamed: int, *, summaries: int, episodes: int) -> Iterator[Finding]:
    """Return a note for each kind of work that is left."""
    left = (
        (
            f"{counted(uncut, 'long memory')} not cut into all passages yet",
            PASSAGES_JOB,
            "; till then words find the rest",
            uncut,
        ),
        (
            f"{counted(unnamed, 'memory')} whose names are still to be found",
            NAMES_JOB,
            "",
            unnamed,
        ),
        (
            f"{counted(summaries, 'conversation')} with sessions to summarize",
            SUMMARIZE_SESSIONS,
            "",
            summaries,
        ),
        (
            f"{counted(episodes, 'conversation')} to segment into episodes",
            SEGMENT,
            "",
            episodes,
        ),
    )
    for what, job, till_then, number in left:
        if number:
            remedy = f"nothing: the job `{job}` of `graphmem serve` does it{till_then}"
            yield note("memories", what, remedy)


NODES_SCANNED = 10_000
"""The number of nodes of each label, and of edges of each type, that are checked."""

SUBJECT = "graph"

SHARED = "nothing, if another program shares this database"
FOREIGN = "find out which program writes here, and correct them"


async def agreement(graph: Graph) -> list[Finding]:
    """Compare stored labels, properties and edges with the declared classes, as far as they are scanned."""
    nodes = await graph.rows(
        STORED_NODES, labels=[MEMORY, *declared_nodes()], scanned=NODES_SCANNED
    )
    edges = await graph.rows(STORED_EDGES, types=list(edge_sources()), scanned=NODES_SCANNED)
    [names] = await graph.rows(KNOWN_NAMES)
    wrong = [*node_problems(nodes), *edge_problems(edges)]
    agreed = f"nodes and edges are as graphmem's {len(declared_nodes())} classes declare them"
    return [*(wrong or [ok(SUBJECT, agreed)]), *foreign_names(names, nodes, edges)]


def node_problems(stored: Sequence[StoredNodes]) -> Iterator[Finding]:
    """Return the differences between stored nodes and their classes."""
    classes = declared_nodes()
    known = [node.labels for node in classes.values()]
    combinations = {frozenset(labels) for one in stored for labels in one.combinations}
    for labels in sorted(combinations, key=sorted):
        if not any(wanted <= labels for wanted in known):
            what = f"there are nodes with no labels but {_listed(labels)}"
            yield problem(SUBJECT, f"{what}: searches miss them", FOREIGN)
    searched = searched_properties()
    for one in stored:
        if one.label in classes:
            declared = classes[one.label]
            yield from _other_types(one.label, one.properties, declared.properties)
            yield from _missing(one, declared, searched if declared.is_memory else ())


def edge_problems(stored: Sequence[StoredEdges]) -> Iterator[Finding]:
    """Return the differences between stored edges and their declarations."""
    for one in stored:
        fitting = _fitting(one)
        if fitting:
            yield from _other_types(one.type, one.properties, _edge_properties(fitting))
        else:
            ends = f"from {_listed(one.from_labels)} to {_listed(one.to_labels)}"
            number = counted(one.edges, f"{one.type} edge")
            lead = "leads" if one.edges == 1 else "lead"
            what = f"{number} {lead} {ends}, which graphmem never writes"
            yield problem(SUBJECT, what, "find out which program writes here, and delete them")


def foreign_names(
    names: KnownNames, nodes: Sequence[StoredNodes], edges: Sequence[StoredEdges]
) -> Iterator[Finding]:
    """Return one note each for the labels, types of edges and properties that no class declares."""
    classes = declared_nodes()
    properties = {
        f"{one.label}.{name.name}"
        for one in nodes
        for name in one.properties
        if one.label in classes and name.name not in classes[one.label].properties
    } | {
        f"{one.type}.{name}"
        for one in edges
        if (fitting := _fitting(one))
        for name in {name.name for name in one.properties} - set(_edge_properties(fitting))
    }
    for things, found in (
        ("labels", set(names.labels) - {MEMORY, *classes}),
        ("types of edges", set(names.edge_types) - set(edge_sources())),
        ("properties", properties),
    ):
        if found:
            what = f"the database also holds {things} that are not graphmem's: {_listed(found)}"
            yield note(SUBJECT, what, SHARED)


def _other_types(
    holder: str, stored: Sequence[StoredProperty], declared: Mapping[str, DeclaredProperty]
) -> Iterator[Finding]:
    """Return the properties with values of another type than the declared."""
    for one in stored:
        others = set(one.types) - declared[one.name].types if one.name in declared else set()
        if others:
            what = f"{holder}.{one.name} has values of the type {_listed(map(_readable, others))}"
            wanted = " or ".join(sorted(map(_readable, declared[one.name].types)))
            yield problem(SUBJECT, f"{what} instead of {wanted}", FOREIGN)


def _missing(
    stored: StoredNodes, declared: DeclaredNode, checked: Collection[str]
) -> Iterator[Finding]:
    """Return the required properties that nodes lack; another rule covers those that are checked."""
    present = {one.name: one.present for one in stored.properties}
    lacking = {
        name: stored.nodes - present.get(name, 0)
        for name, one in declared.properties.items()
        if one.required and name not in checked and present.get(name, 0) < stored.nodes
    }
    if lacking:
        nodes = counted(stored.nodes, f"{stored.label} node")
        names = ", ".join(f"{name} ({number:,})" for name, number in lacking.items())
        query = f"MATCH (n:{stored.label}) WHERE n.{next(iter(lacking))} IS NULL RETURN n"
        what = f"some of {nodes} lack required properties: {names}"
        yield problem(SUBJECT, what, f"find them with `{query}`: {RESTORE}")


def _fitting(stored: StoredEdges) -> list[DeclaredEdge]:
    """Return the declarations of edges of this type between these labels."""
    return [
        edge
        for node in declared_nodes().values()
        for edge in node.edges
        if edge.type == stored.type
        and edge.from_label in stored.from_labels
        and edge.to_label in stored.to_labels
    ]


def _edge_properties(edges: Iterable[DeclaredEdge]) -> dict[str, DeclaredProperty]:
    return {name: one for edge in edges for name, one in edge.properties.items()}


def _readable(type: str) -> str:
    return type.replace(" NOT NULL", "")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
