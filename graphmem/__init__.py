"""graphmem: the memory that agents deserve, on a real graph database."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphmem.model.card import Card
    from graphmem.model.chunk import ChunkOptions, ChunkResult, PeekResult
    from graphmem.model.context import ContextSection, CreateContextOptions, RetrievalContext
    from graphmem.model.conversation import NewMessage
    from graphmem.model.recall import Item, Omitted, Recalled
    from graphmem.model.run import BudgetState, RetrievalBudget, SpanRef
    from graphmem.model.search import HopPath, SearchItem, SearchQuery, SearchResult
    from graphmem.model.span import Span
    from graphmem.model.vocabulary import SourceType
    from graphmem.service import Graphmem, open
    from graphmem.service.retriever import (
        MemoryRetriever,
        MemoryRetrieverConfig,
        create_memory_retriever,
    )
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
    "BudgetState": "graphmem.model.run",
    "Card": "graphmem.model.card",
    "ChunkOptions": "graphmem.model.chunk",
    "ChunkResult": "graphmem.model.chunk",
    "ContextSection": "graphmem.model.context",
    "CreateContextOptions": "graphmem.model.context",
    "Graphmem": "graphmem.service",
    "HopPath": "graphmem.model.search",
    "Item": "graphmem.model.recall",
    "MemoryRetriever": "graphmem.service.retriever",
    "MemoryRetrieverConfig": "graphmem.service.retriever",
    "NewMessage": "graphmem.model.conversation",
    "Omitted": "graphmem.model.recall",
    "PeekResult": "graphmem.model.chunk",
    "Recalled": "graphmem.model.recall",
    "RetrievalBudget": "graphmem.model.run",
    "RetrievalContext": "graphmem.model.context",
    "SearchItem": "graphmem.model.search",
    "SearchQuery": "graphmem.model.search",
    "SearchResult": "graphmem.model.search",
    "SourceType": "graphmem.model.vocabulary",
    "Span": "graphmem.model.span",
    "SpanRef": "graphmem.model.run",
    "TokenCounter": "graphmem.tokens",
    "create_memory_retriever": "graphmem.service.retriever",
    "open": "graphmem.service",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: `graphmem --help` must not wait for a driver."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
