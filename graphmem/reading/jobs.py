"""Looking at a client's background work."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime, timedelta

from graphmem.errors import InvalidInput
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.job import JOB_STATES, Job, Jobs, JobsAsked
from graphmem.model.times import END

JOBS = Query("reading/jobs", Job)


async def jobs(asked: JobsAsked, *, client_id: str, graph: Graph) -> Jobs:
    """Return a client's jobs, newest first; the cursor goes on where they end. Raises `InvalidInput`."""
    before, before_id = _position(asked.cursor) if asked.cursor else (END, "")
    rows = await graph.rows(
        JOBS,
        client_id=client_id,
        states=[asked.state] if asked.state else list(JOB_STATES),
        kinds=[asked.kind] if asked.kind else [],
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown = rows[: asked.limit]
    return Jobs(jobs=shown, cursor=_cursor(shown[-1]) if len(rows) > asked.limit else None)


def _cursor(last: Job) -> str:
    return urlsafe_b64encode(f"{last.created_at.isoformat()} {last.id}".encode()).decode()


def _position(cursor: str) -> tuple[datetime, str]:
    try:
        moment, id = urlsafe_b64decode(cursor.encode()).decode().split(" ", 1)
        created_at = datetime.fromisoformat(moment)
        # Only the offset that this list writes: Neo4j does not know all that Python does.
        if created_at.utcoffset() != timedelta(0):
            raise ValueError(moment)
    except ValueError as problem:
        raise InvalidInput("cursor", "is not one that this list has given") from problem
    return created_at, id
