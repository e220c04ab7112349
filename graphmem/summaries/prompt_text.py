"""What a summary says to a model: its fields as a compact text (S1's toPromptText)."""

from collections.abc import Sequence

from graphmem.summaries.types import Summary


def prompt_text(summary: Summary) -> str:
    """Return a summary as a model reads it: a line of what is known, then a line for each point.

    A session's summary is its own text. Line breaks inside a field become spaces, so that no field
    can pass for a line of its own.
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
