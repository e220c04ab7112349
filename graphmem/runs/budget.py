"""What a run has left, what a child of it may have, what goes back at its end: numbers in, numbers out."""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from graphmem.runs.types import BudgetState, FixedBudget, RunOutcome, RunStatus

STATUS: dict[RunOutcome, RunStatus] = {
    "success": "completed",
    "failure": "failed",
    "timeout": "timeout",
    "budget_exhausted": "failed",
}
"""What a run is once it has ended so."""


class Used(Struct, frozen=True):
    """What one run below another has used."""

    spent: int
    retries: int


class Share(Struct, frozen=True, kw_only=True):
    """A child's budget; its deadline is the earlier of its parent's and the end of its time."""

    max_tokens: int
    max_retries: int
    deadline: datetime


class Open(Struct, frozen=True, kw_only=True):
    """A run that is to end, under its lock."""

    id: str
    status: RunStatus
    outcome: RunOutcome | None
    deadline: datetime
    max_tokens: int
    spent: int
    given: int
    max_retries: int
    retries: int
    retries_given: int
    children: list[str]
    """Its active children."""


class Closed(Struct, frozen=True, kw_only=True):
    """A run that has ended, and what goes back to its parent."""

    id: str
    status: RunStatus
    outcome: RunOutcome
    ended_at: datetime
    returned: int
    retries_returned: int


def state(
    *,
    remaining: int,
    spent: int,
    remaining_retries: int,
    retries: int,
    below: Iterable[Used],
    started_at: datetime,
    deadline: datetime,
    until: datetime,
) -> BudgetState:
    """Return a budget as it stands at a moment, no number below 0; what children used is included."""
    below = list(below)
    return BudgetState(
        remaining_tokens=max(0, remaining),
        tokens_used=spent + sum(one.spent for one in below),
        remaining_time_ms=milliseconds(deadline - until),
        elapsed_time_ms=milliseconds(until - started_at),
        remaining_retries=max(0, remaining_retries),
        retries_used=retries + sum(one.retries for one in below),
    )


def share(
    *,
    remaining: int,
    remaining_retries: int,
    deadline: datetime,
    fraction: float,
    fixed: FixedBudget,
    now: datetime,
) -> Share:
    """Return a fraction of what remains, floored, or what is fixed as far as it remains."""
    time_ms = fixed.max_time_ms
    if time_ms is None:
        time_ms = math.floor(milliseconds(deadline - now) * fraction)
    return Share(
        max_tokens=_portion(remaining, fraction, fixed.max_tokens),
        max_retries=_portion(remaining_retries, fraction, fixed.max_retries),
        deadline=min(deadline, now + timedelta(milliseconds=time_ms)),
    )


def closed(runs: Sequence[Open], outcome: RunOutcome, now: datetime) -> list[Closed]:
    """Return how a run and its active descendants end, from the leaves up; the runs come from the root down.

    What a run leaves goes back to its parent before that ends. Each has the outcome of the run that ends
    with them, but one whose time was over has timed out.
    """
    given = {run.id: run.given for run in runs}
    retries_given = {run.id: run.retries_given for run in runs}
    parents = {child: run.id for run in runs for child in run.children}
    ended = []
    for run in reversed(runs):
        late = run.deadline <= now
        one = Closed(
            id=run.id,
            status="timeout" if late else STATUS[outcome],
            outcome="timeout" if late else outcome,
            ended_at=min(run.deadline, now),
            returned=run.max_tokens - run.spent - given[run.id],
            retries_returned=run.max_retries - run.retries - retries_given[run.id],
        )
        if run.id in parents:
            given[parents[run.id]] -= one.returned
            retries_given[parents[run.id]] -= one.retries_returned
        ended.append(one)
    return ended


def milliseconds(span: timedelta) -> int:
    """Return a length of time in whole milliseconds, 0 where it is negative."""
    return max(0, span // timedelta(milliseconds=1))


def _portion(remaining: int, fraction: float, fixed: int | None) -> int:
    return min(remaining, math.floor(remaining * fraction) if fixed is None else fixed)
