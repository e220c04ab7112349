"""Spans as a run reads them, with verified texts, and peeking at one.

A summary is a span of all its bytes.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.context import Context
from graphmem.errors import ContentDamaged, SpanNotFound
from graphmem.graph.query import Query
from graphmem.model.vocabulary import SourceType
from graphmem.prompts.truncation import truncated
from graphmem.references.types import Span, StoredSpan
from graphmem.runs import parameters
from graphmem.runs.parameters import check_labels
from graphmem.runs.performing import Done, impatient, new_operation, perform
from graphmem.runs.types import OnAccess, PeekAsked, RunPeek

PREVIEW_TOKENS = 100
"""The length of a preview, which is free, in tokens."""


class RunSpan(Struct, frozen=True, kw_only=True):
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
        """Whether the text has its stored hash; a summary has none."""
        return not self.text or self.sha256 in {None, self._hash}

    @property
    def shown(self) -> Span:
        """The span without its text."""
        properties = asdict(self)
        text = properties.pop("text")
        if self.start_byte is None:
            whole = {"start_byte": 0, "end_byte": len(text.encode()), "sha256": self._hash}
            properties |= whole
        return StoredSpan(**properties, has_content=bool(text)).shown

    @property
    def _hash(self) -> str:
        return sha256(self.text.encode()).hexdigest()


RUN_SPANS = Query("runs/run_spans", RunSpan)


async def peek(
    run_id: str, asked: PeekAsked, context: Context, on_access: OnAccess | None = None
) -> RunPeek:
    """Return a span, and a preview of its content if requested: free of charge.

    Raises `InvalidInput`, `SpanNotFound`, `ContentDamaged`, `RunNotFound`, `RunEnded`, `RunTimeout`,
    `OperationReused`, `Unavailable`.
    """
    check_labels(span_id=asked.span_id, operation_id=asked.operation_id)
    context = impatient(context)
    kept = parameters.of_peek(asked, run_id)
    operation = new_operation(run_id, "peek", kept, context, operation_id=asked.operation_id)

    async def work() -> Done[RunPeek]:
        found = await _preview(asked, context)
        # No text is kept, and nothing is charged.
        answer = msgspec.json.encode(replace(found, content=None)).decode()
        delivered = {"id": found.span.id, "rank": 1, "score": 1.0, "tokens": 0}
        return Done(answer=answer, result=found, returned=[delivered])

    performed = await perform(operation, work, context, on_access)
    found = performed.result
    if found is None:
        found = await _preview(asked, context)
    return replace(found, budget=performed.budget)


async def fetch_spans(ids: Sequence[str], context: Context) -> dict[str, RunSpan]:
    """Return spans and summaries by their ids; unknown ids are absent. Raises `Unavailable`."""
    rows = await context.graph.rows(RUN_SPANS, client_id=context.client_id, ids=list(ids))
    return {row.id: row for row in rows}


async def _preview(asked: PeekAsked, context: Context) -> RunPeek:
    """Return a span, and the first 100 tokens of its content if requested."""
    found = (await fetch_spans([asked.span_id], context)).get(asked.span_id)
    if found is None:
        raise SpanNotFound(asked.span_id)
    if not asked.include_content or not found.text:
        return RunPeek(span=found.shown)
    if not found.sound:
        raise ContentDamaged(asked.span_id)
    cut = await asyncio.to_thread(truncated, found.text, PREVIEW_TOKENS, "end", context.tokens)
    return RunPeek(span=found.shown, content=cut.content, truncated=cut.truncated)
