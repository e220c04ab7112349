"""A tour of graphmem: the seed story, asked in every way that graphmem knows.

    python -m examples.tour

It loads the story of `seed/` for the client `tour`, then shows one chapter after the other: contexts within a
budget, a way along the links, facts and episodes, sessions, a fact that changed, and a budgeted run.
"""

import asyncio
import contextlib
import textwrap
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

import graphmem
from graphmem.cli.recall import ask
from graphmem.cli.showing import cost, path_to_deepest
from graphmem.cli.story import StoryLoader
from graphmem.client import Graphmem
from graphmem.config import records
from graphmem.contextual.types import ContextualResult, MoreTurns
from graphmem.errors import RunEnded, RunTimeout
from graphmem.memories.chunk import ChunkResult, PeekResult
from graphmem.model.validation import counted
from graphmem.recall.types import Question
from graphmem.retrieval.expansion import HopPath
from graphmem.runs.session import RunSession
from graphmem.runs.types import TreeRun
from graphmem.search.types import SearchResult

WIDTH = 96

QUESTIONS = [
    Question(query=query, max_tokens=400, kinds=["message"])
    for query in (
        "Which queue carries booking events, and why was the first choice dropped?",
        "How did the price of the Harbour plan change, and why?",
    )
]

CHUNK_TOKENS = 100
CONTEXT_TOKENS = 200
SYSTEM_PROMPT = "Answer from the texts below, and name them."

ABOUT_REDIS = "What happened when Redis restarted, and what came of it?"

ABOUT_A_BUG = "What was that auth bug?"
ABOUT_A_THEME = "I've been struggling with auth a lot, haven't I?"
PROMPT_TOKENS = 400
MORE_TOKENS = 100

ABOUT_A_PRICE = "What does the Harbour plan cost?"
PRICE = "fact:harbour-54"
DATES = (datetime(2026, 4, 1, tzinfo=UTC), datetime(2026, 7, 15, tzinfo=UTC))
TURN_TOKENS = 200
TURN_ATTEMPTS = 3


async def tour(memory: Graphmem) -> None:
    """Load the story and show every chapter."""
    story = StoryLoader(memory)
    ids = await story.load()
    await ask_repeatedly(memory)
    print(f"{story.title}: {len(ids):,} memories")
    await show_contexts(memory)
    show_walk(await walk(memory))
    await show_facts_and_episodes(memory, story.conversation_id)
    show_sessions(await ask_about_sessions(memory, story.conversation_id))
    await show_change(memory, ids)
    show_run(await play(memory))


async def ask_repeatedly(memory: Graphmem) -> None:
    """Search for a memory that is never used, and for unknown ones: statistics of use show both."""
    for record in records("asked.jsonl"):
        question = {name: value for name, value in record.items() if name != "times"}
        for _ in range(record["times"]):
            await memory.search(**question)


# A context within a budget


async def show_contexts(memory: Graphmem) -> None:
    """Ask for contexts within a budget, twice: the second time the database is warm."""
    for question in QUESTIONS:
        first, second = [await ask(question, memory) for _ in range(2)]
        title(question.query, f"the best context within {counted(question.max_tokens, 'token')}:")
        quote(first.recalled.context)
        spent = cost(first.recalled, question.max_tokens, first.milliseconds)
        print(f"  {spent} (again: {second.milliseconds:.0f} ms)")


# Search, hops, peek, chunk, compose


class Walk(Struct, frozen=True, kw_only=True):
    """A search over links: the result, the path to its deepest item, and a context made of that path."""

    found: SearchResult
    path: list[HopPath]
    peeked: list[PeekResult]
    """The memories on the path, from its start."""
    chunk: ChunkResult
    """A part of the longest of them."""
    composed: str
    memories: int
    """The number of memories in the composed context."""
    remaining_tokens: int


async def walk(memory: Graphmem) -> Walk:
    """Ask the first question whose answer is two links away, and compose a context on the way to it."""
    question = records("hop_questions.jsonl")[0]
    found = await memory.search_with_hops(
        question["query"],
        max_hops=2,
        max_results=5,
        source_types=question["source_types"],
        link_types=question["link_types"],
    )
    path = path_to_deepest(found)
    ids = [path[0].from_id, *(step.to_id for step in path)] if path else [found.items[0].id]
    peeked = [await memory.peek(id) for id in ids]
    longest = max(peeked, key=lambda one: one.token_estimate)
    chunk = await memory.chunk(
        longest.id, max_tokens=CHUNK_TOKENS, truncation_strategy="middle", include_header=True
    )
    context = await memory.create_context(
        max_tokens=CONTEXT_TOKENS, system_prompt=SYSTEM_PROMPT, reserved_for_response=0
    )
    # The question's subject and the answer first: the memories between them fill the rest.
    added = [await memory.add_to_context(context.id, id) for id in (ids[0], *ids[:0:-1])]
    return Walk(
        found=found,
        path=path,
        peeked=peeked,
        chunk=chunk,
        composed=await memory.compose_context(context.id),
        memories=sum(one.added for one in added),
        remaining_tokens=added[-1].remaining_tokens,
    )


