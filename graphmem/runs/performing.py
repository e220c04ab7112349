"""Performing an operation of a run: judged and held for, done, then charged and recorded in one step.

    reserve ── work ── settle          each one transaction; the run's node is locked in the outer two
       └─ refused, failed ──┴─ record

An operation that is done answers again from its record. What fails in passing is tried again, and that
is charged too. A hold that nobody settles expires.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec
from msgspec import Struct

from graphmem.errors import (
    BudgetExhausted,
    GraphmemError,
    OperationReused,
    RunEnded,
    RunNotFound,
    RunTimeout,
    Unavailable,
)
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query
from graphmem.observing.spans import span
from graphmem.runs import budget
from graphmem.runs.budget import Used
from graphmem.runs.clock import Clock, Tell
from graphmem.runs.ending import end_run, reclaim
from graphmem.runs.parameters import Parameters
from graphmem.runs.trying import Exhausted, Tries
from graphmem.runs.types import AccessEntry, BudgetState, Operation

HOLD = timedelta(seconds=60)
"""How long tokens are held for an operation; a crash holds them no longer."""

Verdict = Literal["granted", "done", "exhausted", "timeout", "ended", "no_retries", "expired"]

log = logging.getLogger(__name__)


class Judged(Struct, frozen=True, kw_only=True):
    """What was decided of an operation under the run's lock, and what the run has left."""

    verdict: Verdict
    done_operation: Operation | None
    done_params: str | None
    done_answer: str | None
    remaining: int
    remaining_retries: int
    spent: int
    retries: int
    started_at: datetime
    deadline: datetime
    holds: list[int] = []
    below: list[Used] = []

    def budget(self, now: datetime) -> BudgetState:
        """Return the budget of the run, after the operation."""
        return budget.state(
            remaining=self.remaining - sum(self.holds),
            spent=self.spent,
            remaining_retries=self.remaining_retries,
            retries=self.retries,
            below=self.below,
            started_at=self.started_at,
            deadline=self.deadline,
            until=min(now, self.deadline),
        )


class Written(Struct, frozen=True):
    """How many rows a statement has written."""

    written: int


Effect = Callable[[Transaction, Judged], Awaitable[None]]
"""What an operation does to the graph beside its record, in the same transaction."""

RESERVE = Query("runs/reserve", Judged, writes=True)
SETTLE = Query("runs/settle", Judged, writes=True)
RECORD = Query("runs/record", Written, writes=True)


class Step(Struct, frozen=True, kw_only=True):
    """An operation that is asked for, before it is judged."""

    run_id: str
    operation: Operation
    operation_id: str
    parameters: Parameters
    access_id: str
    tokens: int = 0
    """How many it may take."""

    @property
    def params(self) -> str:
        """The parameters as they are kept."""
        return msgspec.json.encode(self.parameters, order="sorted").decode()


class Done(Struct, frozen=True, kw_only=True):
    """What an operation has come to: what is charged, what is kept of the answer, what is still to write."""

    answer: str
    tokens: int = 0
    returned: Sequence[dict[str, Any]] = ()
    wrote: Sequence[str] = ()
    continues: str = ""
    effect: Effect | None = None


Work = Callable[[], Awaitable[Done]]
"""What an operation does between being judged and being charged; it may be tried again."""


class Performed(Struct, frozen=True, kw_only=True):
    """An operation that is done: the kept answer, whether it had been done before, what is left."""

    answer: str
    again: bool
    budget: BudgetState


async def perform(
    step: Step,
    work: Work,
    *,
    client_id: str,
    now: Callable[[], datetime],
    graph: Graph,
    tell: Tell,
) -> Performed:
    """Perform an operation within its run's budget, once for each operation_id.

    Raises `RunNotFound`, `RunEnded`, `RunTimeout`, `BudgetExhausted`, `OperationReused`, `Unavailable`,
    and what the work raises; then nothing is charged but retries, and the record says what went wrong.
    """
    graph = graph.impatient()
    clock, tries = Clock.start(now), Tries()
    with span(f"run {step.operation}", {"graphmem.run": step.run_id}) as shown:
        tokens, error = 0, None
        try:
            performed, tokens = await _performed(step, work, tries, clock, client_id, graph)
        except BaseException as problem:
            error = told(problem)
            if not isinstance(problem, RunNotFound):
                # Also when whoever asked has gone: the tokens must not wait for the hold to expire.
                await asyncio.shield(_unperformed(step, problem, tries, clock, client_id, graph))
            raise
        finally:
            entry = entry_of(step, clock, tokens, error)
            shown.set_attributes(attributes(entry) | {"graphmem.retries": tries.used})
            tell(entry)
    return performed


async def _performed(
    step: Step,
    work: Work,
    tries: Tries,
    clock: Clock,
    client_id: str,
    graph: Graph,
) -> tuple[Performed, int]:
    """Reserve, work, settle; return what came of it and how many tokens that was charged."""
    judged = await _reserved(step, tries, clock, client_id, graph)
    tries.allowed = max(tries.used, judged.remaining_retries)
    if again := _again(step, judged):
        return Performed(answer=again, again=True, budget=judged.budget(clock.now())), 0
    done = await tries.of(work)
    judged = await tries.of(lambda: _settled(step, done, tries.used, clock, client_id, graph))
    if again := _again(step, judged):
        return Performed(answer=again, again=True, budget=judged.budget(clock.now())), 0
    left = judged.budget(clock.now())
    return Performed(answer=done.answer, again=False, budget=left), done.tokens


