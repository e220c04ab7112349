"""The budget of a run: its balance, a child's share, the refund at its end; and an operation's clock."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from graphmem.runs.types import BudgetState, FixedBudget, RunOutcome, RunStatus

STATUS: dict[RunOutcome, RunStatus] = {
    "success": "completed",
    "failure": "failed",
    "timeout": "timeout",
    "budget_exhausted": "failed",
}
"""The status of a run that has ended with an outcome."""


class Usage(Struct, frozen=True):
    """The tokens and retries that a run below another has used."""

    spent: int
    retries: int


class Share(Struct, frozen=True, kw_only=True):
    """A child's budget; its deadline is the earlier of its parent's and the end of its own time."""

    max_tokens: int
    max_retries: int
    deadline: datetime


class EndingRun(Struct, frozen=True, kw_only=True):
    """A run that is about to end, read under its lock."""

    id: str
    status: RunStatus
    started_at: datetime
    deadline: datetime
    max_tokens: int
    spent: int
    given: int
    max_retries: int
    retries: int
    retries_given: int
    children: list[str]
    """The ids of its active children."""


class EndedRun(Struct, frozen=True, kw_only=True):
    """A run that has ended, and the tokens and retries that return to its parent."""

    id: str
    status: RunStatus
    outcome: RunOutcome
    ended_at: datetime
    returned: int
    retries_returned: int


class Clock(Struct, frozen=True):
    """The time of an operation: the source of the present time, and the start of the operation."""

    now: Callable[[], datetime]
    at: datetime
    started: float
    """The start by a monotonic clock."""

    @classmethod
    def start(cls, now: Callable[[], datetime]) -> "Clock":
        """Return a clock whose operation begins at once."""
        return cls(now, now(), time.perf_counter())

    @property
    def milliseconds(self) -> float:
        """The time since the start."""
        return round((time.perf_counter() - self.started) * 1000, 3)


def state(
    *,
    remaining: int,
    spent: int,
    remaining_retries: int,
    retries: int,
    below: Iterable[Usage],
    started_at: datetime,
    deadline: datetime,
    until: datetime,
) -> BudgetState:
    """Return the state of a budget at the time `until`, no number below 0, with the usage of all below.

    If the clock was set back to before its start, no time has passed.
    """
    below, until = list(below), max(started_at, until)
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
    """Return a fraction of the remaining budget, rounded down, or the fixed amount, at most the remainder."""
    time_ms = fixed.max_time_ms
    if time_ms is None:
        time_ms = math.floor(milliseconds(deadline - now) * fraction)
    return Share(
        max_tokens=_portion(remaining, fraction, fixed.max_tokens),
        max_retries=_portion(remaining_retries, fraction, fixed.max_retries),
        deadline=min(deadline, now + timedelta(milliseconds=time_ms)),
    )


def ended(runs: Sequence[EndingRun], outcome: RunOutcome, now: datetime) -> list[EndedRun]:
    """Return the ends of a run and its active descendants, leaves first; `runs` has the root first.

    The unspent budget of a run returns to its parent before the parent ends. All end with the given
    outcome, except a run past its deadline: its outcome is a timeout.
    """
    given = {run.id: run.given for run in runs}
    retries_given = {run.id: run.retries_given for run in runs}
    parents = {child: run.id for run in runs for child in run.children}
    ends = []
    for run in reversed(runs):
        late = run.deadline <= now
        end = EndedRun(
            id=run.id,
            status="timeout" if late else STATUS[outcome],
            outcome="timeout" if late else outcome,
            # A clock that was set back must not end a run before it began.
            ended_at=max(run.started_at, min(run.deadline, now)),
            returned=run.max_tokens - run.spent - given[run.id],
            retries_returned=run.max_retries - run.retries - retries_given[run.id],
        )
        if run.id in parents:
            given[parents[run.id]] -= end.returned
            retries_given[parents[run.id]] -= end.retries_returned
        ends.append(end)
    return ends


def milliseconds(span: timedelta) -> int:
    """Return a duration in whole milliseconds, 0 if it is negative."""
    return max(0, span // timedelta(milliseconds=1))


def _portion(remaining: int, fraction: float, fixed: int | None) -> int:
    return min(remaining, math.floor(remaining * fraction) if fixed is None else fixed)
