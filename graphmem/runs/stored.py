"""A run in its stored form, and in its form for callers."""

from datetime import datetime

from msgspec import Struct

from graphmem.errors import RunNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.runs import budget
from graphmem.runs.budget import Usage
from graphmem.runs.types import RetrievalBudget, Run, RunOutcome, RunStatus


class StoredRun(Struct, frozen=True, kw_only=True):
    """A run in the database, with the tokens that it holds and the usage of the runs below it."""

    id: str
    client_id: str
    agent_type: str
    episode_id: str
    parent_id: str | None
    depth: int
    status: RunStatus
    outcome: RunOutcome | None
    started_at: datetime
    deadline: datetime
    ended_at: datetime | None
    max_tokens: int
    max_time_ms: int
    max_retries: int
    spent: int
    given: int
    retries: int
    retries_given: int
    retrievals: int
    writes: int
    holds: list[int]
    below: list[Usage]

    @property
    def remaining(self) -> int:
        """The tokens that are neither spent nor held nor given to a child."""
        return self.max_tokens - self.spent - sum(self.holds) - self.given

    @property
    def remaining_retries(self) -> int:
        """The retries that are neither used nor given to a child."""
        return self.max_retries - self.retries - self.retries_given

    def is_overdue(self, now: datetime) -> bool:
        """Tell whether the run is past its deadline and not ended yet."""
        return self.status == "active" and self.deadline <= now


RUN = Query("runs/run", StoredRun)
RUNS = Query("runs/runs", StoredRun)


async def fetch_run(run_id: str, *, client_id: str, now: datetime, graph: Graph) -> StoredRun:
    """Return a run. Raises `RunNotFound`, also for a run of another client."""
    rows = await graph.rows(RUN, client_id=client_id, id=run_id, now=now)
    if not rows:
        raise RunNotFound(run_id)
    return rows[0]


def shown(run: StoredRun, now: datetime) -> Run:
    """Return a run in its form for callers."""
    until = min(run.ended_at or now, run.deadline)
    return Run(
        id=run.id,
        client_id=run.client_id,
        agent_type=run.agent_type,
        episode_id=run.episode_id,
        parent_session_id=run.parent_id,
        depth=run.depth,
        status=run.status,
        outcome=run.outcome,
        limits=RetrievalBudget(
            max_tokens=run.max_tokens, max_time_ms=run.max_time_ms, max_retries=run.max_retries
        ),
        budget=budget.state(
            remaining=run.remaining,
            spent=run.spent,
            remaining_retries=run.remaining_retries,
            retries=run.retries,
            below=run.below,
            started_at=run.started_at,
            deadline=run.deadline,
            until=until,
        ),
        started_at=run.started_at,
        deadline=run.deadline,
        ended_at=run.ended_at,
    )
