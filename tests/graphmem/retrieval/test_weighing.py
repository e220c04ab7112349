"""What else than the legs speaks for a memory: sessions, neighbours, speakers."""

import pytest

from graphmem.retrieval.weighing import (
    SESSION_BEST,
    SHORT_TOKENS,
    neighbour_support,
    session_prior,
    speaker_named,
)


def test_a_session_is_worth_its_two_best_memories() -> None:
    scores = {"a": 0.9, "b": 0.5, "c": 0.4, "d": 0.7}
    sessions = {"a": "one", "b": "one", "c": "one", "d": "two"}

    assert SESSION_BEST == 2
    assert session_prior(scores, sessions) == {
        "a": 1.0,
        "b": 1.0,
        "c": 1.0,
        "d": pytest.approx(0.7 / 1.4),
    }


def test_what_belongs_to_no_session_gets_no_prior() -> None:
    assert session_prior({"a": 1.0, "b": 0.5}, {"a": "", "b": "one"}) == {"b": 1.0}
    assert session_prior({}, {}) == {}


def test_neighbours_give_shares_by_distance() -> None:
    scores = {"a": 1.0, "b": 0.5, "c": 0.25}
    places = {"a": ("s", 0), "b": ("s", 1), "c": ("s", 2)}
    lengths = dict.fromkeys("abc", 10)

    assert neighbour_support(scores, places, lengths, (0.2, 0.1)) == {
        "a": pytest.approx(0.2 * 0.5 + 0.1 * 0.25),
        "b": pytest.approx(0.2 * (1.0 + 0.25)),
        "c": pytest.approx(0.2 * 0.5 + 0.1 * 1.0),
    }


def test_neighbours_are_of_the_same_session() -> None:
    scores, places = {"a": 1.0, "b": 1.0}, {"a": ("s", 0), "b": ("t", 1)}

    assert neighbour_support(scores, places, {"a": 1, "b": 1}, (0.2,)) == {"a": 0.0, "b": 0.0}


def test_a_long_memory_stands_alone() -> None:
    scores, places = {"a": 1.0, "b": 1.0, "c": 1.0}, {"a": ("s", 0), "b": ("s", 1), "c": ("s", 9)}
    lengths = {"a": SHORT_TOKENS, "b": 4 * SHORT_TOKENS, "c": 0}

    support = neighbour_support(scores, places, lengths, (0.2,))

    assert support == {"a": pytest.approx(0.2), "b": pytest.approx(0.05), "c": 0.0}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["mara", "said"], {"a": 1.0, "c": 1.0}),
        (["lindqvist"], {"a": 1.0, "c": 1.0}),
        (["quill"], {"b": 1.0}),
        (["mara", "quill"], {}),
        (["mar"], {}),
        ([], {}),
    ],
)
def test_a_speaker_counts_when_named_alone(words: list[str], expected: dict[str, float]) -> None:
    names = {"a": "Mara Lindqvist", "b": "Quill", "c": "Mara Lindqvist", "d": None, "e": ""}

    assert speaker_named(words, names) == expected
