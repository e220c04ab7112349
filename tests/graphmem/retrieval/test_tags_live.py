"""Searches by tags on a real Neo4j: exact in every way of asking, whatever is nearer."""

import uuid
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.graph.scope import ANY_TAG, tag_words
from graphmem.retrieval import finding
from graphmem.runtime import Runtime

QUESTION = "Where do the bees stand?"
MANY = 60
"""More than one pool of candidates, so that the tagged ones are not among the nearest."""


@pytest.fixture
async def swarm(memory: Graphmem, rival: Graphmem) -> tuple[Graphmem, str, list[str]]:
    """A client with many near messages and two far ones with tags; a rival's near one has the same tags."""
    conversation = str(uuid.uuid4())
    for who in (memory, rival):
        await who.open_conversation(conversation)
    near = [said(f"The bees stand in orchard number {place}.") for place in range(MANY)]
    far = [said("Mara paid an invoice.", "x", "y"), said("The bees stand far off.", "x")]
    ids = (await memory.remember(conversation, [*near, *far])).ids[-2:]
    await rival.remember(conversation, [said("The bees stand here.", "x", "y")])
    return memory, conversation, ids


def said(text: str, *tags: str) -> dict[str, Any]:
    return {"session_id": "s", "role": "user", "content": text, "tags": list(tags)}


async def test_recall_finds_what_has_all_tags(swarm: tuple[Graphmem, str, list[str]]) -> None:
    memory, _, [both, one] = swarm
    found = await memory.recall(QUESTION, tags=["x"])
    assert {item.id for item in found.items} == {both, one}
    found = await memory.recall(QUESTION, tags=["x", "y"])
    assert [(item.id, item.tags, item.metadata) for item in found.items] == [
        (both, ["x", "y"], None)
    ]
    await memory.annotate(one, metadata={"page": 1})
    searched = (await memory.search("far off", tags=["x"], max_results=1)).items
    assert searched[0].metadata.items() >= {"page": 1, "tags": ["x"], "role": "user"}.items()
    recalled = (await memory.recall("far off", tags=["x"])).items
    assert {item.id: item.metadata for item in recalled}[one] == {"page": 1}
    found = await memory.recall(QUESTION, tags=["x"], known_as_of="2098-01-01T00:00:00Z")
    assert {item.id for item in found.items} == {both, one}
    assert (await memory.recall(QUESTION, tags=["X"])).items == []


async def test_a_common_tag_is_searched_in_the_index(
    swarm: tuple[Graphmem, str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, _, [both, one] = swarm
    monkeypatch.setattr(finding, "MOST_CANDIDATES", 1)
    monkeypatch.setattr(finding, "GROWTH", 100)
    found = await memory.recall("Mara paid an invoice", tags=["x", "y"])
    assert [item.id for item in found.items] == [both]
    found = await memory.recall("bees far off", tags=["x"])
    assert one in {item.id for item in found.items} <= {both, one}


async def test_search_lists_and_hops_keep_to_the_tags(
    swarm: tuple[Graphmem, str, list[str]],
) -> None:
    memory, conversation, [both, one] = swarm
    found = await memory.search("*", tags=["x"], max_results=50)
    assert ({item.id for item in found.items}, found.total_count) == ({both, one}, 2)
    found = await memory.search(QUESTION, tags=["x"], max_results=50)
    assert [item.id for item in found.items] == [one]
    found = await memory.search("Mara's invoice", tags=["y"], max_hops=1, link_types=["next"])
    assert [item.id for item in found.items] == [both]
    found = await memory.search("The", match="exact", conversation_id=conversation, tags=["x"])
    assert [item.id for item in found.items] == [one]


async def test_contextual_hits_have_the_tags(swarm: tuple[Graphmem, str, list[str]]) -> None:
    memory, _, [both, one] = swarm
    for narrowing in ("soft", "hard"):
        found = await memory.search_contextual(
            QUESTION, tags=["x"], narrowing=narrowing, min_relevance=0.0
        )
        hits = {turn.id for session in found.contexts for turn in session.messages if turn.hit}
        assert one in hits <= {both, one}


async def test_facts_and_episodes_are_retrieved_by_tags(
    swarm: tuple[Graphmem, str, list[str]],
) -> None:
    memory, conversation, [both, _] = swarm
    fact = await memory.remember_fact("Bees are kept", conversation_id=conversation, tags=["z"])
    await memory.remember_fact("Goats are kept", conversation_id=conversation)
    episode = await memory.remember_episode(conversation, message_ids=[both], tags=["z"])

    found = (await memory.retrieve_memory("What is kept?", conversation, tags=["z"])).found
    assert [one.id for one in found.semantic] == [fact.id]
    assert [one.id for one in found.episodic] == [episode.id]


async def test_a_long_memory_is_found_by_a_passage_and_its_tags(memory: Graphmem) -> None:
    await memory.open_conversation("c")
    filler = "The weather report speaks of rain over the northern hills. " * 40
    text = f"{filler}The code of the shed is MW-4471. {filler}"
    [id] = (await memory.remember("c", [said(text)])).ids

    async def excerpt(*tags: str) -> list[str]:
        found = await memory.recall("What is the code MW-4471 of the shed?", tags=tags)
        return [item.text for item in found.items if item.id == id]

    assert await excerpt("x") == []
    await memory.annotate(id, tags=["x"])
    assert "MW-4471" in (await excerpt("x"))[0]
    await memory.annotate(id, tags=["y"])
    assert await excerpt("x") == []


async def test_spans_with_tags_of_an_older_version_are_found(
    memory: Graphmem, runtime: Runtime
) -> None:
    content = "Twelve hives stand in the orchard."
    span = await memory.register_span(
        source_type="offer",
        source_id="bees",
        start_byte=0,
        end_byte=len(content),
        content=content,
        metadata={"importance": 0.5, "recency": 0.5, "tags": ["x"]},
    )
    [word] = tag_words(memory.client_id, ["x"])
    # As schema 017 leaves it: the version before wrote no word for a tag.
    await runtime.graph.execute(
        "MATCH (span:Span {client_id: $client_id, id: $id}) "
        "SET span.scope_words = replace(span.scope_words, $word, $any)",
        client_id=memory.client_id,
        id=span.id,
        word=word,
        any=ANY_TAG,
    )
    for tag, ids in (("x", [span.id]), ("y", [])):
        found = await memory.search("hives", tags=[tag])
        assert [one.id for one in found.items] == ids


async def test_explain_names_the_tags_that_exclude(swarm: tuple[Graphmem, str, list[str]]) -> None:
    memory, _, [_, one] = swarm
    why = await memory.explain(QUESTION, memory_id=one, tags=["y"])
    assert "tags" in str(why)
