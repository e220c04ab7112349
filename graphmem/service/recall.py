"""Recall: the best context for a question."""

from typing import Any

from graphmem.model.validation import validated
from graphmem.recall import ask as recall
from graphmem.recall.types import Question, Recalled
from graphmem.service.noting import Noting, seen_by_recall


class Recall(Noting):
    """How a client asks for the best context within a budget."""

    async def recall(self, query: str, **options: Any) -> Recalled:
        """Return the best context for a question; the options are the fields of `Question`.

        Raises `InvalidInput`, `Unavailable`.
        """
        began, calibration = self._began(), self.runtime.calibration
        asked = validated({"query": query, **options}, Question)
        answer = await recall.recall(
            asked,
            client_id=self.client_id,
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            tokens=self.runtime.tokens,
            vocabulary=self.runtime.vocabulary,
        )
        self._note("recall", began, lambda: seen_by_recall(asked, answer, calibration))
        return answer
