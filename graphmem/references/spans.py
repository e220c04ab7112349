"""Spans: cutting the content of a source into overlapping pieces, and keeping them."""

import math
import re
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from graphmem.clients import Written
from graphmem.context import Context
from graphmem.errors import ContentDamaged, IdTaken, InvalidInput, SpanNotFound
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query
from graphmem.memories.memory import delete_unmentioned, refuse_on_hold
from graphmem.memories.write import Draft, Prepared, prepare, write
from graphmem.model.times import END, utc
from graphmem.model.validation import checked_text
from graphmem.model.vocabulary import SourceType
from graphmem.references.types import (
    SPAN_BYTES,
    NewSpan,
    NewSpanMetadata,
    Span,
    SpanContent,
    StoredSpan,
)
from graphmem.text.segmenting import sentence_ends

BYTES_A_TOKEN = 4
"""The approximate bytes of a token in English prose; used only for spans without content."""


class SetAside(Struct, frozen=True):
    """A memory that had the id of a new span, and has a temporary id for the moment."""

    id: str
    aside: str
    kind: str
    of_reference: bool
    bytes: int
    """The length of its text in UTF-8."""


class ReplacedSpan(Struct, frozen=True):
    """What was lost with a span that another one has replaced, and the entities that it mentioned."""

    text_lost: bool
    """Whether the old span had a text that the new one has not."""
    entities: list[str]


class FullSpan(Struct, frozen=True, kw_only=True):
    """A span or a summary with its text; one without content has an empty text."""

    id: str
    source_type: SourceType
    source_id: str
    start_byte: int | None = None
    end_byte: int | None = None
    sha256: str | None = None
    token_count: int
    token_estimate: int | None = None
    importance: float
    recency: float | None = None
    tags: list[str] | None = None
    metadata: str | None = None
    embedding_truncated: bool
    text: str
    occurred_at: datetime
    created_at: datetime

    @property
    def sound(self) -> bool:
        """Whether the text matches its stored hash; a summary has none."""
        return not self.text or self.sha256 in {None, hashed(self.text)}

    @property
    def shown(self) -> Span:
        """The span without its text."""
        properties = asdict(self)
        text = properties.pop("text")
        if self.start_byte is None:
            whole = {"start_byte": 0, "end_byte": len(text.encode()), "sha256": hashed(self.text)}
            properties |= whole
        return StoredSpan(**properties, has_content=bool(text)).shown


SET_ASIDE = Query("references/set_aside", SetAside, writes=True)
REPLACE_SPAN = Query("references/replace_span", ReplacedSpan, writes=True)
FULL_SPANS = Query("references/full_spans", FullSpan)


async def register_spans(new: Sequence[NewSpan], context: Context) -> list[Span]:
    """Register spans, all or none, and return them in order; a known id replaces that span.

    Edges of other memories and contexts to a replaced span lead to the new one. Raises `InvalidInput`
    that names the field, `IdTaken`, `LegalHold` if another text would be replaced, `Unavailable`.
    """
    now = context.now()
    drafts = [
        _draft(span, _place(new, place), context.client_id, span.id or context.new_id(), now)
        for place, span in enumerate(new)
    ]
    _check_once([draft.id for draft in drafts])
    prepared = await prepare(drafts, embedder=context.embedder, tokens=context.tokens)
    asides = [{"id": draft.id, "aside": context.new_id()} for draft in drafts]
    await context.graph.write(
        lambda transaction: _register(transaction, prepared, asides, client_id=context.client_id)
    )
    return [registered(memory).shown for memory in prepared]


async def show_span(span_id: str, context: Context) -> Span:
    """Return a span without its text; a summary is a span of all its bytes.

    Raises `SpanNotFound`, also for a span of another client, and `Unavailable`.
    """
    return (await _fetch_span(span_id, context)).shown


