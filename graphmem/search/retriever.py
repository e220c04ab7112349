"""The memory retriever: search → peek → chunk → compose in one object with its own defaults."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta, Struct

from graphmem.contexts.context import Added, CreateContextOptions, RetrievalContext
from graphmem.errors import MemoryNotFound
from graphmem.memories.chunk import CHUNK_TOKENS, ChunkOptions, ChunkResult, PeekResult
from graphmem.model.validation import text_id, validated
from graphmem.model.vocabulary import GivenStep, SourceType, TruncationStrategy
from graphmem.search.types import MOST_RESULTS, Match, SearchQuery, SearchResult, SortBy
from graphmem.tokens import TokenCounter


class RetrieverDefaults(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The values that a retriever uses for omitted arguments."""

    default_max_results: Annotated[int, Meta(ge=1, le=MOST_RESULTS)] = 10
    default_max_tokens_per_chunk: Annotated[int, Meta(ge=1, le=CHUNK_TOKENS)] = 500


class MemoryRetrieverConfig(Struct, frozen=True, kw_only=True):
    """The client of a retriever, its token counter and its defaults."""

    client_id: str
    token_counter: TokenCounter
    default_max_results: int
    default_max_tokens_per_chunk: int


class Retrievable(Protocol):
    """The methods of `Graphmem` that a retriever calls; a client of a running service has them too."""

    client_id: str

    @property
    def search(self) -> Callable[..., Awaitable[SearchResult]]:
        """`Graphmem.search`."""
        ...

    @property
    def peek(self) -> Callable[..., Awaitable[PeekResult]]:
        """`Graphmem.peek`."""
        ...

    @property
    def chunk(self) -> Callable[..., Awaitable[ChunkResult]]:
        """`Graphmem.chunk`."""
        ...

    @property
    def create_context(self) -> Callable[..., Awaitable[RetrievalContext]]:
        """`Graphmem.create_context`."""
        ...

    @property
    def context(self) -> Callable[[str], Awaitable[RetrievalContext]]:
        """`Graphmem.context`."""
        ...

    @property
    def add_to_context(self) -> Callable[[str, str], Awaitable[Added]]:
        """`Graphmem.add_to_context`."""
        ...

    @property
    def compose_context(self) -> Callable[[str], Awaitable[str]]:
        """`Graphmem.compose_context`."""
        ...


