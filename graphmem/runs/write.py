"""Writing in a run: a reference with its spans for other agents, in the transaction that records it."""

import asyncio
import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.graph.driver import Transaction
from graphmem.memories.write import Draft, Prepared, prepare_within_limits, write as write_memories
from graphmem.model.annotations import encoded
from graphmem.model.validation import checked_text
from graphmem.references.reference import CONTENT_SPANS, reference_draft, span_draft, write_spans
from graphmem.references.spans import chunked, hashed, registered
from graphmem.references.types import CONTENT_BYTES, METADATA_BYTES, StoredReference
from graphmem.runs import types
from graphmem.runs.performing import Done, Reservation, impatient, new_operation, perform
from graphmem.runs.stored import fetch_run
from graphmem.runs.types import LeftOutSpan, NewWrite, OnAccess, WriteResult, check_labels

FOUND_CHARACTERS = 2_000
"""The characters of the metadata by which a span is found."""

MOST_TAGS = 100
TAG_CHARACTERS = 256


class KeptSpan(Struct, frozen=True, array_like=True):
    """A written span in a record."""

    id: str
    tokens: int


class KeptWrite(Struct, frozen=True):
    """The stored part of a write's result."""

    id: str
    spans: list[KeptSpan] = []


async def write(
    run_id: str, new: NewWrite, context: Context, on_access: OnAccess | None = None
) -> WriteResult:
    """Write a text that every agent of the client finds at once.

    Raises `InvalidInput`, `TooLarge`, `RunNotFound`, `RunEnded`, `RunTimeout`, `OperationReused`,
    `Unavailable`.
    """
    _check(new)
    now, patient, context = context.now(), context, impatient(context)
    kept = types.of_write(new, run_id)
    operation = new_operation(run_id, "write", kept, context, operation_id=new.operation_id)

    async def work() -> Done[WriteResult]:
        run = await fetch_run(run_id, client_id=context.client_id, now=now, graph=context.graph)
        reference, spans = await _prepare(new, run.agent_type, now, context)
        return _done(reference, spans, context.client_id)

    performed = await perform(operation, work, context, on_access)
    result = performed.result
    if result is None:
        result = await _fetch_result(performed.answer, patient)
    return replace(result, budget=performed.budget)


def _check(new: NewWrite) -> None:
    """Raise `InvalidInput` that names the field, or `TooLarge`."""
    checked_text(new.content, "content", most_bytes=CONTENT_BYTES)
    _metadata(new)
    check_labels(operation_id=new.operation_id)


async def _prepare(
    new: NewWrite, agent_type: str, now: datetime, context: Context
) -> tuple[Prepared, list[Prepared]]:
    """Return the reference and its spans, embedded and counted."""
    tokens = context.tokens
    reference = StoredReference(
        id=f"write-{context.new_id()}",
        source_type="episode_log",
        source_id="",
        label=f"{new.type} written by {agent_type}",
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
        reference_draft(reference, context.client_id),
        *_spans(new, reference, now, context),
    ]
    first, *spans = await prepare_within_limits(drafts, context)
    return first, spans


def _done(reference: Prepared, spans: list[Prepared], client_id: str) -> Done[WriteResult]:
    id = reference.draft.id

    async def write_both(transaction: Transaction, _: Reservation) -> WriteResult:
        await write_memories(transaction, [reference], client_id=client_id)
        await write_spans(transaction, id, spans, client_id=client_id)
        return WriteResult(id=id, spans=written)

    written = [registered(span).shown for span in spans]
    kept = KeptWrite(id, [KeptSpan(span.id, span.token_count) for span in written])
    answer = msgspec.json.encode(kept).decode()
    return Done(answer=answer, wrote=[id], effect=write_both)


async def _fetch_result(answer: str, context: Context) -> WriteResult:
    """Return the result of a write that was performed before, with the spans that are there still."""
    kept = msgspec.json.decode(answer, type=KeptWrite)
    spans = await context.graph.rows(CONTENT_SPANS, client_id=context.client_id, id=kept.id)
    there = {span.id for span in spans}
    return WriteResult(
        id=kept.id,
        spans=[span.shown for span in spans],
        omitted=[
            LeftOutSpan(span_id=one.id, token_count=one.tokens, reason="deleted")
            for one in kept.spans
            if one.id not in there
        ],
    )


def _spans(
    new: NewWrite, reference: StoredReference, now: datetime, context: Context
) -> Iterator[Draft]:
    """Yield the spans of a content, which are also found by the words of its metadata."""
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
        draft = span_draft(
            source, piece.text, piece.start_byte, context.client_id, context.new_id(), now
        )
        search_text = f"{piece.text}\n{words}" if words else piece.text
        yield replace(draft, search_text=search_text, own=draft.own | own)


def _metadata(new: NewWrite) -> str | None:
    return (
        encoded(new.metadata, "metadata", most_bytes=METADATA_BYTES)
        if isinstance(new.metadata, dict)
        else None
    )


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
    """Return the tags in the metadata, or none if they are not valid tags of a span."""
    given = new.metadata.get("tags") if isinstance(new.metadata, dict) else None
    if not isinstance(given, list) or len(given) > MOST_TAGS:
        return []
    fit = [tag for tag in given if isinstance(tag, str) and 0 < len(tag) <= TAG_CHARACTERS]
    return fit if len(fit) == len(given) else []


def _number(new: NewWrite, name: str, otherwise: Any, least: float, most: float) -> Any:
    """Return a number in the metadata, or `otherwise` if a span cannot have it."""
    given = new.metadata.get(name) if isinstance(new.metadata, dict) else None
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        return otherwise
    return float(given) if least <= given <= most else otherwise
