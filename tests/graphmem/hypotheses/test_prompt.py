"""The prompt for hypotheses, and which lines of a reply are hypotheses."""

import pytest

from graphmem.hypotheses.prompt import sentences, system_prompt, user_prompt


def test_the_prompt_asks_for_exactly_so_many_sentences_one_a_line():  # S4.22
    asked = system_prompt(4)

    assert "generate exactly 4 short declarative sentences" in asked
    assert "preference, convention,\ndecision, or correction" in asked
    assert "Each sentence should be on its own line." in asked
    assert "Do not explain or elaborate" in asked


def test_the_window_is_joined_and_the_number_stands_in_the_request():  # S4.23
    assert user_prompt(["user: one", "assistant: two"], 3) == (
        "Conversation window:\n\nuser: one\n---\nassistant: two\n\n"
        "Generate 3 hypothetical memory sentences."
    )


def test_lines_are_trimmed_and_blank_ones_dropped():
    assert sentences("  one \n\n \t \ntwo\r\n", 5) == ["one", "two"]
    assert sentences(" \n ", 5) == []


def test_no_more_than_asked_are_taken():
    assert sentences("a\nb\nc\nd", 3) == ["a", "b", "c"]


@pytest.mark.parametrize("mark", ["- ", "* ", "• ", "1. ", "5) ", "6: ", "(2) ", "12.\t"])
def test_bullets_and_numbers_are_stripped(mark: str):
    assert sentences(f"{mark}The user prefers tabs.", 5) == ["The user prefers tabs."]


@pytest.mark.parametrize(
    "line", ["2FA is on.", "3.11 is the version.", "-v shows more.", "5 pm is late."]
)
def test_what_only_begins_like_a_mark_stays(line: str):
    assert sentences(line, 5) == [line]
