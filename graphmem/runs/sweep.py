"""Closing runs whose time is over, and deleting trees of runs that ended long ago; written memories stay."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from graphmem.errors import RunNotFound
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.runs.budget import Clock, EndedRun, EndingRun, ended
from graphmem.runs.stored import fetch_run
from graphmem.runs.types import RunOutcome

SWEPT_AT_ONCE = 100


class RunKey(Struct, frozen=True):
    """A run, and the client that owns it."""

    client_id: str
    id: str


LOCK_ENDING = Query("runs/lock_ending", EndingRun, writes=True)
END_RUNS = Query("runs/end_runs", RowsWritten, writes=True)
OVERDUE_RUNS = Query("runs/overdue_runs", RunKey)
OVERDUE_OF_CLIENT = Query("runs/overdue_of_client", RunKey)
OVERDUE_CHILDREN = Query("runs/overdue_children", RunKey)
EXPIRED_HOLDS = Query("runs/expired_holds", RunKey)
DROP_HOLDS = Query("runs/drop_holds", RowsWritten, writes=True)


async def close_run(
    run_id: str,
    outcome: RunOutcome,
    *,
    client_id: str,
    now: datetime,
    graph: Graph,
    clock: Clock | None = None,
) -> bool:
    """End a run with all below it; return whether this call ended it.

    The outcome of a run past its deadline is a timeout. `clock` is that of an agent's request, whose
    duration is recorded. Raises `RunNotFound`.
    """
    found = await fetch_run(run_id, client_id=client_id, now=now, graph=graph)
    if found.status != "active":
        return False
    above = [found.parent_id] if found.parent_id else []

    async def work(transaction: Transaction) -> bool:
        runs = await _lock_tree([*above, run_id], len(above), transaction, client_id)
        if runs[0].status != "active":
            return False
        duration_ms = clock.milliseconds if clock else 0.0
        rows = [
            _row(run, run_id, outcome, now=now, duration_ms=duration_ms)
            for run in ended(runs, outcome, now)
        ]
        await transaction.rows(END_RUNS, client_id=client_id, rows=rows)
        return True

    return await graph.write(work)


async def _lock_tree(
    first: list[str], above: int, transaction: Transaction, client_id: str
) -> list[EndingRun]:
    """Lock the parent, the run, and its active descendants level by level; return the run and these."""
    level = (await _lock(first, transaction, client_id))[above:]
    if not level:
        raise RunNotFound(first[-1])
    runs: list[EndingRun] = []
    while level:
        runs += level
        ids = [child for run in level for child in run.children]
        level = await _lock(ids, transaction, client_id) if ids else []
    return runs


async def _lock(ids: list[str], transaction: Transaction, client_id: str) -> list[EndingRun]:
    return await transaction.rows(LOCK_ENDING, client_id=client_id, ids=ids)


def _row(
    run: EndedRun, requested_id: str, requested: RunOutcome, *, now: datetime, duration_ms: float
) -> dict[str, Any]:
    """Return the changes of a run that ends, and the record of its end."""
    params: dict[str, str] = {"outcome": requested}
    if run.id != requested_id:
        params |= {"ended_with": requested_id}
    access = {
        "id": f"end-{run.id}",
        "run_id": run.id,
        "operation": "end",
        "at": now,
        "tokens": 0,
        "duration_ms": duration_ms,
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


async def close_overdue(*, client_id: str, now: datetime, graph: Graph) -> None:
    """End the overdue runs of a client."""
    overdue = await graph.rows(OVERDUE_OF_CLIENT, client_id=client_id, now=now, limit=SWEPT_AT_ONCE)
    await _close_all(overdue, now, graph)


async def reclaim(run_id: str, *, client_id: str, now: datetime, graph: Graph) -> int:
    """End the overdue children of a run, so that their unspent budget returns; return their number."""
    overdue = await graph.rows(OVERDUE_CHILDREN, client_id=client_id, id=run_id, now=now)
    return await _close_all(overdue, now, graph)


async def sweep(*, now: datetime, graph: Graph) -> int:
    """End the overdue runs of all clients and return their number; remove expired holds."""
    count = 0
    while overdue := await graph.rows(OVERDUE_RUNS, now=now, limit=SWEPT_AT_ONCE):
        count += await _close_all(overdue, now, graph)
    # Run by run, so that no transaction holds the lock of one run while it waits for another's.
    for run in await graph.rows(EXPIRED_HOLDS, now=now, limit=10 * SWEPT_AT_ONCE):
        await graph.change(DROP_HOLDS, client_id=run.client_id, id=run.id, now=now)
    return count


async def _close_all(overdue: Sequence[RunKey], now: datetime, graph: Graph) -> int:
    count = 0
    for run in overdue:
        count += await close_run(run.id, "timeout", client_id=run.client_id, now=now, graph=graph)
    return count


TREES_AT_ONCE = 100
RECORDS_AT_ONCE = 1_000
"""The number of records that one transaction deletes."""

OLD_ROOTS = Query("runs/old_roots", RunKey)
FORGET_OPERATIONS = Query("runs/forget_operations", RowsWritten, writes=True)
FORGET_RUNS = Query("runs/forget_runs", RowsWritten, writes=True)


class Forgotten(Struct, frozen=True):
    """The number of deleted runs and records of operations."""

    runs: int
    operations: int


async def forget_runs(*, before: datetime, graph: Graph) -> Forgotten:
    """Delete whole trees of runs, of all clients, that ended before a time and have no active member.

    Raises `Unavailable`.
    """
    runs = operations = 0
    while trees := await graph.rows(OLD_ROOTS, before=before, limit=TREES_AT_ONCE):
        deleted = 0
        for root in trees:
            operations += await _delete_all(FORGET_OPERATIONS, root, before, graph)
            deleted += await _delete_all(FORGET_RUNS, root, before, graph)
        runs += deleted
        if not deleted:
            # A tree that cannot be deleted now waits for the next sweep; this one must end.
            break
    return Forgotten(runs, operations)


async def _delete_all(
    query: Query[RowsWritten], root: RunKey, before: datetime, graph: Graph
) -> int:
    """Delete until nothing is left; return the number of deleted records."""
    total = 0
    while True:
        rows = await graph.change(
            query,
            client_id=root.client_id,
            id=root.id,
            before=before,
            limit=RECORDS_AT_ONCE,
        )
        if not rows[0].written:
            return total
        total += rows[0].written
