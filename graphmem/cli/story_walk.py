"""Search → peek → chunk → compose on the demo's story: along its links to what answers a question."""

import time

from msgspec import Struct

from graphmem.cli.story_records import records
from graphmem.memories.chunk import ChunkResult, PeekResult
from graphmem.retrieval.expansion import HopPath
from graphmem.search.types import SearchResult
from graphmem.service import Graphmem

MOST_HOPS = 2
SHOWN = 5
CHUNK_TOKENS = 100
CONTEXT_TOKENS = 200
PROMPT = "Answer from what stands below, and name it."


class Composed(Struct, frozen=True, kw_only=True):
    """A context made of what the way led over."""

    max_tokens: int
    remaining_tokens: int
    memories: int
    text: str


class Walked(Struct, frozen=True, kw_only=True):
    """What a search with hops found, how it got there, and what was taken of it."""

    found: SearchResult
    path: list[HopPath]
    """The steps to the item that lies deepest."""
    peeked: list[PeekResult]
    """What lies on the way, from where it began."""
    chunk: ChunkResult
    """A part of the longest of them."""
    composed: Composed
    milliseconds: float


async def walk(memory: Graphmem) -> Walked:
    """Ask the story's first question over hops, and compose what lies on the way to the answer."""
    question = records("hop_questions.jsonl")[0]
    began = time.perf_counter()
    found = await memory.search_with_hops(
        question["query"],
        max_hops=MOST_HOPS,
        max_results=SHOWN,
        source_types=question["source_types"],
        link_types=question["link_types"],
    )
    path = way(found)
    ids = [path[0].from_id, *(step.to_id for step in path)] if path else [found.items[0].id]
    peeked = [await memory.peek(id) for id in ids]
    longest = max(peeked, key=lambda one: one.token_estimate)
    chunk = await memory.chunk(
        longest.id, max_tokens=CHUNK_TOKENS, truncation_strategy="middle", include_header=True
    )
    # What was asked about and the answer first: what lies between fills the rest.
    composed = await _composed(memory, [ids[0], *ids[:0:-1]])
    return Walked(
        found=found,
        path=path,
        peeked=peeked,
        chunk=chunk,
        composed=composed,
        milliseconds=round(1000 * (time.perf_counter() - began), 1),
    )


def way(found: SearchResult) -> list[HopPath]:
    """Return the steps to the item that lies deepest, in their order; none where nothing was walked."""
    deepest = max(found.items, key=lambda item: (item.hop, -item.rank))
    steps = {step.to_id: step for step in found.hop_paths}
    path: list[HopPath] = []
    id = deepest.id
    while len(path) < deepest.hop and id in steps:
        path.append(steps[id])
        id = steps[id].from_id
    return path[::-1]


async def _composed(memory: Graphmem, ids: list[str]) -> Composed:
    context = await memory.create_context(
        max_tokens=CONTEXT_TOKENS, system_prompt=PROMPT, reserved_for_response=0
    )
    added = [await memory.add_to_context(context.id, id) for id in ids]
    return Composed(
        max_tokens=context.max_tokens,
        remaining_tokens=added[-1].remaining_tokens,
        memories=sum(one.added for one in added),
        text=await memory.compose_context(context.id),
    )
