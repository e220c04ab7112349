"""What a memory mentions becomes entities in the transaction that writes it, on a real Neo4j."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import msgspec
import pytest

from graphmem.client import Graphmem
from graphmem.memories.write import Draft, prepare, write
from graphmem.runtime import Runtime

NOW = datetime(2026, 3, 1, tzinfo=UTC)

ENTITIES = """CYPHER 25
MATCH (entity:Entity {client_id: $client_id})
RETURN entity.normalized AS normalized, entity.name AS name,
  COLLECT { MATCH (entity)<-[:MENTIONS]-(memory) RETURN memory.text } AS mentioned_by,
  COLLECT { MATCH (entity)<-[:NAMES]-(memory) RETURN memory.text } AS named_by,
  COUNT { (entity)--(other) WHERE other.client_id <> $client_id } AS foreign
ORDER BY normalized"""


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """An entity in the database, with the texts of the memories around it."""

    normalized: str
    name: str
    mentioned_by: list[str]
    named_by: list[str]
    foreign: int


Entities = Callable[[Graphmem], Awaitable[dict[str, Stored]]]


@pytest.fixture
def stored(runtime: Runtime) -> Entities:
    """Return what reads a client's entities by their normal form; two of one form fail."""

    async def read(memory: Graphmem) -> dict[str, Stored]:
        rows = await runtime.graph.execute(ENTITIES, client_id=memory.client_id)
        found = msgspec.convert(rows, list[Stored])
        assert len({entity.normalized for entity in found}) == len(found)
        assert not any(entity.foreign for entity in found)
        return {entity.normalized: entity for entity in found}

    return read


def draft(memory: Graphmem, id: str, text: str, **more) -> Draft:
    return Draft(
        id=id,
        client_id=memory.client_id,
        text=text,
        search_text=text,
        embedded_text=text,
        occurred_at=NOW,
        created_at=NOW,
        valid_at=NOW,
        **({"kind": "fact", "source_type": "fact"} | more),
    )


async def written(memory: Graphmem, *drafts: Draft) -> None:
    runtime = memory.runtime
    prepared = await prepare(drafts, embedder=runtime.embedder, tokens=runtime.tokens)
    await runtime.graph.write(
        lambda transaction: write(transaction, prepared, client_id=memory.client_id)
    )


async def test_memories_that_mention_the_same_share_an_entity(memory: Graphmem, stored: Entities):
    await memory.open_conversation("c")
    await memory.remember(
        "c",
        [
            {"session_id": "a", "role": "user", "content": content}
            for content in ("We met Ada Lovelace.", "ADA LOVELACE’s file is notes.md", "nothing")
        ],
    )

    found = await stored(memory)
    assert set(found) == {"ada lovelace", "notes.md"}
    assert found["ada lovelace"].name == "Ada Lovelace"
    assert len(found["ada lovelace"].mentioned_by) == 2


async def test_every_kind_mentions(memory: Graphmem, stored: Entities):
    kinds = ("message", "episode", "fact", "summary", "reference", "span")
    await written(
        memory,
        *(
            draft(memory, kind, f"{kind}: we met Ada", kind=kind, source_type=kind)
            for kind in kinds
        ),
    )

    assert len((await stored(memory))["ada"].mentioned_by) == len(kinds)


async def test_a_reference_names_what_its_title_says(memory: Graphmem, stored: Entities):
    await written(
        memory,
        draft(memory, "1", "a film of 1994", kind="reference", names="Ed Wood (film)"),
        draft(memory, "2", "a town", kind="reference", names="Leland, North Carolina"),
        draft(memory, "3", "Who directed Ed Wood in Leland?"),
    )

    found = await stored(memory)
    assert found["ed wood"].named_by == ["a film of 1994"]
    assert sorted(found["ed wood"].mentioned_by) == [
        "Who directed Ed Wood in Leland?",
        "a film of 1994",
    ]
    assert found["leland"].named_by == found["leland, north carolina"].named_by == ["a town"]


async def test_a_fact_s_keywords_and_a_summary_s_topics_are_mentioned(
    memory: Graphmem, stored: Entities
):
    await written(
        memory,
        draft(memory, "1", "it leaves at nine", own={"keywords": ["ferry"]}),
        draft(memory, "2", "of the sea", kind="summary", own={"topics": ["Ferry"], "version": 1}),
    )

    assert sorted((await stored(memory))["ferry"].mentioned_by) == [
        "it leaves at nine",
        "of the sea",
    ]


