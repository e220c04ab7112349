"""Reviews: what was shown and waits for a rating; rating it."""

from typing import Annotated

import msgspec
from litestar import get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg, QueryParameter

from graphmem.reviews.types import (
    Applied,
    NewRating,
    Reviews,
    ReviewsAsked,
    ReviewsRun,
    ReviewState,
    RunAsked,
)
from graphmem.service import Graphmem
from graphmem_api.memories import MemoryId
from graphmem_api.problems import failures
from graphmem_api.queries import strictly

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
    response_description="Some reviews, and where the list goes on",
    tags=["reviews"],
    responses=failures(),
    before_request=strictly(ReviewsAsked),
)
async def list_reviews(
    memory: NamedDependency[Graphmem],
    # `state` alone is a word of Litestar's.
    in_state: Annotated[
        ReviewState | None, QueryParameter(name="state", description="in this state only")
    ] = None,
    conversation_id: Annotated[
        str | None,
        QueryParameter(description="of this conversation only", min_length=1, max_length=128),
    ] = None,
    limit: Annotated[int, QueryParameter(description="at most so many", ge=1, le=200)] = 50,
    cursor: Annotated[
        str | None, QueryParameter(description="the `cursor` of the page before this one")
    ] = None,
) -> Reviews:
    """List the client's reviews, newest first; `cursor` is null where it ends.

    A review holds the episodes that one question was shown, and what their ratings did; it expires when
    nothing spoke about them for seven days. A caller's own rating has no question.
    """
    return await memory.reviews(
        state=in_state, conversation_id=conversation_id, limit=limit, cursor=cursor
    )


@post(
    "/reviews/run",
    summary="Rate what waits",
    status_code=200,
    response_description="What became of the reviews and their episodes",
    tags=["reviews"],
    responses=failures(413, 415),
)
async def run_reviews(
    data: Annotated[RunAsked, BodyKwarg(examples=[RUN])], memory: NamedDependency[Graphmem]
) -> ReviewsRun:
    """Rate the episodes of pending reviews by what happened since, of one conversation or of all.

    `again` when one was superseded or contradicted; `easy` (shown first) or `good` when later messages
    came back to it; `hard` when the same question came again within ten minutes. Where nothing speaks
    yet a review goes on waiting.
    """
    return await memory.run_reviews(data.conversation_id)


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
    memory: NamedDependency[Graphmem],
) -> Applied:
    """Rate an episode as FSRS does: its stability, difficulty and time of review change.

    `applied` is false when it was reviewed at that time or later already.
    """
    return await memory.review(memory_id, **msgspec.structs.asdict(data))
