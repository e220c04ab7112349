"""Summaries: versioned digests of threads, plans and sessions."""

from typing import Annotated

from litestar import Router, get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg, PathParameter

from graphmem.context import Context
from graphmem.summaries import summary
from graphmem.summaries.types import (
    NewPlanSummary,
    NewSessionSummary,
    NewThreadSummary,
    Summaries,
    SummariesAsked,
    Summary,
)
from graphmem_api.problems import failures
from graphmem_api.queries import query

THREAD = Example(
    summary="What a thread is about",
    value={
        "type": "thread",
        "target_id": "thread-1",
        "platform": "instagram",
        "participant_count": 2,
        "message_count": 10,
        "key_points": ["User asked about pricing", "Interested in premium plan"],
        "sentiment": "positive",
        "last_activity_at": "2026-03-02T09:30:00Z",
    },
)
PLAN = Example(
    summary="How far a plan is",
    value={
        "type": "plan",
        "target_id": "plan-1",
        "plan_type": "content_calendar",
        "total_nodes": 10,
        "completed_nodes": 5,
        "pending_nodes": 5,
        "failed_nodes": 0,
        "key_milestones": ["Week 1 complete"],
        "current_phase": "execution",
    },
)
SESSION = Example(
    summary="The summary of a session",
    value={
        "type": "session",
        "target_id": "0d1f6a52-5d0e-4c63-8f5e-1c2b7a0f6d11",
        "text": "Mara found that the clock of the token server ran 47 seconds fast.",
        "key_points": ["The clock of the token server is off"],
        "topics": ["login", "clocks"],
    },
)


@post(
    "/",
    summary="Write a summary",
    response_description="The summary is stored and searchable",
    responses=failures(413, 415),
)
async def add_summary(
    data: Annotated[
        NewThreadSummary | NewPlanSummary | NewSessionSummary,
        BodyKwarg(examples=[THREAD, PLAN, SESSION]),
    ],
    context: NamedDependency[Context],
) -> Summary:
    """Write the summary of a thread, a plan or a session, according to `type`.

    Another one of the same type and target is the next version, and the old one is no longer found. A target
    that is a session of the client, by its own id, is linked to the summary. No automatic summary follows a
    `session` summary before the session has new messages.
    """
    return await summary.add_summary(data, context)


@get(
    "/",
    summary="List summaries",
    response_description="A page of summaries",
    responses=failures(),
    **query(SummariesAsked),
)
async def list_summaries(
    context: NamedDependency[Context],
    asked: NamedDependency[SummariesAsked],
) -> Summaries:
    """List the client's summaries, newest activity first, without superseded versions."""
    return await summary.show_summaries(asked, context)


@get(
    "/{summary_id:str}",
    summary="Show a summary",
    response_description="The version with this id",
    responses=failures(404),
)
async def show_summary(
    summary_id: Annotated[str, PathParameter(description="the summary's id: that of one version")],
    context: NamedDependency[Context],
) -> Summary:
    """Show one version of a summary; `active` is false once it has been superseded."""
    return await summary.show_summary(summary_id, context)


summaries = Router(
    "/summaries", route_handlers=[add_summary, list_summaries, show_summary], tags=["summaries"]
)
