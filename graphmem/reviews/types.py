"""Reviews: memories of an answer that wait for a rating, and the effects of ratings."""

from datetime import datetime
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from graphmem.model.pages import GivenCursor, PageSize
from graphmem.model.times import Past
from graphmem.model.vocabulary import Rating

Basis = Literal["caller", "outdated", "reused", "asked_again"]
"""The reason for a rating: a caller gave it; the memory was superseded or contradicted; later messages
referred to it; the same question was repeated soon."""

ReviewState = Literal["pending", "done", "expired"]
REVIEW_STATES: tuple[ReviewState, ...] = get_args(ReviewState)


class NewRating(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A caller's rating of an episode, shown at `reviewed_at` (default: now)."""

    rating: Rating
    reviewed_at: Past | None = None


class Applied(Struct, frozen=True, kw_only=True):
    """Whether a rating counts; it does not if the episode was already reviewed at that time or later."""

    applied: bool


class Rated(Struct, frozen=True, kw_only=True):
    """The effect of a rating on an episode: stability in days, difficulty 1–10, before and after."""

    rating: Rating
    basis: Basis
    reviewed_at: datetime
    stability_before: float
    stability_after: float
    difficulty_before: float
    difficulty_after: float


class Reviewed(Struct, frozen=True, kw_only=True):
    """An episode of a review: its place in the answer, and its rating if it has one."""

    id: str
    rank: int | None
    """Its place in the answer, from 1; null for a caller's rating."""
    score: float | None
    """Its score in the answer."""
    rated: Rated | None


class Review(Struct, frozen=True, kw_only=True):
    """The episodes of an answer, or a caller's rating, which has no question."""

    id: str
    conversation_id: str
    query: str | None
    at: datetime
    """The time of the answer, or of the caller's rating."""
    state: ReviewState
    memory_ids: list[str]
    """The ids of its episodes, in their order."""
    episodes: list[Reviewed]


class ReviewsAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The filters and the page of a list of reviews."""

    state: Annotated[ReviewState, Meta(description="only reviews in this state")] | None = None
    conversation_id: (
        Annotated[
            Annotated[str, Meta(min_length=1, max_length=128)],
            Meta(description="only reviews of this conversation"),
        ]
        | None
    ) = None
    limit: PageSize = 50
    cursor: GivenCursor | None = None


class Reviews(Struct, frozen=True, kw_only=True):
    """A page of reviews, newest first, and the cursor of the next page."""

    reviews: list[Review]
    cursor: str | None


class RunAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reviews to rate: those of one conversation, or of all."""

    conversation_id: Annotated[str, Meta(min_length=1, max_length=128)] | None = None


class ReviewsRun(Struct, frozen=True, kw_only=True):
    """Counts of reviews that were pending and of their episodes, each counted once a run."""

    reviews: int = 0
    done: int = 0
    """Reviews whose episodes are rated now."""
    waiting: int = 0
    """Reviews that no event refers to yet."""
    expired: int = 0
    """Reviews that waited too long."""
    again: int = 0
    """Episodes with this rating; those of the other ratings follow."""
    hard: int = 0
    good: int = 0
    easy: int = 0
    stale: int = 0
    """Episodes that were already reviewed at a later time."""

    def __add__(self, other: "ReviewsRun") -> "ReviewsRun":
        """Return the sums of both."""
        return ReviewsRun(
            **{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__}
        )
