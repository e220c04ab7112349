"""Conversations: opening, adding to, deleting."""

from collections.abc import Iterable, Mapping
from typing import Any

from graphmem.conversations import conversation as conversations
from graphmem.conversations import remember as messages
from graphmem.conversations.types import (
    Batch,
    Conversation,
    Deleted,
    NewConversation,
    NewMessage,
    Remembered,
)
from graphmem.model.validation import validated
from graphmem.service.bound import Bound, new_id, now


class Conversations(Bound):
    """What a client can do with its conversations."""

    async def open_conversation(
        self, id: str | None = None, *, title: str | None = None
    ) -> Conversation:
        """Open a conversation, or return the one that has this id already.

        Raises `InvalidInput` when the id is not 1–128 of letters, digits and `. _ : -`.
        """
        new = validated({"id": id, "title": title}, NewConversation)
        return await conversations.open_conversation(
            new.id or new_id(),
            new.title,
            client_id=self.client_id,
            now=now(),
            graph=self.runtime.graph,
        )

    async def remember(
        self, conversation_id: str, new: Iterable[NewMessage | Mapping[str, Any]]
    ) -> Remembered:
        """Append 1–1,000 messages to a conversation, all or none; return their ids in order.

        When it returns, they are searchable. Raises `InvalidInput`, `ConversationNotFound`,
        `Unavailable`.
        """
        return await messages.remember(
            validated({"messages": list(new)}, Batch).messages,
            client_id=self.client_id,
            conversation_id=conversation_id,
            now=now(),
            new_id=new_id,
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            tokens=self.runtime.tokens,
        )

    async def delete_conversation(self, conversation_id: str) -> Deleted:
        """Delete a conversation with everything in it. Raises `ConversationNotFound`, `Unavailable`."""
        return await conversations.delete_conversation(
            conversation_id, client_id=self.client_id, graph=self.runtime.graph
        )
