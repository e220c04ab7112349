"""A run from the point of view of its agent: its identity, its remaining budget, and its operations."""

import logging
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from graphmem.context import Context
from graphmem.errors import BudgetExhausted, GraphmemError, RunEnded, RunTimeout
from graphmem.model.times import present
from graphmem.observing.logs import traced
from graphmem.runs.budget import milliseconds
from graphmem.runs.performing import Attempt, RunOperation, observe
from graphmem.runs.stored import StoredRun, fetch_run
from graphmem.runs.sweep import close_run
from graphmem.runs.types import (
    Accesses,
    BudgetState,
    FixedBudget,
    NewEnd,
    OnAccess,
    RetrievalResult,
    Run,
    RunOutcome,
    RunPeek,
    RunResult,
    RunSort,
    RunSourceType,
    RunStatus,
    TreeRun,
    WriteResult,
    WriteType,
)

if TYPE_CHECKING:
    from graphmem.runs.environment import RunEnvironment

Result = TypeVar("Result", RetrievalResult, RunPeek, WriteResult)

log = logging.getLogger(__name__)


class RunSession:
    """One run of an agent; its state is stored in the graph.

    `budget` and `status` are those after the last operation; `refresh` reads them again.
    """

    def __init__(self, runs: "RunEnvironment", run: Run) -> None:
        self._runs = runs
        self._run = run

    @property
    def id(self) -> str:
        """The run's id: `session-` and a random part."""
        return self._run.id

    @property
    def client_id(self) -> str:
        """The client that owns the run."""
        return self._run.client_id

    @property
    def agent_type(self) -> str:
        """The caller's name for the kind of agent."""
        return self._run.agent_type

    @property
    def episode_id(self) -> str:
        """The caller's name for the task that the run belongs to."""
        return self._run.episode_id

    @property
    def parent_session_id(self) -> str | None:
        """The id of the parent run; None at the root."""
        return self._run.parent_session_id

    @property
    def depth(self) -> int:
        """The number of runs above it, 0–4."""
        return self._run.depth

    @property
    def started_at(self) -> datetime:
        """The time at which the run started."""
        return self._run.started_at

    @property
    def status(self) -> RunStatus:
        """Whether the run is active, or how it ended."""
        return self._run.status

    @property
    def outcome(self) -> RunOutcome | None:
        """The outcome of the run; None while it is active."""
        return self._run.outcome

    @property
    def budget(self) -> BudgetState:
        """The remaining budget; its times are those of the present."""
        if self._run.status != "active":
            return self._run.budget
        until = min(present(), self._run.deadline)
        return replace(
            self._run.budget,
            elapsed_time_ms=milliseconds(until - self._run.started_at),
            remaining_time_ms=milliseconds(self._run.deadline - until),
        )

    async def refresh(self) -> Run:
        """Return the present state of the run, with the usage of its children.

        Raises `RunNotFound`, `Unavailable`.
        """
        self._run = await self._runs.show(self.id)
        return self._run

    async def retrieve(
        self,
        query: str | Sequence[float],
        *,
        max_tokens: int,
        source_types: Sequence[RunSourceType] | None = None,
        source_ids: Sequence[str] | None = None,
        min_relevance: float | None = None,
        sort_by: RunSort = "relevance",
        cursor: str | None = None,
        operation_id: str | None = None,
    ) -> RetrievalResult:
        """Return the best spans for a question, charged to the run.

        Args:
            query: a text of 1–32,768 characters, or an embedding of the model's dimensions.
            max_tokens: the tokens that the spans may have together, 1–1,000,000,000.
            source_types: only spans of these source types, 1–8 of them.
            source_ids: only spans of these sources, 1–64 ids.
            min_relevance: only spans of at least this relevance, 0–1.
            sort_by: `relevance`, `recency` or `importance`.
            cursor: the `cursor` of the page before this one.
            operation_id: the caller's name for this operation; a repetition is not charged again.

        Raises:
            InvalidInput: an argument is out of range.
            BudgetExhausted: the run has fewer tokens left than `max_tokens`.
            RunNotFound, RunEnded, RunTimeout: the run is not active.
            OperationReused: the operation_id belongs to another operation of this run.
            Unavailable: the database does not answer, and no retry is left.
        """
        found = self._runs.retrieve(
            self.id,
            query=query,
            max_tokens=max_tokens,
            source_types=source_types,
            source_ids=source_ids,
            min_relevance=min_relevance,
            sort_by=sort_by,
            cursor=cursor,
            operation_id=operation_id,
        )
        return await self._follow(found)

    async def peek(
        self, span_id: str, *, include_content: bool = False, operation_id: str | None = None
    ) -> RunPeek:
        """Return a span, free of charge.

        Args:
            span_id: the id of the span, 1–256 characters.
            include_content: whether to return the first 100 tokens of the content too.
            operation_id: the caller's name for this operation.

        Raises:
            InvalidInput, SpanNotFound, ContentDamaged, RunNotFound, RunEnded, RunTimeout,
            OperationReused, Unavailable.
        """
        seen = self._runs.peek(
            self.id, span_id=span_id, include_content=include_content, operation_id=operation_id
        )
        return await self._follow(seen)

    async def write(
        self,
        *,
        type: WriteType,
        content: str,
        metadata: Mapping[str, Any] | None = None,
        operation_id: str | None = None,
    ) -> WriteResult:
        """Write a text that every agent of the client finds at once; it is free of charge.

        Args:
            type: `summary`, `log` or `artifact`.
            content: the text, at most 1,000,000 bytes of UTF-8.
            metadata: JSON of at most 100,000 bytes; its words find the text too.
            operation_id: the caller's name for this operation; a repetition writes nothing.

        Raises:
            InvalidInput, TooLarge, RunNotFound, RunEnded, RunTimeout, OperationReused, Unavailable.
        """
        written = self._runs.write(
            self.id, type=type, content=content, metadata=metadata, operation_id=operation_id
        )
        return await self._follow(written)

    def subcall(
        self,
        *,
        agent_type: str,
        budget_fraction: float,
        fixed_budget: FixedBudget | Mapping[str, int] | None = None,
        operation_id: str | None = None,
    ) -> "Beginning":
        """Start a child with a part of the remaining budget: await it, or use it with `async with`.

        Args:
            agent_type: the kind of agent of the child, 1–256 characters.
            budget_fraction: the part of the remaining budget, 0–1.
            fixed_budget: amounts that replace the fraction, field by field, as far as they remain.
            operation_id: the caller's name for this operation; a repetition returns the same child.

        Raises, when the child starts:
            InvalidInput, RunNotFound, ChildlessBudget, TooDeep, TooManyRuns, RunEnded, RunTimeout,
            OperationReused, Unavailable.
        """
        child = partial(
            self._runs.subcall,
            self.id,
            agent_type=agent_type,
            budget_fraction=budget_fraction,
            fixed_budget=fixed_budget,
            operation_id=operation_id,
        )
        return Beginning(lambda: self._begin(child))

    async def end(self, outcome: RunOutcome) -> RunResult:
        """End the run and all below it, and return its totals; a repetition changes nothing.

        Raises `InvalidInput`, `RunNotFound`, `Unavailable`.
        """
        result = await self._runs.end(self.id, outcome=outcome)
        await self.refresh()
        return result

    async def tree(self) -> TreeRun:
        """Return the run with all runs below it. Raises `RunNotFound`, `Unavailable`."""
        return await self._runs.tree(self.id)

    async def accesses(self, *, limit: int = 50, cursor: str | None = None) -> Accesses:
        """Return the recorded operations of the run, newest first.

        Args:
            limit: the maximum number of operations, 1–200.
            cursor: the `cursor` of the page before this one.

        Raises:
            InvalidInput, RunNotFound, Unavailable.
        """
        return await self._runs.accesses(self.id, limit=limit, cursor=cursor)

    async def _begin(self, start: Callable[[], Awaitable[Run]]) -> "RunSession":
        """Start a child, and read the budget that remains."""
        try:
            child = await start()
        except (RunTimeout, RunEnded):
            await self.refresh()
            raise
        await self.refresh()
        return RunSession(self._runs, child)

    async def _follow(self, operation: Awaitable[Result]) -> Result:
        """Return the result of an operation, and store the remaining budget."""
        try:
            result = await operation
        except (RunTimeout, RunEnded):
            await self.refresh()
            raise
        if result.budget is not None:
            self._run = replace(self._run, budget=result.budget)
        return result


