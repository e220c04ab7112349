"""Importing an export into a client that has nothing yet, one page at a time: nodes, edges, then vectors.

The place in the file is stored in the transaction of each page. So an import that was killed goes on where it
was, and nothing is made twice.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from graphmem.context import Context
from graphmem.embedding import AGAIN, SEEN_CHARACTERS
from graphmem.errors import Conflict, InvalidInput, ModelMismatch, Unavailable
from graphmem.exports.export import FILE_EMBEDDING, LABELS, NOT_WRITTEN
from graphmem.exports.lines import (
    CLIENT,
    EDGE,
    NODE,
    Checked,
    Damaged,
    EdgeLine,
    Lines,
    NodeLine,
    check,
    count_lines,
    read_pages,
)
from graphmem.facts.remember import AS_NEW
from graphmem.graph.driver import NotUnique, Transaction
from graphmem.graph.installation import installation
from graphmem.graph.plain import from_json, vector_of
from graphmem.graph.query import Query, RowsWritten
from graphmem.graph.schema import declared_nodes, schema_files
from graphmem.graph.scope import scope_word, scope_words
from graphmem.model.progress import Progress, silent
from graphmem.reembedding import BATCH, Stored, embedded_text, keep_vectors

NODES, EDGES, VECTORS = "nodes", "edges", "vectors"

NODES_AT_ONCE, EDGES_AT_ONCE = 2_000, 5_000
"""The least number of nodes and of edges of whole pages that one transaction writes."""

EXPORTED_LABELS = frozenset(LABELS)

ENDS_RIGHT = 21
"""The schema from which on versions end where a newer one begins first: files of older ones are mended."""

KEYS = frozenset({"id", "normalized"})
"""The properties that identify a node other than a memory within its client."""

Value = TypeVar("Value")


class ClientTaken(Conflict):
    """An export cannot be imported into a client that has something already."""

    def __init__(self, client_id: str) -> None:
        super().__init__(
            f"client {client_id!r} has memories already, and an import makes a whole client: import into "
            "another one with --client"
        )
        self.client_id = client_id


class AnotherImport(Conflict):
    """An import of another file into the client has begun and not ended."""

    def __init__(self, client_id: str) -> None:
        super().__init__(
            f"an import of another file into client {client_id!r} has not ended: import that file again to "
            "end it, or import this one into another client with --client"
        )
        self.client_id = client_id


class ImportState(Struct, frozen=True):
    """The unfinished import into a client, '' for none, and whether the client has anything."""

    sha256: str
    place: str
    taken: bool


class Advanced(Struct, frozen=True):
    """The place of an import, and whether this statement has moved it."""

    place: str
    moved: bool


class FoundEnd(Struct, frozen=True):
    """A node's key, and its address in this database."""

    key: str
    element: str


class ImportedExport(Struct, frozen=True, kw_only=True):
    """The result of an import."""

    client_id: str
    nodes: int
    edges: int
    embedded: int
    """The memories and passages whose vectors were made anew."""
    resumed: bool
    changed: bool
    """Whether memories or conversations were added or deleted during the export, as its end tells."""
    legal_hold: str | None
    """The reason of the client's legal hold: its own one, else that of the file; None for none."""


class ImportEnded(Struct, frozen=True):
    """The client of an import that has ended: the reason of its legal hold, None if it has none."""

    legal_hold: str | None


IMPORT_STATE = Query("exports/import_state", ImportState)
ADVANCE_IMPORT = Query("exports/advance_import", Advanced, writes=True)
END_IMPORT = Query("exports/end_import", ImportEnded, writes=True)
IMPORT_NODES = Query("exports/import_nodes", RowsWritten, writes=True)
IMPORT_EDGES = Query("exports/import_edges", RowsWritten, writes=True)
IMPORT_CLIENT = Query("exports/import_client", RowsWritten, writes=True)
DROP_RECORDS = Query("exports/drop_records", RowsWritten, writes=True)
MEND_ENDS = Query("exports/mend_ends", RowsWritten, writes=True)
SCOPE_PASSAGES = Query("exports/scope_passages", RowsWritten, writes=True)
FOUND_ENDS = Query("exports/found_ends", FoundEnd)
TEXTS_TO_EMBED = Query("exports/texts_to_embed", Stored)


class Loading(Struct, frozen=True, kw_only=True):
    """One import: its file, its client, and what happens to the vectors in it."""

    path: Path
    checked: Checked
    context: Context
    takes_vectors: bool
    progress: Progress


