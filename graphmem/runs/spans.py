"""Peeking at a span in a run."""

import asyncio

import msgspec
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.errors import ContentDamaged, SpanNotFound
from graphmem.prompts.truncation import truncated
from graphmem.references.spans import fetch_spans
from graphmem.runs import types
from graphmem.runs.performing import Done, impatient, new_operation, perform
from graphmem.runs.types import OnAccess, PeekAsked, RunPeek, check_labels

PREVIEW_TOKENS = 100
"""The length of a preview in tokens; it is free of charge."""


async def peek(
    run_id: str, asked: PeekAsked, context: Context, on_access: OnAccess | None = None
) -> RunPeek:
    """Return a span, and a preview of its content if requested: free of charge.

    Raises `InvalidInput`, `SpanNotFound`, `ContentDamaged`, `RunNotFound`, `RunEnded`, `RunTimeout`,
    `OperationReused`, `Unavailable`.
    """
    check_labels(span_id=asked.span_id, operation_id=asked.operation_id)
    context = impatient(context)
    kept = types.of_peek(asked, run_id)
    operation = new_operation(run_id, "peek", kept, context, operation_id=asked.operation_id)

    async def work() -> Done[RunPeek]:
        found = await _preview(asked, context)
        # No text is stored, and nothing is charged.
        answer = msgspec.json.encode(replace(found, content=None)).decode()
        delivered = {"id": found.span.id, "rank": 1, "score": 1.0, "tokens": 0}
        return Done(answer=answer, result=found, returned=[delivered])

    performed = await perform(operation, work, context, on_access)
    found = performed.result
    if found is None:
        found = await _preview(asked, context)
    return replace(found, budget=performed.budget)


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
