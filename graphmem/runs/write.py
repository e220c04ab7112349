"""What a run leaves for others to find: a reference with its spans, in the transaction that records it."""

import asyncio
import math
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from graphmem.embedding import Embedder
from graphmem.graph.driver import Graph, Transaction
from graphmem.memories.write import Draft, Prepared, prepare, write
from graphmem.model.text import checked_text
from graphmem.references.chunking import chunked
from graphmem.references.put import CONTENT_SPANS, encoded, reference_draft, span_draft, write_spans
from graphmem.references.types import CONTENT_BYTES, StoredReference
from graphmem.runs.performing import Done, Judged
from graphmem.runs.types import NewWrite, WriteResult
from graphmem.spans.register import hashed, registered
from graphmem.tokens import TokenCounter

FOUND_CHARACTERS = 2_000
"""How much of its metadata a span is found by, in characters."""

MOST_TAGS = 100
TAG_CHARACTERS = 256


class Kept(Struct, frozen=True):
    """What a record keeps of a write's answer."""

    id: str


async def prepared(
    new: NewWrite,
    *,
    written_by: str,
    client_id: str,
    now: datetime,
    new_id: Callable[[], str],
    embedder: Embedder,
    tokens: TokenCounter,
) -> tuple[Prepared, list[Prepared]]:
    """Cut, embed and count what is to be written: the reference, then its spans.

    Raises `Unavailable`.
    """
    reference = StoredReference(
        id=f"write-{new_id()}",
        source_type="episode_log",
        source_id="",
        label=f"{new.type} written by {written_by}",
        metadata=_metadata(new),
        importance=_number(new, "importance", 0.5, 0.0, 1.0),
        version=1,
        active=True,
        token_count=0,
        embedding_truncated=False,
        content_sha256=hashed(new.content),
        content_bytes=len(new.content.encode()),
        content_tokens=await asyncio.to_thread(tokens.count, new.content),
        occurred_at=now,
        created_at=now,
    )
    reference = replace(reference, source_id=reference.id)
    drafts = [
        reference_draft(reference, client_id),
        *_spans(new, reference, client_id, now, new_id),
    ]
    first, *spans = await prepare(drafts, embedder=embedder, tokens=tokens)
    return first, spans


def done(reference: Prepared, spans: list[Prepared], *, client_id: str) -> Done:
    """Return what is still to be written, and what is kept of the answer."""

    async def effect(transaction: Transaction, _judged: Judged) -> None:
        await write(transaction, [reference], client_id=client_id)
        await write_spans(transaction, reference.draft.id, spans, client_id=client_id)

    id = reference.draft.id
    return Done(answer=msgspec.json.encode(Kept(id)).decode(), wrote=[id], effect=effect)


def result(reference: Prepared, spans: list[Prepared]) -> WriteResult:
    """Return what was written."""
    return WriteResult(id=reference.draft.id, spans=[registered(span).shown for span in spans])


async def again(answer: str, *, client_id: str, graph: Graph) -> WriteResult:
    """Return what was written before."""
    id = msgspec.json.decode(answer, type=Kept).id
    spans = await graph.rows(CONTENT_SPANS, client_id=client_id, id=id)
    return WriteResult(id=id, spans=[span.shown for span in spans])


def checked(new: NewWrite) -> NewWrite:
    """Return what may be written. Raises `InvalidInput` that names the field, `TooLarge`."""
    checked_text(new.content, "content", most_bytes=CONTENT_BYTES)
    _metadata(new)
    return new


def _spans(
    new: NewWrite,
    reference: StoredReference,
    client_id: str,
    now: datetime,
    new_id: Callable[[], str],
) -> Iterator[Draft]:
    """Yield a content's spans; they are found by the words of the metadata too."""
    source = replace(
        reference, source_type="thread_summary" if new.type == "summary" else "episode_log"
    )
    words = "\n".join(_words(new.metadata))[:FOUND_CHARACTERS]
    own = {
        "metadata": reference.metadata,
        "tags": _tags(new) or None,
        "recency": _number(new, "recency", None, -1e15, 1e15),
    }
    for piece in chunked(new.content):
        draft = span_draft(source, piece.text, piece.start_byte, client_id, new_id(), now)
        search_text = f"{piece.text}\n{words}" if words else piece.text
        yield replace(draft, search_text=search_text, own=draft.own | own)


def _metadata(new: NewWrite) -> str | None:
    return encoded(new.metadata, "metadata") if isinstance(new.metadata, dict) else None


def _words(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value, but not its keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _words(one)
    elif isinstance(value, list):
        for one in value:
            yield from _words(one)


def _tags(new: NewWrite) -> list[str]:
    """Return the metadata's tags, where they are what a span's tags may be."""
    given = new.metadata.get("tags") if isinstance(new.metadata, dict) else None
    if not isinstance(given, list) or len(given) > MOST_TAGS:
        return []
    fit = [tag for tag in given if isinstance(tag, str) and 0 < len(tag) <= TAG_CHARACTERS]
    return fit if len(fit) == len(given) else []


def _number(new: NewWrite, name: str, otherwise: Any, least: float, most: float) -> Any:
    """Return a number of the metadata, where it is what a span's may be."""
    given = new.metadata.get(name) if isinstance(new.metadata, dict) else None
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        return otherwise
    return float(given) if least <= given <= most else otherwise
