"""Looking at a context, and composing it into one text (S1)."""

import asyncio
from datetime import datetime

from graphmem.contexts.sections import composed, sections, shown
from graphmem.contexts.types import RetrievalContext, StoredContext
from graphmem.errors import ContextNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.tokens import TokenCounter

CONTEXT = Query("contexts/context", StoredContext)


async def context_by_id(
    context_id: str, *, client_id: str, now: datetime, graph: Graph, tokens: TokenCounter
) -> RetrievalContext:
    """Return a context as it stands. Raises `ContextNotFound`, for an expired or foreign one too."""
    stored = await _stored(context_id, client_id=client_id, now=now, graph=graph)
    return await asyncio.to_thread(shown, stored, tokens)


async def composed_context(
    context_id: str, *, client_id: str, now: datetime, graph: Graph, tokens: TokenCounter
) -> str:
    """Return a context as one text: what has the highest priority first, then as it was added.

    Raises `ContextNotFound`, for an expired or foreign one too.
    """
    stored = await _stored(context_id, client_id=client_id, now=now, graph=graph)
    return composed(sections(stored, tokens))


async def _stored(context_id: str, *, client_id: str, now: datetime, graph: Graph) -> StoredContext:
    rows = await graph.rows(CONTEXT, client_id=client_id, id=context_id, now=now)
    if not rows:
        raise ContextNotFound(context_id)
    return rows[0]