async def test_a_title_is_no_property_of_the_memory(memory: Graphmem, runtime: Runtime):
    await written(memory, draft(memory, "1", "a town", kind="reference", names="Leland"))

    rows = await runtime.graph.execute(
        "MATCH (memory:Memory {client_id: $client_id, id: '1'}) RETURN keys(memory) AS keys",
        client_id=memory.client_id,
    )
    assert not {"names", "mentions", "embedded_text", "own"} & set(rows[0]["keys"])


async def test_another_client_s_entity_of_the_same_name_is_another(
    memory: Graphmem, rival: Graphmem, stored: Entities
):
    for client in (memory, rival):
        await written(client, draft(client, "1", f"{client.client_id}: we met Ada Lovelace"))

    for client in (memory, rival):
        mentioned_by = (await stored(client))["ada lovelace"].mentioned_by
        assert mentioned_by == [f"{client.client_id}: we met Ada Lovelace"]


async def test_sixteen_writers_of_the_same_names_make_one_node_of_each(
    memory: Graphmem, rival: Graphmem, stored: Entities
):
    """Each writer has the names in another order: without an order of their own they wait in rings."""
    names = [f"Quentin {letter}avier" for letter in "BCDFGHJKLMNPRSTV"]

    async def writer(place: int) -> None:
        client = rival if place % 4 == 0 else memory
        turned = names[place:] + names[:place]
        await client.open_conversation(f"c{place}")
        for number in range(2):
            content = f"We met {', '.join(turned)} {number}."
            message = {"session_id": "a", "role": "user", "content": content}
            await client.remember(f"c{place}", [message])

    await asyncio.gather(*map(writer, range(16)))

    for client, writers in ((memory, 12), (rival, 4)):
        found = await stored(client)
        assert {name.lower() for name in names} <= set(found)
        assert {len(found[name.lower()].mentioned_by) for name in names} == {2 * writers}


async def test_an_entity_that_thousands_mention_keeps_no_writer_waiting(
    memory: Graphmem, runtime: Runtime, stored: Entities
):
    await runtime.graph.execute(
        """CYPHER 25
        CREATE (hub:Entity {client_id: $client_id, normalized: 'ada lovelace', name: 'Ada Lovelace'})
        WITH hub
        UNWIND range(1, 20000) AS place
        CREATE (:Probe {client_id: $client_id, text: ''})-[:MENTIONS]->(hub)""",
        client_id=memory.client_id,
    )
    try:
        await asyncio.wait_for(
            asyncio.gather(
                *(
                    written(memory, draft(memory, f"{writer}", f"{writer}: we met Ada Lovelace"))
                    for writer in range(16)
                )
            ),
            timeout=300,
        )
        hub = (await stored(memory))["ada lovelace"]
        assert len([text for text in hub.mentioned_by if text]) == 16
    finally:
        await runtime.graph.execute(
            "MATCH (probe:Probe {client_id: $client_id}) DETACH DELETE probe",
            client_id=memory.client_id,
        )


SPELLED_OUT = """CYPHER 25
MATCH (memory:Memory)-[edge:SPELLS_OUT]->(entity:Entity {client_id: $client_id})
RETURN memory.text AS text, entity.normalized AS short, edge.form AS form ORDER BY text, form"""


async def test_what_a_text_spells_out_is_kept_with_both_names(memory: Graphmem, runtime: Runtime):
    await memory.open_conversation("c")
    texts = [
        "service level objectives (SLOs) and Continuous Integration (CI), then CI again",
        "Continuous Integration",
    ]
    said = [{"role": "user", "session_id": "s", "content": text} for text in texts]
    await memory.remember("c", said)

    rows = await runtime.graph.execute(SPELLED_OUT, client_id=memory.client_id)
    assert [(row["text"], row["short"], row["form"]) for row in rows] == [
        (texts[0], "ci", "continuous integration"),
        (texts[0], "slos", "service level objectives"),
    ]
    names = {one.normalized: one.mentions for one in (await memory.entities()).entities}
    assert names == {
        "ci": 1,
        "continuous integration": 2,
        "service level objectives": 1,
        "slos": 1,
    }
