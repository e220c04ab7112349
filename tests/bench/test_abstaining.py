"""What the bench of abstaining counts, without a store."""

from typing import Any

import pytest

from bench.abstaining import FOREIGN, OTHER, OWN, UNANSWERED, Asked, area, asked_of, figures


def conversation(id: str, questions: int) -> dict[str, Any]:
    made = [
        {"text": f"{id}-{place}", "category": "plain", "evidence": ["m"]}
        for place in range(questions)
    ]
    return {
        "id": id,
        "questions": [
            *made,
            {"text": f"{id}-false", "category": "adversarial", "evidence": ["m"]},
            {"text": f"{id}-none", "category": "plain", "evidence": []},
        ],
    }


def test_a_client_is_asked_its_own_questions_and_others_that_have_an_answer_elsewhere():
    conversations = [conversation("a", 2), conversation("b", FOREIGN + 5)]

    asked = asked_of(conversations[0], conversations, [])

    assert [text for group, text in asked if group == OWN] == ["a-0", "a-1"]
    assert [text for group, text in asked if group == UNANSWERED] == ["a-false", "a-none"]
    others = [text for group, text in asked if group == OTHER]
    assert len(set(others)) == FOREIGN
    assert all(text.startswith("b-") and text[2:].isdigit() for text in others)
    assert asked == asked_of(conversations[0], conversations, [])


@pytest.mark.parametrize(
    ("answered", "foreign", "expected"),
    [([0.5, 0.9], [0.1, 0.4], 1.0), ([0.5], [0.5], 0.5), ([0.1, 0.9], [0.2, 0.3], 0.5)],
)
def test_the_area_is_how_often_an_answered_one_is_more_relevant(answered, foreign, expected):
    assert area(answered, foreign) == expected


def test_a_threshold_is_judged_on_the_conversation_that_did_not_set_it():
    asked = [
        Asked(id, group, relevance, relevance < 0.2)
        for id, own, other in (("a", 0.6, 0.3), ("b", 0.4, 0.5))
        for group, relevance in ((OWN, own), (OTHER, other))
    ]

    found = figures(asked)

    assert found["abstained"] == {OWN: 0.0, OTHER: 0.0}
    assert found["area"] == {OTHER: 0.75}
    # a is judged at .4, b at .6.
    assert found["cross-validated"] == {OTHER: {"own": 50.0, "foreign": 100.0}}
