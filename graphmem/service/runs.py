"""Budgeted runs: an environment in which agents start runs, work in them and see what was done (S3)."""

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from graphmem.embedding import Vector
from graphmem.errors import InvalidInput, RunNotFound
from graphmem.model.text import checked_text
from graphmem.model.validation import validated
from graphmem.model.vocabulary import QUERY_CHARACTERS
from graphmem.observing.logs import traced
from graphmem.runs import parameters
from graphmem.runs import peek as run_peeking
from graphmem.runs import retrieve as run_retrieval
from graphmem.runs import show as reading
from graphmem.runs import write as run_writing
from graphmem.runs.closing import end
from graphmem.runs.parameters import Parameters
from graphmem.runs.performing import Done, Performed, Step, Work, perform
from graphmem.runs.standing import shown, standing
from graphmem.runs.starting import start, subcall
from graphmem.runs.types import (
    AccessEntry,
    Accesses,
    AccessesAsked,
    FixedBudget,
    NewEnd,
    NewRun,
    NewWrite,
    Operation,
    PeekAsked,
    RetrievalBudget,
    RetrievalResult,
    Run,
    RunPeek,
    RunQuestion,
    RunResult,
    SubcallAsked,
    TreeRun,
    WriteResult,
)
from graphmem.runtime import Runtime
from graphmem.service.bound import Bound, new_id, now
from graphmem.service.run import Beginning, RunSession

LABEL_BYTES = 1_024
"""How long a name that a caller gives may be, in bytes of UTF-8."""

OnAccess = Callable[[AccessEntry], None]

log = logging.getLogger(__name__)


