"""Listing a client's reviews: pending ones, and the effects of ratings."""

from graphmem.context import Context
from graphmem.graph.query import Query
from graphmem.model.pages import listing, page
from graphmem.reviews.types import REVIEW_STATES, Review, Reviews, ReviewsAsked

REVIEWS = Query("reviews/reviews", Review)


async def show_reviews(asked: ReviewsAsked, context: Context) -> Reviews:
    """Return a page of a client's reviews, newest first, with the cursor of the next page.

    Raises `InvalidInput`, `Unavailable`.
    """
    listed = listing(asked)
    before, before_id = listed.position(asked.cursor)
    rows = await context.graph.rows(
        REVIEWS,
        client_id=context.client_id,
        states=[asked.state] if asked.state else list(REVIEW_STATES),
        conversation_ids=[asked.conversation_id] if asked.conversation_id else [],
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: listed.cursor(row.at, row.id))
    return Reviews(reviews=shown, cursor=after)
