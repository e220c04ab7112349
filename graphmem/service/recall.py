"""Recall: the best context for a question."""

from typing import Any

from graphmem.model.recall import Question, Recalled
from graphmem.model.validation import validated
from graphmem.reading import recall
from graphmem.service.bound import Bound


class Recall(Bound):
    """How a client asks for the best context within a budget."""

    async def recall(self, query: str, **options: Any) -> Recalled:
        """Return the best context for a question; the options are the fields of `Question`.

        Raises `InvalidInput`, `Unavailable`.
        """
        return await recall.recall(
            validated({"query": query, **options}, Question),
            client_id=self.client_id,
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            tokens=self.runtime.tokens,
            vocabulary=self.runtime.vocabulary,
        )
