"""Performing an operation of a run: reserve tokens, do the work, then charge and record it in one step.

    reserve ── work ── settle          a transaction each; reserve and settle lock the run's node
       └─ refused, failed ──┴─ record

A repetition with the same `operation_id` returns the stored answer. Transient failures are retried, and each
retry is charged. Attempts of one operation share a hold, which goes with the last of them; one that is never
settled expires.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.errors import (
    BudgetExhausted,
    GraphmemError,
    OperationReused,
    RunEnded,
    RunNotFound,
    RunTimeout,
    Unavailable,
)
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.observing.logs import traced
from graphmem.observing.spans import span
from graphmem.runs import budget
from graphmem.runs.budget import Clock, Usage
from graphmem.runs.stored import fetch_run, shown
from graphmem.runs.sweep import close_run, reclaim
from graphmem.runs.types import (
    AccessEntry,
    BudgetState,
    OnAccess,
    Operation,
    Parameters,
    with_child,
)

HOLD = timedelta(seconds=60)
"""The time for which tokens are held for an operation; after a crash they are free again."""

FIRST_RETRIES = 3
"""The maximum number of retries of a reservation, before the run's remaining retries are known."""

RECORD_SECONDS = 1.0
"""The time that a failed operation waits until its failure is recorded; a hanging database takes longer."""

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 1.0
"""The pause before the first retry, in seconds, and the longest; it doubles with each retry."""

Verdict = Literal["granted", "done", "exhausted", "timeout", "ended", "no_retries", "expired"]

Result = TypeVar("Result")

log = logging.getLogger(__name__)


class Reservation(Struct, frozen=True, kw_only=True):
    """The verdict on an operation under the run's lock, and the balance of the run."""

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
    overdue: bool = False
    """Whether an overdue child has not returned its unspent budget yet."""
    holds: list[int] = []
    below: list[Usage] = []

    def budget(self, now: datetime) -> BudgetState:
        """Return the budget of the run after the operation."""
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


RESERVE = Query("runs/reserve", Reservation, writes=True)
SETTLE = Query("runs/settle", Reservation, writes=True)
RECORD = Query("runs/record", RowsWritten, writes=True)

RunQuery = Callable[..., Awaitable[list[Reservation]]]
"""Runs a query by itself (`Graph.change`) or in a transaction (`Transaction.rows`)."""


class RunOperation(Struct, frozen=True, kw_only=True):
    """An operation that is requested of a run."""

    run_id: str
    operation: Operation
    operation_id: str
    parameters: Parameters
    access_id: str
    """The id of its record."""
    tokens: int = 0
    """The maximum number of tokens that it may take."""

    @property
    def params(self) -> str:
        """The parameters as JSON, in the form of the record."""
        return msgspec.json.encode(self.parameters, order="sorted").decode()


class Done(Struct, Generic[Result], frozen=True, kw_only=True):
    """The outcome of an operation's work: its result, its charge, and the contents of its record.

    `effect` writes to the graph in the transaction that settles the operation, and returns the result in
    place of `result`. `answer` is the part of the result that is stored for a repetition.
    """

    answer: str
    result: Result | None = None
    tokens: int = 0
    returned: Sequence[dict[str, Any]] = ()
    wrote: Sequence[str] = ()
    continues: str = ""
    effect: Callable[[Transaction, Reservation], Awaitable[Result]] | None = None


class Performed(Struct, Generic[Result], frozen=True, kw_only=True):
    """A completed operation and the remaining budget.

    `result` is None for a repetition: then `answer` is the stored answer of the first time.
    """

    answer: str
    result: Result | None
    budget: BudgetState


class Exhausted(Unavailable):
    """The same operation may succeed later, but a retry now cannot."""

    code = Unavailable.code


