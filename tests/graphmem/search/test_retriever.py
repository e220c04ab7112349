"""The retriever of the specification: factory, defaults, search → peek → chunk → compose."""

from typing import Any

import msgspec
import pytest

import graphmem
from graphmem.client import Graphmem
from graphmem.contexts.context import CreateContextOptions
from graphmem.errors import InvalidInput, ItemNotFound
from graphmem.memories.chunk import ChunkOptions
from graphmem.search.retriever import create_memory_retriever
from tests.planted import join, plan, plant, reference, thread

PROMPT = "You are a helpful assistant."


async def seeded(memory: Graphmem) -> list[str]:
    """Remember the specification's thread, plan and reference."""
    searched = {
        "thread": "instagram User asked about pricing Interested in premium plan positive",
        "plan": "content_calendar execution Week 1 complete",
        "reference": "Product FAQ\nFrequently asked questions about pricing and features",
    }
    rows = [
        row | {"search_text": text, "embedded_text": text}
        for row, text in zip((thread(), plan(), reference()), searched.values(), strict=True)
    ]
    return await plant(memory, *rows)


def test_a_retriever_says_what_it_does_by_default(memory: Graphmem):
    # S1.6 S1.71
    plain = memory.retriever()
    own = create_memory_retriever(
        memory, default_max_results=3, default_max_tokens_per_chunk=1_000_000
    )

    assert isinstance(own, graphmem.MemoryRetriever)
    assert plain.config.client_id == own.config.client_id == memory.client_id
    assert (plain.config.default_max_results, plain.config.default_max_tokens_per_chunk) == (
        10,
        500,
    )
    assert (own.config.default_max_results, own.config.default_max_tokens_per_chunk) == (
        3,
        1_000_000,
    )
    assert own.config.token_counter.count("Hello, world!") == 4


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"default_max_results": 0}, "default_max_results"),
        ({"default_max_results": 201}, "default_max_results"),
        ({"default_max_tokens_per_chunk": 0}, "default_max_tokens_per_chunk"),
        ({"default_max_tokens_per_chunk": 1_000_001}, "default_max_tokens_per_chunk"),
    ],
)
def test_what_cannot_be_a_default_is_named(given: dict, field: str, memory: Graphmem):
    # S1.6
    with pytest.raises(InvalidInput) as raised:
        memory.retriever(**given)
    assert raised.value.field == field


def test_an_unknown_default_is_an_unknown_argument(memory: Graphmem):
    # S1.6
    unknown: Any = {"env": None}
    with pytest.raises(TypeError, match="env"):
        memory.retriever(**unknown)
    with pytest.raises(TypeError, match="env"):
        create_memory_retriever(memory, **unknown)


def test_every_public_name_is_there_and_is_a_schema_where_it_is_a_shape():
    # S1.71
    for name in dir(graphmem):
        assert getattr(graphmem, name) is not None
    shapes = {
        *("SearchQuery", "SearchItem", "SearchResult", "HopPath", "PeekResult", "ChunkOptions"),
        *("ChunkResult", "CreateContextOptions", "RetrievalContext", "ContextSection"),
    }
    assert shapes | {"SourceType", "create_memory_retriever"} <= set(dir(graphmem))
    for name in sorted(shapes):
        assert msgspec.json.schema(getattr(graphmem, name))["$defs"][name]["properties"]
    assert "brand_kit" in msgspec.json.schema(graphmem.SourceType)["enum"]
    with pytest.raises(AttributeError):
        _ = graphmem.nothing_of_the_kind  # type: ignore[attr-defined]


async def test_defaults_hold_unless_told_otherwise(memory: Graphmem):
    # S1.6
    await seeded(memory)
    retriever = memory.retriever(default_max_results=1, default_max_tokens_per_chunk=7)

    assert len((await retriever.search("*")).items) == 1
    assert len((await retriever.search("*", max_results=2)).items) == 2
    assert len((await retriever.search({"query": "*", "max_results": 3})).items) == 3
    assert len((await retriever.search(graphmem.SearchQuery(query="*"))).items) == 3
    [item] = (await retriever.search("*", source_types=["thread_summary"])).items
    assert (await retriever.chunk(item.id)).token_count == 7
    assert (await retriever.chunk(item.id, ChunkOptions(max_tokens=5))).token_count == 5
    assert (await retriever.chunk(item.id, max_tokens=6, include_header=True)).content == ""


async def test_search_then_peek_then_chunk_then_compose(memory: Graphmem, rival: Graphmem):
    # S1.63 S1.64
    await seeded(memory)
    theirs = await seeded(rival)
    retriever = memory.retriever()

    found = await retriever.search("pricing")
    peeked = await retriever.peek(found.items[0].id)
    chunk = await retriever.chunk(found.items[0].id, max_tokens=20)
    context = await retriever.create_context(max_tokens=2000, system_prompt=PROMPT)
    added = [await retriever.add_to_context(context, item.id) for item in found.items]
    now = await retriever.context(context)

    assert {item.source_type for item in found.items} >= {"thread_summary", "knowledge_base"}
    assert not {item.id for item in found.items} & set(theirs)
    assert peeked is not None
    assert (peeked.id, peeked.label) == (found.items[0].id, found.items[0].label)
    assert peeked.token_estimate == found.items[0].token_estimate
    assert chunk.token_count <= 20
    assert all(added)
    assert now.retrieved_ids == [item.id for item in found.items]
    text = await retriever.compose_context(context.id)
    assert text.startswith(PROMPT)
    assert all(item.label in text for item in found.items)
    assert now.remaining_tokens == 1500 - memory.runtime.tokens.count(text)


async def test_what_is_no_context_is_refused_by_its_name(memory: Graphmem):
    retriever = memory.retriever()
    for ask in (
        retriever.context,
        retriever.compose_context,
        lambda context: retriever.add_to_context(context, "m"),
    ):
        none: Any = None
        with pytest.raises(InvalidInput, match="context: expected a text, got null"):
            await ask(none)


async def test_peeking_takes_nothing_from_a_context(memory: Graphmem):
    # S1.51
    [id, *_] = await seeded(memory)
    retriever = memory.retriever()
    context = await retriever.create_context(CreateContextOptions(max_tokens=1000))

    await retriever.peek(id)

    assert (await retriever.context(context)).remaining_tokens == context.remaining_tokens == 500


async def test_what_is_not_there_is_none_to_peek_and_an_error_to_chunk(
    memory: Graphmem, rival: Graphmem
):
    # S1.48 S1.56
    [id, *_] = await seeded(rival)
    retriever = memory.retriever()

    for unknown in (id, "unknown"):
        assert await retriever.peek(unknown) is None
        with pytest.raises(ItemNotFound, match=f"^Item not found: {unknown}$"):
            await retriever.chunk(unknown)


async def test_hops_lead_to_what_is_linked(memory: Graphmem):
    # S1.23
    ids = await seeded(memory)
    [far] = await plant(memory, reference(source_id="kb-2", label="Vessels", text="Boats."))
    await join(memory, "RELATES_TO", (ids[2], far))
    retriever = memory.retriever()

    near = await retriever.search_with_hops("pricing", max_hops=0, min_relevance=0.1)
    linked = await retriever.search_with_hops("pricing", min_relevance=0.1)

    assert near.hops_used == 0
    assert far not in {item.id for item in near.items}
    assert linked.hops_used == 1
    assert far in {item.id for item in linked.items}
