"""Retention: runs that ended long ago go, a tree at a time, with what was recorded of them.

Some records a transaction, the root last: what is cut off is gone on with the next time. What a run wrote
stays.
"""

from datetime import datetime

from msgspec import Struct

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.runs.ending import Overdue
from graphmem.runs.performing import Written

TREES_AT_ONCE = 100
RECORDS_AT_ONCE = 1_000
"""How many records one transaction deletes."""

OLD_ROOTS = Query("runs/old_roots", Overdue)
FORGET_OPERATIONS = Query("runs/forget_operations", Written, writes=True)
FORGET_RUNS = Query("runs/forget_runs", Written, writes=True)


class Forgotten(Struct, frozen=True):
    """How much was deleted."""

    runs: int
    operations: int


async def forget_runs(*, before: datetime, graph: Graph) -> Forgotten:
    """Delete trees of runs of all clients that ended before a time, as a whole.

    None that has an active member. Raises `Unavailable`.
    """
    runs = operations = 0
    while trees := await graph.rows(OLD_ROOTS, before=before, limit=TREES_AT_ONCE):
        deleted = 0
        for root in trees:
            operations += await _emptied(FORGET_OPERATIONS, root, before, graph)
            deleted += await _emptied(FORGET_RUNS, root, before, graph)
        runs += deleted
        if not deleted:
            # What cannot be deleted now is looked at the next time, not for ever.
            break
    return Forgotten(runs, operations)


async def _emptied(query: Query[Written], root: Overdue, before: datetime, graph: Graph) -> int:
    """Delete until nothing is left; return how much that was."""
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