class MemoryRetriever:
    """Finds memories for an agent and collects them in a context within a budget."""

    def __init__(
        self, memory: Retrievable, defaults: RetrieverDefaults, *, token_counter: TokenCounter
    ) -> None:
        """Ask this memory, with these defaults."""
        self._memory = memory
        self.config = MemoryRetrieverConfig(
            client_id=memory.client_id,
            token_counter=token_counter,
            default_max_results=defaults.default_max_results,
            default_max_tokens_per_chunk=defaults.default_max_tokens_per_chunk,
        )

    async def search(
        self,
        query: str | SearchQuery | Mapping[str, Any],
        *,
        match: Match | None = None,
        session_id: str | None = None,
        source_types: Sequence[SourceType] | None = None,
        source_ids: Sequence[str] | None = None,
        conversation_id: str | None = None,
        tags: Sequence[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        as_of: datetime | str | None = None,
        known_as_of: datetime | str | None = None,
        include_superseded: bool | None = None,
        max_results: int | None = None,
        max_tokens: int | None = None,
        min_relevance: float | None = None,
        sort_by: SortBy | None = None,
        max_hops: int | None = None,
        link_types: Sequence[GivenStep] | None = None,
        reads: Sequence[str] | None = None,
    ) -> SearchResult:
        """Return the memories that match a query, `*` for all.

        An argument that is not None replaces the field of that name in `query`; see `SearchQuery` for the
        fields and their ranges. Raises `InvalidInput`, `Unavailable`.
        """
        options = {
            "match": match,
            "session_id": session_id,
            "source_types": source_types,
            "source_ids": source_ids,
            "conversation_id": conversation_id,
            "tags": tags,
            "since": since,
            "until": until,
            "as_of": as_of,
            "known_as_of": known_as_of,
            "include_superseded": include_superseded,
            "max_results": max_results,
            "max_tokens": max_tokens,
            "min_relevance": min_relevance,
            "sort_by": sort_by,
            "max_hops": max_hops,
            "link_types": link_types,
            "reads": reads,
        }
        return await self._memory.search(**_fields(self._asked(query, options)))

    async def search_with_hops(
        self,
        query: str | SearchQuery | Mapping[str, Any],
        *,
        max_hops: int | None = None,
        match: Match | None = None,
        session_id: str | None = None,
        source_types: Sequence[SourceType] | None = None,
        source_ids: Sequence[str] | None = None,
        conversation_id: str | None = None,
        tags: Sequence[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        as_of: datetime | str | None = None,
        known_as_of: datetime | str | None = None,
        include_superseded: bool | None = None,
        max_results: int | None = None,
        max_tokens: int | None = None,
        min_relevance: float | None = None,
        sort_by: SortBy | None = None,
        link_types: Sequence[GivenStep] | None = None,
        reads: Sequence[str] | None = None,
    ) -> SearchResult:
        """Return the results of `search`, with the memories one link away unless `max_hops` (0–3) is given.

        Raises `InvalidInput`, `Unavailable`.
        """
        return await self.search(
            {"max_hops": 1} | _query_fields(query),
            match=match,
            session_id=session_id,
            source_types=source_types,
            source_ids=source_ids,
            conversation_id=conversation_id,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
            known_as_of=known_as_of,
            include_superseded=include_superseded,
            max_results=max_results,
            max_tokens=max_tokens,
            min_relevance=min_relevance,
            sort_by=sort_by,
            max_hops=max_hops,
            link_types=link_types,
            reads=reads,
        )

    async def peek(self, memory_id: str, *, client_id: str | None = None) -> PeekResult | None:
        """Return a memory without its content; None if it does not exist. Raises `Unavailable`."""
        try:
            return await self._memory.peek(memory_id, client_id=client_id)
        except MemoryNotFound:
            return None

    async def chunk(
        self,
        memory_id: str,
        options: ChunkOptions | Mapping[str, Any] | None = None,
        *,
        max_tokens: int | None = None,
        truncation_strategy: TruncationStrategy | None = None,
        include_header: bool | None = None,
        client_id: str | None = None,
    ) -> ChunkResult:
        """Return the part of a memory that fits into `max_tokens`.

        An argument that is not None replaces the field of that name in `options`. Raises `InvalidInput`,
        `ItemNotFound`, `ContentDamaged`, `Unavailable`.
        """
        given = {
            "max_tokens": max_tokens,
            "truncation_strategy": truncation_strategy,
            "include_header": include_header,
            "client_id": client_id,
        }
        default = {"max_tokens": self.config.default_max_tokens_per_chunk}
        asked = validated(default | _fields(options) | _given(given), ChunkOptions)
        return await self._memory.chunk(memory_id, **_fields(asked))

    async def create_context(
        self,
        options: CreateContextOptions | Mapping[str, Any] | None = None,
        *,
        max_tokens: int | None = None,
        system_prompt: str | None = None,
        reserved_for_response: int | None = None,
        ttl_seconds: int | None = None,
    ) -> RetrievalContext:
        """Create a context of `max_tokens`, which is required.

        An argument that is not None replaces the field of that name in `options`. Raises `InvalidInput`,
        `Unavailable`.
        """
        given = {
            "max_tokens": max_tokens,
            "system_prompt": system_prompt,
            "reserved_for_response": reserved_for_response,
            "ttl_seconds": ttl_seconds,
        }
        asked = validated(_fields(options) | _given(given), CreateContextOptions)
        return await self._memory.create_context(**_fields(asked))

    async def context(self, context: RetrievalContext | str) -> RetrievalContext:
        """Return the present state of a context. Raises `ContextNotFound`, `Unavailable`."""
        return await self._memory.context(_id(context))

    async def add_to_context(self, context: RetrievalContext | str, memory_id: str) -> bool:
        """Add the part of a memory that fits; return False, and change nothing, if nothing of it fits.

        Raises `InvalidInput`, `ContextNotFound`, `ItemNotFound`, `Unavailable`.
        """
        return (await self._memory.add_to_context(_id(context), memory_id)).added

    async def compose_context(self, context: RetrievalContext | str) -> str:
        """Return a context as one text. Raises `ContextNotFound`, `Unavailable`."""
        return await self._memory.compose_context(_id(context))

    def _asked(
        self, query: str | SearchQuery | Mapping[str, Any], options: Mapping[str, Any]
    ) -> SearchQuery:
        """Return a search: the options, else the fields of the query, else the defaults."""
        default = {"max_results": self.config.default_max_results}
        return validated(default | _query_fields(query) | _given(options), SearchQuery)


class HasRetriever(Protocol):
    """The memory of a client, such as `Graphmem`."""

    def retriever(
        self, *, default_max_results: int = 10, default_max_tokens_per_chunk: int = 500
    ) -> MemoryRetriever:
        """Return a retriever."""
        ...


def create_memory_retriever(
    memory: HasRetriever,
    *,
    default_max_results: int = 10,
    default_max_tokens_per_chunk: int = 500,
) -> MemoryRetriever:
    """Return a retriever of a client's memory.

    Args:
        memory: a `Graphmem`.
        default_max_results: the results of a search without another number, 1–200.
        default_max_tokens_per_chunk: the tokens of a chunk without another number, 1–1,000,000.

    Raises:
        InvalidInput: a default is out of range.
    """
    return memory.retriever(
        default_max_results=default_max_results,
        default_max_tokens_per_chunk=default_max_tokens_per_chunk,
    )


def _query_fields(query: str | SearchQuery | Mapping[str, Any]) -> dict[str, Any]:
    return {"query": query} if isinstance(query, str) else _fields(query)


def _fields(given: Struct | Mapping[str, Any] | None) -> dict[str, Any]:
    return msgspec.structs.asdict(given) if isinstance(given, Struct) else dict(given or {})


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def _id(context: RetrievalContext | str) -> str:
    if isinstance(context, RetrievalContext):
        return context.id
    return text_id(context, "context")
