"""References: putting one, and showing a page of them or one."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.errors import ContentChanged, InvalidInput, MemoryNotFound, NotHead
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.memories.chunk import FULL_TEXT, ContentPart, joined
from graphmem.memories.memory import Gone, delete_unmentioned
from graphmem.memories.versions import supersede
from graphmem.memories.write import (
    Draft,
    Prepared,
    find_unwritten,
    prepare,
    prepare_within_limits,
    write,
)
from graphmem.model.annotations import checked_expiry, checked_tags, encoded
from graphmem.model.pages import listing, page
from graphmem.model.times import BEGINNING, after, utc
from graphmem.model.validation import checked_text
from graphmem.references.spans import chunked, hashed, registered
from graphmem.references.types import (
    CONTENT_BYTES,
    DESCRIPTION_BYTES,
    LABEL_BYTES,
    METADATA_BYTES,
    Content,
    NewContent,
    NewReference,
    Reference,
    References,
    ReferencesAsked,
    SpanPointer,
    StoredReference,
    StoredSpan,
)
from graphmem.retrieval.filters import passing


class ReferenceHead(Struct, frozen=True):
    """A reference that receives content, and its newer versions."""

    reference: StoredReference
    superseded_by: list[str]
    newest: list[str]


class PreparedContent(Struct, frozen=True, kw_only=True):
    """A content that is ready to be written."""

    reference: StoredReference
    """The card as it was before the content was embedded."""
    version: Prepared | None
    """The new version, if the reference has another content already."""
    spans: list[Prepared]
    properties: dict[str, Any]
    """The properties of the card that describe the content."""


class Repair(Struct, frozen=True, kw_only=True):
    """An incomplete content, and the spans that complete it."""

    seen: frozenset[str]
    """The ids of its spans as they were read."""
    gone: list[str]
    """The ids of the damaged spans."""
    missing: list[Prepared]
    ids: list[str]
    """The ids of the spans of the complete content, in order."""


REFERENCE_STANDING = Query("references/reference_standing", ReferenceHead)
LOCK_REFERENCE = Query("references/lock_reference", ReferenceHead, writes=True)
KEEP_CONTENT = Query("references/keep_content", RowsWritten, writes=True)
CONTENT_SPANS = Query("references/content_spans", StoredSpan)
LINK_SPANS = Query("references/link_spans", RowsWritten, writes=True)
TAKE_APART = Query("references/take_apart", Gone, writes=True)


async def add_references(new: Sequence[NewReference], context: Context) -> list[Reference]:
    """Write new cards, all or none; return them in order.

    Raises `InvalidInput` that names the field, `TooLarge`, `Unavailable`.
    """
    now = context.now()
    drafts = [
        reference_draft(
            _stored(one, f"[{place}]." if len(new) > 1 else "", context.new_id(), now),
            context.client_id,
        )
        for place, one in enumerate(new)
    ]
    prepared = await prepare_within_limits(drafts, context)

    async def keep(transaction: Transaction) -> None:
        new = await find_unwritten(transaction, prepared, client_id=context.client_id)
        await write(transaction, new, client_id=context.client_id)

    await context.graph.write(keep)
    return [_written(memory).shown for memory in prepared]


async def put_content(reference_id: str, new: NewContent, context: Context) -> Content:
    """Store the content of a reference as spans; a different content makes a new version.

    Repeating the same content changes nothing, except that missing or damaged spans are written again. Raises
    `InvalidInput`, `TooLarge`, `MemoryNotFound`, `NotHead` when the reference has been superseded,
    `ContentChanged` when another content was stored first, `Unavailable`.
    """
    checked_text(new.content, "content", most_bytes=CONTENT_BYTES)
    while True:
        content = await _put_as_read(reference_id, new, context)
        if content is not None:
            return content


async def _put_as_read(reference_id: str, new: NewContent, context: Context) -> Content | None:
    """Store the content of a reference; None if the annotations of its spans were changed meanwhile."""
    client_id, graph = context.client_id, context.graph
    rows = await graph.rows(REFERENCE_STANDING, client_id=client_id, id=reference_id)
    reference = _head(reference_id, rows)
    now = after(reference.created_at, context.now())
    if reference.content_sha256 == hashed(new.content):
        return await _put_again(reference, new.content, now, context)
    put = await _prepare(reference, new.content, now, context)
    return await graph.write(
        lambda transaction: _put(transaction, put, client_id=client_id, now=now)
    )


async def _put_again(
    reference: StoredReference, content: str, now: datetime, context: Context
) -> Content | None:
    """Return the existing content, repaired if it is incomplete; None as `_put_as_read`."""
    client_id, graph = context.client_id, context.graph
    [stored] = await graph.rows(FULL_TEXT, client_id=client_id, id=reference.id)
    if not is_whole(stored.spans, content):
        repair = await _prepare_repair(reference, content, stored.spans, now, context)
        return await graph.write(
            lambda transaction: _repair(
                transaction, reference, content, repair, client_id=client_id
            )
        )
    spans = await graph.rows(CONTENT_SPANS, client_id=client_id, id=reference.id)
    return _answer(reference, spans, changed=False)


def is_whole(parts: Sequence[ContentPart], content: str) -> bool:
    """Tell whether ordered parts are the complete content, each with the right text."""
    return joined(parts) == content.encode() and len(_sound(parts, content)) == len(parts)


def _sound(parts: Sequence[ContentPart], content: str) -> dict[tuple[int, int], str]:
    """Return the ids of the parts whose text matches the content, by their ranges."""
    data = content.encode()
    return {
        (part.start_byte, part.end_byte): part.id
        for part in parts
        if data[part.start_byte : part.end_byte] == part.text.encode()
    }


async def _prepare_repair(
    reference: StoredReference,
    content: str,
    parts: Sequence[ContentPart],
    now: datetime,
    context: Context,
) -> Repair:
    """Embed and count the missing spans of a content."""
    client_id, sound = context.client_id, _sound(parts, content)
    ids: list[str] = []
    drafts: list[Draft] = []
    for piece in chunked(content):
        id = sound.get((piece.start_byte, piece.end_byte))
        if id is None:
            id = context.new_id()
            drafts.append(span_draft(reference, piece.text, piece.start_byte, client_id, id, now))
        ids.append(id)
    return Repair(
        seen=frozenset(part.id for part in parts),
        gone=[part.id for part in parts if part.id not in ids],
        missing=await prepare(drafts, embedder=context.embedder, tokens=context.tokens),
        ids=ids,
    )


async def _repair(
    transaction: Transaction,
    was: StoredReference,
    content: str,
    repair: Repair,
    *,
    client_id: str,
) -> Content | None:
    """Complete a content; None if the annotations were changed meanwhile.

    Raises `MemoryNotFound`, `NotHead`, `ContentChanged`.
    """
    reference_id = was.id
    reference = _head(
        reference_id, await transaction.rows(LOCK_REFERENCE, client_id=client_id, id=reference_id)
    )
    if not _annotated_alike(reference, was):
        return None
    [stored] = await transaction.rows(FULL_TEXT, client_id=client_id, id=reference_id)
    was_whole = is_whole(stored.spans, content)
    if not was_whole:
        if {part.id for part in stored.spans} != repair.seen:
            raise ContentChanged(reference_id)
        [apart] = await transaction.rows(
            TAKE_APART, client_id=client_id, id=reference_id, gone=repair.gone
        )
        await write(transaction, repair.missing, client_id=client_id)
        await _join(transaction, reference_id, repair.ids, client_id=client_id)
        await delete_unmentioned(transaction, apart.entities, client_id=client_id)
    spans = await transaction.rows(CONTENT_SPANS, client_id=client_id, id=reference_id)
    # In another try of this transaction the content may be complete by its own writes.
    mine = {one.draft.id for one in repair.missing}
    changed = not was_whole or not mine.isdisjoint(one.id for one in spans)
    return _answer(reference, spans, changed=changed)


async def _prepare(
    reference: StoredReference, content: str, now: datetime, context: Context
) -> PreparedContent:
    """Cut, embed and count a content, before any transaction."""
    client_id, new_id, tokens = context.client_id, context.new_id, context.tokens
    properties = {
        "content_sha256": hashed(content),
        "content_bytes": len(content.encode()),
        "content_tokens": await asyncio.to_thread(tokens.count, content),
    }
    drafts = [
        span_draft(reference, piece.text, piece.start_byte, client_id, new_id(), now)
        for piece in chunked(content)
    ]
    if reference.content_sha256 is not None:
        version = replace(reference, id=new_id(), occurred_at=now, created_at=now, active=True)
        drafts.append(reference_draft(replace(version, **properties), client_id))
    prepared = await prepare_within_limits(drafts, context)
    new = prepared.pop() if reference.content_sha256 is not None else None
    return PreparedContent(reference=reference, version=new, spans=prepared, properties=properties)


async def _put(
    transaction: Transaction, put: PreparedContent, *, client_id: str, now: datetime
) -> Content | None:
    rows = await transaction.rows(LOCK_REFERENCE, client_id=client_id, id=put.reference.id)
    if (
        rows
        and not rows[0].superseded_by
        and not _annotated_alike(rows[0].reference, put.reference)
    ):
        return None
    if put.version is not None:
        return await _supersede(transaction, rows, put, put.version, client_id=client_id, now=now)
    reference = _head(put.reference.id, rows)
    if reference.content_sha256 is None:
        await transaction.rows(KEEP_CONTENT, client_id=client_id, id=reference.id, **put.properties)
        await write_spans(transaction, reference.id, put.spans, client_id=client_id)
        reference = replace(reference, **put.properties)
        return _answer(reference, [registered(span) for span in put.spans], changed=True)
    if reference.content_sha256 != put.properties["content_sha256"]:
        raise ContentChanged(reference.id)
    # A concurrent caller stored the same content, or this is a second try after a lost answer.
    spans = await transaction.rows(CONTENT_SPANS, client_id=client_id, id=reference.id)
    changed = bool(spans) and spans[0].id == put.spans[0].draft.id
    return _answer(reference, spans, changed=changed)


async def _supersede(
    transaction: Transaction,
    rows: Sequence[ReferenceHead],
    put: PreparedContent,
    version: Prepared,
    *,
    client_id: str,
    now: datetime,
) -> Content:
    """Write a version with its spans."""
    head_id, id = put.reference.id, version.draft.id
    done = bool(rows) and rows[0].superseded_by == [id]
    number = await supersede(transaction, head_id, version, client_id=client_id, now=now)
    if not done:
        await write_spans(transaction, id, put.spans, client_id=client_id)
    reference = replace(_written(version), version=number)
    return _answer(reference, [registered(span) for span in put.spans], changed=True)


async def write_spans(
    transaction: Transaction, reference_id: str, spans: Sequence[Prepared], *, client_id: str
) -> None:
    """Write the spans of a content, joined to their reference and each to the previous span."""
    await write(transaction, spans, client_id=client_id)
    await _join(transaction, reference_id, [span.draft.id for span in spans], client_id=client_id)


async def _join(
    transaction: Transaction, reference_id: str, ids: Sequence[str], *, client_id: str
) -> None:
    """Join spans to their reference, and each to the previous span."""
    links = [
        {"id": id, "previous_id": previous} for id, previous in zip(ids, [None, *ids], strict=False)
    ]
    await transaction.rows(LINK_SPANS, client_id=client_id, id=reference_id, rows=links)


def _annotated_alike(one: StoredReference, other: StoredReference) -> bool:
    return (one.metadata, one.tags, one.expires_at) == (
        other.metadata,
        other.tags,
        other.expires_at,
    )


def _head(reference_id: str, rows: Sequence[ReferenceHead]) -> StoredReference:
    """Return a reference that is the head of its chain. Raises `MemoryNotFound`, `NotHead`."""
    if not rows:
        raise MemoryNotFound(reference_id)
    if rows[0].superseded_by:
        raise NotHead(reference_id, rows[0].newest[0])
    return rows[0].reference


def _answer(reference: StoredReference, spans: Sequence[StoredSpan], *, changed: bool) -> Content:
    assert reference.content_sha256 is not None, "it has a content"
    return Content(
        id=reference.id,
        version=reference.version,
        changed=changed,
        sha256=reference.content_sha256,
        bytes=reference.content_bytes or 0,
        token_count=reference.content_tokens or 0,
        spans=[span.shown for span in spans],
    )


def _written(memory: Prepared) -> StoredReference:
    return msgspec.convert(memory.row["properties"], StoredReference)


def _stored(new: NewReference, place: str, id: str, now: datetime) -> StoredReference:
    """Return a new card in its stored form. Raises `InvalidInput`, `TooLarge`."""
    checked_text(new.target_id, f"{place}target_id", most_bytes=1_024)
    checked_text(new.label, f"{place}label", most_bytes=LABEL_BYTES)
    if new.description is not None:
        checked_text(new.description, f"{place}description", most_bytes=DESCRIPTION_BYTES)
    occurred_at = utc(new.occurred_at, f"{place}occurred_at") if new.occurred_at else now
    pointer = _pointer(new.span_pointer, f"{place}span_pointer.")
    return StoredReference(
        id=id,
        source_type=new.type,
        source_id=new.target_id,
        label=new.label,
        description=new.description,
        importance=new.importance,
        metadata=encoded(new.metadata, f"{place}metadata", most_bytes=METADATA_BYTES),
        tags=checked_tags(new.tags, place),
        expires_at=checked_expiry(new.expires_at, place, now),
        version=1,
        active=True,
        token_count=0,
        embedding_truncated=False,
        occurred_at=occurred_at,
        created_at=now,
        **pointer,
    )


def _pointer(pointer: SpanPointer | None, place: str) -> dict[str, Any]:
    if pointer is None:
        return {}
    checked_text(pointer.span_id, f"{place}span_id", most_bytes=1_024)
    start, end = pointer.start_byte or 0, pointer.end_byte
    if end is not None and end <= start:
        raise InvalidInput(f"{place}end_byte", f"is {end}, not beyond start_byte ({start})")
    return {
        "span_id": pointer.span_id,
        "span_start_byte": pointer.start_byte,
        "span_end_byte": end,
        "span_token_estimate": pointer.token_estimate,
    }


OWN = (
    "label",
    "description",
    "metadata",
    "tags",
    "expires_at",
    "version",
    "span_id",
    "span_start_byte",
    "span_end_byte",
    "span_token_estimate",
    "content_sha256",
    "content_bytes",
    "content_tokens",
)
"""The properties that only references have."""


def reference_draft(reference: StoredReference, client_id: str) -> Draft:
    """Return a card as a memory; memories that mention its label are linked to it."""
    shown = (reference.label, reference.description)
    search_text = "\n".join(text for text in shown if text is not None)
    return Draft(
        id=reference.id,
        client_id=client_id,
        kind="reference",
        text=reference.description if reference.description is not None else reference.label,
        search_text=search_text,
        embedded_text=search_text,
        source_type=reference.source_type,
        source_id=reference.source_id,
        conversation_id=reference.conversation_id,
        importance=reference.importance,
        occurred_at=reference.occurred_at,
        valid_at=reference.occurred_at,
        created_at=reference.created_at,
        names=reference.label,
        own={name: getattr(reference, name) for name in OWN},
    )


def span_draft(
    reference: StoredReference, text: str, start_byte: int, client_id: str, id: str, now: datetime
) -> Draft:
    """Return a piece of a reference's content as a memory."""
    return Draft(
        id=id,
        client_id=client_id,
        kind="span",
        text=text,
        search_text=text,
        embedded_text=text,
        source_type=reference.source_type,
        source_id=reference.source_id,
        conversation_id=reference.conversation_id,
        importance=reference.importance,
        occurred_at=now,
        valid_at=now,
        created_at=now,
        own={
            "start_byte": start_byte,
            "end_byte": start_byte + len(text.encode()),
            "sha256": hashed(text),
            "tags": reference.tags,
            "expires_at": reference.expires_at,
        },
    )


REFERENCES = Query("references/references", StoredReference)
REFERENCE = Query("references/reference", StoredReference)


async def show_references(asked: ReferencesAsked, context: Context) -> References:
    """Return a page of a client's references, newest first, without superseded versions.

    Raises `InvalidInput`, `Unavailable`.
    """
    listed = listing(asked)
    before, before_id = listed.position(asked.cursor)
    rows = await context.graph.rows(
        REFERENCES,
        client_id=context.client_id,
        types=[asked.type] if asked.type else [],
        since=utc(asked.since, "since") if asked.since else BEGINNING,
        tags=passing(asked.tags),
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: listed.cursor(row.occurred_at, row.id))
    return References(references=[row.shown for row in shown], cursor=after)


async def show_reference(reference_id: str, context: Context) -> Reference:
    """Return one version of a reference.

    Raises `MemoryNotFound`, also for a reference of another client, and `Unavailable`.
    """
    rows = await context.graph.rows(REFERENCE, client_id=context.client_id, id=reference_id)
    if not rows:
        raise MemoryNotFound(reference_id)
    return rows[0].shown
