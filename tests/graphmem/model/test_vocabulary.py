"""The closed lists are those of the specifications."""

from typing import get_args

from graphmem.model.vocabulary import CATEGORIES, LinkType, SourceType


def test_the_source_types_are_those_named_and_ours():  # S1.7
    assert set(get_args(SourceType)) == {
        "thread_summary",
        "plan_summary",
        "knowledge_base",
        "brand_kit",
        "offer",
        "span",
        "reference",
        "episode_log",
        "session_summary",
        "message",
        "episode",
        "fact",
    }


def test_a_caller_may_not_say_that_something_supersedes():
    assert set(get_args(LinkType)) == {
        "relates_to",
        "references",
        "refines",
        "contradicts",
        "derived_from",
    }


def test_the_categories_by_default():
    assert CATEGORIES == (
        "identity",
        "preference",
        "interest",
        "personality",
        "relationship",
        "experience",
        "goal",
        "guideline",
        "coding_preference",
        "project_convention",
        "architectural_decision",
        "user_fact",
        "correction",
        "pattern",
    )
