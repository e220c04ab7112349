"""Running an operator's statement: its plan is checked, it runs within limits, the audit records it."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from graphmem.context import Context
from graphmem.errors import CypherMistake, TookTooLong
from graphmem.exploring import audit
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
    CypherAsked,
    Limits,
    PlanStep,
    PlanSummary,
    Sender,
    Table,
    Via,
)
from graphmem.graph.driver import Graph
from graphmem.graph.exploring import Bounds, CypherPlan, CypherStatement, explain, fetch_rows
from graphmem.graph.query import Query
from graphmem.graph.statements import Statements
from graphmem.jobs.afterwards import Afterwards
from graphmem.model.side import VECTORS
from graphmem.model.text import checked_text
from graphmem.model.validation import validated
from graphmem.model.vocabulary import QUERY_CHARACTERS

LANGUAGE = "CYPHER 25"
"""The language of a statement that does not name its own."""

KNOWN_FUNCTIONS = Query("exploring/known_functions", Function)


async def explore(
    query: str,
    parameters: Mapping[str, Any] | None,
    limits: Limits,
    context: Context,
    *,
    via: Via,
) -> Table:
    """Return the answer to a statement that only reads, over the data of all clients.

    Raises as `run_statement`.
    """
    return await run_statement(
        checked_statement(query, parameters, limits),
        sender_of(context, via),
        graph=context.graph,
        afterwards=context.afterwards,
        statements=context.statements,
    )


def checked_statement(
    query: str, parameters: Mapping[str, Any] | None, limits: Limits
) -> CypherAsked:
    """Return a statement with its parameters and limits. Raises `InvalidInput` that names the field."""
    fields = {
        "query": query,
        "parameters": parameters or {},
        "max_rows": limits.max_rows,
        "timeout_ms": limits.timeout_ms,
    }
    return validated(fields, CypherAsked)


def sender_of(context: Context, via: Via) -> Sender:
    """Return the sender of a statement that is sent now."""
    return Sender(id=context.new_id(), client_id=context.client_id, at=context.now(), via=via)


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
    await audit.begin(sent, sender=sender, graph=impatient)
    end = partial(audit.end, sender=sender, graph=graph, afterwards=afterwards)
    try:
        table = await _limit(sent, sender.id, deadline, impatient)
    except BaseException as problem:
        await end(problem, _milliseconds(began))
        raise
    await end(table, table.milliseconds)
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