async def _reserved(step: Step, tries: Tries, clock: Clock, client_id: str, graph: Graph) -> Judged:
    """Reserve; where too little is left, once more after what overdue children left has come back."""

    async def once() -> Judged:
        return await reserve(step, tries.used, clock.now(), client_id, graph.change)

    try:
        return await tries.of(once)
    except BudgetExhausted:
        if not await reclaim(step.run_id, client_id=client_id, now=clock.now(), graph=graph):
            raise
        return await tries.of(once)


async def reserve(
    step: Step, retries: int, now: datetime, client_id: str, ask: Callable[..., Any]
) -> Judged:
    """Judge an operation and hold its tokens. `ask` runs the query, alone or in a transaction."""
    rows: list[Judged] = await ask(
        RESERVE,
        client_id=client_id,
        id=step.run_id,
        operation_id=step.operation_id,
        tokens=step.tokens,
        retries=retries,
        now=now,
        expires_at=now + HOLD,
    )
    return _judged(step, rows)


async def _settled(
    step: Step, done: Done, retries: int, clock: Clock, client_id: str, graph: Graph
) -> Judged:
    if done.effect is None:
        return await settle(step, done, retries, clock, client_id, graph.change)
    effect = done.effect

    async def together(transaction: Transaction) -> Judged:
        # In another try of this transaction the operation may have been done already.
        judged = await reserve(step, retries, clock.now(), client_id, transaction.rows)
        if judged.verdict == "done":
            return judged
        await effect(transaction, judged)
        return await settle(step, done, retries, clock, client_id, transaction.rows)

    return await graph.write(together)


async def settle(
    step: Step, done: Done, retries: int, clock: Clock, client_id: str, ask: Callable[..., Any]
) -> Judged:
    """Charge and record an operation. `ask` runs the query, alone or in a transaction."""
    rows: list[Judged] = await ask(
        SETTLE,
        client_id=client_id,
        id=step.run_id,
        operation_id=step.operation_id,
        access_id=step.access_id,
        operation=step.operation,
        held=step.tokens > 0,
        tokens=done.tokens,
        retries=retries,
        params=step.params,
        answer=done.answer,
        at=clock.at,
        now=clock.now(),
        duration_ms=clock.milliseconds,
        # Two runs that deliver the same memories lock them in the same order.
        returned=sorted(done.returned, key=lambda one: str(one["id"])),
        wrote=sorted(done.wrote),
        continues=done.continues,
    )
    return _judged(step, rows)


async def _unperformed(
    step: Step, problem: BaseException, tries: Tries, clock: Clock, client_id: str, graph: Graph
) -> None:
    """Record what did not come to pass, once; while the database is away the hold is left to expire."""
    try:
        if isinstance(problem, RunTimeout):
            now = clock.now()
            await end_run(step.run_id, "timeout", client_id=client_id, now=now, graph=graph)
        await graph.change(
            RECORD,
            client_id=client_id,
            id=step.run_id,
            operation_id=step.operation_id,
            access_id=step.access_id,
            operation=step.operation,
            retries=tries.used,
            params=step.params,
            error=told(problem),
            at=clock.at,
            duration_ms=clock.milliseconds,
        )
    except Unavailable as away:
        log.warning("a %s of a run is not recorded: %s", step.operation, away)


def told(problem: BaseException) -> str:
    """Return what a record says of a failure: sentences on budgets hold numbers only, others may quote."""
    if isinstance(problem, BudgetExhausted | RunEnded | RunTimeout):
        return str(problem)
    return problem.code if isinstance(problem, GraphmemError) else type(problem).__name__


def entry_of(step: Step, clock: Clock, tokens: int, error: str | None) -> AccessEntry:
    """Return what is told of an operation that has ended."""
    return AccessEntry(
        timestamp=clock.at,
        session_id=step.run_id,
        operation=step.operation,
        params=step.parameters,
        tokens_consumed=tokens,
        duration_ms=clock.milliseconds,
        error=error,
    )


def attributes(entry: AccessEntry) -> dict[str, str | int | float]:
    """Return what a span shows of an operation: what its record holds."""
    shown: dict[str, str | int | float] = {
        "graphmem.operation": entry.operation,
        "graphmem.tokens": entry.tokens_consumed or 0,
        "graphmem.duration_ms": entry.duration_ms,
    }
    if entry.error:
        shown["graphmem.error"] = entry.error
    for name, value in entry.params.items():
        shown[f"graphmem.params.{name}"] = (
            value if isinstance(value, str | int | float) else msgspec.json.encode(value).decode()
        )
    return shown


def _judged(step: Step, rows: Sequence[Judged]) -> Judged:
    """Return what was decided, or raise what was refused."""
    if not rows:
        raise RunNotFound(step.run_id)
    judged = rows[0]
    match judged.verdict:
        case "exhausted":
            raise BudgetExhausted(step.tokens, judged.remaining)
        case "timeout":
            raise RunTimeout(step.run_id)
        case "ended":
            raise RunEnded(step.run_id)
        case "no_retries":
            raise Exhausted("the operation failed in passing, and the run has no retry left for it")
        case "expired":
            raise Exhausted("the operation took longer than tokens are held for it")
    return judged


def _again(step: Step, judged: Judged) -> str | None:
    """Return the answer that was given before; raise `OperationReused` when it was to something else."""
    if judged.verdict != "done":
        return None
    if (judged.done_operation, judged.done_params) != (step.operation, step.params):
        raise OperationReused
    return judged.done_answer
