"""Sessions that have to do with each other: what was written of them, and what their memories say."""

from collections.abc import Sequence

from msgspec import Struct

from graphmem.errors import SessionNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.retrieval.holding import NOW_ONLY, Holding
from graphmem.sessions.types import RelatedSession, RelatedSessions

MOST_RELATED = 5
"""How many sessions one shows for each reason."""


class SessionId(Struct, frozen=True):
    """The id of a session that is there."""

    id: str


SESSION_IDS = Query("sessions/session_ids", SessionId)
RELATED_SESSIONS = Query("sessions/related_sessions", RelatedSession)


async def related_sessions(session_id: str, *, client_id: str, graph: Graph) -> RelatedSessions:
    """Return the sessions that one is related to, the strongest first. Raises `SessionNotFound`."""
    if not await graph.rows(SESSION_IDS, client_id=client_id, session_id=session_id):
        raise SessionNotFound(session_id)
    found = await related([session_id], client_id=client_id, graph=graph)
    return RelatedSessions(session_id=session_id, related=found)


async def related(
    session_ids: Sequence[str],
    *,
    client_id: str,
    conversation_id: str | None = None,
    holding: Holding = NOW_ONLY,
    graph: Graph,
) -> list[RelatedSession]:
    """Return the sessions that some are related to, the strongest first, each for each reason.

    At other times than now with the links and the summaries of then.
    """
    return await graph.rows(
        RELATED_SESSIONS,
        client_id=client_id,
        session_ids=list(session_ids),
        conversation_ids=[conversation_id] if conversation_id else [],
        most=MOST_RELATED,
        **holding.of_versions,
    )
