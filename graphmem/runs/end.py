"""An agent's end of its run."""

from graphmem.context import Context
from graphmem.runs.budget import milliseconds
from graphmem.runs.performing import Attempt, RunOperation, observe
from graphmem.runs.stored import StoredRun, fetch_run
from graphmem.runs.sweep import close_run
from graphmem.runs.types import NewEnd, OnAccess, RunResult


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
