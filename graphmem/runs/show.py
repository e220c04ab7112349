"""Looking at runs: one as it stands, a tree of them, what was done in one."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from graphmem.errors import RunNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.pages import cursor, page, position
from graphmem.runs.ending import end_run
from graphmem.runs.standing import Standing, standing
from graphmem.runs.types import (
    Access,
    Accesses,
    AccessesAsked,
    Operation,
    Returned,
    RunInTree,
    TreeRun,
)


class Performed(Struct, frozen=True):
    """How often an operation was performed."""

    operation: Operation
    times: int


class Branch(RunInTree, frozen=True, kw_only=True):
    """A run of a tree, before it has its place in it."""

    operations: list[Performed]


class Recorded(Struct, frozen=True, kw_only=True):
    """An operation as it is recorded."""

    id: str
    session_id: str
    operation: Operation
    at: datetime
    tokens: int
    duration_ms: float
    error: str | None
    params: str
    returned: list[Returned]
    wrote: list[str]


RUN_TREE = Query("runs/run_tree", Branch)
RUN_ACCESSES = Query("runs/run_accesses", Recorded)


async def run(run_id: str, *, client_id: str, now: datetime, graph: Graph) -> Standing:
    """Return a run; one whose time is over has timed out. Raises `RunNotFound`, for another client's too."""
    found = await standing(run_id, client_id=client_id, now=now, graph=graph)
    if not found.is_overdue(now):
        return found
    await end_run(run_id, "timeout", client_id=client_id, now=now, graph=graph)
    return await standing(run_id, client_id=client_id, now=now, graph=graph)


async def tree(run_id: str, *, client_id: str, now: datetime, graph: Graph) -> TreeRun:
    """Return a run with all below it, in one query. Raises `RunNotFound`, for another client's too."""
    rows = await graph.rows(RUN_TREE, client_id=client_id, id=run_id, now=now)
    if not rows:
        raise RunNotFound(run_id)
    return planted(rows)


def planted(rows: Sequence[Branch]) -> TreeRun:
    """Return the runs as a tree; they come from the root down."""
    grown: dict[str, TreeRun] = {}
    for row in reversed(rows):
        children = [grown[other.id] for other in rows if other.parent_session_id == row.id]
        properties: dict[str, Any] = asdict(row)
        properties["operations"] = {one.operation: one.times for one in row.operations}
        grown[row.id] = TreeRun(**properties, children=children)
    return grown[rows[0].id]


async def accesses(
    run_id: str, asked: AccessesAsked, *, client_id: str, now: datetime, graph: Graph
) -> Accesses:
    """Return what was done in a run, newest first; the cursor goes on where they end.

    Raises `InvalidInput`, and `RunNotFound` for another client's too.
    """
    before, before_id = position(asked.cursor)
    await standing(run_id, client_id=client_id, now=now, graph=graph)
    rows = await graph.rows(
        RUN_ACCESSES,
        client_id=client_id,
        id=run_id,
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: cursor(row.at, row.id))
    return Accesses(accesses=[_shown(row) for row in shown], cursor=after)


def _shown(row: Recorded) -> Access:
    properties: dict[str, Any] = asdict(row)
    properties["params"] = msgspec.json.decode(row.params)
    return Access(**properties)
