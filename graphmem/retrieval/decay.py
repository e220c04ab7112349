"""Decay: the retrievability of an episode, and the effect of a rating; numbers in, numbers out.

FSRS-6 with the default parameters of the package `fsrs`, the reference implementation, which does every
update; only retrievability is implemented here, because it needs fractional days.
"""

from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

import fsrs
from fsrs.scheduler import FSRS_DEFAULT_DECAY
from msgspec import Struct

from graphmem.model.vocabulary import RATINGS, Rating

FsrsState = Literal["learning", "review", "relearning"]
"""The FSRS state of a memory: new, known, or known and forgotten since."""

FSRS_STATES: tuple[FsrsState, ...] = get_args(FsrsState)

SURPRISE_BOOST = 0.5
"""The share by which an episode of surprise 1 gains initial stability."""

# Retrievability is .9 after `stability` days: (1 + FACTOR · 1) ** EXPONENT = .9.
EXPONENT = -FSRS_DEFAULT_DECAY
FACTOR = 0.9 ** (1 / EXPONENT) - 1

# Intervals only set due dates, which are not used here: one day keeps dates inside the calendar.
_SCHEDULER = fsrs.Scheduler(enable_fuzzing=False, maximum_interval=1)


class MemoryState(Struct, frozen=True, kw_only=True):
    """The FSRS state of an episode; the fields are the episode's properties of these names."""

    stability: float
    """The days until the probability of remembering falls to .9; at least .001."""
    difficulty: float
    """The difficulty, 1–10."""
    last_reviewed_at: datetime
    fsrs_state: FsrsState
    fsrs_step: int | None
    """The learning step, from 0; None in the state `review`."""


def retrievability(stability: float, days: float) -> float:
    """Return the probability, 0–1, of remembering after some days, fractional; below 0 counts as 0."""
    elapsed: float = (1 + FACTOR * max(days, 0.0) / stability) ** EXPONENT
    return elapsed


def retrievability_at(stability: float, last_reviewed_at: datetime, now: datetime) -> float:
    """Return the probability, 0–1, of remembering at a time."""
    return retrievability(stability, (now - last_reviewed_at) / timedelta(days=1))


def born(surprise: float, at: datetime) -> MemoryState:
    """Return the state of a new episode: as after one `good`, more stable for a higher surprise (0–1)."""
    card, _ = _SCHEDULER.review_card(fsrs.Card(card_id=0), fsrs.Rating.Good, at.astimezone(UTC))
    state = _state(card)
    return MemoryState(
        stability=state.stability * (1 + SURPRISE_BOOST * surprise),
        difficulty=state.difficulty,
        last_reviewed_at=at,
        fsrs_state=state.fsrs_state,
        fsrs_step=state.fsrs_step,
    )


def review(state: MemoryState, rating: Rating, at: datetime) -> MemoryState:
    """Return the state after a rating, exactly as in `fsrs`, which counts whole days."""
    card = fsrs.Card(
        card_id=0,
        state=fsrs.State(FSRS_STATES.index(state.fsrs_state) + 1),
        step=state.fsrs_step,
        stability=state.stability,
        difficulty=state.difficulty,
        due=state.last_reviewed_at,
        last_review=state.last_reviewed_at,
    )
    rated, _ = _SCHEDULER.review_card(
        card, fsrs.Rating(RATINGS.index(rating) + 1), at.astimezone(UTC)
    )
    return _state(rated)


def _state(card: fsrs.Card) -> MemoryState:
    assert card.stability is not None, "a reviewed card has one"
    assert card.difficulty is not None, "a reviewed card has one"
    assert card.last_review is not None, "a reviewed card has one"
    return MemoryState(
        stability=card.stability,
        difficulty=card.difficulty,
        last_reviewed_at=card.last_review,
        fsrs_state=FSRS_STATES[card.state - 1],
        fsrs_step=card.step,
    )