async def show_span_content(span_id: str, context: Context) -> SpanContent:
    """Return the text of a span, None if it has none.

    Raises `SpanNotFound`, also for a span of another client; `ContentDamaged` when the SHA-256 of the text
    differs from the stored one; `Unavailable`.
    """
    found = await _fetch_span(span_id, context)
    if not found.sound:
        raise ContentDamaged(span_id)
    shown = found.shown
    return SpanContent(
        id=span_id,
        content=found.text or None,
        hash=shown.hash,
        token_count=shown.token_count,
    )


async def _fetch_span(span_id: str, context: Context) -> FullSpan:
    found = (await fetch_spans([span_id], context)).get(span_id)
    if found is None:
        raise SpanNotFound(span_id)
    return found


async def fetch_spans(ids: Sequence[str], context: Context) -> dict[str, FullSpan]:
    """Return spans and summaries by their ids; unknown ids are absent. Raises `Unavailable`."""
    rows = await context.graph.rows(FULL_SPANS, client_id=context.client_id, ids=list(ids))
    return {row.id: row for row in rows}


def registered(memory: Prepared) -> StoredSpan:
    """Return a prepared span in its stored form."""
    properties = memory.row["properties"]
    return msgspec.convert(properties | {"has_content": bool(memory.draft.text)}, StoredSpan)


