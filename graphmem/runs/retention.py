"""Retention: trees of runs that ended long ago are deleted with their records; written memories stay.

A transaction deletes some of the records, the root last, so that the next deletion continues an interrupted
one.
"""

from datetime import datetime

from msgspec import Struct

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query, RowsWritten
from graphmem.runs.sweep import RunKey

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
