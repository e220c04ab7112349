"""Ending runs: those below end first, and what is unspent goes back to the parent, all in one transaction."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from graphmem.errors import RunNotFound
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query
from graphmem.runs.budget import Closed, Open, closed
from graphmem.runs.clock import Clock
from graphmem.runs.standing import standing
from graphmem.runs.types import RunOutcome

SWEPT_AT_ONCE = 100


class Overdue(Struct, frozen=True):
    """A run whose time is over."""

    client_id: str
    id: str


class Ended(Struct, frozen=True):
    """How many rows a statement has written."""

    written: int


LOCK_ENDING = Query("runs/lock_ending", Open, writes=True)
END_RUNS = Query("runs/end_runs", Ended, writes=True)
OVERDUE_RUNS = Query("runs/overdue_runs", Overdue)
OVERDUE_CHILDREN = Query("runs/overdue_children", Overdue)
EXPIRED_HOLDS = Query("runs/expired_holds", Overdue)
DROP_HOLDS = Query("runs/drop_holds", Ended, writes=True)


async def end_run(
    run_id: str,
    outcome: RunOutcome,
    *,
    client_id: str,
    now: datetime,
    began: Clock | None = None,
    graph: Graph,
) -> bool:
    """End a run with all below it; return whether it was this that ended it.

    One whose time is over has timed out, whatever the outcome. Raises `RunNotFound`.
    """
    found = await standing(run_id, client_id=client_id, now=now, graph=graph)
    if found.status != "active":
        return False
    above = [found.parent_id] if found.parent_id else []

    async def work(transaction: Transaction) -> bool:
        runs = await _locked([*above, run_id], len(above), transaction, client_id)
        if runs[0].status != "active":
            return False
        rows = [
            _row(one, run_id, outcome, now=now, took=began.milliseconds if began else 0.0)
            for one in closed(runs, outcome, now)
        ]
        await transaction.rows(END_RUNS, client_id=client_id, rows=rows)
        return True

    return await graph.write(work)


async def _locked(
    first: list[str], above: int, transaction: Transaction, client_id: str
) -> list[Open]:
    """Lock the parent, the run, and level by level what is active below it; return it from the run down."""
    level = (await _lock(first, transaction, client_id))[above:]
    if not level:
        raise RunNotFound(first[-1])
    runs: list[Open] = []
    while level:
        runs += level
        ids = [child for run in level for child in run.children]
        level = await _lock(ids, transaction, client_id) if ids else []
    return runs


async def _lock(ids: list[str], transaction: Transaction, client_id: str) -> list[Open]:
    return await transaction.rows(LOCK_ENDING, client_id=client_id, ids=ids)


def _row(
    run: Closed, asked_of: str, asked: RunOutcome, *, now: datetime, took: float
) -> dict[str, Any]:
    """Return what the end of one run changes, and its record."""
    params = {"outcome": asked} | ({} if run.id == asked_of else {"ended_with": asked_of})
    access = {
        "id": f"end-{run.id}",
        "run_id": run.id,
        "operation": "end",
        "at": now,
        "tokens": 0,
        "duration_ms": took,
        "params": msgspec.json.encode(params, order="sorted").decode(),
    }
    changes = {
        "status": run.status,
        "outcome": run.outcome,
        "ended_at": run.ended_at,
        "returned": run.returned,
        "retries_returned": run.retries_returned,
    }
    return {"id": run.id, "run": changes, "access": access}


async def reclaim(run_id: str, *, client_id: str, now: datetime, graph: Graph) -> int:
    """End the children of a run whose time is over, so that what they left comes back; return how many."""
    overdue = await graph.rows(OVERDUE_CHILDREN, client_id=client_id, id=run_id, now=now)
    return await _end_all(overdue, now, graph)


async def sweep(*, now: datetime, graph: Graph) -> int:
    """End runs of all clients whose time is over; return how many. Remove holds that have expired."""
    ended = 0
    while overdue := await graph.rows(OVERDUE_RUNS, now=now, limit=SWEPT_AT_ONCE):
        ended += await _end_all(overdue, now, graph)
    # Run by run: a lock on one is held by nobody who waits for another's.
    for run in await graph.rows(EXPIRED_HOLDS, now=now, limit=10 * SWEPT_AT_ONCE):
        await graph.change(DROP_HOLDS, client_id=run.client_id, id=run.id, now=now)
    return ended


async def _end_all(overdue: Sequence[Overdue], now: datetime, graph: Graph) -> int:
    ended = 0
    for run in overdue:
        ended += await end_run(run.id, "timeout", client_id=run.client_id, now=now, graph=graph)
    return ended
