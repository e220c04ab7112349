"""Background work: the state of jobs."""

from litestar import get
from litestar.di import NamedDependency

from graphmem.context import Context
from graphmem.jobs.outbox import Jobs, JobsAsked, show_jobs
from graphmem_api.problems import failures
from graphmem_api.queries import query


@get(
    "/jobs",
    summary="List background work",
    response_description="A page of jobs",
    tags=["jobs"],
    responses=failures(),
    **query(JobsAsked),
)
async def list_jobs(
    context: NamedDependency[Context],
    asked: NamedDependency[JobsAsked],
) -> Jobs:
    """List the client's background work, newest first; `cursor` is null on the last page.

    A `dead` job was given up after too many attempts; `error` names the class of the last failure.
    """
    return await show_jobs(asked, client_id=context.client_id, graph=context.graph)
