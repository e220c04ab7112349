"""Budgeted runs: an environment in which the agents of one client start runs and work in them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphmem.context import Context
from graphmem.errors import RunNotFound
from graphmem.model.validation import text_id, validated
from graphmem.runs import retrieve, session, show, starting, write
from graphmem.runs.session import Beginning, RunSession
from graphmem.runs.types import (
    Accesses,
    AccessesAsked,
    FixedBudget,
    NewEnd,
    NewRun,
    NewWrite,
    OnAccess,
    PeekAsked,
    RetrievalBudget,
    RetrievalResult,
    Run,
    RunOutcome,
    RunPeek,
    RunQuestion,
    RunResult,
    Runs,
    RunsAsked,
    RunSort,
    RunSourceType,
    RunStatus,
    SubcallAsked,
    TreeRun,
    WriteResult,
    WriteType,
)


class RunEnvironment:
    """The runs of one client, with a default budget, a limit of active runs, and a listener.

    `run` and `find` return a `RunSession`, the usual way to work in a run. The other methods take the id
    of a run; `RunSession` documents their arguments and errors.
    """

    def __init__(
        self,
        context: Callable[[], Context],
        *,
        default_budget: RetrievalBudget,
        max_concurrent_sessions: int,
        on_access: OnAccess | None = None,
    ) -> None:
        """Set the common parameters of the environment's runs.

        Args:
            context: returns a fresh context of the client, once for each operation: the embedding model
                may change meanwhile.
            default_budget: the budget of a run that is started without one.
            max_concurrent_sessions: the maximum number of the client's active runs.
            on_access: is called once for each operation, also for one that was refused or failed, and
                never receives a text; its exceptions are logged and ignored.
        """
        self.default_budget = default_budget
        self._context = context
        self._max_concurrent_sessions = max_concurrent_sessions
        self._on_access = on_access

    @property
    def client_id(self) -> str:
        """The client that owns the runs."""
        return self._context().client_id

    @property
    def max_concurrent_sessions(self) -> int:
        """The maximum number of the client's active runs."""
        return self._max_concurrent_sessions

    def run(
        self,
        *,
        agent_type: str,
        episode_id: str,
        budget: RetrievalBudget | Mapping[str, int] | None = None,
        parent_session_id: str | None = None,
        operation_id: str | None = None,
    ) -> Beginning:
        """Start a run: await it, or use it with `async with`; the arguments and errors are those of `start`.

        At the end of the block the run ends with the outcome `success`, or with that of the exception
        that leaves the block.
        """

        async def begin() -> RunSession:
            run = await self.start(
                agent_type=agent_type,
                episode_id=episode_id,
                budget=budget,
                parent_session_id=parent_session_id,
                operation_id=operation_id,
            )
            return RunSession(self, run)

        return Beginning(begin)

    async def find(self, run_id: str) -> RunSession | None:
        """Return a run to continue, or None if the client has no such run. Raises `Unavailable`."""
        try:
            return RunSession(self, await self.show(run_id))
        except RunNotFound:
            return None

    async def start(
        self,
        *,
        agent_type: str,
        episode_id: str,
        budget: RetrievalBudget | Mapping[str, int] | None = None,
        parent_session_id: str | None = None,
        operation_id: str | None = None,
    ) -> Run:
        """Start a run.

        Args:
            agent_type: the kind of agent, 1–256 characters.
            episode_id: the task that the run belongs to, 1–256 characters.
            budget: `max_tokens` 1–1,000,000,000, `max_time_ms` 1–604,800,000 (7 days), `max_retries`
                0–1,000; 10,000, 60,000 and 3 for those left out. None for the default budget.
            parent_session_id: the run whose budget the run's is taken from, as far as that remains.
            operation_id: the caller's name for this operation; a repetition returns the same run.

        Raises:
            InvalidInput: an argument is out of range.
            RunNotFound: there is no such parent.
            TooManyRuns: `max_concurrent_sessions` runs are active.
            OperationReused: the operation_id belongs to another start.
            ChildlessBudget, TooDeep, RunEnded, RunTimeout: the parent refuses a child.
            Unavailable: the database does not answer, and no retry is left.
        """
        fields = {
            "agent_type": agent_type,
            "episode_id": episode_id,
            "budget": budget,
            "parent_session_id": parent_session_id,
            "operation_id": operation_id,
        }
        return await starting.start(
            validated(fields, NewRun),
            self._context(),
            default_budget=self.default_budget,
            most_active=self._max_concurrent_sessions,
            on_access=self._on_access,
        )

    async def show(self, run_id: str) -> Run:
        """Return the present state of a run. Raises `RunNotFound`, `Unavailable`."""
        return await show.show_run(text_id(run_id, "run_id"), self._context())

    async def list_runs(
        self, *, status: RunStatus | None = None, limit: int = 50, cursor: str | None = None
    ) -> Runs:
        """Return the client's runs, most recently started first, 1–200 a page.

        So that runs whose ids were lost can be continued, or ended. Raises `InvalidInput`, `Unavailable`.
        """
        asked = validated({"status": status, "limit": limit, "cursor": cursor}, RunsAsked)
        return await show.show_runs(asked, self._context())

    async def retrieve(
        self,
        run_id: str,
        *,
        query: str | Sequence[float],
        max_tokens: int,
        source_types: Sequence[RunSourceType] | None = None,
        source_ids: Sequence[str] | None = None,
        min_relevance: float | None = None,
        sort_by: RunSort = "relevance",
        cursor: str | None = None,
        operation_id: str | None = None,
    ) -> RetrievalResult:
        """Return the best spans for a question, charged to the run; see `RunSession.retrieve`."""
        fields = {
            "query": query,
            "max_tokens": max_tokens,
            "source_types": source_types,
            "source_ids": source_ids,
            "min_relevance": min_relevance,
            "sort_by": sort_by,
            "cursor": cursor,
            "operation_id": operation_id,
        }
        question = validated(fields, RunQuestion)
        context, on_access = self._context(), self._on_access
        return await retrieve.retrieve(text_id(run_id, "run_id"), question, context, on_access)

    async def peek(
        self,
        run_id: str,
        *,
        span_id: str,
        include_content: bool = False,
        operation_id: str | None = None,
    ) -> RunPeek:
        """Return a span, free of charge; see `RunSession.peek`."""
        fields = {
            "span_id": span_id,
            "include_content": include_content,
            "operation_id": operation_id,
        }
        asked = validated(fields, PeekAsked)
        context, on_access = self._context(), self._on_access
        return await show.peek(text_id(run_id, "run_id"), asked, context, on_access)

    async def write(
        self,
        run_id: str,
        *,
        type: WriteType,
        content: str,
        metadata: Mapping[str, Any] | None = None,
        operation_id: str | None = None,
    ) -> WriteResult:
        """Write a text that every agent of the client finds at once; see `RunSession.write`."""
        fields = {
            "type": type,
            "content": content,
            "metadata": metadata,
            "operation_id": operation_id,
        }
        new = validated(fields, NewWrite)
        context, on_access = self._context(), self._on_access
        return await write.write(text_id(run_id, "run_id"), new, context, on_access)

    async def subcall(
        self,
        run_id: str,
        *,
        agent_type: str,
        budget_fraction: float,
        fixed_budget: FixedBudget | Mapping[str, int] | None = None,
        operation_id: str | None = None,
    ) -> Run:
        """Start a child with a part of the remaining budget; see `RunSession.subcall`."""
        fields = {
            "agent_type": agent_type,
            "budget_fraction": budget_fraction,
            "fixed_budget": fixed_budget,
            "operation_id": operation_id,
        }
        return await starting.start_child(
            text_id(run_id, "run_id"),
            validated(fields, SubcallAsked),
            self._context(),
            most_active=self._max_concurrent_sessions,
            on_access=self._on_access,
        )

    async def end(
        self, run_id: str, *, outcome: RunOutcome, operation_id: str | None = None
    ) -> RunResult:
        """End a run and all below it, and return its totals; a repetition changes nothing.

        Raises `InvalidInput`, `RunNotFound`, `Unavailable`.
        """
        new = validated({"outcome": outcome, "operation_id": operation_id}, NewEnd)
        return await session.end(text_id(run_id, "run_id"), new, self._context(), self._on_access)

    async def tree(self, run_id: str) -> TreeRun:
        """Return a run with all runs below it, and the usage of each. Raises `RunNotFound`, `Unavailable`."""
        return await show.show_tree(text_id(run_id, "run_id"), self._context())

    async def accesses(
        self, run_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> Accesses:
        """Return the recorded operations of a run, newest first; see `RunSession.accesses`."""
        asked = validated({"limit": limit, "cursor": cursor}, AccessesAsked)
        return await show.show_accesses(text_id(run_id, "run_id"), asked, self._context())
