"""A run as an agent holds it: who it is, what is left, and everything that can be done in it (S3)."""

import logging
from collections.abc import Awaitable, Callable, Generator
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from graphmem.errors import BudgetExhausted, GraphmemError, RunEnded, RunTimeout
from graphmem.observing.logs import traced
from graphmem.runs.budget import milliseconds
from graphmem.runs.types import (
    Accesses,
    BudgetState,
    RetrievalResult,
    Run,
    RunOutcome,
    RunPeek,
    RunResult,
    RunStatus,
    TreeRun,
    WriteResult,
)
from graphmem.service.bound import now

if TYPE_CHECKING:
    from graphmem.service.runs import RunEnvironment

Result = TypeVar("Result", RetrievalResult, RunPeek, WriteResult)

log = logging.getLogger(__name__)


class RunSession:
    """One run of an agent; state lives in the graph, `budget` and `status` are as of the last operation."""

    def __init__(self, environment: "RunEnvironment", run: Run) -> None:
        self._environment = environment
        self._run = run

    @property
    def id(self) -> str:
        """The run's id: `session-` and what nobody can guess."""
        return self._run.id

    @property
    def client_id(self) -> str:
        """Whose run it is."""
        return self._run.client_id

    @property
    def agent_type(self) -> str:
        """What kind of agent runs."""
        return self._run.agent_type

    @property
    def episode_id(self) -> str:
        """What it belongs to; a caller's word."""
        return self._run.episode_id

    @property
    def parent_session_id(self) -> str | None:
        """The run that it is a sub-call of."""
        return self._run.parent_session_id

    @property
    def depth(self) -> int:
        """How many runs stand above it."""
        return self._run.depth

    @property
    def started_at(self) -> datetime:
        """When it began."""
        return self._run.started_at

    @property
    def status(self) -> RunStatus:
        """Whether it is active, or how it ended."""
        return self._run.status

    @property
    def outcome(self) -> RunOutcome | None:
        """The outcome that it ended with."""
        return self._run.outcome

    @property
    def budget(self) -> BudgetState:
        """What is left; its times go on."""
        if self._run.status != "active":
            return self._run.budget
        until = min(now(), self._run.deadline)
        return replace(
            self._run.budget,
            elapsed_time_ms=milliseconds(until - self._run.started_at),
            remaining_time_ms=milliseconds(self._run.deadline - until),
        )

    async def refresh(self) -> Run:
        """Return the run as it stands now, what its children have used included."""
        self._run = await self._environment.show(self.id)
        return self._run

    async def retrieve(self, query: str | list[float], **fields: Any) -> RetrievalResult:
        """Return the best spans for a question; see `RunEnvironment.retrieve`."""
        return await self._done(self._environment.retrieve(self.id, query=query, **fields))

    async def peek(self, span_id: str, **fields: Any) -> RunPeek:
        """Return a span without a charge; see `RunEnvironment.peek`."""
        return await self._done(self._environment.peek(self.id, span_id=span_id, **fields))

    async def write(self, **fields: Any) -> WriteResult:
        """Leave a text for others to find; see `RunEnvironment.write`."""
        return await self._done(self._environment.write(self.id, **fields))

    def subcall(self, **fields: Any) -> "Beginning":
        """Begin a child, by awaiting it or for the length of a block; see `RunEnvironment.subcall`."""
        return Beginning(lambda: self._child(fields))

    async def end(self, outcome: RunOutcome) -> RunResult:
        """End the run and all below it; see `RunEnvironment.end`."""
        result = await self._environment.end(self.id, outcome=outcome)
        await self.refresh()
        return result

    async def tree(self) -> TreeRun:
        """Return the run with all below it."""
        return await self._environment.tree(self.id)

    async def accesses(self, **asked: Any) -> Accesses:
        """Return what was done in it, newest first; see `RunEnvironment.accesses`."""
        return await self._environment.accesses(self.id, **asked)

    async def _child(self, fields: dict[str, Any]) -> "RunSession":
        try:
            child = await self._environment.subcall(self.id, **fields)
        except (RunTimeout, RunEnded):
            await self.refresh()
            raise
        await self.refresh()
        return RunSession(self._environment, child)

    async def _done(self, operation: Awaitable[Result]) -> Result:
        """Return what an operation came to, and keep what it has left."""
        try:
            result = await operation
        except (RunTimeout, RunEnded):
            await self.refresh()
            raise
        if result.budget is not None:
            self._run = replace(self._run, budget=result.budget)
        return result


class Beginning:
    """A run that begins when it is awaited, or for the length of a block, at whose end it ends."""

    def __init__(self, begin: Callable[[], Awaitable[RunSession]]) -> None:
        self._begin = begin
        self._run: RunSession | None = None

    def __await__(self) -> Generator[Any, None, RunSession]:
        """Begin it."""
        return self._begin().__await__()

    async def __aenter__(self) -> RunSession:
        """Begin it for a block."""
        self._run = await self._begin()
        return self._run

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End it as the block ended, unless the block has done so."""
        assert self._run is not None, "a block that ends has begun"
        if self._run.status != "active":
            return
        try:
            await self._run.end(outcome_of(problem))
        except GraphmemError as failed:
            if problem is None:
                raise
            # What left the block says more than that its run could not be ended.
            log.warning("a run is left to its time: %s", traced(failed))


def outcome_of(problem: BaseException | None) -> RunOutcome:
    """Return how a run ended whose block was left so."""
    match problem:
        case None:
            return "success"
        case BudgetExhausted():
            return "budget_exhausted"
        case RunTimeout():
            return "timeout"
    return "failure"
