"""Peeking: what a memory is, without its content and free of any budget (S1)."""

import asyncio

from msgspec import Struct

from graphmem.errors import MemoryNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.memories.cards import Stored, card_of, stored_cards
from graphmem.memories.chunk import PeekResult

RELATED = 500
"""How many linked memories a peek names."""


class Related(Struct, frozen=True):
    """A memory that is linked to another."""

    id: str


RELATED_IDS = Query("memories/related_ids", Related)


async def peek(memory_id: str, *, client_id: str, graph: Graph) -> PeekResult:
    """Return what a memory is and what it leads to. Raises `MemoryNotFound`, for another's too."""
    found, related = await asyncio.gather(
        stored_cards([memory_id], client_id=client_id, graph=graph),
        graph.rows(RELATED_IDS, client_id=client_id, id=memory_id, limit=RELATED),
    )
    if not found:
        raise MemoryNotFound(memory_id)
    card = card_of(found[0])
    spans = found[0].content_span_ids or []
    return PeekResult(
        id=card.id,
        kind=card.kind,
        source_type=card.source_type,
        source_id=card.source_id,
        label=card.label,
        description=card.description,
        metadata=card.metadata | _counts(found[0]),
        related_ids=list(dict.fromkeys([*spans, *(one.id for one in related)])),
        token_estimate=card.token_estimate,
        location=card.location,
    )


def _counts(stored: Stored) -> dict[str, int | None]:
    """Return what only a thread's peek shows (S1.50)."""
    if stored.source_type != "thread_summary":
        return {}
    return {
        "participant_count": stored.participant_count,
        "message_count": stored.message_count,
    }
