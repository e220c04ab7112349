"""Reviews: memories that were shown and wait for a rating, and what the ratings did."""

from datetime import datetime
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from graphmem.model.times import Time
from graphmem.model.vocabulary import Rating

Basis = Literal["caller", "outdated", "reused", "asked_again"]
"""Why a memory was rated so: a caller said it; it was superseded or contradicted since; later messages
came back to it; the same question was asked again soon."""

ReviewState = Literal["pending", "done", "expired"]
REVIEW_STATES: tuple[ReviewState, ...] = get_args(ReviewState)


class NewRating(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A caller's own rating of an episode; without `reviewed_at` it was shown just now."""

    rating: Rating
    reviewed_at: Time | None = None


class Applied(Struct, frozen=True, kw_only=True):
    """Whether a rating counts; it does not when the episode was reviewed at that time or later already."""

    applied: bool


class Rated(Struct, frozen=True, kw_only=True):
    """What a rating did to an episode: stability in days, difficulty 1–10, before and after."""

    rating: Rating
    basis: Basis
    reviewed_at: datetime
    stability_before: float
    stability_after: float
    difficulty_before: float
    difficulty_after: float


class Reviewed(Struct, frozen=True, kw_only=True):
    """An episode of a review: its place in the answer, and its rating where it has one."""

    id: str
    rank: int | None
    score: float | None
    rated: Rated | None


class Review(Struct, frozen=True, kw_only=True):
    """Episodes that one question was shown, or a caller's own rating, which has no question."""

    id: str
    conversation_id: str
    query: str | None
    at: datetime
    state: ReviewState
    episodes: list[Reviewed]


class ReviewsAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which reviews are to be shown."""

    state: ReviewState | None = None
    conversation_id: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    cursor: str | None = None


class Reviews(Struct, frozen=True, kw_only=True):
    """Some reviews, newest first, and where the list goes on."""

    reviews: list[Review]
    cursor: str | None


class RunAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which reviews are to be rated: those of one conversation, or of all."""

    conversation_id: Annotated[str, Meta(min_length=1, max_length=128)] | None = None


class ReviewsRun(Struct, frozen=True, kw_only=True):
    """What became of the reviews that were pending, and of their episodes, each counted once a run."""

    reviews: int = 0
    done: int = 0
    waiting: int = 0
    """Reviews that nothing speaks about yet."""
    expired: int = 0
    again: int = 0
    hard: int = 0
    good: int = 0
    easy: int = 0
    stale: int = 0
    """Episodes that were reviewed later already."""

    def __add__(self, other: "ReviewsRun") -> "ReviewsRun":
        """Return both together."""
        return ReviewsRun(
            **{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__}
        )
