"""Looking at a client's reviews: what waits for a rating, and what the ratings did."""

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.pages import cursor, page, position
from graphmem.reviews.types import REVIEW_STATES, Review, Reviews, ReviewsAsked

REVIEWS = Query("reviews/reviews", Review)


async def reviews(asked: ReviewsAsked, *, client_id: str, graph: Graph) -> Reviews:
    """Return a client's reviews, newest first; the cursor goes on where they end.

    Raises `InvalidInput`, `Unavailable`.
    """
    before, before_id = position(asked.cursor)
    rows = await graph.rows(
        REVIEWS,
        client_id=client_id,
        states=[asked.state] if asked.state else list(REVIEW_STATES),
        conversation_ids=[asked.conversation_id] if asked.conversation_id else [],
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: cursor(row.at, row.id))
    return Reviews(reviews=shown, cursor=after)
