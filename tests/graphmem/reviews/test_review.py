"""How reviews are judged: what happened since decides, the strongest first, each episode once."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from graphmem.reviews.review import EXPIRY, PendingReview, ShownEpisode, Verdict, judged, sorted_out
from graphmem.reviews.types import ReviewsRun

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SUMMARY = "About Rust: the trading system moves to Rust for its latency."
REUSED = "As we said, the latency of the trading system decided it."


def shown(id: str = "e", rank: int = 1, *, outdated: bool = False, later=()) -> ShownEpisode:
    return ShownEpisode(id=id, rank=rank, text=SUMMARY, outdated=outdated, later=list(later))


def waiting(*episodes: ShownEpisode, id: str = "r", **other: Any) -> PendingReview:
    plain: dict[str, Any] = {"query": "why Rust?", "at": NOON, "asked_soon": []}
    return PendingReview(id=id, episodes=list(episodes), **(plain | other))


def ratings(*reviews: PendingReview, shares=None) -> dict[str, tuple[str, str]]:
    verdicts = judged(reviews, shares or {})
    assert len({verdict.episode_id for verdict in verdicts}) == len(verdicts)
    return {verdict.episode_id: (verdict.rating, verdict.basis) for verdict in verdicts}


def test_nothing_that_speaks_is_no_rating() -> None:
    assert ratings(waiting(shown())) == {}
    assert ratings(waiting()) == {}


def test_what_was_superseded_or_contradicted_since_is_again() -> None:  # S2.46
    assert ratings(waiting(shown(outdated=True))) == {"e": ("again", "outdated")}


def test_what_later_messages_come_back_to_is_easy_when_shown_first_else_good() -> None:  # S2.46
    review = waiting(shown("a", 1, later=[REUSED]), shown("b", 2, later=[REUSED]))
    assert ratings(review) == {"a": ("easy", "reused"), "b": ("good", "reused")}


@pytest.mark.parametrize(
    "text",
    [
        "Yes, about that, and because of this.",
        "It is what it is.",
        "Completely different words here.",
        "why Rust?",
        "  Why, RUST  ",
    ],
)
def test_a_message_without_a_rare_shared_term_or_the_question_again_is_no_reuse(text: str) -> None:
    assert ratings(waiting(shown(later=[text]))) == {}


def test_a_term_that_the_client_uses_everywhere_is_not_rare() -> None:
    review = waiting(shown(later=["Rust again."]))
    assert ratings(review, shares={"rust": 0.1}) == {"e": ("easy", "reused")}
    assert ratings(review, shares={"rust": 0.11}) == {}


def test_the_same_question_soon_after_is_hard() -> None:  # S2.46
    assert ratings(waiting(shown(), asked_soon=["WHY rust"])) == {"e": ("hard", "asked_again")}
    assert ratings(waiting(shown(), asked_soon=["why Python?"])) == {}


def test_the_strongest_that_speaks_decides() -> None:
    again = ["why rust"]
    assert ratings(waiting(shown(later=[REUSED]), asked_soon=again))["e"] == ("easy", "reused")
    outdated = waiting(shown(outdated=True, later=[REUSED]), asked_soon=again)
    assert ratings(outdated)["e"][0] == "again"


def test_an_episode_of_several_reviews_is_rated_once() -> None:  # S2.46
    first = waiting(shown(), id="r1", asked_soon=["why rust"])
    second = waiting(shown(later=[REUSED]), id="r2", at=NOON + timedelta(minutes=5))
    third = waiting(shown(later=[REUSED]), id="r3", at=NOON + timedelta(minutes=9))
    [verdict] = judged([first, second, third], {})
    assert (verdict.rating, verdict.review_id, verdict.reviewed_at) == ("easy", "r3", third.at)
    [verdict] = judged([third, first], {})
    assert verdict.review_id == "r3"


def test_a_question_of_another_review_is_no_answer_to_this_one() -> None:  # S2.46
    later = "Which latency does the trading system need?"
    first = waiting(shown(later=[later]), id="r1")
    assert ratings(first)["e"][0] == "easy"
    assert ratings(first, waiting(shown("f"), id="r2", query=later)) == {}


def test_a_review_waits_seven_days() -> None:
    old = waiting(shown("a"), id="old", at=NOON - EXPIRY)
    young = waiting(shown("b"), id="young", at=NOON - EXPIRY + timedelta(seconds=1))
    bare = waiting(id="bare", at=NOON - EXPIRY)
    rated = waiting(shown("c"), id="rated", at=NOON - EXPIRY)
    verdict = Verdict(
        review_id="rated", episode_id="c", rating="good", basis="reused", reviewed_at=NOON
    )
    sorted_ = sorted_out([old, young, bare, rated], [verdict], NOON)
    assert sorted_ == (["rated"], ["old", "bare"], ["young"])


def test_runs_add_up() -> None:
    assert ReviewsRun(reviews=2, done=1, easy=1) + ReviewsRun(reviews=1, expired=1) == ReviewsRun(
        reviews=3, done=1, easy=1, expired=1
    )
