"""Search → peek → chunk: looking at memories, taking parts of them, collecting them in a context."""

from typing import Any

from graphmem.contexts import create as writing
from graphmem.contexts import show as contexts
from graphmem.contexts.types import Added, ContextAddition, CreateContextOptions, RetrievalContext
from graphmem.memories import cut as chunks
from graphmem.memories import peek as peeking
from graphmem.memories.chunk import ChunkOptions, ChunkResult, PeekResult
from graphmem.model.validation import validated
from graphmem.service.bound import Bound, new_id, now


class Contexts(Bound):
    """What a client can take of its memories, within a budget."""

    async def peek(self, memory_id: str) -> PeekResult:
        """Return what a memory is, without its content. Raises `MemoryNotFound`, `Unavailable`."""
        return await peeking.peek(memory_id, client_id=self.client_id, graph=self.runtime.graph)

    async def chunk(self, memory_id: str, **options: Any) -> ChunkResult:
        """Return as much of a memory as fits; the options are the fields of `ChunkOptions`.

        Raises `InvalidInput`, `ItemNotFound`, `ContentDamaged`, `Unavailable`.
        """
        return await chunks.chunk(
            memory_id,
            validated(options, ChunkOptions),
            client_id=self.client_id,
            graph=self.runtime.graph,
            tokens=self.runtime.tokens,
        )

    async def create_context(self, **options: Any) -> RetrievalContext:
        """Begin a context; the options are the fields of `CreateContextOptions`.

        Raises `InvalidInput`, `Unavailable`.
        """
        return await writing.create_context(
            validated(options, CreateContextOptions),
            id=f"ctx-{new_id()}",
            job_id=new_id(),
            client_id=self.client_id,
            now=now(),
            graph=self.runtime.graph,
            tokens=self.runtime.tokens,
        )

    async def context(self, context_id: str) -> RetrievalContext:
        """Return a context as it stands. Raises `ContextNotFound`, `Unavailable`."""
        return await contexts.context_by_id(
            context_id,
            client_id=self.client_id,
            now=now(),
            graph=self.runtime.graph,
            tokens=self.runtime.tokens,
        )

    async def add_to_context(self, context_id: str, memory_id: str) -> Added:
        """Add as much of a memory as fits, at most 500 tokens of it.

        Raises `InvalidInput`, `ContextNotFound`, `ItemNotFound`, `ContentDamaged`, `Unavailable`.
        """
        addition = validated({"id": memory_id}, ContextAddition)
        item = await chunks.item(addition.id, client_id=self.client_id, graph=self.runtime.graph)
        return await writing.add_to_context(
            context_id,
            addition.id,
            item,
            client_id=self.client_id,
            now=now(),
            graph=self.runtime.graph,
            tokens=self.runtime.tokens,
        )

    async def compose_context(self, context_id: str) -> str:
        """Return a context as one text. Raises `ContextNotFound`, `Unavailable`."""
        return await contexts.composed_context(
            context_id,
            client_id=self.client_id,
            now=now(),
            graph=self.runtime.graph,
            tokens=self.runtime.tokens,
        )
