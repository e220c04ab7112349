"""Sessions: their summaries, and the sessions that they are related to."""

from typing import Annotated

from litestar import Router, get, post
from litestar.di import NamedDependency
from litestar.params import PathParameter

from graphmem.context import Context
from graphmem.sessions import related, summarize
from graphmem.sessions.related import RelatedSessions
from graphmem.summaries.types import Summary
from graphmem_api.admission import LONG_WORK
from graphmem_api.problems import failures

SessionId = Annotated[
    str, PathParameter(description="the session's own id, as in hits and contexts")
]


@post(
    "/{session_id:str}/summarize",
    opt=LONG_WORK,
    summary="Summarize a session",
    status_code=200,
    response_description="The current summary",
    responses=failures(404),
)
async def summarize_session(session_id: SessionId, context: NamedDependency[Context]) -> Summary:
    """Summarize a session in its own sentences, or with the language model if one is configured.

    The result is the next version of the session's summary, unless nothing has changed. The session is linked
    to the client's sessions that are similar or mention the same rare names. Background work does the same
    when a session has been idle for half an hour, or has twenty new messages, unless `POST /summaries` gave
    it a summary since.
    """
    return await summarize.summarize_session(session_id, context)


@get(
    "/{session_id:str}/related",
    summary="List related sessions",
    response_description="The sessions, strongest relation first, with the reasons",
    responses=failures(404),
)
async def related_sessions(
    session_id: SessionId, context: NamedDependency[Context]
) -> RelatedSessions:
    """List the sessions related to a session in either direction, at most five for each reason.

    The reasons: `similarity` of their summaries and `entities` that few sessions mention, both stored with
    the summaries; `links` between their memories.
    """
    return await related.show_related_sessions(session_id, context)


sessions = Router(
    "/sessions", route_handlers=[summarize_session, related_sessions], tags=["sessions"]
)