class RunEnvironment(Bound):
    """Where one client's agents run: what a run may use by default, how many there may be, who is told.

    `default_budget` are the fields of `RetrievalBudget`; `on_access` is told of every operation that
    is asked for here, once each, refused ones included, and never of a text.
    """

    def __init__(
        self,
        runtime: Runtime,
        client_id: str,
        *,
        default_budget: RetrievalBudget | dict[str, int] | None = None,
        on_access: OnAccess | None = None,
        max_concurrent_sessions: int | None = None,
    ) -> None:
        super().__init__(runtime, client_id)
        self.default_budget = validated(default_budget or {}, RetrievalBudget)
        self.max_concurrent_sessions = (
            max_concurrent_sessions or runtime.settings.max_concurrent_sessions
        )
        self._on_access = on_access

    def run(self, **fields: Any) -> Beginning:
        """Begin a run for the length of a block, or by awaiting it; its fields are `NewRun`'s.

        At the block's end it ends with `success`; with the failure where an exception leaves the block.
        """
        return Beginning(lambda: self._begun(fields))

    async def find(self, run_id: str) -> RunSession | None:
        """Return a run to go on with, None where there is none. Raises `Unavailable`."""
        try:
            return RunSession(self, await self.show(run_id))
        except RunNotFound:
            return None

    async def start(self, **fields: Any) -> Run:
        """Start a run; its fields are `NewRun`'s. Under a parent it is a sub-call of that.

        Raises `InvalidInput`, `RunNotFound` for the parent, `TooManyRuns`, `Unavailable`, and what
        `subcall` raises.
        """
        new = validated(fields, NewRun)
        _check_labels(
            agent_type=new.agent_type, episode_id=new.episode_id, operation_id=new.operation_id
        )
        limits = new.budget or self.default_budget
        if new.parent_session_id is not None:
            fixed = FixedBudget(
                max_tokens=limits.max_tokens,
                max_time_ms=limits.max_time_ms,
                max_retries=limits.max_retries,
            )
            asked = SubcallAsked(
                agent_type=new.agent_type,
                budget_fraction=1.0,
                fixed_budget=fixed,
                operation_id=new.operation_id,
            )
            return await self._subcall(new.parent_session_id, asked, new.episode_id)
        run_id = await start(
            new,
            limits,
            client_id=self.client_id,
            most=self.max_concurrent_sessions,
            now=now,
            new_id=new_id,
            graph=self.runtime.graph,
            tell=self._tell,
        )
        return await self.show(run_id)

    async def show(self, run_id: str) -> Run:
        """Return a run as it stands. Raises `RunNotFound`, `Unavailable`."""
        moment = now()
        found = await reading.run(
            run_id, client_id=self.client_id, now=moment, graph=self.runtime.graph
        )
        return shown(found, moment)

    async def retrieve(self, run_id: str, **fields: Any) -> RetrievalResult:
        """Return the best spans for a question, charged to the run; the fields are `RunQuestion`'s.

        Raises `InvalidInput`, `RunNotFound`, `BudgetExhausted`, `RunEnded`, `RunTimeout`,
        `OperationReused`, `Unavailable`.
        """
        question = self._checked(validated(fields, RunQuestion))
        kept = parameters.of_question(validated(fields, RunQuestion), run_id)
        step = self._step(run_id, "retrieve", kept, question.operation_id, question.max_tokens)
        # All of one embedding model, also when the operation is tried again after a change of it.
        graph, embedder = self.runtime.graph.impatient(), self.runtime.embedder
        calibration = self.runtime.calibration
        ahead = run_retrieval.Ahead(
            lambda: run_retrieval.search(
                question,
                kept,
                run_id,
                client_id=self.client_id,
                graph=graph,
                embedder=embedder,
                vocabulary=self.runtime.vocabulary,
                calibration=calibration,
            )
        )
        found: list[RetrievalResult] = []

        async def work() -> Done:
            hits = await ahead.hits()
            result = await run_retrieval.retrieve(
                question, hits, step.access_id, client_id=self.client_id, graph=graph
            )
            found[:] = [result]
            return run_retrieval.done(result, run_retrieval.previous(question.cursor))

        try:
            performed = await self._perform(step, work)
        finally:
            ahead.drop()
        if performed.again:
            found[:] = [
                await run_retrieval.again(
                    performed.answer, client_id=self.client_id, graph=self.runtime.graph
                )
            ]
        return replace(found[0], budget=performed.budget)

    async def peek(self, run_id: str, **fields: Any) -> RunPeek:
        """Return a span, and a preview of its content if asked for: free. The fields are `PeekAsked`'s.

        Raises `InvalidInput`, `SpanNotFound`, `ContentDamaged`, `RunNotFound`, `RunEnded`,
        `RunTimeout`, `OperationReused`, `Unavailable`.
        """
        asked = validated(fields, PeekAsked)
        _check_labels(span_id=asked.span_id, operation_id=asked.operation_id)
        kept: Parameters = {
            "span_digest": parameters.digest(run_id, asked.span_id),
            "include_content": asked.include_content,
        }
        step = self._step(run_id, "peek", kept, asked.operation_id)
        found: list[RunPeek] = []

        async def work() -> Done:
            found[:] = [
                await run_peeking.peek(
                    asked.span_id,
                    with_content=asked.include_content,
                    client_id=self.client_id,
                    graph=self.runtime.graph.impatient(),
                    tokens=self.runtime.tokens,
                )
            ]
            return run_peeking.done(found[0])

        performed = await self._perform(step, work)
        if not found:
            await work()
        return replace(found[0], budget=performed.budget)

    async def write(self, run_id: str, **fields: Any) -> WriteResult:
        """Leave a text for every agent of the client to find at once; the fields are `NewWrite`'s.

        Raises `InvalidInput`, `TooLarge`, `RunNotFound`, `RunEnded`, `RunTimeout`, `OperationReused`,
        `Unavailable`.
        """
        new = run_writing.checked(validated(fields, NewWrite))
        _check_labels(operation_id=new.operation_id)
        step = self._step(run_id, "write", parameters.of_write(new, run_id), new.operation_id)
        written: list[WriteResult] = []

        async def work() -> Done:
            graph = self.runtime.graph.impatient()
            run = await standing(run_id, client_id=self.client_id, now=now(), graph=graph)
            reference, spans = await run_writing.prepared(
                new,
                written_by=run.agent_type,
                client_id=self.client_id,
                now=now(),
                new_id=new_id,
                embedder=self.runtime.embedder,
                tokens=self.runtime.tokens,
            )
            written[:] = [run_writing.result(reference, spans)]
            return run_writing.done(reference, spans, client_id=self.client_id)

        performed = await self._perform(step, work)
        if performed.again:
            written[:] = [
                await run_writing.again(
                    performed.answer, client_id=self.client_id, graph=self.runtime.graph
                )
            ]
        return replace(written[0], budget=performed.budget)

    async def subcall(self, run_id: str, **fields: Any) -> Run:
        """Start a child with a part of what the run has left; the fields are `SubcallAsked`'s.

        Raises `InvalidInput`, `RunNotFound`, `BudgetExhausted`, `ChildlessBudget`, `TooDeep`,
        `TooManyRuns`, `RunEnded`, `RunTimeout`, `OperationReused`, `Unavailable`.
        """
        asked = validated(fields, SubcallAsked)
        _check_labels(agent_type=asked.agent_type, operation_id=asked.operation_id)
        return await self._subcall(run_id, asked, None)

    async def end(self, run_id: str, **fields: Any) -> RunResult:
        """End a run and all below it; ending it again changes nothing. The fields are `NewEnd`'s.

        Raises `InvalidInput`, `RunNotFound`, `Unavailable`.
        """
        return await end(
            run_id,
            validated(fields, NewEnd).outcome,
            client_id=self.client_id,
            now=now,
            graph=self.runtime.graph,
            tell=self._tell,
        )

    async def tree(self, run_id: str) -> TreeRun:
        """Return a run with all below it: what each has used and gave. Raises `RunNotFound`."""
        return await reading.tree(
            run_id, client_id=self.client_id, now=now(), graph=self.runtime.graph
        )

    async def accesses(self, run_id: str, **asked: Any) -> Accesses:
        """Return what was done in a run, newest first; what is asked are `AccessesAsked`'s fields.

        Raises `InvalidInput`, `RunNotFound`, `Unavailable`.
        """
        return await reading.accesses(
            run_id,
            validated(asked, AccessesAsked),
            client_id=self.client_id,
            now=now(),
            graph=self.runtime.graph,
        )

    async def _begun(self, fields: dict[str, Any]) -> RunSession:
        return RunSession(self, await self.start(**fields))

    async def _subcall(self, run_id: str, asked: SubcallAsked, episode_id: str | None) -> Run:
        kept: Parameters = {
            "agent_type": asked.agent_type,
            "budget_fraction": asked.budget_fraction,
        }
        if asked.fixed_budget is not None:
            kept["fixed_budget"] = {
                name: value
                for name in ("max_tokens", "max_time_ms", "max_retries")
                if (value := getattr(asked.fixed_budget, name)) is not None
            }
        child_id = await subcall(
            self._step(run_id, "subcall", kept, asked.operation_id),
            agent_type=asked.agent_type,
            episode_id=episode_id,
            fraction=asked.budget_fraction,
            fixed=asked.fixed_budget or FixedBudget(),
            client_id=self.client_id,
            most=self.max_concurrent_sessions,
            now=now,
            new_id=new_id,
            graph=self.runtime.graph,
            tell=self._tell,
        )
        return await self.show(child_id)

    async def _perform(self, step: Step, work: Work) -> Performed:
        return await perform(
            step,
            work,
            client_id=self.client_id,
            now=now,
            graph=self.runtime.graph,
            tell=self._tell,
        )

    def _step(
        self,
        run_id: str,
        operation: Operation,
        kept: Parameters,
        operation_id: str | None,
        tokens: int = 0,
    ) -> Step:
        access_id = new_id()
        return Step(
            run_id=run_id,
            operation=operation,
            operation_id=operation_id or access_id,
            parameters=kept,
            access_id=access_id,
            tokens=tokens,
        )

    def _checked(self, question: RunQuestion) -> RunQuestion:
        """Return a question whose text is one, or whose vector is of the model's length and of length 1."""
        _check_labels(operation_id=question.operation_id, cursor=question.cursor)
        for place, id in enumerate(question.source_ids or ()):
            checked_text(id, f"source_ids[{place}]", most_bytes=4 * LABEL_BYTES)
        if isinstance(question.query, str):
            checked_text(question.query, "query", most_bytes=4 * QUERY_CHARACTERS)
            return question
        unit = unit_vector(question.query, self.runtime.embedder.model.dimensions)
        return replace(question, query=unit)

    def _tell(self, entry: AccessEntry) -> None:
        """Tell who wants to know; what goes wrong there is no failure of the operation."""
        if self._on_access is None:
            return
        try:
            self._on_access(entry)
        except Exception as problem:
            log.warning("on_access failed: %s", traced(problem))


