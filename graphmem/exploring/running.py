"""Asking the graph in Cypher: a statement is judged by its plan, run within limits, and kept in the audit."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from graphmem.errors import CypherMistake, TookTooLong
from graphmem.exploring import audit
from graphmem.exploring.guard import (
    Called,
    Function,
    Text,
    check_functions,
    check_plan,
    check_text,
    functions_in,
    refused,
)
from graphmem.exploring.types import Asked, CypherAsked, Limits, PlanStep, PlanSummary, Table
from graphmem.graph.driver import Graph
from graphmem.graph.exploring import Bounds, Plan, Statement, answered, explained
from graphmem.graph.plain import EMBEDDINGS
from graphmem.graph.query import Query
from graphmem.jobs.afterwards import Afterwards
from graphmem.model.text import checked_text
from graphmem.model.validation import validated
from graphmem.model.vocabulary import QUERY_CHARACTERS

LANGUAGE = "CYPHER 25"
"""What a statement is that does not say it."""

DEFAULTS = Limits()

KNOWN_FUNCTIONS = Query("exploring/known_functions", Function)


async def explore(
    query: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    limits: Limits = DEFAULTS,
    asked: Asked,
    graph: Graph,
    afterwards: Afterwards,
) -> Table:
    """Return what a statement that only reads answers, of all clients; it is kept in the audit.

    How it ended may be kept a little after the answer, which `afterwards` waits for.
    Raises `CypherRefused`, `CypherMistake`, `InvalidInput`, `TookTooLong`, `TookTooMuch`, `Unavailable`.
    """
    sent = _checked(query, parameters or {}, limits)
    # Who waits for a terminal or a page decides when to try again.
    impatient = graph.impatient()
    began = time.perf_counter()
    deadline = asyncio.get_running_loop().time() + sent.timeout_ms / 1000
    await audit.begin(sent, asked=asked, graph=impatient)
    end = partial(audit.end, asked=asked, graph=graph, afterwards=afterwards)
    try:
        table = await _limited(sent, deadline, impatient)
    except BaseException as problem:
        await end(problem, _milliseconds(began))
        raise
    await end(table, table.milliseconds)
    return table


async def _limited(sent: CypherAsked, deadline: float, graph: Graph) -> Table:
    """Answer within the time: it ends here, too, when the server does not notice that it is over."""
    seconds = sent.timeout_ms / 1000
    try:
        async with asyncio.timeout_at(deadline):
            return await _table(sent, seconds, graph)
    except TimeoutError as problem:
        raise TookTooLong(seconds) from problem


async def _table(sent: CypherAsked, seconds: float, graph: Graph) -> Table:
    began = time.perf_counter()
    text = Text(sent.query)
    statement = Statement("" if text.names_its_language else LANGUAGE, sent.query, sent.parameters)
    bounds = Bounds(sent.max_rows, seconds, bool(EMBEDDINGS & text.speaks_of))
    try:
        plan = await judged(text, statement, seconds=seconds, graph=graph)
        found = await answered(statement, bounds=bounds, graph=graph)
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


async def judged(text: Text, statement: Statement, *, seconds: float, graph: Graph) -> Plan:
    """Return the plan of a statement that may be run. Raises `CypherRefused`, `CypherMistake`."""
    check_text(text)
    await _check_functions(text, text.functions(), graph)
    plan = await explained(statement, seconds=seconds, graph=graph)
    check_plan(plan, text, database=graph.database)
    await _check_functions(text, functions_in(plan), graph)
    return plan


async def _check_functions(text: Text, called: Sequence[Called], graph: Graph) -> None:
    if called:
        check_functions(text, called, await graph.rows(KNOWN_FUNCTIONS))


def _checked(query: str, parameters: Mapping[str, Any], limits: Limits) -> CypherAsked:
    """Return what was sent, checked; raise `InvalidInput` that names the field."""
    # A character has four bytes of UTF-8 at most: how many there may be is looked at next.
    checked_text(query, "query", most_bytes=4 * QUERY_CHARACTERS)
    return validated(
        {
            "query": query,
            "parameters": parameters,
            "max_rows": limits.max_rows,
            "timeout_ms": limits.timeout_ms,
        },
        CypherAsked,
    )


def _summary(plan: Plan) -> PlanSummary:
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
