"""The benchmark of passages measures what it says."""

from typing import Any

import pytest

from bench.passages import Found, interval, measure, report
from graphmem.runtime import Runtime


@pytest.fixture
def passages() -> dict[str, Any]:
    """One passage that the question is about, one that only it names, and many that look more alike."""
    alike = [
        {
            "id": f"alike {n}",
            "title": f"Ferry line {n}",
            "content": f"The captain of ferry {n} is old.",
        }
        for n in range(8)
    ]
    first = {
        "id": "first",
        "title": "Albatross",
        "content": "The Albatross is a ferry; Quentin Xavier is the captain of this ferry.",
    }
    second = {"id": "second", "title": "Quentin Xavier", "content": "He was born in Galway."}
    asked = "Where was the captain of the ferry Albatross born?"
    return {
        "passages": [*alike, first, second],
        "questions": [
            {"id": "1", "text": asked, "evidence": ["first", "second"]},
            {"id": "2", "text": "Who is nobody's captain?", "evidence": []},
        ],
    }


async def test_a_set_is_loaded_asked_and_reported(runtime: Runtime, passages: dict[str, Any]):
    result = await measure(runtime, passages)

    assert result["questions"] == 1
    assert result["hops"]["1"]["all evidence@5"] == 100.0
    assert result["hops"]["1"]["recall@5"] == 100.0
    assert result["hops"]["0"]["recall@5"] in {50.0, 100.0}


def test_figures_are_percent_of_questions_and_of_evidence():
    result = report(
        [Found({0: 0.5, 1: 1.0}, 1.0), Found({0: 1.0, 1: 1.0}, 1.0), Found({0: 1.0, 1: 0.5}, 0.5)]
    )

    assert result["hops"]["0"]["all evidence@5"] == 66.67
    assert result["hops"]["0"]["recall@5"] == 83.33
    assert result["hops"]["1"]["all evidence@5"] == 66.67
    assert result["gain"]["all evidence@5"] == 0.0


def test_an_interval_is_of_the_questions():
    assert interval([1.0] * 20) == [100.0, 100.0]
    low, high = interval([0.0, 1.0] * 20)
    assert 25 < low < 50 < high < 75
