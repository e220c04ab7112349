"""Episodes: remembering one, making them of messages, and making facts of them."""

from typing import Any

from msgspec.structs import replace

from graphmem.conversations.work import ConversationWork
from graphmem.episodes import consolidate as consolidation
from graphmem.episodes import remember as episodes
from graphmem.episodes import segment as segmentation
from graphmem.episodes.types import Consolidated, KeptEpisode, NewEpisode, Segmented
from graphmem.model.validation import validated
from graphmem.reviews import review as reviews
from graphmem.service.bound import Bound, new_id, now


class Episodes(Bound):
    """What a client can do with episodes."""

    async def remember_episode(self, conversation_id: str, **new: Any) -> KeptEpisode:
        """Remember a run of messages as an episode; what else is said are the fields of `NewEpisode`.

        Raises `InvalidInput`, `ConversationNotFound`, `SessionNotFound`, `MemoryNotFound` for a message,
        `Unavailable`.
        """
        return await episodes.remember_episode(
            validated({"conversation_id": conversation_id, **new}, NewEpisode),
            client_id=self.client_id,
            now=now(),
            new_id=new_id,
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            tokens=self.runtime.tokens,
            llm=self.runtime.llm,
        )

    async def segment(self, conversation_id: str, *, leave_growing: bool = False) -> Segmented:
        """Make episodes of the messages that none holds, and rate the reviews that wait.

        With `leave_growing` the last run of each session is left for later, unless the session is idle:
        what comes next may belong to it. Raises `ConversationNotFound`, `Unavailable`.
        """
        made = await segmentation.segment(
            self._work(conversation_id),
            leave_growing=leave_growing,
        )
        rated = await reviews.run_reviews(
            conversation_id,
            client_id=self.client_id,
            now=now(),
            graph=self.runtime.graph,
            vocabulary=self.runtime.vocabulary,
        )
        return replace(made, reviews=rated)

    async def consolidate(self, conversation_id: str) -> Consolidated:
        """Have the language model make facts of episodes, the oldest first; say so when it is off.

        Raises `ConversationNotFound`, `ModelFailed`, `Unavailable`.
        """
        return await consolidation.consolidate(self._work(conversation_id))

    def _work(self, conversation_id: str) -> ConversationWork:
        return ConversationWork(
            client_id=self.client_id,
            conversation_id=conversation_id,
            now=now(),
            new_id=new_id,
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            tokens=self.runtime.tokens,
            llm=self.runtime.llm,
        )
