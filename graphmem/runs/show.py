"""Showing runs: a page of them, one, the tree below one, its recorded operations; and peeking at a span."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.context import Context
from graphmem.errors import ContentDamaged, RunNotFound, SpanNotFound
from graphmem.graph.query import Query
from graphmem.model.pages import listing, page
from graphmem.prompts.truncation import truncated
from graphmem.references.spans import fetch_spans
from graphmem.runs.performing import Done, impatient, new_operation, perform
from graphmem.runs.stored import RUNS, fetch_run, shown
from graphmem.runs.sweep import close_overdue, close_run, reclaim
from graphmem.runs.types import (
    RUN_STATUSES,
    Access,
    Accesses,
    AccessesAsked,
    OnAccess,
    Operation,
    PeekAsked,
    Returned,
    Run,
    RunInTree,
    RunPeek,
    Runs,
    RunsAsked,
    TreeRun,
    check_labels,
    of_peek,
    with_child,
)

PREVIEW_TOKENS = 100
"""The length of a preview in tokens; it is free of charge."""

TREE_READS = 10
"""The number of times that a tree is read until its budgets balance."""


class OperationCount(Struct, frozen=True):
    """The number of times that an operation was performed in a run."""

    operation: Operation
    times: int


class TreeRunRow(RunInTree, frozen=True, kw_only=True):
    """A run of a tree, without its children."""

    operations: list[OperationCount]


class AccessRow(Struct, frozen=True, kw_only=True):
    """A recorded operation; its parameters are JSON."""

    id: str
    session_id: str
    operation: Operation
    timestamp: datetime
    tokens_consumed: int
    duration_ms: float
    error: str | None
    params: str
    child_session_id: str | None
    returned: list[Returned]
    wrote: list[str]


RUN_TREE = Query("runs/run_tree", TreeRunRow)
RUN_ACCESSES = Query("runs/run_accesses", AccessRow)


async def show_run(run_id: str, context: Context) -> Run:
    """Return a run; if it or a child of it is overdue, that ends first and returns its tokens.

    Raises `RunNotFound`, also for a run of another client, and `Unavailable`.
    """
    now, client_id, graph = context.now(), context.client_id, context.graph
    found = await fetch_run(run_id, client_id=client_id, now=now, graph=graph)
    changed = found.is_overdue(now)
    if changed:
        await close_run(run_id, "timeout", client_id=client_id, now=now, graph=graph)
    elif found.given > 0:
        changed = await reclaim(run_id, client_id=client_id, now=now, graph=graph) > 0
    if changed:
        found = await fetch_run(run_id, client_id=client_id, now=now, graph=graph)
    return shown(found, now)


async def show_runs(asked: RunsAsked, context: Context) -> Runs:
    """Return a page of a client's runs, most recently started first; overdue ones end first.

    Raises `InvalidInput` for a foreign cursor, and `Unavailable`.
    """
    now, client_id, graph = context.now(), context.client_id, context.graph
    listed = listing(asked)
    before, before_id = listed.position(asked.cursor)
    await close_overdue(client_id=client_id, now=now, graph=graph)
    rows = await graph.rows(
        RUNS,
        client_id=client_id,
        statuses=[asked.status] if asked.status else list(RUN_STATUSES),
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
        now=now,
    )
    found, after = page(rows, asked.limit, lambda row: listed.cursor(row.started_at, row.id))
    return Runs(runs=[shown(row, now) for row in found], cursor=after)


async def show_tree(run_id: str, context: Context) -> TreeRun:
    """Return a run with all runs below it, and the usage of each; overdue ones end first.

    Raises `RunNotFound`, also for a run of another client, and `Unavailable`.
    """
    now, client_id, graph = context.now(), context.client_id, context.graph
    rows = await _tree_rows(run_id, context, now)
    if overdue := [row for row in rows if row.status == "timeout" and row.ended_at is None]:
        # From the root down: all runs below a run end with it.
        for row in overdue:
            await close_run(row.id, "timeout", client_id=client_id, now=now, graph=graph)
        rows = await _tree_rows(run_id, context, now)
    if not rows:
        raise RunNotFound(run_id)
    return tree(rows)


async def _tree_rows(run_id: str, context: Context, now: datetime) -> list[TreeRunRow]:
    """Return a run and all runs below it as they were at one moment.

    Neo4j reads node by node, so a statement may see only a part of a change: then it is read again.
    """
    rows: list[TreeRunRow] = []
    for _ in range(TREE_READS):
        rows = await context.graph.rows(RUN_TREE, client_id=context.client_id, id=run_id, now=now)
        if _balances(rows):
            break
    return rows


def _balances(rows: Sequence[TreeRunRow]) -> bool:
    """Tell whether no run has used more than it has, and each gave what its children did not return."""
    given = Counter[str]()
    for row in rows:
        if row.parent_session_id is not None:
            given[row.parent_session_id] += row.max_tokens - row.returned
    return all(row.remaining >= 0 and row.given == given[row.id] for row in rows)


def tree(rows: Sequence[TreeRunRow]) -> TreeRun:
    """Return runs as a tree; the rows have the root first."""
    runs: dict[str, TreeRun] = {}
    for row in reversed(rows):
        children = [runs[other.id] for other in rows if other.parent_session_id == row.id]
        properties: dict[str, Any] = asdict(row)
        properties["operations"] = {one.operation: one.times for one in row.operations}
        runs[row.id] = TreeRun(**properties, children=children)
    return runs[rows[0].id]


async def show_accesses(run_id: str, asked: AccessesAsked, context: Context) -> Accesses:
    """Return the recorded operations of a run, newest first, one page at a time.

    Raises `InvalidInput` for a foreign cursor, `RunNotFound`, also for a run of another client, and
    `Unavailable`.
    """
    listed = listing(asked, run_id)
    before, before_id = listed.position(asked.cursor)
    client_id, graph = context.client_id, context.graph
    await fetch_run(run_id, client_id=client_id, now=context.now(), graph=graph)
    rows = await graph.rows(
        RUN_ACCESSES,
        client_id=client_id,
        id=run_id,
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    found, after = page(rows, asked.limit, lambda row: listed.cursor(row.timestamp, row.id))
    return Accesses(accesses=[_access(row) for row in found], cursor=after)


def _access(row: AccessRow) -> Access:
    properties: dict[str, Any] = asdict(row)
    params = msgspec.json.decode(row.params)
    child = properties.pop("child_session_id")
    return Access(**properties | {"params": with_child(params, child)})


async def peek(
    run_id: str, asked: PeekAsked, context: Context, on_access: OnAccess | None = None
) -> RunPeek:
    """Return a span, and a preview of its content if requested: free of charge.

    Raises `InvalidInput`, `SpanNotFound`, `ContentDamaged`, `RunNotFound`, `RunEnded`, `RunTimeout`,
    `OperationReused`, `Unavailable`.
    """
    check_labels(span_id=asked.span_id, operation_id=asked.operation_id)
    context = impatient(context)
    kept = of_peek(asked, run_id)
    operation = new_operation(run_id, "peek", kept, context, operation_id=asked.operation_id)

    async def work() -> Done[RunPeek]:
        found = await _preview(asked, context)
        # No text is stored, and nothing is charged.
        answer = msgspec.json.encode(replace(found, content=None)).decode()
        delivered = {"id": found.span.id, "rank": 1, "score": 1.0, "tokens": 0}
        return Done(answer=answer, result=found, returned=[delivered])

    performed = await perform(operation, work, context, on_access)
    found = performed.result
    if found is None:
        found = await _preview(asked, context)
    return replace(found, budget=performed.budget)


async def _preview(asked: PeekAsked, context: Context) -> RunPeek:
    """Return a span, and the first 100 tokens of its content if requested."""
    found = (await fetch_spans([asked.span_id], context)).get(asked.span_id)
    if found is None:
        raise SpanNotFound(asked.span_id)
    if not asked.include_content or not found.text:
        return RunPeek(span=found.shown)
    if not found.sound:
        raise ContentDamaged(asked.span_id)
    cut = await asyncio.to_thread(truncated, found.text, PREVIEW_TOKENS, "end", context.tokens)
    return RunPeek(span=found.shown, content=cut.content, truncated=cut.truncated)
