"""Retrieving memory as S2 has it: facts and episodes of one conversation."""

from datetime import datetime
from typing import Any
from uuid import UUID

from graphmem.model.validation import validated
from graphmem.retrieve_memory import ask as retrieve_memory
from graphmem.retrieve_memory.types import FactsAsked, MemoryAsked, Retrieved
from graphmem.reviews.review import record_review
from graphmem.service.bound import new_id, now
from graphmem.service.noting import Noting, seen_by_retrieval


class RetrieveMemory(Noting):
    """How a client asks one conversation for its facts and episodes."""

    async def retrieve_memory(
        self, query: str, conversation_id: str | UUID, *, raw: bool = False, **options: Any
    ) -> Retrieved:
        """Return facts and episodes that answer a question; the options are `MemoryAsked`'s fields.

        With `raw` every episode brings its messages, else those whose messages the Markdown shows. The
        episodes shown are kept as a pending review, soon afterwards. Raises `InvalidInput`,
        `Unavailable`.
        """
        at, began = now(), self._began()
        asked = validated(
            {"query": query, "conversation_id": conversation_id, **options}, MemoryAsked
        )
        retrieved = await retrieve_memory.retrieve_memory(
            asked,
            client_id=self.client_id,
            now=at,
            raw=raw,
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            vocabulary=self.runtime.vocabulary,
        )
        self._record(asked, retrieved, at)
        count = self.runtime.tokens.count
        self._note(
            "retrieve_memory",
            began,
            lambda: seen_by_retrieval(asked, retrieved, count(retrieved.markdown)),
        )
        return retrieved

    async def context_pre_retrieve(
        self, query: str, conversation_id: str | UUID, **options: Any
    ) -> Retrieved:
        """Return facts for a system prompt, and leave no review; the options are `FactsAsked`'s fields.

        Raises `InvalidInput`, `Unavailable`.
        """
        began = self._began()
        asked = validated(
            {"query": query, "conversation_id": conversation_id, **options}, FactsAsked
        )
        retrieved = await retrieve_memory.retrieve_facts(
            asked,
            client_id=self.client_id,
            now=now(),
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            vocabulary=self.runtime.vocabulary,
        )
        count = self.runtime.tokens.count
        self._note(
            "context_pre_retrieve",
            began,
            lambda: seen_by_retrieval(asked, retrieved, count(retrieved.markdown)),
        )
        return retrieved

    def _record(self, asked: MemoryAsked, retrieved: Retrieved, at: datetime) -> None:
        """Have a review recorded after the answer, where episodes were shown."""
        if retrieved.found.episodic:
            self.runtime.afterwards.do(
                "record_review",
                record_review(
                    retrieved.found.episodic,
                    client_id=self.client_id,
                    conversation_id=asked.conversation_id,
                    query=asked.query,
                    id=new_id(),
                    job_id=new_id(),
                    at=at,
                    graph=self.runtime.graph,
                ),
            )
