"""graphmem: the memory that agents deserve, on a real graph database."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphmem.contexts.types import ContextSection, CreateContextOptions, RetrievalContext
    from graphmem.conversations.types import NewMessage
    from graphmem.memories.card import Card
    from graphmem.memories.chunk import ChunkOptions, ChunkResult, PeekResult
    from graphmem.model.vocabulary import SourceType
    from graphmem.recall.types import Item, Omitted, Recalled
    from graphmem.retrieval.expansion import HopPath
    from graphmem.runs.types import BudgetState, RetrievalBudget, SpanRef
    from graphmem.search.types import SearchItem, SearchQuery, SearchResult
    from graphmem.service import Graphmem, open
    from graphmem.service.retriever import (
        MemoryRetriever,
        MemoryRetrieverConfig,
        create_memory_retriever,
    )
    from graphmem.spans.types import Span
    from graphmem.tokens import TokenCounter

__all__ = [
    "BudgetState",
    "Card",
    "ChunkOptions",
    "ChunkResult",
    "ContextSection",
    "CreateContextOptions",
    "Graphmem",
    "HopPath",
    "Item",
    "MemoryRetriever",
    "MemoryRetrieverConfig",
    "NewMessage",
    "Omitted",
    "PeekResult",
    "Recalled",
    "RetrievalBudget",
    "RetrievalContext",
    "SearchItem",
    "SearchQuery",
    "SearchResult",
    "SourceType",
    "Span",
    "SpanRef",
    "TokenCounter",
    "create_memory_retriever",
    "open",
]

_HOMES = {
    "BudgetState": "graphmem.runs.types",
    "Card": "graphmem.memories.card",
    "ChunkOptions": "graphmem.memories.chunk",
    "ChunkResult": "graphmem.memories.chunk",
    "ContextSection": "graphmem.contexts.types",
    "CreateContextOptions": "graphmem.contexts.types",
    "Graphmem": "graphmem.service",
    "HopPath": "graphmem.retrieval.expansion",
    "Item": "graphmem.recall.types",
    "MemoryRetriever": "graphmem.service.retriever",
    "MemoryRetrieverConfig": "graphmem.service.retriever",
    "NewMessage": "graphmem.conversations.types",
    "Omitted": "graphmem.recall.types",
    "PeekResult": "graphmem.memories.chunk",
    "Recalled": "graphmem.recall.types",
    "RetrievalBudget": "graphmem.runs.types",
    "RetrievalContext": "graphmem.contexts.types",
    "SearchItem": "graphmem.search.types",
    "SearchQuery": "graphmem.search.types",
    "SearchResult": "graphmem.search.types",
    "SourceType": "graphmem.model.vocabulary",
    "Span": "graphmem.spans.types",
    "SpanRef": "graphmem.runs.types",
    "TokenCounter": "graphmem.tokens",
    "create_memory_retriever": "graphmem.service.retriever",
    "open": "graphmem.service",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: `graphmem --help` must not wait for a driver."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