class Beginning:
    """A run that starts when it is awaited, or at the start of an `async with` block, whose end ends it."""

    def __init__(self, start: Callable[[], Awaitable[RunSession]]) -> None:
        self._start = start
        self._run: RunSession | None = None

    def __await__(self) -> Generator[Any, None, RunSession]:
        """Start the run."""
        return self._start().__await__()

    async def __aenter__(self) -> RunSession:
        """Start the run for a block."""
        self._run = await self._start()
        return self._run

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the run with the outcome of the block, unless the block has ended it."""
        assert self._run is not None, "a block that ends has begun"
        if self._run.status != "active":
            return
        try:
            await self._run.end(outcome_of(problem))
        except GraphmemError as failed:
            if problem is None:
                raise
            # The exception that left the block matters more than the failure to end its run.
            log.warning("a run is left to its time: %s", traced(failed))


def outcome_of(problem: BaseException | None) -> RunOutcome:
    """Return the outcome of a run by the exception that left its block."""
    match problem:
        case None:
            return "success"
        case BudgetExhausted():
            return "budget_exhausted"
        case RunTimeout():
            return "timeout"
    return "failure"


async def end(
    run_id: str, new: NewEnd, context: Context, on_access: OnAccess | None = None
) -> RunResult:
    """End a run and all below it, and return its totals; a repetition changes nothing.

    Raises `RunNotFound`, `Unavailable`.
    """
    operation = RunOperation(
        run_id=run_id,
        operation="end",
        operation_id=run_id,
        access_id=f"end-{run_id}",
        parameters={"outcome": new.outcome},
    )
    attempt = Attempt.start(operation, context)
    client_id, graph, clock = context.client_id, attempt.context.graph, attempt.clock

    async def close() -> RunResult:
        await close_run(
            run_id, new.outcome, client_id=client_id, now=clock.now(), graph=graph, clock=clock
        )
        return _result(await fetch_run(run_id, client_id=client_id, now=clock.now(), graph=graph))

    with observe(attempt, on_access):
        return await attempt.tries.run(close)


def _result(run: StoredRun) -> RunResult:
    """Return the totals of a run that has ended."""
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
