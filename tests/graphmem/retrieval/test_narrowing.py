"""Which sessions come first, and what stands around a hit."""

from collections.abc import Callable

from graphmem.retrieval.candidates import Candidate
from graphmem.retrieval.narrowing import around, best_of_sessions, hybrid, session_order


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


def test_a_session_stands_by_its_three_best_messages_and_its_summary(
    candidate: Callable[..., Candidate],
) -> None:
    scores = {"a1": 0.9, "b1": 0.5, "b2": 0.4, "b3": 0.3, "b4": 0.2, "none": 1.0}
    found = [candidate(id, session_id="" if id == "none" else id[0]) for id in scores]
    best = best_of_sessions(found, scores)
    assert [one.id for one in best["b"]] == ["b1", "b2", "b3"]
    assert set(best) == {"a", "b"}
    assert session_order(best, {}, scores, {}) == ["b", "a"]
    summaries = {"a": [candidate("sa", session_id="a")], "c": [candidate("sc", session_id="c")]}
    assert session_order(best, summaries, scores, {"sa": 0.4, "sc": 0.1}) == ["a", "b", "c"]
