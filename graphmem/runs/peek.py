"""Peeking at a span in a run: free, and therefore at most a preview of its content."""

import asyncio

import msgspec
from msgspec.structs import replace

from graphmem.errors import ContentDamaged, SpanNotFound
from graphmem.graph.driver import Graph
from graphmem.prompts.truncation import truncated
from graphmem.runs.performing import Done
from graphmem.runs.spans import run_spans
from graphmem.runs.types import RunPeek
from graphmem.tokens import TokenCounter

PREVIEW_TOKENS = 100
"""How much of a content is shown for nothing."""


async def peek(
    span_id: str, *, with_content: bool, client_id: str, graph: Graph, tokens: TokenCounter
) -> RunPeek:
    """Return a span, and the first 100 tokens of its content when asked for.

    Raises `SpanNotFound`, for another client's too, and `ContentDamaged`.
    """
    found = (await run_spans([span_id], client_id=client_id, graph=graph)).get(span_id)
    if found is None:
        raise SpanNotFound(span_id)
    if not with_content or not found.text:
        return RunPeek(span=found.shown)
    if not found.sound:
        raise ContentDamaged(span_id)
    cut = await asyncio.to_thread(truncated, found.text, PREVIEW_TOKENS, "end", tokens)
    return RunPeek(span=found.shown, content=cut.content, truncated=cut.truncated)


def done(result: RunPeek) -> Done:
    """Return what is charged and kept of a peek: nothing, and no text."""
    kept = replace(result, content=None)
    looked_at = {"id": result.span.id, "rank": 1, "score": 1.0, "tokens": 0}
    return Done(answer=msgspec.json.encode(kept).decode(), returned=[looked_at])