def show_walk(walked: Walk) -> None:
    """Print a search over links."""
    query = walked.found.query
    title(query.query, f"search, and {counted(query.max_hops, 'hop')} along the links:")
    for item in walked.found.items:
        hops = f"after {counted(item.hop, 'hop')}" if item.hop else ""
        line = f"{item.rank}  {item.combined_score:.2f}  {item.source_type:<12}{label(item.label)}  {hops}"
        print(f"  {line}".rstrip())
    labels = {peeked.id: peeked.label for peeked in walked.peeked}
    if walked.path:
        print(f"\n  {labels[walked.path[0].from_id]}")
    for depth, step in enumerate(walked.path):
        print(f"  {'   ' * depth}└─ {step.link_type} ─ {labels[step.to_id]}")
    print("\n  peek, which costs nothing:\n")
    for one in walked.peeked:
        size, related = counted(one.token_estimate, "token"), len(one.related_ids)
        print(f"  {one.source_type:<12}{label(one.label)}  {size:>10}  {related} related")
    print(f"\n  chunk, beginning and end within {counted(CHUNK_TOKENS, 'token')}:\n")
    quote(walked.chunk.content)
    print(f"\n  compose, within {counted(CONTEXT_TOKENS, 'token')}:\n")
    quote(walked.composed)
    remaining = counted(walked.remaining_tokens, "token")
    print(
        f"\n  {walked.memories} of {len(walked.peeked)} memories in the context · {remaining} left"
    )


# Facts and episodes


async def show_facts_and_episodes(memory: Graphmem, conversation_id: str) -> None:
    """Ask for the facts and episodes of the conversation."""
    retrieved = await memory.retrieve_memory(
        ABOUT_REDIS, conversation_id, episodic_limit=2, semantic_limit=3, detail="low"
    )
    title(ABOUT_REDIS, "retrieve_memory, facts and episodes of the conversation:")
    quote(retrieved.markdown)


# Sessions


class Sessions(Struct, frozen=True, kw_only=True):
    """A session that answers, more of it in both directions, and the theme that it belongs to."""

    found: ContextualResult
    earlier: MoreTurns
    later: MoreTurns
    theme: dict[str, Any]
    """A row of the pattern `recurring_themes`: its sessions by time, and sentences of their summaries."""


async def ask_about_sessions(memory: Graphmem, conversation_id: str) -> Sessions:
    """Find a session by its summary, ask for more of it, and look for its theme."""
    found = await memory.search_contextual(
        ABOUT_A_BUG,
        conversation_id=conversation_id,
        top_sessions=1,
        top_k=2,
        # Only sessions whose summaries match are searched.
        narrowing="hard",
        max_tokens=PROMPT_TOKENS,
    )
    context = found.contexts[0]
    shown = [turn.id for turn in context.messages]
    earlier = await memory.expand_context(
        session_id=context.session_id, shown=shown, max_tokens=MORE_TOKENS, direction="earlier"
    )
    later = await memory.expand_context(
        session_id=context.session_id, shown=shown, max_tokens=MORE_TOKENS, direction="later"
    )
    answer = await memory.pattern(
        "recurring_themes", {"question": ABOUT_A_THEME, "conversation_id": conversation_id}
    )
    return Sessions(found=found, earlier=earlier, later=later, theme=answer.rows[0])


def show_sessions(sessions: Sessions) -> None:
    """Print a session, more of it, and its theme."""
    budget = counted(PROMPT_TOKENS, "token")
    title(ABOUT_A_BUG, f"sessions by their summaries, then messages in them, within {budget}:")
    quote(sessions.found.prompt)
    print()
    for context in sessions.found.contexts:
        print(f"  found    {context.started_at:%Y-%m-%d}  {context.session_external_id}")
    reasons: dict[tuple[datetime, str], list[str]] = {}
    for link in sessions.found.cross_links:
        key = (link.started_at, link.session_external_id)
        reasons.setdefault(key, []).append(f"{link.basis} {link.score:.2f}")
    for (at, name), bases in reasons.items():
        print(f"  related  {at:%Y-%m-%d}  {name:<25} {', '.join(bases)}")
    title("Tell me more", "the same session, nearest to the shown messages first:")
    for direction, more in (("earlier", sessions.earlier), ("later", sessions.later)):
        for turn in more.messages:
            print(f"  {shorten(f'{direction} [{turn.role}]: {turn.content}')}")
    theme = sessions.theme
    span = f"from {theme['first_at']:%Y-%m-%d} to {theme['last_at']:%Y-%m-%d}, {theme['rhythm']}"
    title(
        ABOUT_A_THEME, f"{counted(theme['sessions'], 'session')} {span}, summarized in their words:"
    )
    for session in theme["occasions"]:
        print(f"  {session['at']:%Y-%m-%d}  {session['session_external_id']}")
        for one in theme["summary"]:
            if one["session_id"] == session["session_id"]:
                print(f"      {shorten(one['text'])}")


# A fact that changed


