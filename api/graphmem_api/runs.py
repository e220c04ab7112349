"""Budgeted runs of agents: starting, retrieving, peeking, writing, delegating, ending."""

from typing import Annotated

from litestar import Router, get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg, PathParameter

from graphmem.context import Context
from graphmem.runs import retrieve, session, show, starting, write
from graphmem.runs.types import (
    Accesses,
    AccessesAsked,
    NewEnd,
    NewRun,
    NewWrite,
    PeekAsked,
    RetrievalBudget,
    RetrievalResult,
    Run,
    RunPeek,
    RunQuestion,
    RunResult,
    Runs,
    RunsAsked,
    SubcallAsked,
    TreeRun,
    WriteResult,
)
from graphmem.runtime import Runtime
from graphmem_api.problems import failures
from graphmem_api.queries import query

RunId = Annotated[str, PathParameter(description="the run's id")]

START = Example(
    summary="A run of an agent that writes copy",
    value={
        "agent_type": "copy-agent",
        "episode_id": "ep-123",
        "budget": {"max_tokens": 10000, "max_time_ms": 60000, "max_retries": 3},
    },
)
RETRIEVE = Example(
    summary="Memories about pricing, in 500 tokens",
    value={"query": "pricing", "max_tokens": 500, "operation_id": "step-1"},
)
PEEK = Example(
    summary="A span and its beginning", value={"span_id": "kb-123:0", "include_content": True}
)
SUBCALL = Example(
    summary="A fifth of the remaining budget for an agent that checks",
    value={"agent_type": "qa-agent", "budget_fraction": 0.2},
)
WRITE = Example(
    summary="A summary for the other agents",
    value={
        "type": "summary",
        "content": "The premium plan costs 49 a month and includes the API.",
        "metadata": {"topic": "pricing", "importance": 0.8},
    },
)
END = Example(summary="The run has succeeded", value={"outcome": "success"})


@post(
    "/",
    summary="Start a run",
    response_description="The active run",
    responses=failures(404, 409, 413, 415, 429),
)
async def start_run(
    data: Annotated[NewRun, BodyKwarg(examples=[START])],
    context: NamedDependency[Context],
    runtime: NamedDependency[Runtime],
) -> Run:
    """Start a run with a budget of tokens, milliseconds and retries; defaults 10,000, 60,000 and 3.

    With `parent_session_id` the budget is taken from the parent's remaining one, which caps it. 429 if too
    many runs of the client are active.
    """
    return await starting.start(
        data,
        context,
        default_budget=RetrievalBudget(),
        most_active=runtime.settings.max_concurrent_sessions,
    )


@get(
    "/",
    summary="List runs",
    response_description="A page of runs",
    responses=failures(),
    **query(RunsAsked),
)
async def list_runs(context: NamedDependency[Context], asked: NamedDependency[RunsAsked]) -> Runs:
    """List the client's runs, latest start first, for example to end one whose id was lost."""
    return await show.show_runs(asked, context)


@get(
    "/{session_id:str}",
    summary="Show a run",
    response_description="The present state of the run",
    responses=failures(404),
)
async def show_run(session_id: RunId, context: NamedDependency[Context]) -> Run:
    """Show a run and its remaining budget; `tokens_used` includes the tokens of its children."""
    return await show.show_run(session_id, context)


@post(
    "/{session_id:str}/retrieve",
    summary="Retrieve in a run",
    status_code=200,
    response_description="The spans that fit, with their cost",
    responses=failures(404, 409, 413, 415),
)
async def retrieve_in_run(
    session_id: RunId,
    data: Annotated[RunQuestion, BodyKwarg(examples=[RETRIEVE])],
    context: NamedDependency[Context],
) -> RetrievalResult:
    """Return the spans and summaries that answer best, in at most `max_tokens`, charged to the run.

    `query` is a text, or an embedding of the model's length. `max_tokens` above the remaining tokens is
    refused (409 `budget_exhausted`, with the numbers); else it is reserved during the search, and tokens not
    delivered are released. `cursor` continues without repeating spans already delivered.
    """
    return await retrieve.retrieve(session_id, data, context)


@post(
    "/{session_id:str}/peek",
    summary="Peek at a span in a run",
    status_code=200,
    response_description="The span and, if requested, a preview",
    responses=failures(404, 409, 413, 415),
)
async def peek_in_run(
    session_id: RunId,
    data: Annotated[PeekAsked, BodyKwarg(examples=[PEEK])],
    context: NamedDependency[Context],
) -> RunPeek:
    """Show a span free of charge, with at most the first 100 tokens of its content."""
    return await show.peek(session_id, data, context)


@post(
    "/{session_id:str}/write",
    summary="Write in a run",
    response_description="The written reference, searchable at once",
    responses=failures(404, 409, 413, 415),
)
async def write_in_run(
    session_id: RunId,
    data: Annotated[NewWrite, BodyKwarg(examples=[WRITE])],
    context: NamedDependency[Context],
) -> WriteResult:
    """Write a text for all agents of the client: a reference with this id, cut into spans. It is free."""
    return await write.write(session_id, data, context)


@post(
    "/{session_id:str}/subcall",
    summary="Start a run under a run",
    response_description="The active child",
    responses=failures(404, 409, 413, 415, 429),
)
async def subcall_in_run(
    session_id: RunId,
    data: Annotated[SubcallAsked, BodyKwarg(examples=[SUBCALL])],
    context: NamedDependency[Context],
    runtime: NamedDependency[Runtime],
) -> Run:
    """Start a child with a fraction of the remaining budget, taken from this run.

    `fixed_budget` overrides the fraction field by field, capped by the remaining budget. The child's unspent
    tokens return at its end. A tree has at most four levels below its root (409 `depth`).
    """
    return await starting.start_child(
        session_id, data, context, most_active=runtime.settings.max_concurrent_sessions
    )


@post(
    "/{session_id:str}/end",
    summary="End a run",
    status_code=200,
    response_description="The result of the run",
    responses=failures(404, 413, 415),
)
async def end_run(
    session_id: RunId,
    data: Annotated[NewEnd, BodyKwarg(examples=[END])],
    context: NamedDependency[Context],
) -> RunResult:
    """End a run, its active children first; ending it again changes nothing.

    A run past its deadline stays `timeout`, whatever the outcome.
    """
    return await session.end(session_id, data, context)


@get(
    "/{session_id:str}/accesses",
    summary="List a run's operations",
    response_description="A page of accesses",
    responses=failures(404),
    **query(AccessesAsked),
)
async def list_accesses(
    session_id: RunId,
    context: NamedDependency[Context],
    asked: NamedDependency[AccessesAsked],
) -> Accesses:
    """List the operations of a run, newest first: sizes, digests, ids and errors, never a text."""
    return await show.show_accesses(session_id, asked, context)


@get(
    "/{session_id:str}/tree",
    summary="Show a run's tree",
    response_description="The run and all runs below it",
    responses=failures(404),
)
async def show_run_tree(session_id: RunId, context: NamedDependency[Context]) -> TreeRun:
    """Show the budgets in a tree of runs: for each run spent + held + given + remaining = max_tokens."""
    return await show.show_tree(session_id, context)


runs = Router(
    "/rlm/sessions",
    route_handlers=[
        start_run,
        list_runs,
        show_run,
        retrieve_in_run,
        peek_in_run,
        write_in_run,
        subcall_in_run,
        end_run,
        list_accesses,
        show_run_tree,
    ],
    tags=["runs"],
)
