"""Contextual retrieval: sessions first, then what was said in them; and more of what was shown."""

from typing import Any

from graphmem.contextual import ask as contextual
from graphmem.contextual import more_turns
from graphmem.contextual.types import ContextualQuery, ContextualResult, ExpansionAsked, MoreTurns
from graphmem.model.validation import validated
from graphmem.service.noting import Noting, seen_by_context, seen_by_expansion


class Contextual(Noting):
    """How a client finds its way through its sessions."""

    async def search_contextual(self, query: str, **options: Any) -> ContextualResult:
        """Return the sessions that answer, with hits, what stands around them, and related sessions.

        The options are the fields of `ContextualQuery`. Raises `InvalidInput`, `Unavailable`.
        """
        began = self._began()
        asked = validated({"query": query, **options}, ContextualQuery)
        answer = await contextual.contextual_search(
            asked,
            contextual.Reading(
                client_id=self.client_id,
                graph=self.runtime.graph,
                embedder=self.runtime.embedder,
                tokens=self.runtime.tokens,
                vocabulary=self.runtime.vocabulary,
                calibration=self.runtime.calibration,
            ),
        )
        self._note("contextual", began, lambda: seen_by_context(asked, answer))
        return answer

    async def expand_context(self, **asked: Any) -> MoreTurns:
        """Return more of a session, around a hit or what was shown, as the fields of `ExpansionAsked` say.

        Raises `InvalidInput`, `MemoryNotFound`, `SessionNotFound`, `Unavailable`.
        """
        began = self._began()
        answer = await more_turns.more_turns(
            validated(asked, ExpansionAsked), client_id=self.client_id, graph=self.runtime.graph
        )
        self._note("expand", began, lambda: seen_by_expansion(answer))
        return answer