async def show_change(memory: Graphmem, ids: Mapping[str, str]) -> None:
    """Show the versions of a fact, the answers on two days, and the context of an agent's next turn."""
    answers = {}
    for date in DATES:
        found = await memory.search(ABOUT_A_PRICE, source_types=["fact"], max_results=1, as_of=date)
        answers[date] = found.items[0].snippet or ""
    title(ABOUT_A_PRICE, "a fact and its earlier versions, oldest first:")
    for one in (await memory.versions(ids[PRICE])).versions:
        show(f"v{one.version}  {one.valid_at:%Y-%m-%d}  {one.text}")
        if one.reason:
            print(f"      because: {shorten(one.reason)}")
    print("\n  as of two days:\n")
    for date, text in answers.items():
        show(f"{date:%Y-%m-%d}  {text}")
    # A turn has less than two seconds; on a busy machine the first may need more, and then says so.
    for attempt in range(TURN_ATTEMPTS):
        turn = await memory.hyde_retrieve(
            f"demo-{memory.client_id}-{attempt}",
            window=[f"user: {ABOUT_A_PRICE}"],
            on_failure="window",
            top_k=2,
            hop_depth=0,
            injection_tokens=TURN_TOKENS,
        )
        if "deadline" not in turn.degraded:
            break
    print(f"\n  the context of a turn, within {counted(TURN_TOKENS, 'token')}:\n")
    quote(turn.injection)
    if turn.degraded:
        print(f"\n  incomplete: {', '.join(turn.degraded)}")


# A budgeted run


async def play(memory: Graphmem) -> TreeRun:
    """Do the steps of the story's run, once for a client, and return the tree of its budgets.

    Every step has an `operation_id`: repeated, nothing is done or charged twice.
    """
    runs = {record["key"]: record for record in records("runs.jsonl")}
    [root] = [record for record in runs.values() if record["parent"] is None]
    run = await memory.run(
        agent_type=root["agent_type"],
        episode_id=root["episode_id"],
        budget=root["budget"],
        operation_id=root["key"],
    )
    if (await run.refresh()).status == "active":
        # The time of a run that was interrupted long ago is over: it is shown as it is.
        with contextlib.suppress(RunTimeout, RunEnded):
            await perform(memory, run, root, runs)
    return await run.tree()


async def perform(
    memory: Graphmem,
    run: RunSession,
    record: Mapping[str, Any],
    runs: Mapping[str, Mapping[str, Any]],
) -> None:
    """Do the steps of one run, and those of the runs that it calls."""
    for place, step in enumerate(record["steps"]):
        given = {name: value for name, value in step.items() if name != "operation"}
        operation_id = f"{record['key']}-{place}"
        match step["operation"]:
            case "retrieve":
                await run.retrieve(**given, operation_id=operation_id)
            case "peek":
                spans = await memory.search(
                    "*", source_types=["span"], source_ids=[step["reference"]]
                )
                await run.peek(spans.items[0].id, operation_id=operation_id)
            case "write":
                await run.write(**given, operation_id=operation_id)
            case "subcall":
                called = runs[step["run"]]
                child = await run.subcall(
                    agent_type=called["agent_type"],
                    budget_fraction=called["budget_fraction"],
                    operation_id=operation_id,
                )
                await perform(memory, child, called, runs)
    await run.end(record["outcome"])


def show_run(run: TreeRun) -> None:
    """Print the tree of a run's budgets."""
    title(
        f"A run of {counted(run.max_tokens, 'token')} and the runs that it called",
        "each budget, and what is spent and left of it; what a child leaves goes back:",
    )
    for line in tree(run):
        print(f"  {line}")


def tree(run: TreeRun) -> Iterator[str]:
    """Yield two lines for a run and for each below it; spent, held, given and left make up its budget."""
    name = f"{'   ' * (run.depth - 1)}{'└─ ' if run.depth else ''}{run.agent_type}"
    yield (
        f"{name:<22}{run.max_tokens:>6,} = {run.spent:,} spent + {run.held:,} held + "
        f"{run.given:,} given + {run.remaining:,} left  {run.outcome or run.status}"
    )
    yield f"{'':<22}{', '.join(f'{times} {name}' for name, times in run.operations.items())}"
    for child in run.children:
        yield from tree(child)


# Printing


def title(question: str, meaning: str) -> None:
    """Print a question, and what the answer below it is."""
    print(f"\n? {question}\n  {meaning}\n")


def quote(text: str) -> None:
    """Print a text that a model would read."""
    show(text, margin="  │ ")


def show(text: str, *, margin: str = "  ") -> None:
    """Print a text within the width of the page."""
    for line in text.rstrip("\n").split("\n"):
        for part in textwrap.wrap(line, WIDTH, subsequent_indent="  ") or [""]:
            print(f"{margin}{part}")


def label(text: str) -> str:
    """Return a label in a column's width."""
    return textwrap.shorten(text, 34, placeholder="…").ljust(34)


def shorten(text: str) -> str:
    """Return the beginning of a text, in one line."""
    return textwrap.shorten(text, WIDTH - 8, placeholder="…")


async def main() -> None:
    """Make the tour with the graphmem that the environment names."""
    async with graphmem.open(client_id="tour") as memory:
        await tour(memory)


if __name__ == "__main__":
    asyncio.run(main())
