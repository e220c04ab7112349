"""Narrowed to sessions, the first results are relevant: measured on the committed set, on the real model."""

from bench.narrowing_set import conversation
from bench.precision import measure
from graphmem.runtime import Runtime


def test_the_set_is_as_large_as_it_says_and_its_evidence_exists() -> None:
    made = conversation()
    ids = {message["id"] for session in made["sessions"] for message in session["messages"]}
    assert len(made["sessions"]) >= 40
    assert len(made["questions"]) >= 30
    assert all(set(question["evidence"]) <= ids for question in made["questions"])
    assert conversation() == made


async def test_hard_narrowing_is_more_than_80_percent_precise_and_searching_everything_is_not(
    runtime: Runtime, bulk_data: None
) -> None:
    # S5.28 S5.31
    precision = (await measure(runtime))["precision@3"]
    assert precision["contextual, hard"] > 80
    assert precision["global, by meaning"] <= 60
    assert precision["contextual, hard"] > precision["global, recall"]
