"""Running a caller's statement, and the audit of those that ran."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from msgspec.structs import replace

from graphmem.context import Context
from graphmem.errors import CypherMistake, CypherRefused, GraphmemError, TookTooLong, TookTooMuch
from graphmem.exploring.guard import (
    Called,
    Function,
    StatementText,
    check_functions,
    check_plan,
    check_text,
    functions_in,
    refused,
)
from graphmem.exploring.types import (
    Audit,
    AuditAsked,
    AuditEntry,
    CypherAsked,
    Outcome,
    PlanStep,
    PlanSummary,
    Sender,
    Table,
    Via,
)
from graphmem.graph.driver import Graph
from graphmem.graph.exploring import Bounds, CypherPlan, CypherStatement, explain, fetch_rows
from graphmem.graph.query import Query, RowsWritten
from graphmem.graph.statements import STATEMENTS_AT_WORK, Statements
from graphmem.jobs.afterwards import Afterwards
from graphmem.model.pages import listing, page
from graphmem.model.validation import checked_text
from graphmem.model.vocabulary import QUERY_CHARACTERS, VECTORS

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


LANGUAGE = "CYPHER 25"
"""The language of a statement that does not name its own."""

KNOWN_FUNCTIONS = Query("exploring/known_functions", Function)


async def explore(sent: CypherAsked, context: Context, *, via: Via) -> Table:
    """Return the answer to a statement that only reads, over the data of all clients.

    Raises as `run_statement`.
    """
    sender = Sender(id=context.new_id(), client_id=context.client_id, at=context.now(), via=via)
    return await run_statement(
        sent,
        sender,
        graph=context.graph,
        afterwards=context.afterwards,
        statements=context.statements,
    )


async def run_statement(
    sent: CypherAsked,
    sender: Sender,
    *,
    graph: Graph,
    afterwards: Afterwards,
    statements: Statements,
) -> Table:
    """Return the answer to a statement that only reads; the audit records it and its end.

    The end may be recorded a little after the answer, by `afterwards`.
    Raises `CypherRefused`, `CypherMistake`, `InvalidInput`, `TookTooLong`, `TookTooMuch`,
    `TooManyStatements`, of which the audit knows nothing, `Unavailable`.
    """
    # A character has four bytes of UTF-8 at most; the struct limits the number of characters.
    checked_text(sent.query, "query", most_bytes=4 * QUERY_CHARACTERS)
    async with statements.admitted(sender.id, graph.impatient()):
        return await _recorded(sent, sender, graph, afterwards)


async def _recorded(
    sent: CypherAsked, sender: Sender, graph: Graph, afterwards: Afterwards
) -> Table:
    """Run a statement, and record it in the audit before and after."""
    # The caller waits at a terminal or a page, and decides about a retry.
    impatient = graph.impatient()
    began = time.perf_counter()
    deadline = asyncio.get_running_loop().time() + sent.timeout_ms / 1000
    await begin(sent, sender=sender, graph=impatient)
    ends = partial(end, sender=sender, graph=graph, afterwards=afterwards)
    try:
        table = await _limit(sent, sender.id, deadline, impatient)
    except BaseException as problem:
        await ends(problem, _milliseconds(began))
        raise
    await ends(table, table.milliseconds)
    return table


async def _limit(sent: CypherAsked, id: str, deadline: float, graph: Graph) -> Table:
    """Answer within the time, which is limited here too, in case the server does not notice its end."""
    seconds = sent.timeout_ms / 1000
    try:
        async with asyncio.timeout_at(deadline):
            return await _run(sent, id, seconds, graph)
    except TimeoutError as problem:
        raise TookTooLong(seconds) from problem


async def _run(sent: CypherAsked, id: str, seconds: float, graph: Graph) -> Table:
    began = time.perf_counter()
    text = StatementText(sent.query)
    head = "" if text.names_its_language else LANGUAGE
    statement = CypherStatement(head, sent.query, sent.parameters, id)
    bounds = Bounds(sent.max_rows, seconds, bool(VECTORS & text.names))
    try:
        plan = await check(text, statement, seconds=seconds, graph=graph)
        found = await fetch_rows(statement, bounds=bounds, graph=graph)
    except CypherMistake as mistake:
        refusal = refused(mistake, text)
        if refusal is None:
            raise
        raise refusal from mistake
    return Table(
        columns=found.columns,
        rows=found.rows,
        truncated=found.truncated,
        plan_summary=_summary(plan),
        milliseconds=_milliseconds(began),
    )


async def check(
    text: StatementText, statement: CypherStatement, *, seconds: float, graph: Graph
) -> CypherPlan:
    """Return the plan of a statement that may run. Raises `CypherRefused`, `CypherMistake`."""
    check_text(text, statement.parameters)
    await _check_functions(text, text.functions(), graph)
    plan = await explain(statement, seconds=seconds, graph=graph)
    check_plan(plan, text, database=graph.database)
    await _check_functions(text, functions_in(plan), graph)
    return plan


async def _check_functions(text: StatementText, called: Sequence[Called], graph: Graph) -> None:
    if called:
        check_functions(text, called, await graph.rows(KNOWN_FUNCTIONS))


def _summary(plan: CypherPlan) -> PlanSummary:
    return PlanSummary(
        language=f"CYPHER {plan.language}",
        runtime=plan.runtime,
        operators=[
            PlanStep(
                operator=one.name, details=one.details, depth=one.depth, estimated_rows=one.rows
            )
            for one in plan.operators
        ],
    )


def _milliseconds(began: float) -> float:
    return round(1000 * (time.perf_counter() - began), 1)
