"""A client's background jobs, and the number of jobs in each state."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.pages import GivenCursor, PageSize, listing, page

JobState = Literal["queued", "running", "done", "dead"]
JOB_STATES: tuple[JobState, ...] = ("queued", "running", "done", "dead")

OPEN: tuple[JobState, ...] = ("queued", "running", "dead")
"""The states that an operator watches; finished jobs are no load."""


class Job(Struct, frozen=True, kw_only=True):
    """One piece of background work; `dead` was given up, `error` names the class of the last failure."""

    id: str
    kind: str
    key: str
    state: JobState
    attempts: int
    run_at: datetime
    created_at: datetime
    finished_at: datetime | None = None
    error: str | None = None


class JobsAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The filters and the page of a list of jobs."""

    state: Annotated[JobState, Meta(description="only jobs in this state")] | None = None
    kind: (
        Annotated[
            Annotated[str, Meta(min_length=1, max_length=128)],
            Meta(description="only jobs of this kind"),
        ]
        | None
    ) = None
    limit: PageSize = 50
    cursor: GivenCursor | None = None


class Jobs(Struct, frozen=True, kw_only=True):
    """A page of jobs, newest first, and the cursor of the next page."""

    jobs: list[Job]
    cursor: str | None


class JobCount(Struct, frozen=True):
    """The number of jobs in one state."""

    state: JobState
    jobs: int


JOBS = Query("jobs/jobs", Job)
JOBS_BY_STATE = Query("jobs/jobs_by_state", JobCount)


async def show_jobs(asked: JobsAsked, *, client_id: str, graph: Graph) -> Jobs:
    """Return a client's jobs, newest first, one page at a time.

    Raises `InvalidInput` for a foreign cursor, `Unavailable`.
    """
    listed = listing(asked)
    before, before_id = listed.position(asked.cursor)
    rows = await graph.rows(
        JOBS,
        client_id=client_id,
        states=[asked.state] if asked.state else list(JOB_STATES),
        kinds=[asked.kind] if asked.kind else [],
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: listed.cursor(row.created_at, row.id))
    return Jobs(jobs=shown, cursor=after)


async def count_open_jobs(graph: Graph) -> list[JobCount]:
    """Return the number of jobs, of all clients, in each open state."""
    return await graph.rows(JOBS_BY_STATE, states=list(OPEN))
