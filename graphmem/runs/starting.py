"""Starting runs: at the root, or under a parent whose budget the child's comes out of."""

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import Struct

from graphmem.errors import BudgetExhausted, ChildlessBudget, OperationReused, TooDeep, TooManyRuns
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query
from graphmem.jobs.outbox import enqueue
from graphmem.observing.spans import span
from graphmem.runs.budget import Share, milliseconds, share
from graphmem.runs.clock import Clock, Tell
from graphmem.runs.ending import reclaim
from graphmem.runs.performing import (
    Done,
    Judged,
    Step,
    Written,
    attributes,
    entry_of,
    perform,
    told,
)
from graphmem.runs.standing import standing
from graphmem.runs.trying import Tries
from graphmem.runs.types import FixedBudget, NewRun, RetrievalBudget

DEPTH = 4
"""How many levels lie below a root."""


SWEEP_RUNS = "sweep_runs"
"""The kind of the job that ends runs whose time is over."""


class Started(Struct, frozen=True):
    """A run that an operation has started already, and what it was asked with."""

    id: str
    params: str


class Counted(Struct, frozen=True):
    """How many runs of a client are active."""

    active: int
    started: list[Started]


class Place(Struct, frozen=True, kw_only=True):
    """Where a new run stands and what it may use."""

    agent_type: str
    episode_id: str
    parent_id: str = ""
    depth: int = 0
    share: Share
    started_at: datetime
    operation_id: str | None = None


LOCK_CLIENT = Query("runs/lock_client", Counted, writes=True)
WRITE_RUNS = Query("runs/write_runs", Written, writes=True)


async def start(
    new: NewRun,
    limits: RetrievalBudget,
    *,
    client_id: str,
    most: int,
    now: Callable[[], datetime],
    new_id: Callable[[], str],
    graph: Graph,
    tell: Tell,
) -> str:
    """Start a run at the root and return its id; at most `most` runs of a client are active at once.

    Raises `TooManyRuns`, `OperationReused`, `Unavailable`.
    """
    graph, clock, tries = graph.impatient(), Clock.start(now), Tries()
    run_id = f"session-{new_id()}"
    operation_id = new.operation_id or run_id
    step = _step(run_id, new.agent_type, new.episode_id, limits)

    async def work(transaction: Transaction) -> str:
        moment = clock.now()
        counted = await _counted(operation_id, client_id, moment, transaction)
        for started in counted.started:
            if started.params != step.params:
                raise OperationReused
            return started.id
        if counted.active >= most:
            raise TooManyRuns(most)
        place = Place(
            agent_type=new.agent_type,
            episode_id=new.episode_id,
            share=Share(
                max_tokens=limits.max_tokens,
                max_retries=limits.max_retries,
                deadline=moment + timedelta(milliseconds=limits.max_time_ms),
            ),
            started_at=moment,
            operation_id=operation_id,
        )
        await _write(step, place, clock, client_id, transaction)
        return run_id

    with span("run start", {"graphmem.run": run_id}) as shown:
        error = None
        try:
            return await tries.of(lambda: graph.write(work))
        except BaseException as problem:
            error = told(problem)
            raise
        finally:
            entry = entry_of(step, clock, 0, error)
            shown.set_attributes(attributes(entry) | {"graphmem.retries": tries.used})
            tell(entry)


