"""The four orders in which candidates can stand."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import given, strategies as st

from graphmem.model.vocabulary import Ranking
from graphmem.retrieval.finding import Candidate
from graphmem.retrieval.ranking import Ranked, ranked

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
Make = Callable[..., Candidate]


def order(ranking: list[Ranked]) -> list[str]:
    return [each.candidate.id for each in ranking]


@pytest.fixture
def found(candidate: Make) -> list[Candidate]:
    """Three by vector, three by words, two of them by both."""
    return [
        candidate("near", cosine=0.9),
        candidate("both", cosine=0.8, bm25=4.0),
        candidate("also", cosine=0.2, bm25=2.0),
        candidate("worded", cosine=0.1, bm25=8.0, by_vector=False),
    ]


def test_vector_ranks_what_the_vector_leg_found(found: list[Candidate]) -> None:
    ranking = ranked(found, [], "vector")

    assert order(ranking) == ["near", "both", "also"]
    assert [each.score for each in ranking] == [0.9, 0.8, 0.2]


def test_bm25_ranks_what_the_words_leg_found(found: list[Candidate]) -> None:
    ranking = ranked(found, [], "bm25")

    assert order(ranking) == ["worded", "both", "also"]
    assert [each.score for each in ranking] == [8.0, 4.0, 2.0]


def test_rrf_adds_the_legs_ranks(found: list[Candidate]) -> None:
    ranking = ranked(found, [], "rrf")

    assert order(ranking) == ["both", "also", "near", "worded"]
    assert {each.candidate.id: each.score for each in ranking} == {
        "both": pytest.approx(2 / 62),
        "also": pytest.approx(2 / 63),
        "near": pytest.approx(1 / 61),
        "worded": pytest.approx(1 / 61),
    }


def test_default_weighs_true_cosines_and_words(found: list[Candidate]) -> None:
    scores = {each.candidate.id: each.score for each in ranked(found, [], "default")}

    # Cosines by min-max weigh .65, words by their maximum .35; what only words found has its cosine.
    assert scores == {
        "near": pytest.approx(0.65),
        "both": pytest.approx(0.65 * 0.7 / 0.8 + 0.35 * 0.5),
        "also": pytest.approx(0.65 * 0.1 / 0.8 + 0.35 * 0.25),
        "worded": pytest.approx(0.35),
    }


def test_default_adds_neighbours_session_and_speaker(candidate: Make) -> None:
    here = {"session_id": "s", "cosine": 0.0}
    found = [
        candidate("a", idx=0, name="Mara", **here | {"cosine": 1.0}),
        candidate("b", idx=1, name="Quill", **here),
        candidate("c", session_id="t", idx=1, cosine=0.0),
    ]

    scores = {each.candidate.id: each.scores for each in ranked(found, ["quill"], "default")}
    total = {each.candidate.id: each.score for each in ranked(found, ["quill"], "default")}

    assert scores["a"] == {
        "vector": 1.0,
        "hybrid": pytest.approx(0.65),
        "neighbours": 0.0,
        "session": 1.0,
    }
    assert scores["b"]["neighbours"] == pytest.approx(0.2 * 0.65)
    assert scores["b"]["speaker"] == 1.0
    assert scores["c"]["session"] == 0.0
    assert total["a"] == pytest.approx(0.65 + 0.4)
    assert total["b"] == pytest.approx(0.2 * 0.65 + 0.4 + 0.1)
    assert total["c"] == 0.0


def test_each_memory_carries_its_scores_and_ranks(found: list[Candidate]) -> None:
    by_id = {each.candidate.id: each for each in ranked(found, [], "rrf")}

    assert by_id["both"].ranks == {"vector": 2, "bm25": 2}
    assert by_id["worded"].ranks == {"bm25": 1}
    assert by_id["worded"].scores == {"vector": 0.1, "bm25": 8.0}
    assert by_id["near"].ranks == {"vector": 1}
    assert by_id["near"].scores == {"vector": 0.9}


@pytest.mark.parametrize("ranking", get_args(Ranking))
def test_ties_go_to_the_newer_then_to_the_lower_id(ranking: Ranking, candidate: Make) -> None:
    alike = {"cosine": 0.5, "bm25": 1.0}
    later = NOON + timedelta(seconds=1)
    found = [
        candidate("d", **alike),
        candidate("b", **alike),
        candidate("c", **alike, occurred_at=later),
        candidate("a", **alike, occurred_at=later - timedelta(days=1)),
    ]

    assert order(ranked(found, [], ranking)) == ["c", "b", "d", "a"]


@pytest.mark.parametrize("ranking", get_args(Ranking))
def test_nothing_found_is_an_empty_ranking(ranking: Ranking) -> None:
    assert ranked([], ["word"], ranking) == []


def test_without_a_vector_the_words_decide(candidate: Make) -> None:
    found = [candidate("a", bm25=1.0), candidate("b", bm25=2.0)]

    assert order(ranked(found, [], "default")) == ["b", "a"]


@given(data=st.data(), ranking=st.sampled_from(get_args(Ranking)))
def test_the_order_found_in_does_not_matter(
    data: st.DataObject, ranking: Ranking, candidate: Make
) -> None:
    found = [
        candidate(
            str(number),
            cosine=data.draw(st.sampled_from((0.1, 0.5, 0.9))),
            bm25=data.draw(st.sampled_from((None, 1.0, 2.0))),
            by_vector=data.draw(st.booleans()),
            session_id=data.draw(st.sampled_from(("", "s", "t"))),
            idx=number,
            occurred_at=NOON + timedelta(days=data.draw(st.integers(0, 2))),
        )
        for number in range(data.draw(st.integers(0, 8)))
    ]
    shuffled = data.draw(st.permutations(found))

    ranking_found = ranked(found, ["word"], ranking)

    assert order(ranking_found) == order(ranked(shuffled, ["word"], ranking))
    scores = [each.score for each in ranking_found]
    assert scores == sorted(scores, reverse=True)