def hashed(content: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hexadecimal."""
    return sha256(content.encode()).hexdigest()


async def _register(
    transaction: Transaction,
    spans: Sequence[Prepared],
    asides: Sequence[dict[str, str]],
    *,
    client_id: str,
) -> None:
    old = await transaction.rows(SET_ASIDE, client_id=client_id, rows=asides)
    for one in old:
        if one.kind != "span" or one.of_reference:
            raise IdTaken(one.id, "a reference's content" if one.of_reference else _a(one.kind))
    gone = Written(memories=len(old), bytes=sum(one.bytes for one in old), tokens=0)
    await write(transaction, spans, client_id=client_id, gone=gone)
    entities: set[str] = set()
    text_lost = False
    for one in old:
        [replaced] = await transaction.rows(
            REPLACE_SPAN, client_id=client_id, id=one.id, aside=one.aside
        )
        entities.update(replaced.entities)
        text_lost |= replaced.text_lost
    if text_lost:
        await refuse_on_hold(transaction, client_id)
    await delete_unmentioned(transaction, entities, client_id=client_id)


def _place(spans: Sequence[NewSpan], place: int) -> str:
    return f"[{place}]." if len(spans) > 1 else ""


def _a(kind: str) -> str:
    return f"an {kind}" if kind == "episode" else f"a {kind}"


def _check_once(ids: Sequence[str]) -> None:
    for place, id in enumerate(ids):
        if id in ids[:place]:
            raise InvalidInput(f"[{place}].id", f"{id!r} is given twice; send each span once")


def _draft(new: NewSpan, place: str, client_id: str, id: str, now: datetime) -> Draft:
    """Return a span as a memory; one without content is never valid, so that no search finds it."""
    metadata = new.metadata or NewSpanMetadata()
    text = new.content if new.content is not None else ""
    _check(new, metadata, place)
    occurred_at = utc(new.occurred_at, f"{place}occurred_at") if new.occurred_at else now
    return Draft(
        id=id,
        client_id=client_id,
        kind="span",
        text=text,
        search_text="\n".join((text, *metadata.tags)) if text else "",
        embedded_text=text,
        source_type=new.source_type,
        source_id=new.source_id,
        importance=metadata.importance,
        occurred_at=occurred_at,
        valid_at=occurred_at if text else END,
        active=bool(text),
        created_at=now,
        own={
            "start_byte": new.start_byte,
            "end_byte": new.end_byte,
            "sha256": hashed(text) if text else new.hash,
            "token_estimate": None if text else new.token_count or _estimate(new),
            "recency": metadata.recency,
            "tags": metadata.tags or None,
        },
    )


def _estimate(new: NewSpan) -> int:
    """Return the tokens of a span, estimated from its length, for one without content and count."""
    return math.ceil((new.end_byte - new.start_byte) / BYTES_A_TOKEN)


def _check(new: NewSpan, metadata: NewSpanMetadata, place: str) -> None:
    """Raise `InvalidInput` for an impossible range, and a range or a hash that differs from the content's."""
    checked_text(new.source_id, f"{place}source_id", most_bytes=1_024)
    for number, tag in enumerate(metadata.tags):
        checked_text(tag, f"{place}metadata.tags[{number}]", most_bytes=1_024)
    if new.hash is not None:
        checked_text(new.hash, f"{place}hash", most_bytes=512)
    if new.end_byte <= new.start_byte:
        raise InvalidInput(
            f"{place}end_byte", f"is {new.end_byte}, not beyond start_byte ({new.start_byte})"
        )
    if new.content is None:
        return
    checked_text(new.content, f"{place}content", most_bytes=SPAN_BYTES)
    length = len(new.content.encode())
    if new.end_byte - new.start_byte != length:
        raise InvalidInput(
            f"{place}end_byte",
            f"the range {new.start_byte}–{new.end_byte} holds {new.end_byte - new.start_byte:,} bytes, "
            f"but the content has {length:,} bytes of UTF-8",
        )
    if new.hash is not None and new.hash.lower() != hashed(new.content):
        raise InvalidInput(
            f"{place}hash",
            "is not the content's SHA-256 in hexadecimal; correct it, or leave it out",
        )


PIECE_BYTES = 1_000
OVERLAP_BYTES = 100

_LINE_END = re.compile(r"\n")
_WORD_END = re.compile(r"(?<=\S)(?=\s)")
_WORD_START = re.compile(r"(?<=\s)(?=\S)")


class Piece(Struct, frozen=True):
    """A part of a text, and its range of UTF-8 bytes: from `start_byte` up to `end_byte`, exclusive."""

    text: str
    start_byte: int
    end_byte: int


def chunked(text: str) -> list[Piece]:
    """Return the pieces of a text in order; they cover the whole text, each at most 1,000 bytes.

    A piece ends at the last sentence end of its last third, else at a word end, else at a character. It
    begins at a word of the previous piece, at most 100 bytes back, so that both pieces keep some context. An
    empty text has no pieces. Sizes are in bytes of UTF-8.
    """
    data = text.encode()
    found: list[Piece] = []
    start = end = 0
    while end < len(data):
        end = _end(data, start)
        found.append(Piece(data[start:end].decode(), start, end))
        start = _start(data, end)
    return found


def _end(data: bytes, start: int) -> int:
    """Return the end of the piece that begins at `start`."""
    if len(data) - start <= PIECE_BYTES:
        return len(data)
    most = _boundary(data, start + PIECE_BYTES, -1)
    # Not before the last third: a piece is always longer than the overlap, which guarantees progress.
    least = _boundary(data, start + PIECE_BYTES * 2 // 3, 1)
    # One character beyond the limit shows whether a word or a sentence ends at the limit.
    seen = data[least : _boundary(data, most + 1, 1)].decode()
    for places in (_sentence_ends(seen), _ends(_WORD_END, seen)):
        ends = [least + len(seen[:place].encode()) for place in sorted(places)]
        if fitting := [end for end in ends if least < end <= most]:
            return fitting[-1]
    return most


def _sentence_ends(text: str) -> list[int]:
    """Return the positions after the sentences and lines of a text."""
    return [*sentence_ends(text), *_ends(_LINE_END, text)]


def _ends(pattern: re.Pattern[str], text: str) -> list[int]:
    return [match.end() for match in pattern.finditer(text)]


def _start(data: bytes, end: int) -> int:
    """Return the start of the piece that follows a piece with this end."""
    least = _boundary(data, max(end - OVERLAP_BYTES, 0), 1)
    seen = data[least:end].decode()
    word = _WORD_START.search(seen)
    return least + len(seen[: word.start()].encode()) if word else least


def _boundary(data: bytes, place: int, step: int) -> int:
    """Return the nearest character boundary at or beyond `place`, in the direction of `step`."""
    while 0 < place < len(data) and data[place] & 0xC0 == 0x80:
        place += step
    return place
