"""What one client can ask of a running graphmem: the public Python API, and what HTTP calls."""

import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from graphmem import config
from graphmem.model.conversation import (
    Batch,
    Conversation,
    Deleted,
    NewConversation,
    NewMessage,
    Remembered,
)
from graphmem.model.job import Jobs, JobsAsked
from graphmem.model.memory import Memory
from graphmem.model.progress import Progress, silent
from graphmem.model.recall import Question, Recalled
from graphmem.model.validation import validated
from graphmem.model.vocabulary import ClientId
from graphmem.reading import jobs as reading_jobs
from graphmem.reading import memories as reading_memories
from graphmem.reading import recall as reading_recall
from graphmem.runtime import Runtime, running
from graphmem.writing import conversations, deleting, messages

DEFAULT_CLIENT = "default"


class Graphmem:
    """A running graphmem, as one client sees it."""

    def __init__(self, runtime: Runtime, client_id: str = DEFAULT_CLIENT) -> None:
        self.runtime = runtime
        self.client_id = validated(client_id, ClientId)

    def for_client(self, client_id: str) -> "Graphmem":
        """Return the same graphmem as another client sees it. Raises `InvalidInput`."""
        return Graphmem(self.runtime, client_id)

    async def open_conversation(
        self, id: str | None = None, *, title: str | None = None
    ) -> Conversation:
        """Open a conversation, or return the one that has this id already.

        Raises `InvalidInput` when the id is not 1–128 of letters, digits and `. _ : -`.
        """
        new = validated({"id": id, "title": title}, NewConversation)
        return await conversations.open_conversation(
            new.id or _new_id(),
            new.title,
            client_id=self.client_id,
            now=_now(),
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
            now=_now(),
            new_id=_new_id,
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            tokens=self.runtime.tokens,
        )

    async def recall(self, query: str, **options: Any) -> Recalled:
        """Return the best context for a question; the options are the fields of `Question`.

        Raises `InvalidInput`, `Unavailable`.
        """
        return await reading_recall.recall(
            validated({"query": query, **options}, Question),
            client_id=self.client_id,
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            tokens=self.runtime.tokens,
            vocabulary=self.runtime.vocabulary,
        )

    async def memory(self, memory_id: str) -> Memory:
        """Return one memory. Raises `MemoryNotFound`, `Unavailable`."""
        return await reading_memories.memory_by_id(
            memory_id, client_id=self.client_id, graph=self.runtime.graph
        )

    async def delete_memory(self, memory_id: str) -> Deleted:
        """Delete one memory for good. Raises `MemoryNotFound`, `Unavailable`."""
        return await deleting.delete_memory(
            memory_id, client_id=self.client_id, graph=self.runtime.graph
        )

    async def delete_conversation(self, conversation_id: str) -> Deleted:
        """Delete a conversation with everything in it. Raises `ConversationNotFound`, `Unavailable`."""
        return await conversations.delete_conversation(
            conversation_id, client_id=self.client_id, graph=self.runtime.graph
        )

    async def jobs(self, **asked: Any) -> Jobs:
        """Return background work of this client, newest first; what is asked are `JobsAsked`'s fields.

        Raises `InvalidInput`, `Unavailable`.
        """
        return await reading_jobs.jobs(
            validated(asked, JobsAsked), client_id=self.client_id, graph=self.runtime.graph
        )


@asynccontextmanager
async def open(
    *, client_id: str = DEFAULT_CLIENT, progress: Progress = silent, **settings: Any
) -> AsyncIterator[Graphmem]:
    """Have a graphmem running for the length of the block.

    The settings are the fields of `graphmem.config.Settings`; what is not given comes from the
    environment. Without `neo4j_uri` a private Neo4j is started, or joined. Raises `SetupError`.
    """
    async with running(config.load(**settings), progress) as runtime:
        yield Graphmem(runtime, client_id)


def _now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    return str(uuid.uuid4())