async def load(path: Path, context: Context, progress: Progress = silent) -> ImportedExport:
    """Import a file into the context's client, or continue an import of it.

    The client gets the legal hold of the file, whatever its name, and keeps one that it has already.

    Raises `Damaged` for a file that is not whole, `ClientTaken`, `AnotherImport`, `ModelMismatch`,
    `Unavailable`.
    """
    progress("checking the file")
    checked = await asyncio.to_thread(check, path)
    progress("checking the file", 1, 1)
    loading = Loading(
        path=path,
        checked=checked,
        context=context,
        takes_vectors=await _takes_vectors(checked, context),
        progress=progress,
    )
    phase, after = start = await _start(loading)
    if phase == NODES:
        after = await _load_pages(loading, NODES, int(after or 0), _write_nodes)
        phase, after = await _move(loading, (NODES, after), (EDGES, "0"))
    if phase == EDGES:
        after = await _load_pages(loading, EDGES, int(after), _write_edges)
        phase, after = await _move(loading, (EDGES, after), (VECTORS, ""))
    if checked.header.schema < ENDS_RIGHT:
        await context.graph.change(MEND_ENDS, client_id=context.client_id)
    # Also a file of our model may lack some: those that a change of the model removed while it was written.
    embedded = await _embed(loading, after)
    [ended] = await context.graph.change(END_IMPORT, client_id=context.client_id)
    return ImportedExport(
        client_id=context.client_id,
        nodes=checked.end.nodes,
        edges=checked.end.edges,
        embedded=embedded,
        resumed=start != (NODES, ""),
        changed=checked.end.changed,
        legal_hold=ended.legal_hold,
    )


async def _takes_vectors(checked: Checked, context: Context) -> bool:
    """Tell whether the vectors in the file are those of the installation's model."""
    header, stored = checked.header, await installation(context.graph)
    if stored is None or stored.change is not None:
        raise Unavailable(
            "the embedding model is being changed: import when `graphmem reembed` has ended"
        )
    if header.schema > (newest := schema_files()[-1].number):
        raise InvalidInput(
            "file",
            f"a newer graphmem has written it (schema {header.schema}, here {newest}): upgrade graphmem",
        )
    if header.tokenizer != stored.tokenizer:
        raise ModelMismatch(
            f"its memories were counted with {header.tokenizer!r}, those of this database with "
            f"{stored.tokenizer!r}"
        )
    return header.embedding_model == context.embedder.key


async def _start(loading: Loading) -> tuple[str, str]:
    """Return the phase and the place where the import begins or goes on."""
    client_id = loading.context.client_id
    [state] = await loading.context.graph.rows(IMPORT_STATE, client_id=client_id)
    if state.sha256 and state.sha256 != loading.checked.end.sha256:
        raise AnotherImport(client_id)
    if not state.sha256 and state.taken:
        raise ClientTaken(client_id)
    phase, _, after = (state.place or NODES).partition(" ")
    return phase, after


Write = Callable[[Transaction, Any, Loading], Any]


async def _load_pages(loading: Loading, phase: str, after: int, write: Write) -> str:
    """Write the lines of one kind from a place of the file on; return the place of the end."""
    before = str(after) if after or phase != NODES else ""
    if phase == NODES:
        pages = _read_nodes(loading, after)
    else:
        pages = _read(read_pages(loading.path, EDGE, after), _edges, loading, EDGES_AT_ONCE)
    coming = asyncio.create_task(asyncio.to_thread(next, pages, None))
    stage = f"importing {phase}"
    try:
        while (page := await coming) is not None:
            place, rows = page
            # The next page is read while this one is written.
            coming = asyncio.create_task(asyncio.to_thread(next, pages, None))
            loading.progress(
                stage, min(int(before or 0), loading.checked.size - 1), loading.checked.size
            )
            await _write_page(loading, (phase, before), (phase, place), rows, write)
            before = place
    finally:
        coming.cancel()
    loading.progress(stage, loading.checked.size, loading.checked.size)
    return before


async def _write_page(
    loading: Loading, before: tuple[str, str], after: tuple[str, str], rows: Any, write: Write
) -> None:
    async def work(transaction: Transaction) -> None:
        if await _advance(transaction, loading, before, after) and rows:
            await write(transaction, rows, loading)

    try:
        await loading.context.graph.write(work)
    except NotUnique as problem:
        first = count_lines(loading.path, int(before[1] or 0)) + 1
        last = count_lines(loading.path, int(after[1]))
        raise Damaged(
            f"a node in the lines {first:,} to {last:,} has the identity of another one of this file"
        ) from problem


async def _move(
    loading: Loading, before: tuple[str, str], after: tuple[str, str]
) -> tuple[str, str]:
    await loading.context.graph.write(
        lambda transaction: _advance(transaction, loading, before, after)
    )
    return after


