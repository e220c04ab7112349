"""Writing a client's export, one page of nodes at a time, with little memory however much there is.

Each page is one statement. What is written meanwhile may be missing in part; the last line tells whether
memories or conversations were added or deleted, and of no other writes. Memories come first and the counters
of sessions and conversations after them: a counter is never behind a message.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from graphmem.context import Context
from graphmem.errors import InvalidInput, Unavailable
from graphmem.exports.lines import (
    EdgeLine,
    End,
    EndLine,
    ExportHeader,
    NodeLine,
    PageEnd,
    PageLine,
    chained,
    line,
)
from graphmem.graph.installation import installation
from graphmem.graph.plain import read_as_exported, to_json
from graphmem.graph.query import Query
from graphmem.graph.schema import schema_files
from graphmem.model.pages import GivenCursor, Listing, foreign, listing
from graphmem.model.vocabulary import VECTORS, Side

LABELS = (
    "Memory",
    "Passage",
    "Entity",
    "Session",
    "Conversation",
    "Context",
    "Review",
    "Access",
    "Run",
    "Job",
    "Client",
)
"""The labels of the nodes that an export has, in its order. All kinds of memories are one label."""

NOT_EXPORTED = {
    "Hold": "reserves tokens for an operation that is at work now",
    "Usage": "is counted anew with the first write under limits",
    "Audit": "belongs to the operators of the installation",
}
"""The labels of a client's other nodes, each with the reason."""

FEWEST, MOST = 16, 1_024
"""The least and the greatest number of nodes on a page."""

PageNodes = Annotated[int, Meta(ge=FEWEST, le=MOST)]
Counted = Annotated[int, Meta(ge=0, le=2**62)]

PAGE_BYTES = 4_000_000
"""The size at which a page has enough nodes."""

DERIVED = frozenset({"client_id", "scope_words", "locked", "lease", "other_truncated"})
"""Properties that an import makes, or that only a process at work needs."""

NOT_WRITTEN = DERIVED | {"import_sha256", "import_place"}
FILE_EMBEDDING = "embedding"
"""The name of a memory's vector in a file, whichever property holds it in a database."""


class ExportAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an export has, and where it continues."""

    vectors: Annotated[
        bool,
        Meta(description="include the embeddings, so that an import need not compute them again"),
    ] = True
    cursor: GivenCursor | None = None


class ExportedEdge(Struct, frozen=True, array_like=True):
    """An edge to another node of the client."""

    type: str
    label: str
    key: str
    properties: dict[str, Any]


class ExportedNode(Struct, frozen=True, array_like=True):
    """A node with the edges that begin at it; a property that it does not have may be None."""

    labels: list[str]
    key: str
    properties: dict[str, Any]
    edges: list[ExportedEdge]


class ExportedPage(Struct, frozen=True):
    """Some nodes of a label, at least one."""

    label: str
    nodes: list[ExportedNode]


class ClientState(Struct, frozen=True):
    """Numbers that change when memories or conversations of a client are added or deleted."""

    newest: datetime | None
    memories: int
    conversations: int

    @property
    def told(self) -> str:
        """All of it as one text."""
        return f"{self.memories} {self.conversations} {self.newest}"


class ExportPlace(Struct, frozen=True):
    """The end of a page, and all that the next ones need: nothing is kept between them.

    `limit` is the number of nodes of the next page, and `limit_after` that of the page behind it: the next
    one is read before the length of this one is known. `model` is that of the vectors, None without them: a
    file has those of one model. Anyone can make a cursor, hence the bounds.
    """

    label: str
    after: str
    limit: PageNodes
    limit_after: PageNodes
    nodes: Counted
    edges: Counted
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    state: str
    model: str | None


EXPORTED_NODES = Query("exports/exported_nodes", ExportedNode, reads=read_as_exported)
CLIENT_STATE = Query("exports/client_state", ClientState)


async def export(asked: ExportAsked, context: Context) -> AsyncIterator[bytes]:
    """Return the lines of a client's export, page by page, from its beginning or after a page.

    Raises `InvalidInput` for a foreign cursor, and for one of an export with the vectors of another model;
    `Unavailable`, also between two pages.
    """
    listed = listing(asked, context.client_id)
    if asked.cursor is not None:
        place = _opened(listed, asked.cursor, _model(asked, context))
        return _lines(b"", place, asked, listed, context)
    header = await _header(asked, context)
    [state] = await context.graph.rows(CLIENT_STATE, client_id=context.client_id)
    first = line(header)
    place = ExportPlace(
        label=LABELS[0],
        after="",
        limit=FEWEST,
        limit_after=FEWEST,
        nodes=0,
        edges=0,
        sha256=chained("", first),
        state=state.told,
        model=header.embedding_model,
    )
    return _lines(first, place, asked, listed, context)


def _model(asked: ExportAsked, context: Context) -> str | None:
    """Return the model of the vectors of an export that begins or goes on now, None without vectors."""
    return context.embedder.key if asked.vectors else None


def _opened(listed: Listing, cursor: str, model: str | None) -> ExportPlace:
    """Return the place of a cursor; `model` is that of the next vectors.

    Raises `InvalidInput` for one that no export has given, and for one with the vectors of another model.
    """
    try:
        place = msgspec.json.decode(listed.opened(cursor), type=ExportPlace)
    except msgspec.DecodeError as problem:
        raise foreign() from problem
    if place.label not in LABELS:
        raise foreign()
    if place.model != model:
        raise InvalidInput(
            "cursor",
            f"is of an export with the vectors of {place.model}, and the embedding model has changed to "
            f"{model}: begin the export anew, without a cursor",
        )
    return place


async def _header(asked: ExportAsked, context: Context) -> ExportHeader:
    stored = await installation(context.graph)
    if stored is None:
        raise Unavailable("this database holds no installation: start `graphmem serve` once")
    return ExportHeader(
        client_id=context.client_id,
        schema=schema_files()[-1].number,
        tokenizer=stored.tokenizer,
        embedding_model=_model(asked, context),
        began_at=context.now(),
    )


async def _lines(
    first: bytes, place: ExportPlace, asked: ExportAsked, listed: Listing, context: Context
) -> AsyncIterator[bytes]:
    if first:
        yield first
    side, model = context.graph.side, context.embedder.key
    coming = asyncio.create_task(_read(place.label, place.after, place.limit, asked, context))
    try:
        while (page := await coming) is not None:
            # While this page is written, in a thread, the database makes the next one.
            after = page.nodes[-1].key
            coming = asyncio.create_task(
                _read(page.label, after, place.limit_after, asked, context)
            )
            lines = await asyncio.to_thread(_written, page.nodes, side, model)
            place = await asyncio.to_thread(_after, place, page, lines)
            yield lines + line(PageLine(_page(place, listed)))
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)
    yield await _end(place, context)


async def _read(
    label: str, after: str, limit: int, asked: ExportAsked, context: Context
) -> ExportedPage | None:
    """Return the next nodes, of the label or of the first one behind it that has some; None at the end."""
    while True:
        nodes = await context.graph.rows(
            EXPORTED_NODES,
            client_id=context.client_id,
            label=label,
            after=after,
            limit=limit,
            hidden=sorted(_hidden_vectors(context.graph.side, asked)),
        )
        if nodes:
            return ExportedPage(label, nodes)
        if label == LABELS[-1]:
            return None
        label, after = LABELS[LABELS.index(label) + 1], ""


def _written(nodes: Iterable[ExportedNode], side: Side, model: str) -> bytes:
    """Return the lines of nodes and their edges."""
    lines: list[bytes] = []
    for node in nodes:
        start = (_label(node.labels), node.key)
        lines.append(line(NodeLine(node.labels, _portable(node, side, model))))
        lines += [
            line(
                EdgeLine(
                    edge.type,
                    start,
                    (edge.label, edge.key),
                    {name: to_json(one) for name, one in edge.properties.items()},
                )
            )
            for edge in node.edges
        ]
    return b"".join(lines)


def _label(labels: list[str]) -> str:
    return "Memory" if "Memory" in labels else labels[0]


def _hidden_vectors(side: Side, asked: ExportAsked) -> frozenset[str]:
    """Return the vectors that are not read: those of another model, or all."""
    return VECTORS - {side.embedding, "whole_embedding"} if asked.vectors else VECTORS


def _portable(node: ExportedNode, side: Side, model: str) -> dict[str, Any]:
    """Return the properties as any other database can take them; `model` is that of the vectors."""
    own = {
        name: to_json(value)
        for name, value in node.properties.items()
        if value is not None and name not in NOT_WRITTEN
    }
    if node.labels == ["Job"]:
        own["state"] = "queued"
    # A session's vector is made anew where it is missing or of another model.
    if "whole_model" in own and ("whole_embedding" not in own or own["whole_model"] != model):
        own.pop("whole_embedding", None)
        del own["whole_model"]
    if side.embedding in own:
        own[FILE_EMBEDDING] = own.pop(side.embedding)
    return own


def _after(place: ExportPlace, page: ExportedPage, lines: bytes) -> ExportPlace:
    """Return the place after a page; the page behind the next one has as many nodes as seem to fit."""
    nodes = page.nodes
    fitting = len(nodes) * PAGE_BYTES // max(len(lines), 1)
    return ExportPlace(
        label=page.label,
        after=nodes[-1].key,
        limit=place.limit_after,
        limit_after=max(FEWEST, min(MOST, fitting, 4 * len(nodes))),
        nodes=place.nodes + len(nodes),
        edges=place.edges + sum(len(node.edges) for node in nodes),
        sha256=chained(place.sha256, lines),
        state=place.state,
        model=place.model,
    )


def _page(place: ExportPlace, listed: Listing) -> PageEnd:
    cursor = listed.sealed(msgspec.json.encode(place).decode())
    return PageEnd(place.nodes, place.edges, place.sha256, cursor)


async def _end(place: ExportPlace, context: Context) -> bytes:
    [state] = await context.graph.rows(CLIENT_STATE, client_id=context.client_id)
    return line(
        EndLine(
            End(
                nodes=place.nodes,
                edges=place.edges,
                sha256=place.sha256,
                changed=state.told != place.state,
            )
        )
    )
