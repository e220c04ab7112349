"""Sessions: their summaries, and the sessions that they are related to."""

from typing import Annotated

from litestar import Router, get, post
from litestar.di import NamedDependency
from litestar.params import PathParameter

from graphmem.context import Context
from graphmem.sessions import related, summarize
from graphmem.sessions.related import RelatedSessions
from graphmem.summaries.types import Summary
from graphmem_api.problems import failures

SessionId = Annotated[
    str, PathParameter(description="the session's own id, as hits and contexts give it")
]


@post(
    "/{session_id:str}/summarize",
    summary="Summarize a session",
    status_code=200,
    response_description="The summary that holds now",
    responses=failures(404),
)
async def summarize_session(session_id: SessionId, context: NamedDependency[Context]) -> Summary:
    """Summarize a session in its own words, or a language model's where one is configured.

    It is the next version of the session's summary, unless it says what that says. The session is linked to
    the client's others that are alike or mention the same rare things. The same happens by itself when a
    session has been idle for half an hour, or has twenty new messages.
    """
    return await summarize.summarize_session(session_id, context)


@get(
    "/{session_id:str}/related",
    summary="List related sessions",
    response_description="The sessions, the strongest first, with why they are related",
    responses=failures(404),
)
async def related_sessions(
    session_id: SessionId, context: NamedDependency[Context]
) -> RelatedSessions:
    """List the sessions that one is related to, at most five for each reason, either way round.

    The reasons: `similarity` of their summaries and `entities` that few sessions mention, as written with
    the summaries; `links` between memories of the two.
    """
    return await related.show_related_sessions(session_id, context)


sessions = Router(
    "/sessions", route_handlers=[summarize_session, related_sessions], tags=["sessions"]
)
