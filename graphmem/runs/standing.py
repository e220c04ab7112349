"""A run as it stands."""

from datetime import datetime

from msgspec import Struct

from graphmem.errors import RunNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.runs import budget
from graphmem.runs.budget import Used, milliseconds
from graphmem.runs.types import RetrievalBudget, Run, RunOutcome, RunResult, RunStatus


class Standing(Struct, frozen=True, kw_only=True):
    """A run in the database, with what it holds and what the runs below it have used."""

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
    returned: int
    retries: int
    retries_given: int
    retrievals: int
    writes: int
    holds: list[int]
    below: list[Used]

    @property
    def remaining(self) -> int:
        """How many tokens are left, neither spent nor held nor given."""
        return self.max_tokens - self.spent - sum(self.holds) - self.given

    @property
    def remaining_retries(self) -> int:
        """How many retries are left."""
        return self.max_retries - self.retries - self.retries_given

    def is_overdue(self, now: datetime) -> bool:
        """Whether its time is over and nobody has ended it."""
        return self.status == "active" and self.deadline <= now


RUN = Query("runs/run", Standing)


async def standing(run_id: str, *, client_id: str, now: datetime, graph: Graph) -> Standing:
    """Return a run. Raises `RunNotFound`, for another client's too."""
    rows = await graph.rows(RUN, client_id=client_id, id=run_id, now=now)
    if not rows:
        raise RunNotFound(run_id)
    return rows[0]


def shown(run: Standing, now: datetime) -> Run:
    """Return a run as it is shown."""
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


def result(run: Standing) -> RunResult:
    """Return what a run that has ended came to."""
    assert run.outcome is not None, "a run that has ended has an outcome"
    assert run.ended_at is not None, "a run that has ended has an end"
    return RunResult(
        id=run.id,
        status=run.status,
        outcome=run.outcome,
        total_tokens_used=run.spent + sum(one.spent for one in run.below),
        total_time_ms=milliseconds(run.ended_at - run.started_at),
        retrieval_count=run.retrievals,
        write_count=run.writes,
    )
