"""Reviews: what waits for a rating, and rating it."""

from datetime import datetime
from typing import Any

from graphmem.model.validation import validated
from graphmem.model.vocabulary import Rating
from graphmem.reviews import review as writing
from graphmem.reviews import show as reading
from graphmem.reviews.types import (
    Applied,
    NewRating,
    Reviews,
    ReviewsAsked,
    ReviewsRun,
    RunAsked,
)
from graphmem.service.bound import Bound, new_id, now


class Reviewing(Bound):
    """What a client can do with the reviews of its episodes."""

    async def reviews(self, **asked: Any) -> Reviews:
        """Return reviews of this client, newest first; what is asked are `ReviewsAsked`'s fields.

        Raises `InvalidInput`, `Unavailable`.
        """
        return await reading.reviews(
            validated(asked, ReviewsAsked), client_id=self.client_id, graph=self.runtime.graph
        )

    async def run_reviews(self, conversation_id: str | None = None) -> ReviewsRun:
        """Rate what waits, in one conversation or in all, and say what came of it.

        Raises `InvalidInput`, `Unavailable`.
        """
        asked = validated({"conversation_id": conversation_id}, RunAsked)
        return await writing.run_reviews(
            asked.conversation_id,
            client_id=self.client_id,
            now=now(),
            graph=self.runtime.graph,
            vocabulary=self.runtime.vocabulary,
        )

    async def review(
        self, memory_id: str, rating: Rating, *, reviewed_at: datetime | None = None
    ) -> Applied:
        """Rate an episode; `applied` is false when it was reviewed at that time or later already.

        Raises `InvalidInput` for what is no episode, `MemoryNotFound`, `Unavailable`.
        """
        return await writing.rate(
            memory_id,
            validated({"rating": rating, "reviewed_at": reviewed_at}, NewRating),
            client_id=self.client_id,
            review_id=new_id(),
            now=now(),
            graph=self.runtime.graph,
        )