async def subcall(
    step: Step,
    *,
    agent_type: str,
    episode_id: str | None,
    fraction: float,
    fixed: FixedBudget,
    client_id: str,
    most: int,
    now: Callable[[], datetime],
    new_id: Callable[[], str],
    graph: Graph,
    tell: Tell,
) -> str:
    """Start a run under another with a part of what that has left, and return its id.

    Raises `TooDeep`, `ChildlessBudget`, `TooManyRuns`, and what `perform` raises.
    """
    graph, clock = graph.impatient(), Clock.start(now)
    child_id = f"session-{new_id()}"
    begun: list[Step] = []

    async def work() -> Done:
        parent = await standing(step.run_id, client_id=client_id, now=now(), graph=graph)
        if parent.depth >= DEPTH:
            raise TooDeep(DEPTH)
        await reclaim(step.run_id, client_id=client_id, now=now(), graph=graph)

        async def effect(transaction: Transaction, judged: Judged) -> None:
            moment = now()
            place = Place(
                agent_type=agent_type,
                episode_id=episode_id or parent.episode_id,
                parent_id=parent.id,
                depth=parent.depth + 1,
                share=_share(judged, fraction, fixed, moment),
                started_at=moment,
            )
            # The client's lock comes last: nobody who holds it waits for a run's.
            counted = await _counted(child_id, client_id, moment, transaction)
            if counted.active >= most:
                raise TooManyRuns(most)
            child = _step(child_id, agent_type, place.episode_id, _limits(place))
            begun[:] = [child]
            await _write(child, place, clock, client_id, transaction)

        return Done(answer=child_id, effect=effect)

    performed = await perform(step, work, client_id=client_id, now=now, graph=graph, tell=tell)
    if not performed.again:
        for child in begun:
            tell(entry_of(child, clock, 0, None))
    return performed.answer


def _share(judged: Judged, fraction: float, fixed: FixedBudget, now: datetime) -> Share:
    """Return a child's part; raise where it would be nothing."""
    part = share(
        remaining=judged.remaining,
        remaining_retries=judged.remaining_retries,
        deadline=judged.deadline,
        fraction=fraction,
        fixed=fixed,
        now=now,
    )
    if judged.remaining <= 0:
        raise BudgetExhausted(1, judged.remaining)
    if part.max_tokens <= 0 or part.deadline <= now:
        raise ChildlessBudget(judged.remaining)
    return part


async def _counted(
    operation_id: str, client_id: str, now: datetime, transaction: Transaction
) -> Counted:
    rows = await transaction.rows(
        LOCK_CLIENT, client_id=client_id, operation_id=operation_id, now=now
    )
    return rows[0]


def _limits(place: Place) -> RetrievalBudget:
    return RetrievalBudget(
        max_tokens=place.share.max_tokens,
        max_time_ms=milliseconds(place.share.deadline - place.started_at),
        max_retries=place.share.max_retries,
    )


def _step(run_id: str, agent_type: str, episode_id: str, limits: RetrievalBudget) -> Step:
    return Step(
        run_id=run_id,
        operation="start",
        operation_id=run_id,
        access_id=f"start-{run_id}",
        parameters={
            "agent_type": agent_type,
            "episode_id": episode_id,
            "max_tokens": limits.max_tokens,
            "max_time_ms": limits.max_time_ms,
            "max_retries": limits.max_retries,
        },
    )


async def _write(
    step: Step, place: Place, clock: Clock, client_id: str, transaction: Transaction
) -> None:
    """Write a run that begins, with its first record."""
    run = {
        "id": step.run_id,
        "operation_id": place.operation_id,
        "agent_type": place.agent_type,
        "episode_id": place.episode_id,
        "depth": place.depth,
        "status": "active",
        "started_at": place.started_at,
        "deadline": place.share.deadline,
        "max_tokens": place.share.max_tokens,
        "max_time_ms": milliseconds(place.share.deadline - place.started_at),
        "max_retries": place.share.max_retries,
    } | dict.fromkeys(("spent", "given", "returned", "retries", "retries_given"), 0)
    access = {
        "id": step.access_id,
        "run_id": step.run_id,
        "operation": step.operation,
        "at": clock.at,
        "tokens": 0,
        "duration_ms": clock.milliseconds,
        "params": step.params,
    }
    row = {
        "run": run | {"retries_returned": 0, "retrievals": 0, "writes": 0},
        "access": access,
        "parent_id": place.parent_id,
    }
    await transaction.rows(WRITE_RUNS, client_id=client_id, rows=[row])
    # One job for all runs of a client whose time is over in the same minute, due when that is over.
    minute = place.share.deadline.replace(second=0, microsecond=0)
    await enqueue(
        transaction,
        client_id=client_id,
        id=f"sweep-{step.run_id}",
        kind=SWEEP_RUNS,
        key=minute.isoformat(),
        payload={},
        now=place.started_at,
        run_at=minute + timedelta(minutes=1),
    )
