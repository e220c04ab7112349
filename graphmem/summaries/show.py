"""Showing summaries: a page of them, one version, and the text of one for a prompt."""

from collections.abc import Sequence

from graphmem.context import Context
from graphmem.errors import MemoryNotFound
from graphmem.graph.query import Query
from graphmem.model.pages import listing, page
from graphmem.model.times import BEGINNING, utc
from graphmem.summaries.types import Summaries, SummariesAsked, Summary

SUMMARIES = Query("summaries/summaries", Summary)
SUMMARY = Query("summaries/summary", Summary)


async def show_summaries(asked: SummariesAsked, context: Context) -> Summaries:
    """Return a client's summaries, most recently active first, without superseded versions.

    Raises `InvalidInput`, `Unavailable`.
    """
    listed = listing(asked)
    before, before_id = listed.position(asked.cursor)
    rows = await context.graph.rows(
        SUMMARIES,
        client_id=context.client_id,
        types=[f"{asked.type}_summary"] if asked.type else [],
        since=utc(asked.since, "since") if asked.since else BEGINNING,
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: listed.cursor(row.occurred_at, row.id))
    return Summaries(summaries=shown, cursor=after)


async def show_summary(summary_id: str, context: Context) -> Summary:
    """Return one version of a summary.

    Raises `MemoryNotFound`, also for a summary of another client, and `Unavailable`.
    """
    rows = await context.graph.rows(SUMMARY, client_id=context.client_id, id=summary_id)
    if not rows:
        raise MemoryNotFound(summary_id)
    return rows[0]


def prompt_text(summary: Summary) -> str:
    """Return a summary as text for a prompt: a line of facts, then a line for each point.

    The summary of a session is its plain text. Line breaks inside a field become spaces, so that no field can
    imitate a line.
    """
    if summary.type == "thread":
        return _lines(_thread(summary), summary.key_points or [])
    if summary.type == "plan":
        return _lines(_plan(summary), summary.key_milestones or [])
    return summary.text


def _thread(summary: Summary) -> str:
    assert summary.last_activity_at is not None, "a thread's summary has one"
    return (
        f"Thread on {summary.platform}: {_counted(summary.message_count, 'message')} by "
        f"{_counted(summary.participant_count, 'participant')}, sentiment {summary.sentiment}, "
        f"last active {summary.last_activity_at:%Y-%m-%d}."
    )


def _plan(summary: Summary) -> str:
    return (
        f"Plan {summary.plan_type}, phase {summary.current_phase}: {summary.completed_nodes} of "
        f"{summary.total_nodes} done, {summary.pending_nodes} pending, {summary.failed_nodes} failed."
    )


def _lines(first: str, points: Sequence[str]) -> str:
    return "\n".join(" ".join(line.split()) for line in (first, *(f"- {one}" for one in points)))


def _counted(number: int | None, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
