"""Background work: how far it is."""

from typing import Annotated

from litestar import get
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from graphmem.jobs.types import Jobs, JobsAsked, JobState
from graphmem.service import Graphmem
from graphmem_api.problems import failures
from graphmem_api.queries import strictly


@get(
    "/jobs",
    summary="List background work",
    response_description="Some jobs, and where the list goes on",
    tags=["jobs"],
    responses=failures(),
    before_request=strictly(JobsAsked),
)
async def list_jobs(
    memory: NamedDependency[Graphmem],
    # `state` alone is a word of Litestar's.
    in_state: Annotated[
        JobState | None, QueryParameter(name="state", description="in this state only")
    ] = None,
    kind: Annotated[
        str | None, QueryParameter(description="of this kind only", min_length=1, max_length=128)
    ] = None,
    limit: Annotated[int, QueryParameter(description="at most so many", ge=1, le=200)] = 50,
    cursor: Annotated[
        str | None, QueryParameter(description="the `cursor` of the page before this one")
    ] = None,
) -> Jobs:
    """List the client's background work, newest first; `cursor` is null where it ends.

    `dead` was given up after too many attempts; `error` names the class of the last failure.
    """
    return await memory.jobs(state=in_state, kind=kind, limit=limit, cursor=cursor)
