"""Chunks: as much of a memory as fits into a number of tokens, under a header if one is wanted."""

from graphmem.memories.chunk import ChunkOptions, ChunkResult, Item
from graphmem.prompts.truncation import truncated
from graphmem.tokens import TokenCounter


def chunk_of(item: Item, options: ChunkOptions, tokens: TokenCounter) -> ChunkResult:
    """Return as much of an item as fits, header and ellipsis included."""
    header = header_of(item) if options.include_header else ""
    cut = truncated(
        item.text, options.max_tokens, options.truncation_strategy, tokens, header=header
    )
    return ChunkResult(
        id=item.id,
        content=cut.content,
        token_count=cut.token_count,
        truncated=cut.truncated,
        header=header if header and cut.content else None,
    )


def header_of(item: Item) -> str:
    """Return the line that says what follows; a label cannot make it two (S1.55)."""
    return f"[{item.source_type}: {' '.join(item.label.split())}]\n"
