"""Which sessions come first, and what stands around a hit."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from graphmem.contextual.narrowing import (
    TIME_SHARE,
    ChosenSession,
    ContextualSearch,
    SessionHead,
    answering,
    around,
    best_of_sessions,
    coverage,
    hybrid,
    in_order,
    session_standing,
    unknown_names,
)
from graphmem.contextual.types import ContextualQuery, Narrowing
from graphmem.graph.installation import Calibration
from graphmem.retrieval.filters import NOW
from graphmem.retrieval.finding import Candidate
from graphmem.retrieval.relevance import asked_words
from graphmem.retrieval.understanding import Understood
from graphmem.text.named_times import named_times


def test_what_stands_around_hits_overlaps_no_hit_and_nothing_twice() -> None:
    # S5.13
    turns = list("abcdefgh")
    assert around(turns, {2, 3}, 1) == {2: [1], 3: [4]}
    assert around(turns, {0, 7}, 2) == {0: [1, 2], 7: [5, 6]}
    assert around(turns, {2, 4}, 1) == {2: [1, 3], 4: [5]}
    assert around(turns, {3}, 0) == {3: []}
    assert around([], set(), 3) == {}


def test_hybrid_weighs_both_legs_and_goes_on_with_one(candidate: Callable[..., Candidate]) -> None:
    found = [candidate("a", cosine=0.9, bm25=2.0), candidate("b", cosine=0.5, bm25=4.0)]
    assert hybrid(found) == {"a": 0.65 + 0.35 * 0.5, "b": 0.35}
    assert hybrid([candidate("c", bm25=3.0), candidate("d", bm25=1.5)]) == {"c": 1.0, "d": 0.5}
    assert hybrid([]) == {}


def test_a_session_stands_by_its_best_message_and_a_little_by_its_summary(
    candidate: Callable[..., Candidate],
) -> None:
    scores = {"a1": 0.5, "b1": 0.5, "b2": 0.4, "b3": 0.3, "b4": 0.2, "none": 1.0}
    found = [candidate(id, session_id="" if id == "none" else id[0]) for id in scores]
    best = best_of_sessions(found, scores)
    assert [one.id for one in best["b"]] == ["b1", "b2", "b3"]
    assert set(best) == {"a", "b"}
    assert session_standing(best, {}, scores, {}) == {"a": 0.5, "b": 0.5}
    summaries = {"b": [candidate("sb", session_id="b")], "c": [candidate("sc", session_id="c")]}
    standing = session_standing(best, summaries, scores, {"sb": 1.0, "sc": 0.8})
    assert in_order(standing) == ["b", "a", "c"]
    assert standing["c"] == pytest.approx(0.04)


def test_a_message_of_a_time_that_is_named_stands_before_its_like(
    candidate: Callable[..., Candidate],
) -> None:
    found = [
        candidate(id, cosine=0.8, occurred_at=datetime(2026, month, 3, tzinfo=UTC))
        for id, month in (("may", 5), ("march", 3))
    ]
    asked = asking("The boat?")
    named = answering(found, replace(asked, times=named_times("The boat, in March?")))
    plain = answering(found, asked)
    assert [one.id for one, _ in named] == ["march", "may"]
    assert named[0][1] - named[1][1] == pytest.approx(TIME_SHARE)
    assert [one.id for one, _ in plain] == ["may", "march"]
    assert plain[0][1] == plain[1][1]


def test_a_session_covers_what_its_texts_hold_together() -> None:
    words = ["leaking", "boat", "harbours"]
    texts = {"a": ["It leaks.", "Which boat's?"], "b": ["A boat in the harbour."], "c": []}
    assert coverage(words, {}, texts) == {"a": 1.0, "b": 1.0, "c": 0.0}
    assert coverage(words, {"leaking": 0.2}, texts) == {
        "a": pytest.approx(0.6),
        "b": 1.0,
        "c": 0.0,
    }
    assert coverage([], {}, texts) == {"a": 0.0, "b": 0.0, "c": 0.0}


SCALE = Calibration(low=0.5, high=0.9)


def asking(query: str, min_relevance: float | None = None) -> ContextualSearch:
    return ContextualSearch(
        query=ContextualQuery(query=query, min_relevance=min_relevance),
        question=Understood(query, [1.0], [], {}, []),
        words=asked_words(query, {}),
        times=[],
        validity=NOW,
    )


def test_a_session_is_as_relevant_as_its_best_meaning_and_its_best_words_together(
    candidate: Callable[..., Candidate],
) -> None:
    search = asking("What did Zora paint?")
    best = [
        candidate("near", cosine=0.7, name="Ines"),
        candidate("worded", cosine=0.6, name="Zora"),
    ]
    texts = {"near": "A harbour in oil.", "worded": "I paint on Sundays."}
    found = search.session_relevance(best, texts, SCALE)
    assert found == pytest.approx(0.65 * 0.5 + 0.35)
    other = [candidate("worded", cosine=0.6, name="Mara")]
    assert search.session_relevance(other, texts, SCALE) == pytest.approx(0.65 * 0.25 + 0.35 / 2)
    assert search.session_relevance([], texts, SCALE) == 0.0


def test_without_vectors_a_session_is_as_relevant_as_its_best_words(
    candidate: Callable[..., Candidate],
) -> None:
    search = asking("paint harbour")
    best = [candidate("one", name="Zora"), candidate("two", name="Zora")]
    texts = {"one": "I paint.", "two": "I paint the harbour."}
    assert search.session_relevance(best, texts, SCALE) == 1.0


def chosen(relevances: Sequence[float]) -> list[ChosenSession]:
    head = SessionHead(
        id="s",
        external_id="s",
        conversation_id="c",
        started_at=datetime(2026, 3, 2, tzinfo=UTC),
        summary_id=None,
        summary=None,
        beginning=None,
    )
    return [ChosenSession(head, one) for one in relevances]


@pytest.mark.parametrize(
    ("narrowing", "given", "relevances", "kept"),
    [
        ("soft", None, [0.2, 0.24], []),
        ("soft", None, [0.1, 0.5, 0.16], [0.5, 0.16]),
        ("hard", None, [0.04], []),
        ("hard", None, [0.2, 0.05, 0.07], [0.2, 0.07]),
        ("hard", 0.5, [0.4], []),
        ("soft", 0.5, [0.1, 0.5], [0.1, 0.5]),
        ("soft", 0.0, [], []),
    ],
)
def test_the_best_session_decides_and_the_others_stay_unless_they_are_far_from_it(
    narrowing: Narrowing, given: float | None, relevances: list[float], kept: list[float]
) -> None:
    search = asking("x", min_relevance=given)
    assert [one.relevance for one in search.enough(chosen(relevances), narrowing)] == kept


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("What did Zora paint?", 0.0),
        ("What did Melanie paint?", 1.0),
        ("Did Melanie's friend meet Zora?", 0.5),
        ("What was painted in Port Ellen?", 0.0),
        ("what did she paint?", 0.0),
        ("", 0.0),
    ],
)
def test_names_that_were_never_said_are_told_from_those_that_were(
    question: str, share: float
) -> None:
    assert unknown_names(question, ["Zora I paint.", " The harbour of Ellen's."]) == share
    assert unknown_names(question, []) == (1.0 if any(map(str.isupper, question[1:])) else 0.0)


def test_a_memory_is_of_a_time_only_if_that_is_short(candidate: Callable[..., Candidate]) -> None:
    search = replace(asking("What?"), times=named_times("since 2020, this year, in March"))
    then = candidate("then", occurred_at=datetime(2026, 3, 9, tzinfo=UTC))
    later = candidate("later", occurred_at=datetime(2026, 5, 9, tzinfo=UTC))

    assert search.ids_of_time([then, later]) == {"then"}
