"""Vectors for sessions without a summary: the messages of each are embedded as one text.

The vector of a single short message says little without the messages around it.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from graphmem.context import Context
from graphmem.graph.query import Query

TAKES = frozenset({"conversation_id", "since", "until", "newest"})
"""The parameters that select the sessions."""

MOST_SESSIONS = 64
"""The most sessions that are embedded, the newest; an idle session soon has a summary."""

CHARACTERS = 1_200
"""The most characters of each."""


class UnsummarizedSession(Struct, frozen=True):
    """A session without a summary, and the texts of its messages."""

    id: str
    said: list[str]


SAID_IN_UNSUMMARIZED = Query("sessions/said_in_unsummarized", UnsummarizedSession)


async def embed_whole_sessions(
    chosen: Mapping[str, Any], context: Context, *, seconds: float
) -> list[dict[str, Any]]:
    """Return the id and the vector of each, as parameters of a query. Raises `TookTooLong`, `Unavailable`."""
    found = await context.graph.limited(
        SAID_IN_UNSUMMARIZED,
        seconds=seconds,
        most=MOST_SESSIONS,
        client_id=context.client_id,
        limit=MOST_SESSIONS,
        characters=CHARACTERS,
        **{name: chosen[name] for name in TAKES},
    )
    embeddings = await context.embedder.passages(["\n".join(one.said) for one in found])
    return [
        {"id": one.id, "vector": embedding.vector}
        for one, embedding in zip(found, embeddings, strict=True)
    ]
