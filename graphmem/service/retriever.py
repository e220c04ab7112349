"""The memory retriever: search → peek → chunk → compose as one object with defaults of its own (S1)."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from graphmem.contexts.types import CreateContextOptions, RetrievalContext
from graphmem.errors import MemoryNotFound
from graphmem.memories.chunk import ChunkOptions, ChunkResult, PeekResult, RetrieverDefaults
from graphmem.model.validation import validated
from graphmem.runtime import Runtime
from graphmem.search.types import SearchQuery, SearchResult
from graphmem.service.bound import Bound
from graphmem.service.contexts import Contexts
from graphmem.service.search import Search
from graphmem.tokens import TokenCounter


class MemoryRetrieverConfig(Struct, frozen=True, kw_only=True):
    """In whose name a retriever asks, how it counts, and what it does unless it is told otherwise."""

    client_id: str
    token_counter: TokenCounter
    default_max_results: int
    default_max_tokens_per_chunk: int


class MemoryRetriever:
    """What an agent needs to find memories and to collect them in a context within a budget."""

    def __init__(self, runtime: Runtime, client_id: str, defaults: RetrieverDefaults) -> None:
        self._searching = Search(runtime, client_id)
        self._contexts = Contexts(runtime, client_id)
        self.config = MemoryRetrieverConfig(
            client_id=self._contexts.client_id,
            token_counter=runtime.tokens,
            default_max_results=defaults.default_max_results,
            default_max_tokens_per_chunk=defaults.default_max_tokens_per_chunk,
        )

    async def search(
        self, query: str | SearchQuery | Mapping[str, Any], **options: Any
    ) -> SearchResult:
        """Return what matches a query, `*` for everything; the options are the fields of `SearchQuery`.

        Raises `InvalidInput`, `Unavailable`.
        """
        return await self._searching.search(**self._asked(query, options))

    async def search_with_hops(
        self, query: str | SearchQuery | Mapping[str, Any], **options: Any
    ) -> SearchResult:
        """Return what matches a query and what it is linked with: one hop away unless said otherwise.

        Raises `InvalidInput`, `Unavailable`.
        """
        return await self._searching.search(**{"max_hops": 1, **self._asked(query, options)})

    async def peek(self, memory_id: str) -> PeekResult | None:
        """Return what a memory is, without its content; None when it is not there. Raises `Unavailable`."""
        try:
            return await self._contexts.peek(memory_id)
        except MemoryNotFound:
            return None

    async def chunk(
        self, memory_id: str, options: ChunkOptions | Mapping[str, Any] | None = None, **more: Any
    ) -> ChunkResult:
        """Return as much of a memory as fits. Raises `InvalidInput`, `ItemNotFound`, `Unavailable`."""
        default = {"max_tokens": self.config.default_max_tokens_per_chunk}
        return await self._contexts.chunk(memory_id, **default | _fields(options) | more)

    async def create_context(
        self, options: CreateContextOptions | Mapping[str, Any] | None = None, **more: Any
    ) -> RetrievalContext:
        """Begin a context. Raises `InvalidInput`, `Unavailable`."""
        return await self._contexts.create_context(**_fields(options) | more)

    async def context(self, context: RetrievalContext | str) -> RetrievalContext:
        """Return a context as it stands now. Raises `ContextNotFound`, `Unavailable`."""
        return await self._contexts.context(_id(context))

    async def add_to_context(self, context: RetrievalContext | str, memory_id: str) -> bool:
        """Add as much of a memory as fits; False, and nothing changed, where nothing does.

        Raises `InvalidInput`, `ContextNotFound`, `ItemNotFound`, `Unavailable`.
        """
        return (await self._contexts.add_to_context(_id(context), memory_id)).added

    async def compose_context(self, context: RetrievalContext | str) -> str:
        """Return a context as one text. Raises `ContextNotFound`, `Unavailable`."""
        return await self._contexts.compose_context(_id(context))

    def _asked(
        self, query: str | SearchQuery | Mapping[str, Any], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the fields of a search, with this retriever's defaults where nothing is said."""
        said = {"query": query} if isinstance(query, str) else _fields(query)
        return {"max_results": self.config.default_max_results, **said, **options}


class Retrieving(Bound):
    """How a client comes by a retriever."""

    def retriever(self, **defaults: Any) -> MemoryRetriever:
        """Return a retriever; the defaults are the fields of `RetrieverDefaults`. Raises `InvalidInput`."""
        return MemoryRetriever(self.runtime, self.client_id, validated(defaults, RetrieverDefaults))


def create_memory_retriever(memory: Retrieving, **defaults: Any) -> MemoryRetriever:
    """Return a retriever of a client's memory; the defaults are the fields of `RetrieverDefaults`.

    Raises `InvalidInput`.
    """
    return memory.retriever(**defaults)


def _fields(given: Struct | Mapping[str, Any] | None) -> dict[str, Any]:
    return msgspec.structs.asdict(given) if isinstance(given, Struct) else dict(given or {})


def _id(context: RetrievalContext | str) -> str:
    return context if isinstance(context, str) else context.id
