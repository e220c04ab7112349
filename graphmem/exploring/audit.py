"""The audit of operators' Cypher: every statement is recorded before it runs, and its end afterwards.

An entry holds the text as it was sent, since only that shows what was read, and the names of the parameters
without their values. It is kept in the graph and never in a log.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from graphmem.context import Context
from graphmem.errors import CypherMistake, CypherRefused, GraphmemError, TookTooLong, TookTooMuch
from graphmem.exploring.types import (
    Audit,
    AuditAsked,
    AuditEntry,
    CypherAsked,
    Outcome,
    Sender,
    Table,
)
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query, RowsWritten
from graphmem.graph.statements import STATEMENTS_AT_WORK
from graphmem.jobs.afterwards import Afterwards
from graphmem.model.pages import listing, page

KEPT = timedelta(days=90)
"""The time for which an entry is kept."""

MOST = 100_000
"""The maximum number of entries; beyond it the oldest are deleted."""

FORGOTTEN_AT_ONCE = 20

PATIENCE_SECONDS = 0.25
"""The time that an answer waits until its end is recorded; a slow server records it after the answer."""


BEGIN_AUDIT = Query("exploring/begin_audit", RowsWritten, writes=True)
SETTLE_AUDIT = Query("exploring/settle_audit", RowsWritten, writes=True)
FORGET_AUDIT = Query("exploring/forget_audit", RowsWritten, writes=True)
AUDIT = Query("exploring/audit", AuditEntry)

OUTCOMES: Mapping[type[BaseException], Outcome] = {
    CypherRefused: "refused",
    CypherMistake: "mistaken",
    TookTooLong: "cut_off",
    TookTooMuch: "cut_off",
    asyncio.CancelledError: "cancelled",
}


async def show_audit(asked: AuditAsked, context: Context) -> Audit:
    """Return entries of all clients or of one, newest first, one page at a time.

    Raises `InvalidInput` for a foreign cursor, `Unavailable`.
    """
    listed = listing(asked)
    before, before_id = listed.position(asked.cursor)
    rows = await context.graph.rows(
        AUDIT,
        asked=asked.client_id or "",
        outcome=asked.outcome or "",
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: listed.cursor(row.at, row.id))
    at_work = {one.id for one in await context.graph.rows(STATEMENTS_AT_WORK)}
    return Audit(entries=[_with_work(one, at_work) for one in shown], cursor=after)


def _with_work(entry: AuditEntry, at_work: set[str]) -> AuditEntry:
    """Return an entry that says whether the database still works on an ended statement."""
    return replace(entry, still_running=entry.outcome != "running" and entry.id in at_work)


async def begin(sent: CypherAsked, *, sender: Sender, graph: Graph) -> None:
    """Record that a statement was sent. Raises `Unavailable`; then the statement must not run."""
    await graph.change(
        BEGIN_AUDIT,
        client_id=sender.client_id,
        id=sender.id,
        at=sender.at,
        properties={
            "via": sender.via,
            "query": sent.query,
            "parameters": sorted(sent.parameters),
            "outcome": "running",
        },
    )


async def end(
    ended: Table | BaseException,
    milliseconds: float,
    *,
    sender: Sender,
    graph: Graph,
    afterwards: Afterwards,
) -> None:
    """Record the end of a statement; the answer does not wait long for it, and never fails because of it."""
    properties = {"milliseconds": milliseconds, **_outcome(ended)}
    await afterwards.do_soon(
        "the end of a statement in the audit",
        _settle(properties, sender, graph),
        patience_seconds=PATIENCE_SECONDS,
    )


async def _settle(properties: dict[str, Any], sender: Sender, graph: Graph) -> None:
    await graph.change(
        SETTLE_AUDIT, client_id=sender.client_id, id=sender.id, properties=properties
    )
    await forget(now=sender.at, graph=graph)


async def forget(*, now: datetime, graph: Graph, most: int = MOST) -> int:
    """Delete some entries that are too old or too many; return their number."""
    rows = await graph.change(FORGET_AUDIT, before=now - KEPT, most=most, limit=FORGOTTEN_AT_ONCE)
    return rows[0].written


def _outcome(ended: Table | BaseException) -> dict[str, Any]:
    if isinstance(ended, Table):
        return {"outcome": "answered", "rows": len(ended.rows), "truncated": ended.truncated}
    outcome = next((OUTCOMES[one] for one in type(ended).__mro__ if one in OUTCOMES), "failed")
    code = ended.code if isinstance(ended, GraphmemError) else type(ended).__name__
    return {"outcome": outcome, "code": getattr(ended, "rule", code)}
