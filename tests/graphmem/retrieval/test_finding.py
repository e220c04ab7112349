"""Asking for more: until enough passes, until no more is there, or until it is too much."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import Struct
from msgspec.structs import replace

from graphmem.retrieval import finding
from graphmem.retrieval.filters import Filters
from graphmem.retrieval.finding import (
    GROWTH,
    MOST_CANDIDATES,
    Candidate,
    Details,
    FoundPassage,
    IndexAnswer,
    IndexQuery,
    cut,
    enough,
    falls_short,
    find,
    of_both_indexes,
    united,
    with_own_passages,
    with_own_words,
    with_passages,
    with_texts,
)
from graphmem.retrieval.understanding import Sample
from graphmem.retrieval.weighing import weighed_words
from tests.scripted import ScriptedGraph


class One(Struct, frozen=True):
    passes: bool


class Index:
    """Memories in the order in which an index finds them."""

    def __init__(self, passes: Callable[[int], bool], size: int) -> None:
        self._found = [One(passes(place)) for place in range(size)]
        self.asked: list[int] = []

    async def first(self, limit: int) -> list[One]:
        self.asked.append(limit)
        return self._found[:limit]


def one_leg(found: list[One]) -> list[list[One]]:
    return [found]


async def test_more_is_asked_for_until_enough_passes() -> None:
    index = Index(lambda place: place % 10 == 0, 1_000)
    found, limit = await enough(index.first, one_leg, 5)
    assert index.asked == [5, 20, 80]
    assert (len(found), limit) == (80, 80)


async def test_nothing_more_is_asked_for_where_no_more_is_there() -> None:
    index = Index(lambda place: False, 30)
    assert await enough(index.first, one_leg, 20) == ([One(False)] * 30, 80)
    assert index.asked == [20, 80]


async def test_a_filter_that_lets_nothing_pass_is_given_up() -> None:
    index = Index(lambda place: False, 2 * MOST_CANDIDATES)
    _, limit = await enough(index.first, one_leg, 3_000)
    assert index.asked == [3_000, MOST_CANDIDATES]
    assert limit == MOST_CANDIDATES


async def test_every_leg_must_bring_enough() -> None:
    index = Index(lambda place: place >= 40, 1_000)

    def legs(found: list[One]) -> list[list[One]]:
        return [[One(True)] * len(found), found]

    await enough(index.first, legs, 10)
    assert index.asked == [10, 10 * GROWTH, 10 * GROWTH**2]


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 20), st.integers(1, 20))
def test_a_leg_falls_short_when_less_came_than_asked_and_too_little_of_it_passes(
    passing: int, others: int, limit: int, wanted: int
) -> None:
    leg = [One(True)] * passing + [One(False)] * others
    assert falls_short(leg, limit, wanted) == (passing + others < limit and passing < wanted)


@pytest.mark.parametrize("wanted", [1, 50])
async def test_what_all_passes_is_asked_for_once(wanted: int) -> None:
    index = Index(lambda place: True, 10)
    await enough(index.first, one_leg, wanted)
    assert index.asked == [wanted]


def test_the_best_of_a_leg_are_cut_after_ties(candidate: Callable[..., Candidate]) -> None:
    leg = [candidate(id, cosine=0.5) for id in "cab"]

    assert {each.id for each in cut(leg, 2)} == {"a", "b"}


async def test_ranked_candidates_are_completed_with_the_scores_of_the_search(
    candidate: Callable[..., Candidate],
) -> None:
    near = candidate("near", cosine=0.9, by_vector=True, places=[0])
    words = candidate("words", cosine=None, bm25=2.0)
    whole = [
        candidate(id, cosine=score, text="A text.")
        for id, score in (("near", None), ("words", 0.4))
    ]
    graph = ScriptedGraph({"retrieval/candidates_by_id": whole})

    found = await with_texts([words, near, candidate("deleted")], [1.0], client_id="x", graph=graph)

    assert found == [
        replace(words, cosine=0.4, text="A text."),
        replace(near, text="A text."),
    ]
    [(_, asked)] = graph.asked
    assert asked["unscored"][0] == "words"
    assert "near" not in asked["unscored"]


def test_out_of_a_leg_s_cut_is_out_of_that_leg(candidate: Callable[..., Candidate]) -> None:
    both = candidate("both", cosine=0.1, bm25=2.0)
    near = candidate("near", cosine=0.9)
    far = candidate("far", cosine=0.05, bm25=1.0)

    [one, other] = cut([both, near, far], 1)

    assert (one.id, one.by_vector, one.bm25) == ("both", False, 2.0)
    assert (other.id, other.by_vector, other.bm25) == ("near", True, None)


def test_what_two_searches_have_found_is_one_with_the_scores_of_both(
    candidate: Callable[..., Candidate],
) -> None:
    exact = candidate("a", cosine=0.5)
    worded = candidate("a", cosine=0.4999, bm25=3.0, by_vector=False)

    assert united([exact, worded]) == [candidate("a", cosine=0.5, bm25=3.0)]
    assert united([worded, exact]) == [candidate("a", cosine=0.4999, bm25=3.0)]


PLAIN = Details(text=None, metadata=None, tags=[], session_external_id=None)


def test_what_another_statement_has_found_too_comes_without_details(
    candidate: Callable[..., Candidate],
) -> None:
    whole = [candidate("a", cosine=0.5, details=PLAIN), candidate("b", cosine=0.4, details=PLAIN)]
    passage = FoundPassage(place=0, start=0, end=9, cosine=0.6, by_vector=True)

    passages = with_passages(whole, [candidate("b", cosine=0.4, passages=[passage])])
    assert [one.details for one in passages] == [PLAIN, None]
    assert [one.details for one in united([candidate("a", cosine=0.5), *whole])] == [None, PLAIN]


def test_what_both_indexes_have_found_is_one_with_the_scores_of_both(
    candidate: Callable[..., Candidate],
) -> None:
    worded = [candidate("both", cosine=0.4999, bm25=3.0, details=PLAIN), candidate("w", bm25=1.0)]
    near = [candidate("both", cosine=0.5, places=[0], details=PLAIN), candidate("n", cosine=0.4)]

    both, by_vector, by_words = of_both_indexes(worded, near)

    assert both == candidate("both", cosine=0.5, places=[0], bm25=3.0, details=PLAIN)
    assert (by_words, by_vector) == (worded[1], near[1])


@pytest.mark.parametrize("ended", ["worded", "near"])
def test_what_ended_between_two_statements_comes_without_details(
    candidate: Callable[..., Candidate], ended: str
) -> None:
    standing = candidate("a", cosine=0.5, bm25=3.0, details=PLAIN)
    over = replace(standing, details=None, passes=False)
    parts = [over, standing] if ended == "worded" else [standing, over]

    [one] = of_both_indexes(parts[:1], parts[1:])

    assert (one.details, one.passes) == (None, False)


@pytest.mark.parametrize("last", ["worded", "near"])
def test_what_was_replaced_between_two_statements_comes_without_details(
    candidate: Callable[..., Candidate], last: str
) -> None:
    old = candidate("old", details=PLAIN)
    new = candidate("new", details=replace(PLAIN, earlier=["other", "old"]))
    parts = [old, new] if last == "near" else [new, old]

    found = {one.id: one for one in of_both_indexes(parts[:1], parts[1:])}

    assert found["old"].details is None
    assert found["new"] == new


WEIGHED = weighed_words(["kettle", "boats"], {"boats": 0.2}, "en", Sample(length=20.0))


def test_scores_of_the_index_become_the_clients_own(candidate: Callable[..., Candidate]) -> None:
    found = [
        candidate("common", bm25=9.0, text="The boat is blue."),
        candidate("rare", bm25=0.1, text="The kettle is blue."),
        candidate("near", cosine=0.9, text="Kettles and a boat."),
        candidate("without", bm25=5.0, text="It is blue."),
        candidate("too long", bm25=7.0, text=""),
        candidate("unread", cosine=0.5, text=""),
    ]

    own = {one.id: one for one in with_own_words(found, WEIGHED)}

    scores = {id: one.bm25 for id, one in own.items() if one.bm25 is not None}
    assert scores["near"] > scores["rare"] > scores["common"]
    scale = (scores["common"] + scores["rare"]) / (9.0 + 0.1)
    assert scores["too long"] == pytest.approx(7.0 * scale)
    assert scores.keys() == {"near", "rare", "common", "too long"}
    assert own["near"].stems == {"kettl", "boat"}
    assert own["without"].stems == own["too long"].stems == frozenset()


@pytest.mark.parametrize("of_index", [0.5, 8.0])
def test_what_is_too_long_to_be_read_alone_tells_nothing_of_the_index(
    candidate: Callable[..., Candidate], of_index: float
) -> None:
    found = [
        candidate("best", bm25=of_index, text=""),
        candidate("half", bm25=of_index / 2, text=""),
        candidate("near", cosine=0.9, text="It is blue."),
    ]

    best, half, near = with_own_words(found, WEIGHED)

    once = sum(WEIGHED.weights.values()) / 2.2
    assert (best.bm25, half.bm25, near.bm25) == pytest.approx((once, once / 2, None))


def test_scores_of_passages_become_the_clients_own(candidate: Callable[..., Candidate]) -> None:
    passages = [
        FoundPassage(place=0, start=0, end=9, bm25=9.0, text="The boat is blue."),
        FoundPassage(place=1, start=9, end=20, bm25=0.1, text="The kettle is blue."),
        FoundPassage(place=2, start=20, end=30, cosine=0.9, by_vector=True),
    ]

    [one] = with_own_passages([candidate("long", passages=passages)], WEIGHED)

    common, rare, near = (passage.bm25 for passage in one.passages)
    assert common is not None
    assert rare is not None
    assert (rare > common, near) == (True, None)


@pytest.mark.parametrize(("many", "in_main"), [(0, False), (1, True)])
async def test_many_texts_are_read_in_a_thread(
    candidate: Callable[..., Candidate], monkeypatch: pytest.MonkeyPatch, many: int, in_main: bool
) -> None:
    threads = []

    def read(*args: Any) -> list[Candidate]:
        threads.append(threading.current_thread() is threading.main_thread())
        return with_own_words(*args)

    monkeypatch.setattr(finding, "MANY_READ", many)
    monkeypatch.setattr(finding, "with_own_words", read)
    boat = candidate("boat", cosine=None, bm25=3.0, by_vector=False, text="The boat is blue.")
    graph = ScriptedGraph({"retrieval/found_in_client": [IndexAnswer([boat], has_passages=False)]})
    query = IndexQuery(
        words=["boat"], filters=Filters(), wanted=5, longest_text=100, sample=Sample()
    )

    [found] = (await find(query, client_id="x", graph=graph)).found

    assert found.stems == {"boat"}
    assert threads == [in_main]
