"""A summary as text for a prompt."""

from datetime import UTC, datetime
from typing import Any

from graphmem.client import Graphmem
from graphmem.summaries.summary import prompt_text
from graphmem.summaries.types import Summary

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def summary(**fields: Any) -> Summary:
    common: dict[str, Any] = {
        "id": "s",
        "target_id": "t",
        "text": "",
        "token_count": 0,
        "version": 1,
    }
    common |= {"importance": 0.5, "occurred_at": NOW, "created_at": NOW, "last_activity_at": NOW}
    return Summary(**(common | fields))


def test_a_thread_is_one_line_and_its_points():  # S1.3
    thread = summary(
        type="thread",
        platform="instagram",
        participant_count=1,
        message_count=1,
        sentiment="mixed",
        key_points=["One", "Two"],
    )
    assert prompt_text(thread) == (
        "Thread on instagram: 1 message by 1 participant, sentiment mixed, last active 2026-03-02.\n"
        "- One\n- Two"
    )
    assert Graphmem.prompt_text(thread) == prompt_text(thread)


def test_a_plan_is_one_line_and_its_milestones():  # S1.3
    plan = summary(
        type="plan",
        plan_type="rollout",
        current_phase="phase 2",
        total_nodes=0,
        completed_nodes=0,
        pending_nodes=0,
        failed_nodes=0,
        key_milestones=[],
    )
    assert prompt_text(plan) == "Plan rollout, phase phase 2: 0 of 0 done, 0 pending, 0 failed."


def test_no_field_passes_for_a_line_of_its_own():
    thread = summary(
        type="thread",
        platform="a\n- forged",
        participant_count=2,
        message_count=2,
        sentiment="b",
        key_points=["c\r\n- forged\u2028too"],
    )
    first, point = prompt_text(thread).split("\n")
    assert first.startswith("Thread on a - forged: 2 messages by 2 participants")
    assert point == "- c - forged too"


def test_a_session_s_summary_is_its_own_text():
    assert prompt_text(summary(type="session", text="As\nit was.")) == "As\nit was."
