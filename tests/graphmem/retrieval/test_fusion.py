"""Fusing scores: golden numbers and what must hold for any."""

import pytest
from hypothesis import given, strategies as st

from graphmem.retrieval.fusion import by_maximum, min_max, reciprocal_rank, weighted

SCORES = st.dictionaries(st.text(max_size=3), st.floats(-1e6, 1e6), max_size=20)
RANKINGS = st.lists(st.lists(st.text(max_size=2), unique=True, max_size=10), max_size=3)


def test_reciprocal_ranks_add_up_with_k_60() -> None:
    scores = reciprocal_rank([["a", "b"], ["b", "c"]])

    assert scores == {
        "a": pytest.approx(1 / 61),
        "b": pytest.approx(1 / 62 + 1 / 61),
        "c": pytest.approx(1 / 62),
    }
    # The greatest that two legs can give, as the specification of S2 has it.
    assert reciprocal_rank([["a"], ["a"]])["a"] == pytest.approx(0.0327869, abs=1e-7)


def test_a_smaller_k_makes_the_first_place_weigh_more() -> None:
    assert reciprocal_rank([["a"]], k=1) == {"a": 0.5}


def test_nothing_ranked_has_no_scores() -> None:
    assert reciprocal_rank([]) == reciprocal_rank([[], []]) == {}


@given(RANKINGS)
def test_reciprocal_rank_keeps_each_rankings_order(rankings: list[list[str]]) -> None:
    scores = reciprocal_rank(rankings)

    assert set(scores) == {id for ranking in rankings for id in ranking}
    for ranking in rankings:
        alone = reciprocal_rank([ranking])
        assert sorted(ranking, key=lambda each: -alone[each]) == ranking
        assert all(0 < alone[id] <= scores[id] + 1e-12 for id in ranking)


def test_min_max_runs_from_0_to_1() -> None:
    assert min_max({"a": -2.0, "b": 0.0, "c": 2.0}) == {"a": 0.0, "b": 0.5, "c": 1.0}


@pytest.mark.parametrize("value", [-3.0, 0.0, 7.5])
def test_min_max_of_equal_scores_is_1(value: float) -> None:
    assert min_max({"a": value, "b": value}) == {"a": 1.0, "b": 1.0}
    assert min_max({"a": value}) == {"a": 1.0}


def test_no_scores_stay_none() -> None:
    assert min_max({}) == by_maximum({}) == weighted([]) == {}


@given(SCORES)
def test_min_max_stays_inside_and_keeps_the_order(scores: dict[str, float]) -> None:
    moved = min_max(scores)

    assert moved.keys() == scores.keys()
    assert all(0.0 <= score <= 1.0 for score in moved.values())
    assert all(
        moved[one] <= moved[other]
        for one in scores
        for other in scores
        if scores[one] < scores[other]
    )


def test_by_maximum_keeps_proportions_and_zero() -> None:
    assert by_maximum({"a": 4.0, "b": 1.0, "c": 0.0}) == {"a": 1.0, "b": 0.25, "c": 0.0}


def test_by_maximum_of_zeros_is_zero() -> None:
    assert by_maximum({"a": 0.0, "b": 0.0}) == {"a": 0.0, "b": 0.0}


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1e6), min_size=1))
def test_by_maximum_stays_inside(scores: dict[str, float]) -> None:
    moved = by_maximum(scores)

    assert all(0.0 <= score <= 1.0 for score in moved.values())
    assert max(moved.values()) == (1.0 if max(scores.values()) else 0.0)


def test_weighted_counts_what_is_absent_as_0() -> None:
    scores = weighted([(0.5, {"a": 1.0, "b": 0.4}), (2.0, {"b": 0.1, "c": 3.0})])

    assert scores == {"a": 0.5, "b": pytest.approx(0.4), "c": 6.0}
