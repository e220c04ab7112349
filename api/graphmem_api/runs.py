"""Budgeted runs of agents: starting, retrieving, peeking, writing, delegating, ending (S3)."""

from typing import Annotated

from litestar import Router, get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg, PathParameter, QueryParameter
from msgspec.structs import asdict

from graphmem.runs.types import (
    Accesses,
    AccessesAsked,
    NewEnd,
    NewRun,
    NewWrite,
    PeekAsked,
    RetrievalResult,
    Run,
    RunPeek,
    RunQuestion,
    RunResult,
    SubcallAsked,
    TreeRun,
    WriteResult,
)
from graphmem.service import Graphmem
from graphmem_api.problems import failures
from graphmem_api.queries import strictly

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
    summary="What is known of pricing, in 500 tokens",
    value={"query": "pricing", "max_tokens": 500, "operation_id": "step-1"},
)
PEEK = Example(
    summary="A span and its beginning", value={"span_id": "kb-123:0", "include_content": True}
)
SUBCALL = Example(
    summary="A fifth of what remains for an agent that checks",
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
END = Example(summary="It has done what it was to do", value={"outcome": "success"})


@post(
    "/",
    summary="Start a run",
    response_description="It is active",
    responses=failures(404, 409, 413, 415, 429),
)
async def start_run(
    data: Annotated[NewRun, BodyKwarg(examples=[START])], memory: NamedDependency[Graphmem]
) -> Run:
    """Start a run with a budget of tokens, milliseconds and retries; defaults 10,000, 60,000 and 3.

    With `parent_session_id` the budget comes out of the parent's, capped by what remains there. 429
    when too many runs of the client are active.
    """
    return await memory.runs().start(**asdict(data))


@get(
    "/{session_id:str}",
    summary="Show a run",
    response_description="The run as it stands",
    responses=failures(404),
)
async def show_run(session_id: RunId, memory: NamedDependency[Graphmem]) -> Run:
    """Show a run and what is left of its budget; `tokens_used` includes what its children have used."""
    return await memory.runs().show(session_id)


@post(
    "/{session_id:str}/retrieve",
    summary="Retrieve in a run",
    status_code=200,
    response_description="The spans that fit, with what they cost",
    responses=failures(404, 409, 413, 415),
)
async def retrieve_in_run(
    session_id: RunId,
    data: Annotated[RunQuestion, BodyKwarg(examples=[RETRIEVE])],
    memory: NamedDependency[Graphmem],
) -> RetrievalResult:
    """Return the spans and summaries that answer best, in at most `max_tokens`, charged to the run.

    `query` is a text, or an embedding of the model's length. `max_tokens` above what remains is refused
    (409 `budget_exhausted`, with the numbers); else it is held while the search runs, and what was not
    delivered is given back. `cursor` goes on without repeating what the same question has delivered.
    """
    return await memory.runs().retrieve(session_id, **asdict(data))


@post(
    "/{session_id:str}/peek",
    summary="Peek at a span in a run",
    status_code=200,
    response_description="The span, and a preview where it was asked for",
    responses=failures(404, 409, 413, 415),
)
async def peek_in_run(
    session_id: RunId,
    data: Annotated[PeekAsked, BodyKwarg(examples=[PEEK])],
    memory: NamedDependency[Graphmem],
) -> RunPeek:
    """Show a span for nothing; of its content at most the first 100 tokens."""
    return await memory.runs().peek(session_id, **asdict(data))


@post(
    "/{session_id:str}/write",
    summary="Write in a run",
    response_description="It is written and found at once",
    responses=failures(404, 409, 413, 415),
)
async def write_in_run(
    session_id: RunId,
    data: Annotated[NewWrite, BodyKwarg(examples=[WRITE])],
    memory: NamedDependency[Graphmem],
) -> WriteResult:
    """Leave a text for every agent of the client: a reference with this id, cut into spans. It is free."""
    return await memory.runs().write(session_id, **asdict(data))


@post(
    "/{session_id:str}/subcall",
    summary="Start a run under a run",
    response_description="The child is active",
    responses=failures(404, 409, 413, 415, 429),
)
async def subcall_in_run(
    session_id: RunId,
    data: Annotated[SubcallAsked, BodyKwarg(examples=[SUBCALL])],
    memory: NamedDependency[Graphmem],
) -> Run:
    """Start a child with a fraction of what remains, moved out of this run's budget.

    `fixed_budget` overrides it field by field, capped by what remains. What the child leaves unspent
    comes back at its end. Four levels may lie below a root (409 `depth`).
    """
    return await memory.runs().subcall(session_id, **asdict(data))


@post(
    "/{session_id:str}/end",
    summary="End a run",
    status_code=200,
    response_description="What it came to",
    responses=failures(404, 413, 415),
)
async def end_run(
    session_id: RunId,
    data: Annotated[NewEnd, BodyKwarg(examples=[END])],
    memory: NamedDependency[Graphmem],
) -> RunResult:
    """End a run, its active children first; ending it again changes nothing.

    One whose time was over stays `timeout`, whatever the outcome.
    """
    return await memory.runs().end(session_id, **asdict(data))


@get(
    "/{session_id:str}/accesses",
    summary="List what was done in a run",
    response_description="Some accesses, and where the list goes on",
    responses=failures(404),
    before_request=strictly(AccessesAsked),
)
async def list_accesses(
    session_id: RunId,
    memory: NamedDependency[Graphmem],
    limit: Annotated[int, QueryParameter(description="at most so many", ge=1, le=200)] = 50,
    cursor: Annotated[
        str | None, QueryParameter(description="the `cursor` of the page before this one")
    ] = None,
) -> Accesses:
    """List the operations of a run, newest first: sizes, digests, ids and errors, never a text."""
    return await memory.runs().accesses(session_id, limit=limit, cursor=cursor)


@get(
    "/{session_id:str}/tree",
    summary="Show a run's tree",
    response_description="The run and all below it",
    responses=failures(404),
)
async def show_run_tree(session_id: RunId, memory: NamedDependency[Graphmem]) -> TreeRun:
    """Show where the budget of a run went: for each run spent + held + given + remaining = max_tokens."""
    return await memory.runs().tree(session_id)


runs = Router(
    "/rlm/sessions",
    route_handlers=[
        start_run,
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