async def _advance(
    transaction: Transaction, loading: Loading, before: tuple[str, str], after: tuple[str, str]
) -> bool:
    """Store the place after this transaction; return whether the work up to it is still to be done.

    A transaction that is repeated after a lost answer has done it. Raises `AnotherImport`.
    """
    [advanced] = await transaction.rows(
        ADVANCE_IMPORT,
        client_id=loading.context.client_id,
        sha256=loading.checked.end.sha256,
        before=_told(before),
        after=_told(after),
    )
    if not advanced.moved and advanced.place != _told(after):
        raise AnotherImport(loading.context.client_id)
    return advanced.moved


def _told(place: tuple[str, str]) -> str:
    return "" if place == (NODES, "") else " ".join(place)


def _read(
    pages: Iterable[Lines],
    read: Callable[[Lines, Loading], list[Any]],
    loading: Loading,
    at_once: int,
) -> Iterator[tuple[str, list[Any]]]:
    """Yield the rows of one or more pages, with the place after them."""
    rows: list[Any] = []
    for page in pages:
        rows += read(page, loading)
        if len(rows) >= at_once:
            yield str(page.after), rows
            rows = []
    if rows:
        yield str(page.after), rows


def _read_nodes(loading: Loading, after: int) -> Iterator[tuple[str, list[Any]]]:
    """Yield the rows of nodes, with the place after them; from the beginning, the client's own node first.

    It is the last one in a file, but its legal hold must be there before memories that have expired.
    """
    first: list[Any] = []
    if not after:
        for page in read_pages(loading.path, CLIENT, after):
            first += _nodes(page, loading)
    for place, rows in _read(read_pages(loading.path, NODE, after), _nodes, loading, NODES_AT_ONCE):
        yield place, first + rows
        first = []


def _nodes(page: Lines, loading: Loading) -> list[dict[str, Any]]:
    """Return the rows of nodes.

    Raises `Damaged` for labels that no node of a client has, for a node without a property that such nodes
    have, and for properties that no export has: those of the installation's own, such as the client's id and
    the state of an import.
    """
    required = _required()
    rows = []
    for number, one in zip(page.numbers, _decoded(page, NodeLine), strict=True):
        if frozenset(one.node) not in required or EXPORTED_LABELS.isdisjoint(one.node):
            raise Damaged(
                f"it has a node with the labels {one.node!r}, which are not a client's", number
            )
        if strange := NOT_WRITTEN & one.properties.keys():
            raise Damaged(
                f"it has a node with the property {min(strange)!r}, which no export has", number
            )
        given = {name for name, value in one.properties.items() if value is not None}
        if missing := required[frozenset(one.node)] - given:
            raise Damaged(
                f"it has a node with the labels {one.node!r} without the property {min(missing)!r}",
                number,
            )
        if not isinstance(one.properties.get("legal_hold", ""), str):
            raise Damaged("the reason of its legal hold is no text", number)
        rows.append(_row(one, loading))
    return rows


@cache
def _required() -> Mapping[frozenset[str], frozenset[str]]:
    """Return the properties that a node must have, by its labels: those of every memory, the key of another.

    What only some kinds of nodes have may be missing where an older version has made them.
    """
    nodes = declared_nodes().values()
    required = {
        node.labels: frozenset(name for name, one in node.properties.items() if one.required)
        for node in nodes
    }
    of_memories = frozenset.intersection(*(required[one.labels] for one in nodes if one.is_memory))
    return {
        one.labels: (of_memories if one.is_memory else required[one.labels] & KEYS) - NOT_WRITTEN
        for one in nodes
    }


def _row(one: NodeLine, loading: Loading) -> dict[str, Any]:
    """Return the row of a node. Its times go to the database as texts: the driver is slow with times."""
    times = [[name, value["datetime"]] for name, value in one.properties.items() if _is_time(value)]
    moments = {name for name, _ in times}
    given = {
        name: value if type(value) in _AS_THEY_ARE else _value(value, name)
        for name, value in one.properties.items()
        if name not in moments
    }
    vectors = {name: given.pop(name) for name in _VECTORS if given.get(name) is not None}
    if not loading.takes_vectors:
        vectors = {}
        given.pop("whole_model", None)
    if FILE_EMBEDDING in vectors:
        vectors = {loading.context.graph.side.embedding: vectors[FILE_EMBEDDING]}
    if "Fact" in one.node:
        # Of a file that another program has made: graphmem writes every fact with them.
        given |= {name: value for name, value in AS_NEW.items() if given.get(name) is None}
    if "Memory" in one.node:
        given["scope_words"] = scope_words(loading.context.client_id, given)
    return {"labels": one.node, "properties": given, "times": times, "vectors": vectors}


_VECTORS = (FILE_EMBEDDING, "whole_embedding")


def _is_time(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("datetime"), str)


_AS_THEY_ARE = frozenset({str, int, bool})


