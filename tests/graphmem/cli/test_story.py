"""The demo's story as it is loaded: whole, once, and with what changed in it."""

import hashlib
import uuid
from collections import Counter

import pytest
import pytest_asyncio

from graphmem.cli.story import StoryLoader
from graphmem.client import Graphmem
from graphmem.config import records

pytestmark = pytest.mark.usefixtures("whole_story")

EVERYTHING = """
MATCH (memory:Memory {client_id: $client_id})
WHERE memory.id IS NOT NULL
OPTIONAL MATCH (memory)-[edge]->(other)
WITH memory, collect(type(edge) + ' ' + coalesce(other.id, other.normalized)) AS edges
RETURN memory.id AS id, memory {.*, embedding: null} AS properties, edges
"""


@pytest_asyncio.fixture(scope="module")
async def told(runtime):
    """A client that the story was told, and the ids of its memories."""
    memory = Graphmem(runtime, f"told-{uuid.uuid4().hex}")
    story = StoryLoader(memory)
    ids = await story.load()
    return memory, story.conversation_id, ids


async def load_references(memory):
    """Load the references alone; return their ids."""
    story = StoryLoader(memory)
    await story.load_references()
    return story.ids


async def everything(memory):
    """Return all memories of a client with their properties and edges."""
    graph = memory.runtime.graph
    async with graph.driver.session(database=graph.database) as session:
        result = await session.run(EVERYTHING, client_id=memory.client_id)
        return {
            row["id"]: (row["properties"], Counter(row["edges"])) for row in await result.data()
        }


async def test_telling_it_again_changes_nothing(told):
    memory, _, ids = told
    before = await everything(memory)
    assert await StoryLoader(memory).load() == ids
    assert await everything(memory) == before
    assert len(before) > len(ids)


async def test_an_interrupted_telling_goes_on_where_it_was(memory, monkeypatch):
    put = memory.put_content
    calls = 0

    async def breaks(reference_id, content):
        nonlocal calls
        calls += 1
        if calls == 2:
            raise ConnectionError
        return await put(reference_id, content)

    monkeypatch.setattr(memory, "put_content", breaks)
    with pytest.raises(ConnectionError):
        await load_references(memory)
    monkeypatch.undo()
    ids = await load_references(memory)
    listed = (await memory.references(limit=200)).references
    assert Counter(one.target_id for one in listed) == Counter(
        {record["target_id"]: 1 for record in records("references.jsonl")}
    )
    shown = await memory.reference(ids["reference:page-pricing"])
    assert shown.version == 2


async def test_a_content_that_somebody_else_has_put_stays(memory):
    ids = await load_references(memory)
    theirs = (await memory.put_content(ids["reference:page-pricing"], "Everything is free.")).id
    assert (await load_references(memory))["reference:page-pricing"] == theirs


async def test_a_reference_holds_its_newest_content(told):
    memory, _, ids = told
    newest = {
        record["target_id"]: record["content"]
        for record in records("references.jsonl")
        if "content" in record
    }
    for target_id, content in newest.items():
        shown = await memory.reference(ids[f"reference:{target_id}"])
        assert shown.content_sha256 == hashlib.sha256(content.encode()).hexdigest()
    chain = await memory.versions(ids["reference:page-pricing"])
    assert [one.version for one in chain.versions] == [1, 2]


async def test_the_old_prices_are_not_found_any_more(told):
    memory, _, _ = told
    found = await memory.search("637.20 € a year", source_types=["knowledge_base"], max_results=50)
    spans = [await memory.memory(item.id) for item in found.items if item.kind == "span"]
    assert spans
    assert not any("637.20" in span.text for span in spans)
    assert any("583.20" in span.text for span in spans)


async def test_every_version_of_a_summary_is_there(told):
    memory, _, ids = told
    chain = await memory.versions(ids["summary:plan:plan-lanternfish"])
    assert [one.version for one in chain.versions] == [1, 2, 3]
    shown = await memory.summary(ids["summary:plan:plan-lanternfish"])
    assert (shown.completed_nodes, shown.total_nodes) == (3, 3)


async def test_the_story_s_summary_of_a_session_follows_an_automatic_one(memory):
    story = StoryLoader(memory)
    await story.load_messages()
    name = "s09-deploy-replicas"
    first = next(one for one in records("messages.jsonl") if one["session_id"] == name)
    message = await memory.memory(story.ids[f"message:{first['external_id']}"])
    automatic = await memory.summarize_session(message.session_id)
    await story.load_summaries()
    [own] = [
        one for one in records("summaries.jsonl") if one["target_id"] == name and "text" in one
    ]
    shown = await memory.summary(story.ids[f"summary:session:{name}"])
    assert (shown.text, shown.version) == (own["text"], automatic.version + 1)
    before = await everything(memory)
    await story.load_summaries()
    assert await everything(memory) == before


async def test_facts_are_those_that_hold_and_come_from_episodes(told):
    memory, conversation_id, ids = told
    assert "fact:harbour-54" in ids
    assert "fact:harbour-59" not in ids
    chain = (await memory.versions(ids["fact:harbour-54"])).versions
    written = {fact["key"]: fact for fact in records("facts.jsonl")}
    keys = ["harbour-49", "harbour-59", "harbour-54"]
    assert [one.text for one in chain] == [written[key]["fact"] for key in keys]
    assert [one.reason for one in chain] == [written[key].get("reason") for key in keys]
    found = await memory.retrieve_memory(
        "What does the Harbour plan cost?", conversation_id, raw=True
    )
    facts = {fact.id: fact for fact in found.found.semantic}
    harbour = facts[ids["fact:harbour-54"]]
    assert harbour.source_episodic_ids == [ids["episode:price-54"]]
    assert "(sources: 1 conversation)" in found.markdown


async def test_a_name_that_stands_in_the_keywords_only_is_found(told):
    memory, conversation_id, ids = told
    found = await memory.retrieve_memory("Ballast", conversation_id)
    assert ids["fact:cat"] in [fact.id for fact in found.found.semantic]


async def test_reviews_have_moved_the_episodes_that_were_rated(told):
    memory, _, ids = told
    listed = (await memory.reviews(limit=200)).reviews
    rated = [one.episodes[0].rated for one in listed if one.episodes[0].rated]
    assert Counter(one.rating for one in rated) == Counter(
        review["rating"] for review in records("reviews.jsonl")
    )
    assert {one.episodes[0].id for one in listed} <= set(ids.values())


@pytest.mark.parametrize(
    "question", records("hop_questions.jsonl"), ids=lambda question: question["path"][-1]
)
async def test_a_question_over_hops_finds_its_answer_two_links_on(told, question):
    memory, _, ids = told
    found = await memory.search_with_hops(
        question["query"],
        max_hops=2,
        source_types=question["source_types"],
        link_types=question["link_types"],
    )
    first, between, last = (ids[key] for key in question["path"])
    hops = {item.id: item.hop for item in found.items}
    assert hops[first] == 0
    assert hops[last] == 2
    steps = {(step.from_id, step.to_id) for step in found.hop_paths}
    assert {(first, between), (between, last)} <= steps


async def test_a_rival_s_story_stays_its_own(told, rival):
    _, conversation_id, ids = told
    conversation = await rival.open_conversation(conversation_id)
    assert conversation.created
    other = await load_references(rival)
    assert not set(other.values()) & set(ids.values())
    found = await rival.search_with_hops("Skarvik Line", max_hops=2, max_results=50)
    assert not {item.id for item in found.items} & set(ids.values())
