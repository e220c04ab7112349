"""Looking at a client's background work."""

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.jobs.types import JOB_STATES, Job, Jobs, JobsAsked
from graphmem.model.pages import cursor, page, position

JOBS = Query("jobs/jobs", Job)


async def jobs(asked: JobsAsked, *, client_id: str, graph: Graph) -> Jobs:
    """Return a client's jobs, newest first; the cursor goes on where they end. Raises `InvalidInput`."""
    before, before_id = position(asked.cursor)
    rows = await graph.rows(
        JOBS,
        client_id=client_id,
        states=[asked.state] if asked.state else list(JOB_STATES),
        kinds=[asked.kind] if asked.kind else [],
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: cursor(row.created_at, row.id))
    return Jobs(jobs=shown, cursor=after)
