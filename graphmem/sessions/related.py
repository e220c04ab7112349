"""Related sessions: by their summaries, by shared rare entities, and by links between their memories."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from graphmem.context import Context
from graphmem.errors import SessionNotFound
from graphmem.graph.query import Query
from graphmem.retrieval.filters import NOW, Validity

MOST_RELATED = 5
"""The most related sessions of one session for each reason."""

Basis = Literal["similarity", "entities", "links"]
"""The reason for a relation: similar summaries, the same rare entities, links between memories."""


class RelatedSession(Struct, frozen=True, kw_only=True):
    """Another session, the session and the reason it is related to, and the strength, 0–1."""

    session_id: str
    """The id that graphmem gave to the session."""
    session_external_id: str
    """The caller's name for the session."""
    conversation_id: str
    started_at: datetime
    summary: str | None
    related_to: str
    """The id of the session that it is related to."""
    basis: Basis
    score: float
    entities: list[str] = []
    """The names that both mention, for the basis `entities`."""
    client_id: str | None = None
    """The client that both belong to; null for the caller's own."""


class RelatedSessions(Struct, frozen=True, kw_only=True):
    """The sessions that one is related to, the strongest first; one may be there for several reasons."""

    session_id: str
    related: list[RelatedSession]


class SessionId(Struct, frozen=True):
    """The id of an existing session."""

    id: str


SESSION_IDS = Query("sessions/session_ids", SessionId)
RELATED_SESSIONS = Query("sessions/related_sessions", RelatedSession)


async def show_related_sessions(session_id: str, context: Context) -> RelatedSessions:
    """Return the sessions that one is related to, the strongest first.

    Raises `SessionNotFound`, `Unavailable`.
    """
    known = await context.graph.rows(
        SESSION_IDS, client_id=context.client_id, session_id=session_id
    )
    if not known:
        raise SessionNotFound(session_id)
    found = await find_related_sessions([session_id], context)
    return RelatedSessions(session_id=session_id, related=found)


async def find_related_sessions(
    session_ids: Sequence[str],
    context: Context,
    *,
    conversation_id: str | None = None,
    validity: Validity = NOW,
) -> list[RelatedSession]:
    """Return the sessions that some are related to, the strongest first, each for each reason.

    With times in `validity` these are the links and the summaries that were valid then.
    """
    return await context.each_of(
        session_ids,
        lambda one, ids: one.graph.rows(
            RELATED_SESSIONS,
            client_id=one.client_id,
            session_ids=ids,
            conversation_ids=[conversation_id] if conversation_id else [],
            most=MOST_RELATED,
            **validity.of_versions,
        ),
    )
