"""The vectors of sessions as a whole: the messages of each are embedded as one text.

The vector of a single short message says little without the messages around it, and a summary says less
than the session's own words. It is stored when a session is summarized; until then it is made when asked for.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from graphmem.context import Context
from graphmem.embedding import Vector
from graphmem.graph.query import Query

TAKES = frozenset({"conversation_id", "since", "until", "newest"})
"""The parameters that select the sessions."""

MOST_WHOLE_SESSIONS = 64
"""The most sessions that are embedded when asked for, the newest; an idle session soon has a summary."""

CHARACTERS = 1_200
"""The most characters of each."""


class SaidInSession(Struct, frozen=True):
    """A session, and the beginnings of its messages."""

    id: str
    said: list[str]


SAID_IN_UNEMBEDDED = Query("sessions/said_in_unembedded", SaidInSession)
SAID_IN_SESSION = Query("sessions/said_in_session", SaidInSession)


async def embed_whole_session(session_id: str, context: Context) -> Vector:
    """Return the vector of a session, that of no text where it has no messages. Raises `Unavailable`."""
    found = await context.graph.rows(
        SAID_IN_SESSION,
        client_id=context.client_id,
        session_id=session_id,
        characters=CHARACTERS,
    )
    [embedding] = await context.embedder.passages([_text(one) for one in found] or [""])
    return embedding.vector


async def embed_whole_sessions(
    chosen: Mapping[str, Any], context: Context, *, seconds: float
) -> list[dict[str, Any]]:
    """Return the id and the vector of each, as parameters of a query. Raises `TookTooLong`, `Unavailable`."""
    found = await context.graph.limited(
        SAID_IN_UNEMBEDDED,
        seconds=seconds,
        most=MOST_WHOLE_SESSIONS,
        client_id=context.client_id,
        limit=MOST_WHOLE_SESSIONS,
        characters=CHARACTERS,
        model=context.embedder.key,
        **{name: chosen[name] for name in TAKES},
    )
    embeddings = await context.embedder.passages([_text(one) for one in found])
    return [
        {"id": one.id, "vector": embedding.vector}
        for one, embedding in zip(found, embeddings, strict=True)
    ]


def _text(session: SaidInSession) -> str:
    return "\n".join(session.said)
