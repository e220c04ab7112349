"""Retrieval by hypotheses: what a turn of an agent should know."""

from collections.abc import Mapping, Sequence
from typing import Any

from graphmem.hypotheses import ask as hyde
from graphmem.hypotheses.injection import injected
from graphmem.hypotheses.types import Turn, TurnAsked
from graphmem.model.validation import validated
from graphmem.service.noting import Noting, seen_by_turn


class Hypotheses(Noting):
    """How a client asks for what a turn should know, and puts it into a prompt."""

    async def hyde_retrieve(self, turn_id: str, **asked: Any) -> Turn:
        """Return the facts for a turn, within two seconds; what is asked are `TurnAsked`'s fields.

        What fails is left out and named in `degraded`. Raises `InvalidInput` only.
        """
        began = self._began()
        question = validated({"turn_id": turn_id, **asked}, TurnAsked)
        answer = await hyde.turn(
            question,
            hyde.Pipeline(
                client_id=self.client_id,
                graph=self.runtime.graph,
                embedder=self.runtime.embedder,
                llm=self.runtime.llm,
            ),
            turns=self.runtime.turns,
            tokens=self.runtime.tokens,
        )
        count = self.runtime.tokens.count
        self._note("hyde", began, lambda: seen_by_turn(question, answer, count(answer.injection)))
        return answer

    @staticmethod
    def inject(messages: Sequence[Mapping[str, Any]], injection: str) -> list[Mapping[str, Any]]:
        """Return the messages with the block among them: after the system's, before the history."""
        return injected(messages, injection)
