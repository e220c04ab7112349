"""The tools of budgeted runs: reading spans of long sources within a budget, and delegating parts of it."""

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict

from graphmem.client import Graphmem
from graphmem.model.validation import counted
from graphmem.runs.types import (
    BudgetState,
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
    WriteResult,
)
from graphmem_api.mcp.answers import Tool, ToolAnswer

RunId = Annotated[str, Meta(min_length=1, max_length=256, description="the run's id: session-…")]


class RunToShow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run to show."""

    run_id: RunId


class RetrieveInRun(RunQuestion, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run's question."""

    run_id: RunId


class PeekInRun(PeekAsked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A span to look at in a run."""

    run_id: RunId


class WriteInRun(NewWrite, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text that a run writes."""

    run_id: RunId


class SubcallInRun(SubcallAsked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A child of a run."""

    run_id: RunId


class EndRun(NewEnd, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The end of a run."""

    run_id: RunId


def _left(budget: BudgetState | None) -> str:
    if budget is None:
        return ""
    return (
        f"Left: {budget.remaining_tokens:,} tokens, {budget.remaining_time_ms:,} ms, "
        f"{counted(budget.remaining_retries, 'retry')}."
    )


async def start(asked: NewRun, memory: Graphmem) -> ToolAnswer:
    """Start a run."""
    run = await memory.runs().start(**asdict(asked))
    return ToolAnswer(f"Run {run.id} has begun. {_left(run.budget)}", run)


async def show(asked: RunToShow, memory: Graphmem) -> ToolAnswer:
    """Return the state of a run."""
    run = await memory.runs().show(asked.run_id)
    return ToolAnswer(f"Run {run.id} is {run.status}. {_left(run.budget)}", run)


async def retrieve(asked: RetrieveInRun, memory: Graphmem) -> ToolAnswer:
    """Return the spans for a question, charged to the run."""
    found = await memory.runs().retrieve(**asdict(asked))
    texts = [f"[{span.span_id} of {span.source_id}]\n{span.content}" for span in found.spans]
    more = f" More with cursor={found.cursor}" if found.cursor else ""
    end = f"{found.tokens_used:,} tokens charged. {_left(found.budget)}{more}"
    return ToolAnswer("\n\n".join([*texts, end]), found)


async def peek(asked: PeekInRun, memory: Graphmem) -> ToolAnswer:
    """Return a span's card, and its beginning if that is wanted; free of charge."""
    seen = await memory.runs().peek(**asdict(asked))
    span = seen.span
    card = f"{span.id}: {span.source_type} {span.source_id}, {span.token_count} tokens"
    return ToolAnswer("\n".join(filter(None, [card, seen.content, _left(seen.budget)])), seen)


async def write(asked: WriteInRun, memory: Graphmem) -> ToolAnswer:
    """Write a text for other agents."""
    made = await memory.runs().write(**asdict(asked))
    return ToolAnswer(
        f"Written as {made.id} in {counted(len(made.spans), 'span')}. {_left(made.budget)}", made
    )


async def subcall(asked: SubcallInRun, memory: Graphmem) -> ToolAnswer:
    """Start a child of a run."""
    run = await memory.runs().subcall(**asdict(asked))
    return ToolAnswer(f"Run {run.id} has begun under {asked.run_id}. {_left(run.budget)}", run)


async def end(asked: EndRun, memory: Graphmem) -> ToolAnswer:
    """End a run."""
    ended = await memory.runs().end(**asdict(asked))
    used = f"{ended.total_tokens_used:,} tokens in {ended.total_time_ms:,} ms"
    return ToolAnswer(f"Run {ended.id} is {ended.status}: {used}.", ended)


RUN_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="run_start",
        operation="start_run",
        title="Start a budgeted run",
        description="""\
Begin a run: reading stored sources within a budget of tokens, milliseconds and retries. Use it when a \
task must not read more than it may cost. Then call run_retrieve, run_peek, run_write, run_subcall with \
its id, and run_end at last.""",
        asked=NewRun,
        answer=Run,
        run=start,
        group="runs",
        writes=True,
    ),
    Tool(
        name="run_retrieve",
        operation="retrieve_in_run",
        title="Retrieve in a run",
        description="""\
Read the spans of sources and summaries that answer a question best, at most max_tokens, charged to the \
run's budget. The cursor continues without repeating what was delivered.""",
        asked=RetrieveInRun,
        answer=RetrievalResult,
        run=retrieve,
        group="runs",
        writes=True,
    ),
    Tool(
        name="run_peek",
        operation="peek_in_run",
        title="Peek at a span in a run",
        description="Look at a span's size and source, and its first 100 tokens, before paying for it.",
        asked=PeekInRun,
        answer=RunPeek,
        run=peek,
        group="runs",
        writes=True,
    ),
    Tool(
        name="run_write",
        operation="write_in_run",
        title="Write in a run",
        description="Write a summary, a log or an artifact that other agents find. It is free.",
        asked=WriteInRun,
        answer=WriteResult,
        run=write,
        group="runs",
        writes=True,
    ),
    Tool(
        name="run_subcall",
        operation="subcall_in_run",
        title="Delegate in a run",
        description="Start a run under a run for another agent, with a fraction of the remaining budget.",
        asked=SubcallInRun,
        answer=Run,
        run=subcall,
        group="runs",
        writes=True,
    ),
    Tool(
        name="run_show",
        operation="show_run",
        title="Show a run",
        description="Show whether a run is active, and what is left of its budget.",
        asked=RunToShow,
        answer=Run,
        run=show,
        group="runs",
        repeatable=True,
    ),
    Tool(
        name="run_end",
        operation="end_run",
        title="End a run",
        description="End a run and its children; what they have not spent returns to their parents.",
        asked=EndRun,
        answer=RunResult,
        run=end,
        group="runs",
        writes=True,
        repeatable=True,
    ),
)
