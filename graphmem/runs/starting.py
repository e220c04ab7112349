"""Starting runs: at the root, or under a parent that gives the child a share of its budget."""

from datetime import datetime, timedelta

from msgspec import Struct

from graphmem.context import Context
from graphmem.errors import ChildlessBudget, OperationReused, TooDeep, TooManyRuns
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.jobs.outbox import enqueue
from graphmem.runs import types
from graphmem.runs.budget import Clock, Share, milliseconds, share
from graphmem.runs.performing import (
    Attempt,
    Done,
    Reservation,
    RunOperation,
    access_entry,
    impatient,
    new_operation,
    notify,
    observe,
    perform,
)
from graphmem.runs.show import show_run
from graphmem.runs.stored import StoredRun, fetch_run
from graphmem.runs.sweep import reclaim
from graphmem.runs.types import (
    FixedBudget,
    NewRun,
    OnAccess,
    RetrievalBudget,
    Run,
    SubcallAsked,
    check_labels,
)

DEPTH = 4
"""The number of levels below a root."""

SWEEP_RUNS = "sweep_runs"
"""The kind of the job that ends overdue runs."""

COUNTS = (
    "spent",
    "given",
    "returned",
    "retries",
    "retries_given",
    "retries_returned",
    "retrievals",
    "writes",
)
"""The properties of a run that count from 0."""


class StartedRun(Struct, frozen=True):
    """A run that an earlier call of the same operation has started, and its parameters."""

    id: str
    params: str


class ActiveRuns(Struct, frozen=True):
    """The number of a client's active runs, and the runs that the same operation has started."""

    active: int
    started: list[StartedRun]


class RunDraft(Struct, frozen=True, kw_only=True):
    """A run before it is written: its place in the tree, and its budget."""

    agent_type: str
    episode_id: str
    parent_id: str = ""
    depth: int = 0
    share: Share
    started_at: datetime
    operation_id: str | None = None


LOCK_CLIENT = Query("runs/lock_client", ActiveRuns, writes=True)
WRITE_RUNS = Query("runs/write_runs", RowsWritten, writes=True)


async def start(
    new: NewRun,
    context: Context,
    *,
    default_budget: RetrievalBudget,
    most_active: int,
    on_access: OnAccess | None = None,
) -> Run:
    """Start a run, under its parent if it names one; a client has at most `most_active` active runs.

    Raises `InvalidInput`, `RunNotFound` for the parent, `TooManyRuns`, `OperationReused`, `Unavailable`,
    and the errors of `start_child`.
    """
    check_labels(
        agent_type=new.agent_type, episode_id=new.episode_id, operation_id=new.operation_id
    )
    limits = new.budget or default_budget
    if new.parent_session_id is None:
        run_id = await _start_root(new, limits, context, most_active, on_access)
        return await show_run(run_id, context)
    asked = SubcallAsked(
        agent_type=new.agent_type,
        budget_fraction=1.0,
        fixed_budget=FixedBudget(
            max_tokens=limits.max_tokens,
            max_time_ms=limits.max_time_ms,
            max_retries=limits.max_retries,
        ),
        operation_id=new.operation_id,
    )
    return await _start_child(
        new.parent_session_id, asked, new.episode_id, context, most_active, on_access
    )


async def start_child(
    run_id: str,
    asked: SubcallAsked,
    context: Context,
    *,
    most_active: int,
    on_access: OnAccess | None = None,
) -> Run:
    """Start a run under another with a share of that run's remaining budget.

    Raises `InvalidInput`, `RunNotFound`, `ChildlessBudget`, `TooDeep`, `TooManyRuns`, `RunEnded`,
    `RunTimeout`, `OperationReused`, `Unavailable`.
    """
    check_labels(agent_type=asked.agent_type, operation_id=asked.operation_id)
    return await _start_child(run_id, asked, None, context, most_active, on_access)


async def _start_root(
    new: NewRun,
    limits: RetrievalBudget,
    context: Context,
    most_active: int,
    on_access: OnAccess | None,
) -> str:
    """Start a run at the root and return its id."""
    run_id = f"session-{context.new_id()}"
    operation_id = new.operation_id or run_id
    operation = _start_operation(run_id, new.agent_type, new.episode_id, limits)
    attempt = Attempt.start(operation, context)
    clock, graph, client_id = attempt.clock, attempt.context.graph, context.client_id

    async def work(transaction: Transaction) -> str:
        now = clock.now()
        runs = await _lock_client(operation_id, client_id, now, transaction)
        for started in runs.started:
            if started.params != operation.params:
                raise OperationReused
            return started.id
        if runs.active >= most_active:
            raise TooManyRuns(most_active)
        draft = RunDraft(
            agent_type=new.agent_type,
            episode_id=new.episode_id,
            share=Share(
                max_tokens=limits.max_tokens,
                max_retries=limits.max_retries,
                deadline=now + timedelta(milliseconds=limits.max_time_ms),
            ),
            started_at=now,
            operation_id=operation_id,
        )
        await _write(operation, draft, clock, client_id, transaction)
        return run_id

    with observe(attempt, on_access):
        return await attempt.tries.run(lambda: graph.write(work))


