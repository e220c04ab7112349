"""Decay: the same numbers as the reference implementation, and fractional days where it counts whole."""

import math
import random
from datetime import UTC, datetime, timedelta, timezone

import fsrs
import pytest
from hypothesis import given, strategies as st

from graphmem.model.vocabulary import RATINGS, Rating
from graphmem.retrieval.decay import (
    EXPONENT,
    FACTOR,
    FSRS_STATES,
    MemoryState,
    born,
    retrievability,
    retrievability_at,
    review,
)

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
DAY = timedelta(days=1)
SCHEDULER = fsrs.Scheduler(enable_fuzzing=False)


def card(state: MemoryState) -> fsrs.Card:
    """Return a state as the reference implementation holds it."""
    return fsrs.Card(
        card_id=1,
        state=fsrs.State(FSRS_STATES.index(state.fsrs_state) + 1),
        step=state.fsrs_step,
        stability=state.stability,
        difficulty=state.difficulty,
        due=NOON,
        last_review=state.last_reviewed_at,
    )


def test_after_as_many_days_as_the_stability_says_it_is_nine_tenths():  # S2.16
    assert retrievability(7.5, 7.5) == pytest.approx(0.9, abs=1e-12)
    assert pytest.approx(-0.1542) == EXPONENT
    assert pytest.approx(0.9 ** (-1 / 0.1542) - 1) == FACTOR


@pytest.mark.parametrize(
    ("stability", "days", "expected"),
    [
        (2.3065, 0.0, 1.0),
        (2.3065, 0.5, 0.9707229),
        (2.3065, 2.0, 0.9094933),
        (3.5, 1.0, 0.9626381),
        (3.5, 365.0, 0.4891783),
        (100.0, 1000.0, 0.6928266),
        (2.3065, -3.0, 1.0),
    ],
)
def test_golden_numbers(stability: float, days: float, expected: float):  # S2.16
    assert retrievability(stability, days) == pytest.approx(expected, abs=1e-6)


@given(st.floats(0.001, 36500), st.integers(0, 5000))
def test_on_whole_days_it_is_the_reference(stability: float, days: int):  # S2.16
    given_card = fsrs.Card(card_id=1, stability=stability, difficulty=5, last_review=NOON)
    reference = SCHEDULER.get_card_retrievability(given_card, NOON + days * DAY)

    assert retrievability(stability, days) == pytest.approx(reference, rel=1e-12)
    assert retrievability_at(stability, NOON, NOON + days * DAY) == pytest.approx(reference)


@given(st.floats(0.01, 3650), st.floats(0, 3650), st.floats(0.01, 100))
def test_it_falls_with_every_part_of_a_day(stability: float, days: float, more: float):  # S2.16
    assert 0 < retrievability(stability, days + more) < retrievability(stability, days) <= 1


def test_half_a_day_counts_half():
    morning = retrievability_at(3.0, NOON, NOON + timedelta(hours=12))

    assert morning == retrievability(3.0, 0.5)
    assert morning < 1.0


@pytest.mark.parametrize(
    ("surprise", "factor"), [(0.0, 1.0), (0.4, 1.2), (0.85, 1.425), (1.0, 1.5)]
)
def test_a_new_episode_starts_after_one_good_and_lasts_longer_when_it_surprises(
    surprise: float, factor: float
):  # S2.17
    reference, _ = SCHEDULER.review_card(fsrs.Card(card_id=1), fsrs.Rating.Good, NOON)
    state = born(surprise, NOON)

    assert reference.stability is not None
    assert state.stability == pytest.approx(reference.stability * factor, rel=1e-12)
    assert state.stability == pytest.approx(2.3065 * factor)
    assert state.difficulty == reference.difficulty == pytest.approx(2.1181039)
    assert (state.fsrs_state, state.fsrs_step) == ("learning", 1)
    assert state.last_reviewed_at == NOON


def test_again_lowers_the_stability_hard_leaves_it_good_raises_it_and_easy_raises_it_most():  # S2.48
    known = review(review(born(0.5, NOON), "good", NOON + DAY), "good", NOON + 9 * DAY)
    soon = {rating: review(known, rating, NOON + 9 * DAY + DAY / 4) for rating in RATINGS}
    later = {rating: review(known, rating, NOON + 40 * DAY) for rating in RATINGS}

    for rated in (soon, later):
        assert rated["again"].stability < known.stability <= rated["hard"].stability
        assert rated["hard"].stability <= rated["good"].stability < rated["easy"].stability
        assert rated["easy"].difficulty < known.difficulty < rated["again"].difficulty
    assert soon["hard"].stability == pytest.approx(known.stability)
    assert later["good"].stability > known.stability


def sequences(number: int):
    """Yield random ratings with random times between them, some within a day, some in another zone."""
    chance = random.Random(4711)
    for _ in range(number):
        at, steps = NOON, []
        for _ in range(chance.randint(1, 12)):
            at += chance.choice([timedelta(minutes=7), timedelta(hours=20), DAY]) * chance.uniform(
                0.1, 30
            )
            zone = timezone(timedelta(hours=chance.randint(-11, 13)))
            steps.append((chance.choice(RATINGS), at.astimezone(zone)))
        yield chance.random(), steps


def test_a_thousand_sequences_end_where_the_reference_ends():  # S2.46
    for surprise, steps in sequences(1_000):
        state = born(surprise, NOON)
        reference = card(state)
        for rating, at in steps:
            state = review(state, rating, at)
            reference, _ = SCHEDULER.review_card(
                reference, fsrs.Rating(RATINGS.index(rating) + 1), at.astimezone(UTC)
            )
            assert state.stability == reference.stability
            assert state.difficulty == reference.difficulty
            assert state.last_reviewed_at == reference.last_review
            assert FSRS_STATES.index(state.fsrs_state) + 1 == reference.state
            assert state.fsrs_step == reference.step


@pytest.mark.parametrize("rating", RATINGS)
def test_the_last_day_of_the_calendar_can_be_rated(rating: Rating):
    state = review(born(1.0, NOON), rating, datetime(9999, 12, 29, tzinfo=UTC))

    assert math.isfinite(state.stability)
    assert 1 <= state.difficulty <= 10
