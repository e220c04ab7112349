"""An agent's end of its run, and what the run came to."""

from collections.abc import Callable
from datetime import datetime

from graphmem.graph.driver import Graph
from graphmem.observing.spans import span
from graphmem.runs.clock import Clock, Tell
from graphmem.runs.ending import end_run
from graphmem.runs.performing import Step, attributes, entry_of, told
from graphmem.runs.standing import result, standing
from graphmem.runs.trying import Tries
from graphmem.runs.types import RunOutcome, RunResult


async def end(
    run_id: str,
    outcome: RunOutcome,
    *,
    client_id: str,
    now: Callable[[], datetime],
    graph: Graph,
    tell: Tell,
) -> RunResult:
    """End a run and all below it, and return what it came to; ending it again changes nothing.

    Raises `RunNotFound`, `Unavailable`.
    """
    graph, clock, tries = graph.impatient(), Clock.start(now), Tries()
    step = Step(
        run_id=run_id,
        operation="end",
        operation_id=run_id,
        access_id=f"end-{run_id}",
        parameters={"outcome": outcome},
    )

    async def ended() -> RunResult:
        await end_run(run_id, outcome, client_id=client_id, now=now(), began=clock, graph=graph)
        return result(await standing(run_id, client_id=client_id, now=now(), graph=graph))

    with span("run end", {"graphmem.run": run_id}) as shown:
        error = None
        try:
            return await tries.of(ended)
        except BaseException as problem:
            error = told(problem)
            raise
        finally:
            entry = entry_of(step, clock, 0, error)
            shown.set_attributes(attributes(entry) | {"graphmem.retries": tries.used})
            tell(entry)