class Tries:
    """Counts the retries of an operation, and limits them."""

    def __init__(self, allowed: int = FIRST_RETRIES) -> None:
        self.allowed = allowed
        self.used = 0
        self._pause = FIRST_PAUSE

    async def run(self, step: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of a step, retried while retries are left. Raises `Unavailable`."""
        while True:
            try:
                return await step()
            except Exhausted:
                raise
            except Unavailable as problem:
                if self.used >= self.allowed:
                    raise Unavailable(f"{problem}; no retry is left to this operation") from problem
                self.used += 1
                log.info("a run's operation is retried (%d of %d)", self.used, self.allowed)
            # Random, so that callers that failed together do not all return at the same moment.
            await asyncio.sleep(self._pause * random.uniform(0.5, 1.0))  # noqa: S311
            self._pause = min(self._pause * 2, LONGEST_PAUSE)


class Attempt(Struct):
    """An operation under way: its collaborators, its clock, its retries and its charge.

    The context's graph does not retry by itself, since each retry is charged to the run.
    """

    operation: RunOperation
    context: Context
    clock: Clock
    tries: Tries
    tokens: int = 0
    child_id: str | None = None
    """The child that a sub-call has started."""

    @classmethod
    def start(cls, operation: RunOperation, context: Context) -> "Attempt":
        """Return the attempt of an operation that begins at once."""
        return cls(operation, impatient(context), Clock.start(context.now), Tries())

    def entry(self, error: str | None) -> AccessEntry:
        """Return the entry for the listener when the operation has ended."""
        return access_entry(self.operation, self.clock, self.tokens, error, self.child_id)


def impatient(context: Context) -> Context:
    """Return a context whose graph fails at the first transient error, for operations that count retries."""
    return replace(context, graph=context.graph.impatient())


def new_operation(
    run_id: str,
    operation: Operation,
    parameters: Parameters,
    context: Context,
    *,
    operation_id: str | None,
    tokens: int = 0,
) -> RunOperation:
    """Return an operation with a record of its own, under the caller's id for it if there is one."""
    access_id = context.new_id()
    return RunOperation(
        run_id=run_id,
        operation=operation,
        operation_id=operation_id or access_id,
        parameters=parameters,
        access_id=access_id,
        tokens=tokens,
    )


async def perform(
    operation: RunOperation,
    work: Callable[[], Awaitable[Done[Result]]],
    context: Context,
    on_access: OnAccess | None,
) -> Performed[Result]:
    """Perform an operation within its run's budget, once for each operation_id; the work may be retried.

    Raises `RunNotFound`, `RunEnded`, `RunTimeout`, `BudgetExhausted`, `OperationReused`, `Unavailable`,
    and the errors of the work; then only retries are charged, and the record names the error.
    """
    attempt = Attempt.start(operation, context)
    with observe(attempt, on_access):
        try:
            performed = await _perform(attempt, work)
            if operation.operation == "subcall":
                attempt.child_id = performed.answer
            return performed
        except BaseException as problem:
            if not isinstance(problem, RunNotFound):
                # Also when the caller was cancelled: the tokens must not wait for the hold to expire.
                await context.afterwards.do_soon(
                    "failure", _record_failure(attempt, problem), patience_seconds=RECORD_SECONDS
                )
            raise


@contextmanager
def observe(attempt: Attempt, on_access: OnAccess | None) -> Iterator[None]:
    """Trace an operation, and call the listener at its end, whether it succeeds or not."""
    operation, error = attempt.operation, None
    with span(f"run {operation.operation}", {"graphmem.run": operation.run_id}) as shown:
        try:
            yield
        except BaseException as problem:
            error = error_text(problem)
            raise
        finally:
            entry = attempt.entry(error)
            shown.set_attributes(_attributes(entry) | {"graphmem.retries": attempt.tries.used})
            notify(on_access, entry)


def notify(on_access: OnAccess | None, entry: AccessEntry) -> None:
    """Call the listener, if there is one; its failures are logged and ignored."""
    if on_access is None:
        return
    try:
        on_access(entry)
    except Exception as problem:
        log.warning("on_access failed: %s", traced(problem))


async def _perform(
    attempt: Attempt, work: Callable[[], Awaitable[Done[Result]]]
) -> Performed[Result]:
    """Reserve, work, settle."""
    tries = attempt.tries
    reservation = await _reserve(attempt)
    tries.allowed = max(tries.used, reservation.remaining_retries)
    if answer := _kept_answer(attempt.operation, reservation):
        return Performed(answer=answer, result=None, budget=await _budget(attempt, reservation))
    done = await tries.run(work)
    reservation, result = await tries.run(lambda: _settle(attempt, done))
    balance = await _budget(attempt, reservation)
    if answer := _kept_answer(attempt.operation, reservation):
        return Performed(answer=answer, result=None, budget=balance)
    attempt.tokens = done.tokens
    return Performed(answer=done.answer, result=result, budget=balance)


async def _budget(attempt: Attempt, reservation: Reservation) -> BudgetState:
    """Return the budget of the run after the operation, with the refunds of overdue children."""
    run_id, context, now = attempt.operation.run_id, attempt.context, attempt.clock.now
    if reservation.overdue:
        try:
            await reclaim(run_id, client_id=context.client_id, now=now(), graph=context.graph)
            run = await fetch_run(
                run_id, client_id=context.client_id, now=now(), graph=context.graph
            )
            return shown(run, now()).budget
        except Unavailable as away:
            # The operation is done; the next one shows the refund.
            log.info("the budget of overdue children is not back yet: %s", away)
    return reservation.budget(now())


async def _reserve(attempt: Attempt) -> Reservation:
    """Reserve; if too little is left, once more after the budget of overdue children has returned."""
    operation, context, tries = attempt.operation, attempt.context, attempt.tries

    async def once() -> Reservation:
        now = attempt.clock.now()
        return await reserve(operation, tries.used, now, context.client_id, context.graph.change)

    try:
        return await tries.run(once)
    except BudgetExhausted:
        now, client_id = attempt.clock.now(), context.client_id
        if not await reclaim(operation.run_id, client_id=client_id, now=now, graph=context.graph):
            raise
        return await tries.run(once)


async def reserve(
    operation: RunOperation, retries: int, now: datetime, client_id: str, run_query: RunQuery
) -> Reservation:
    """Check whether an operation may begin, and hold its tokens. Raises the refusal."""
    rows = await run_query(
        RESERVE,
        client_id=client_id,
        id=operation.run_id,
        operation_id=operation.operation_id,
        access_id=operation.access_id,
        tokens=operation.tokens,
        retries=retries,
        now=now,
        expires_at=now + HOLD,
    )
    return _granted(operation, rows)


async def _settle(attempt: Attempt, done: Done[Result]) -> tuple[Reservation, Result | None]:
    """Charge and record the operation, together with its effect; return the balance and the result."""
    context, effect = attempt.context, done.effect
    if effect is None:
        return await _charge(attempt, done, context.graph.change), done.result

    async def together(transaction: Transaction) -> tuple[Reservation, Result | None]:
        # In a retry of this transaction the operation may be done already.
        reservation = await reserve(
            attempt.operation,
            attempt.tries.used,
            attempt.clock.now(),
            context.client_id,
            transaction.rows,
        )
        if reservation.verdict == "done":
            return reservation, None
        result = await effect(transaction, reservation)
        return await _charge(attempt, done, transaction.rows), result

    return await context.graph.write(together)


async def _charge(attempt: Attempt, done: Done[Result], run_query: RunQuery) -> Reservation:
    operation, clock = attempt.operation, attempt.clock
    rows = await run_query(
        SETTLE,
        client_id=attempt.context.client_id,
        id=operation.run_id,
        operation_id=operation.operation_id,
        access_id=operation.access_id,
        operation=operation.operation,
        held=operation.tokens > 0,
        tokens=done.tokens,
        retries=attempt.tries.used,
        params=operation.params,
        answer=done.answer,
        at=clock.at,
        now=clock.now(),
        duration_ms=clock.milliseconds,
        # Two runs that deliver the same memories lock them in the same order.
        returned=sorted(done.returned, key=lambda one: str(one["id"])),
        wrote=sorted(done.wrote),
        continues=done.continues,
    )
    return _granted(operation, rows)


async def _record_failure(attempt: Attempt, problem: BaseException) -> None:
    """Record a refusal or failure, in one try; while the database is away the hold is left to expire."""
    operation, context, clock = attempt.operation, attempt.context, attempt.clock
    client_id, graph = context.client_id, context.graph
    try:
        if isinstance(problem, RunTimeout):
            now = clock.now()
            await close_run(operation.run_id, "timeout", client_id=client_id, now=now, graph=graph)
        await graph.change(
            RECORD,
            client_id=client_id,
            id=operation.run_id,
            operation_id=operation.operation_id,
            access_id=operation.access_id,
            operation=operation.operation,
            retries=attempt.tries.used,
            params=operation.params,
            error=error_text(problem),
            at=clock.at,
            duration_ms=clock.milliseconds,
        )
    except Unavailable as away:
        log.warning("a %s of a run is not recorded: %s", operation.operation, away)


def error_text(problem: BaseException) -> str:
    """Return a failure for a record: the sentence if it is about a budget, else the kind of error."""
    if isinstance(problem, BudgetExhausted | RunEnded | RunTimeout):
        return str(problem)
    return problem.code if isinstance(problem, GraphmemError) else type(problem).__name__


def access_entry(
    operation: RunOperation,
    clock: Clock,
    tokens: int,
    error: str | None,
    child_id: str | None = None,
) -> AccessEntry:
    """Return an ended operation, as the listener receives it."""
    return AccessEntry(
        timestamp=clock.at,
        session_id=operation.run_id,
        operation=operation.operation,
        params=with_child(operation.parameters, child_id),
        tokens_consumed=tokens,
        duration_ms=clock.milliseconds,
        error=error,
    )


def _attributes(entry: AccessEntry) -> dict[str, str | int | float]:
    """Return the attributes of an operation's trace span: the contents of its record."""
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


def _granted(operation: RunOperation, rows: Sequence[Reservation]) -> Reservation:
    """Return the reservation, or raise the refusal."""
    if not rows:
        raise RunNotFound(operation.run_id)
    reservation = rows[0]
    match reservation.verdict:
        case "exhausted":
            raise BudgetExhausted(operation.tokens, reservation.remaining)
        case "timeout":
            raise RunTimeout(operation.run_id)
        case "ended":
            raise RunEnded(operation.run_id)
        case "no_retries":
            raise Exhausted("the operation failed, and the run has no retry left for it")
        case "expired":
            raise Exhausted("the operation took longer than tokens are held for it")
    return reservation


def _kept_answer(operation: RunOperation, reservation: Reservation) -> str | None:
    """Return the answer of the first time; raise `OperationReused` if that was another operation."""
    if reservation.verdict != "done":
        return None
    first = (reservation.done_operation, reservation.done_params)
    if first != (operation.operation, operation.params):
        raise OperationReused
    return reservation.done_answer
