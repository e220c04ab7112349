"""Reviews: listing them, rating their episodes."""

from typing import Annotated

from litestar import get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg

from graphmem.context import Context
from graphmem.reviews import review as use_case
from graphmem.reviews.review import show_reviews
from graphmem.reviews.types import (
    Applied,
    NewRating,
    Reviews,
    ReviewsAsked,
    ReviewsRun,
    RunAsked,
)
from graphmem_api.admission import LONG_WORK
from graphmem_api.memories import MemoryId
from graphmem_api.problems import failures
from graphmem_api.queries import query

RATING = Example(
    summary="An episode that helped",
    value={"rating": "good", "reviewed_at": "2026-03-02T09:30:00Z"},
)
RUN = Example(
    summary="The reviews of one conversation",
    value={"conversation_id": "550e8400-e29b-41d4-a716-446655440001"},
)


@get(
    "/reviews",
    summary="List reviews",
    response_description="A page of reviews",
    tags=["reviews"],
    responses=failures(),
    **query(ReviewsAsked),
)
async def list_reviews(
    context: NamedDependency[Context],
    asked: NamedDependency[ReviewsAsked],
) -> Reviews:
    """List the client's reviews, newest first; `cursor` is null on the last page.

    A review contains the episodes in the answer to a question, and the effects of their ratings; it expires
    after seven days without evidence about them. A caller's own rating has no question.
    """
    return await show_reviews(asked, context)


@post(
    "/reviews/run",
    opt=LONG_WORK,
    summary="Rate pending reviews",
    status_code=200,
    response_description="The outcome of the reviews and their episodes",
    tags=["reviews"],
    responses=failures(413, 415),
)
async def run_reviews(
    data: Annotated[RunAsked, BodyKwarg(examples=[RUN])], context: NamedDependency[Context]
) -> ReviewsRun:
    """Rate the episodes of pending reviews by later events, of one conversation or of all.

    `again` if an episode was superseded or contradicted; `easy` (shown first) or `good` if later messages
    refer to it; `hard` if the same question was repeated within ten minutes. Without evidence a review stays
    pending.
    """
    return await use_case.run_reviews(data.conversation_id, context)


@post(
    "/memories/{memory_id:str}/review",
    summary="Rate an episode",
    status_code=200,
    response_description="Whether the rating counts",
    tags=["reviews"],
    responses=failures(404, 413, 415),
)
async def review(
    memory_id: MemoryId,
    data: Annotated[NewRating, BodyKwarg(examples=[RATING])],
    context: NamedDependency[Context],
) -> Applied:
    """Rate an episode with FSRS: updates its stability, difficulty and time of review.

    `applied` is false if it was already reviewed at that time or later.
    """
    return await use_case.review(memory_id, data, context)