def _value(value: Any, name: str = "") -> Any:
    """Return the value of a property. Raises `Damaged`."""
    try:
        return vector_of(value) if name in _VECTORS else from_json(value)
    except (ValueError, TypeError, KeyError) as problem:
        raise Damaged(f"a value of a property cannot be read ({problem})") from problem


async def _write_nodes(
    transaction: Transaction, rows: list[dict[str, Any]], loading: Loading
) -> None:
    client_id = loading.context.client_id
    clients = [row for row in rows if row["labels"] == ["Client"]]
    others = [row for row in rows if row["labels"] != ["Client"]]
    for one in clients:
        await transaction.rows(IMPORT_CLIENT, client_id=client_id, properties=one["properties"])
    if others:
        await _drop_records(transaction, others, client_id)
        await transaction.rows(IMPORT_NODES, client_id=client_id, rows=others)
    passages = [row["properties"]["id"] for row in others if row["labels"] == ["Passage"]]
    if passages:
        await transaction.rows(
            SCOPE_PASSAGES,
            client_id=client_id,
            active_word=scope_word(client_id, "active"),
            ids=passages,
        )


async def _drop_records(
    transaction: Transaction, rows: Iterable[Mapping[str, Any]], client_id: str
) -> None:
    """Delete the records of a client without memories that these nodes are to replace."""
    reads, contexts, jobs = (
        [one["properties"] for one in rows if one["labels"] == [label]]
        for label in ("Access", "Context", "Job")
    )
    if reads or contexts or jobs:
        await transaction.rows(
            DROP_RECORDS,
            client_id=client_id,
            reads=[one["id"] for one in reads],
            contexts=[one["id"] for one in contexts],
            jobs=[{"kind": one.get("kind"), "key": one.get("key")} for one in jobs],
        )


def _edges(page: Lines, loading: Loading) -> list[EdgeLine]:
    """Return the edges of a page. Raises `Damaged` for types that no node of a client has."""
    known = {edge.type for node in declared_nodes().values() for edge in node.edges}
    edges = _decoded(page, EdgeLine)
    for one in edges:
        if one.edge not in known:
            raise Damaged(f"it has an edge of the unknown type {one.edge!r}")
    return edges


async def _write_edges(transaction: Transaction, edges: list[EdgeLine], loading: Loading) -> None:
    """Make edges; one whose end was not exported, since it was made or deleted meanwhile, is left out."""
    client_id = loading.context.client_id
    found: dict[tuple[str, str], str] = {}
    for label, keys in _keys(edges).items():
        ends = await transaction.rows(
            FOUND_ENDS, client_id=client_id, label=label, keys=sorted(keys)
        )
        found |= {(label, end.key): end.element for end in ends}
    rows = [
        {
            "type": one.edge,
            "start": found[one.start],
            "end": found[one.end],
            "properties": {name: _value(value) for name, value in one.properties.items()},
        }
        for one in edges
        if one.start in found and one.end in found
    ]
    await transaction.rows(IMPORT_EDGES, client_id=client_id, rows=rows)


def _keys(edges: list[EdgeLine]) -> Mapping[str, set[str]]:
    keys: dict[str, set[str]] = {}
    for one in edges:
        for label, key in (one.start, one.end):
            keys.setdefault(label, set()).add(key)
    return keys


def _decoded(page: Lines, wanted: type[Value]) -> list[Value]:
    try:
        return [msgspec.json.decode(one, type=wanted) for one in page.lines]
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Damaged(f"a line cannot be read ({problem})") from problem


async def _embed(loading: Loading, after: str) -> int:
    """Make the missing vectors of memories and passages from a place on; return how many."""
    context, done = loading.context, 0
    total = loading.checked.end.nodes
    while True:
        batch = await context.graph.rows(
            TEXTS_TO_EMBED,
            client_id=context.client_id,
            after=after,
            limit=BATCH,
            longest=SEEN_CHARACTERS,
            property=context.graph.side.embedding,
        )
        if not batch:
            if done:
                loading.progress("embedding", total, total)
            return done
        after = await _embed_batch(loading, batch, after)
        done += len(batch)
        loading.progress("embedding", min(done, total - 1), total)


async def _embed_batch(loading: Loading, batch: list[Stored], before: str) -> str:
    """Make the vectors of some memories and passages; return the id of the last one."""
    context, after = loading.context, batch[-1].id
    texts = [embedded_text(one) for one in batch]
    embeddings = await context.embedder.passages(texts, priority=AGAIN)

    async def work(transaction: Transaction) -> None:
        if await _advance(transaction, loading, (VECTORS, before), (VECTORS, after)):
            await keep_vectors(transaction, batch, embeddings, context.graph.side)

    await context.graph.write(work)
    return after