async def _start_child(
    run_id: str,
    asked: SubcallAsked,
    episode_id: str | None,
    context: Context,
    most_active: int,
    on_access: OnAccess | None,
) -> Run:
    operation = new_operation(
        run_id,
        "subcall",
        types.of_subcall(asked, episode_id),
        context,
        operation_id=asked.operation_id,
    )
    clock, child_id = Clock.start(context.now), f"session-{context.new_id()}"
    client_id, graph = context.client_id, impatient(context).graph

    async def work() -> Done[RunOperation]:
        parent = await fetch_run(run_id, client_id=client_id, now=context.now(), graph=graph)
        if parent.depth >= DEPTH:
            raise TooDeep(DEPTH)
        await reclaim(run_id, client_id=client_id, now=context.now(), graph=graph)

        async def write_child(transaction: Transaction, reservation: Reservation) -> RunOperation:
            now = context.now()
            draft = _child_draft(asked, episode_id, parent, reservation, now)
            # The client's lock comes last: its holder never waits for the lock of a run.
            runs = await _lock_client(child_id, client_id, now, transaction)
            if runs.active >= most_active:
                raise TooManyRuns(most_active)
            child = _start_operation(child_id, asked.agent_type, draft.episode_id, _limits(draft))
            await _write(child, draft, clock, client_id, transaction)
            return child

        return Done(answer=child_id, effect=write_child)

    performed = await perform(operation, work, context, on_access)
    if performed.result is not None:
        notify(on_access, access_entry(performed.result, clock, 0, None))
    return await show_run(performed.answer, context)


def _child_draft(
    asked: SubcallAsked,
    episode_id: str | None,
    parent: StoredRun,
    reservation: Reservation,
    now: datetime,
) -> RunDraft:
    return RunDraft(
        agent_type=asked.agent_type,
        episode_id=episode_id or parent.episode_id,
        parent_id=parent.id,
        depth=parent.depth + 1,
        share=_share(reservation, asked, now),
        started_at=now,
    )


def _share(reservation: Reservation, asked: SubcallAsked, now: datetime) -> Share:
    """Return a child's share of the budget; raise if it would be empty."""
    fixed = asked.fixed_budget or FixedBudget()
    part = share(
        remaining=reservation.remaining,
        remaining_retries=reservation.remaining_retries,
        deadline=reservation.deadline,
        fraction=asked.budget_fraction,
        fixed=fixed,
        now=now,
    )
    remaining = max(0, reservation.remaining)
    if part.max_tokens <= 0:
        raise ChildlessBudget("tokens", remaining, fixed.max_tokens)
    if part.deadline <= now:
        raise ChildlessBudget("time", remaining, fixed.max_tokens)
    return part


async def _lock_client(
    operation_id: str, client_id: str, now: datetime, transaction: Transaction
) -> ActiveRuns:
    rows = await transaction.rows(
        LOCK_CLIENT, client_id=client_id, operation_id=operation_id, now=now
    )
    return rows[0]


def _limits(draft: RunDraft) -> RetrievalBudget:
    return RetrievalBudget(
        max_tokens=draft.share.max_tokens,
        max_time_ms=milliseconds(draft.share.deadline - draft.started_at),
        max_retries=draft.share.max_retries,
    )


def _start_operation(
    run_id: str, agent_type: str, episode_id: str, limits: RetrievalBudget
) -> RunOperation:
    return RunOperation(
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
    operation: RunOperation,
    draft: RunDraft,
    clock: Clock,
    client_id: str,
    transaction: Transaction,
) -> None:
    """Write a new run with its first record."""
    run = {
        "id": operation.run_id,
        "operation_id": draft.operation_id,
        "agent_type": draft.agent_type,
        "episode_id": draft.episode_id,
        "depth": draft.depth,
        "status": "active",
        "started_at": draft.started_at,
        "deadline": draft.share.deadline,
        "max_tokens": draft.share.max_tokens,
        "max_time_ms": milliseconds(draft.share.deadline - draft.started_at),
        "max_retries": draft.share.max_retries,
    }
    access = {
        "id": operation.access_id,
        "run_id": operation.run_id,
        "operation": operation.operation,
        "at": clock.at,
        "tokens": 0,
        "duration_ms": clock.milliseconds,
        "params": operation.params,
    }
    row = {
        "run": run | dict.fromkeys(COUNTS, 0),
        "access": access,
        "parent_id": draft.parent_id,
    }
    await transaction.rows(WRITE_RUNS, client_id=client_id, rows=[row])
    await _queue_sweep(operation.run_id, draft, client_id, transaction)


async def _queue_sweep(
    run_id: str, draft: RunDraft, client_id: str, transaction: Transaction
) -> None:
    # One job for all runs of a client whose deadlines are in the same minute, due at the end of it.
    minute = draft.share.deadline.replace(second=0, microsecond=0)
    await enqueue(
        transaction,
        client_id=client_id,
        id=f"sweep-{run_id}",
        kind=SWEEP_RUNS,
        key=minute.isoformat(),
        payload={},
        now=draft.started_at,
        run_at=minute + timedelta(minutes=1),
    )