class Runs(Bound):
    """How a client's agents run within budgets."""

    def runs(
        self,
        *,
        default_budget: RetrievalBudget | dict[str, int] | None = None,
        on_access: OnAccess | None = None,
        max_concurrent_sessions: int | None = None,
    ) -> RunEnvironment:
        """Return the environment of this client's runs. Raises `InvalidInput`."""
        return RunEnvironment(
            self.runtime,
            self.client_id,
            default_budget=default_budget,
            on_access=on_access,
            max_concurrent_sessions=max_concurrent_sessions,
        )

    def run(self, *, on_access: OnAccess | None = None, **fields: Any) -> Beginning:
        """Have a run for the length of a block: `async with memory.run(…) as run`.

        Its fields are `NewRun`'s. Raises `InvalidInput`, `TooManyRuns`, `Unavailable`.
        """
        return self.runs(on_access=on_access).run(**fields)


def unit_vector(given: Sequence[float], dimensions: int) -> Vector:
    """Return an embedding as a vector of length 1. Raises `InvalidInput`."""
    if len(given) != dimensions:
        raise InvalidInput(
            "query", f"is a vector of {len(given)} numbers; the embedding model's have {dimensions}"
        )
    largest = max(map(abs, given))
    if not math.isfinite(largest) or largest == 0.0:
        raise InvalidInput(
            "query", "is a vector of zeros or of what is no number; send an embedding"
        )
    # Divided by the largest first: neither square nor sum can overflow or vanish then.
    scaled = [value / largest for value in given]
    length = math.sqrt(sum(value * value for value in scaled))
    return [value / length for value in scaled]


def _check_labels(**labels: str | None) -> None:
    """Raise `InvalidInput` for a name that is blank or not Unicode."""
    for name, label in labels.items():
        if label is not None:
            checked_text(label, name, most_bytes=LABEL_BYTES)
