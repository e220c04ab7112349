"""What is read sees the names of a group as one: hops, links between sessions, patterns."""

from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.retrieval.expansion import HUB
from graphmem.runtime import Runtime
from tests.graphmem.search.test_ask import card, ids

FORGED = """CYPHER 25
MATCH (one:Entity {client_id: $client_id, normalized: $name})
MATCH (other:Entity {client_id: $other, normalized: $other_name})
CREATE (one)-[:ALIAS_OF {rule: 'manual', of: $other_name, created_at: datetime()}]->(other),
  (other)-[:ALIAS_OF {rule: 'manual', of: $name, created_at: datetime()}]->(one)"""


async def test_a_hop_over_a_name_crosses_its_aliases_as_one_step(memory: Graphmem):
    asked, other = await memory.add_references(
        [
            card("Harvest notes", "The barley was cut by Ottilie before the storm."),
            card("Bees", "The hives belong to Ottilie Kranewitt."),
        ]
    )
    barley: dict[str, Any] = {"max_hops": 1, "min_relevance": 0.05}
    before = await memory.search("when was the barley cut", **barley)
    assert other.id not in {item.id for item in before.items if item.hop}

    await memory.add_alias("Ottilie", "Ottilie Kranewitt")
    found = await memory.search("when was the barley cut", **barley)
    [step] = [step for step in found.hop_paths if step.to_id == other.id]
    assert (step.from_id, step.link_type, step.entity) == (
        asked.id,
        "mentions",
        "Ottilie Kranewitt",
    )
    await memory.undo_alias("Ottilie")
    again = await memory.search("when was the barley cut", **barley)
    assert [item.id for item in again.items] == [item.id for item in before.items]
    assert again.hop_paths == before.hop_paths


async def test_a_name_leads_to_the_title_of_any_of_its_names(memory: Graphmem):
    [asked, titled] = await memory.add_references(
        [
            card("Harvest notes", "The barley was cut by Ottilie before the storm."),
            card("Ottilie Kranewitt", "A farmer from the north who keeps bees."),
        ]
    )
    await memory.add_alias("Ottilie Kranewitt", "Ottilie")
    found = await memory.search("when was the barley cut", max_hops=1)
    [step] = [step for step in found.hop_paths if step.to_id == titled.id]
    assert (step.from_id, step.entity) == (asked.id, "Ottilie")
    [hit] = [item for item in found.items if item.id == titled.id]
    assert hit.relevance >= 0.5 * found.items[0].relevance


async def passed_on(memory: Graphmem, question: str, id: str) -> float:
    """Return what share of the first one's relevance a hop gives to a memory."""
    found = await memory.search(question, max_hops=1, max_results=100, min_relevance=0.0)
    [hit] = [item for item in found.items if item.id == id]
    [first] = [item for item in found.items if item.id == hit.hop_from]
    return round(hit.relevance / first.relevance, 4)


async def test_who_mentions_any_of_the_names_counts_and_counts_once(memory: Graphmem):
    """1/n: two that use one name, one that uses the other, one that uses both are four."""
    names = ["Ottilie", "Ottilie", "Ottilie Kranewitt", "Ottilie and also Ottilie Kranewitt"]
    _, *others = await memory.add_references(
        [
            card("Barley", "barley barley barley, cut by Ottilie."),
            *(card(f"zq{n}x", f"vk{n}x {name} wm{n}x.") for n, name in enumerate(names[1:])),
        ]
    )
    assert await passed_on(memory, "barley", others[0].id) == pytest.approx(0.5 / 3, abs=0.01)
    await memory.add_alias("Ottilie", "Ottilie Kranewitt")
    for other in others:
        assert await passed_on(memory, "barley", other.id) == pytest.approx(0.5 / 4, abs=0.01)


async def test_a_group_that_everything_mentions_joins_nothing(memory: Graphmem):
    [asked, other] = await memory.add_references(
        [card("Harvest", "Barley, said Zorvath."), card("Bees", "Quillon has hives.")]
    )
    await memory.add_references(
        [card(f"Page {n}", f"Quillon went to place {n}.") for n in range(HUB - 1)]
    )
    await memory.add_alias("Zorvath", "Quillon")
    found = await memory.search("barley harvest", max_hops=1, max_results=100, min_relevance=0.0)
    assert ids(found)[0] == asked.id
    assert found.hop_paths == []
    await memory.undo_alias("Zorvath")
    near = await memory.search("hives", max_hops=1, max_results=100, min_relevance=0.0)
    assert other.id in {step.from_id for step in near.hop_paths}, "without the one it is no hub"


@pytest.mark.parametrize("hops", [1, 2, 3])
async def test_no_alias_leads_to_another_client(
    memory: Graphmem, rival: Graphmem, runtime: Runtime, hops: int
):
    [asked, other] = await memory.add_references(
        [card("Barley", "barley, cut by Zorvath."), card("zq7", "vk7 Zorvath wm7.")]
    )
    [theirs, _] = await rival.add_references(
        [card("Barley barley", "barley, cut by Quillon."), card("Quillon", "Who cuts barley.")]
    )
    forged = {"client_id": memory.client_id, "name": "zorvath", "other": rival.client_id}
    await runtime.graph.execute(FORGED, **forged, other_name="quillon")

    found = await memory.search("barley", max_hops=hops, min_relevance=0.05)
    assert ids(found) == [asked.id, other.id]
    assert {step.entity for step in found.hop_paths} == {"Zorvath"}
    assert await passed_on(memory, "barley", other.id) == pytest.approx(0.5 / 2, abs=0.01)
    [shown] = (await memory.entities(name="zor")).entities
    assert (shown.alias_of, shown.aliases) == (None, [])
    await memory.find_aliases()
    await memory.delete_memory(asked.id)
    assert theirs.id in ids(await rival.search("barley"))


@pytest.fixture
async def three_sessions(memory: Graphmem) -> Graphmem:
    """Sessions of which the first and the last speak of one person, by two names."""
    said = [
        ("spring", "Tea with Ottilie, and what a garden in Osaka."),
        ("summer", "Rain all day; Osaka is far, said the Ferryman."),
        ("autumn", "Ottilie Kranewitt sold us a boat, and so did the Ferryman."),
    ]
    await memory.open_conversation("c")
    for month, (session, text) in enumerate(said, 3):
        line = {"role": "user", "session_id": session, "content": text}
        await memory.remember("c", [{**line, "occurred_at": f"2026-0{month}-01T09:00:00Z"}])
    return memory


async def test_patterns_see_a_group_as_one(three_sessions: Graphmem):
    memory = three_sessions
    timeline = {"name": "ottilie"}
    assert len((await memory.pattern("timeline", timeline)).rows) == 1
    pair = {"entity": "Ottilie", "least": 1}
    together = (await memory.pattern("entities_across_sessions", pair)).rows
    assert {tuple(sorted((row["one"], row["other"]))) for row in together} == {("Osaka", "Ottilie")}
    assert {row["session_external_id"] for row in (await memory.pattern("bridges")).rows} == {
        "summer"
    }

    await memory.add_alias("Ottilie", "Ottilie Kranewitt")
    for name in ("ottilie", "ottilie kranewitt"):
        rows = (await memory.pattern("timeline", {"name": name})).rows
        assert [row["at"].month for row in rows] == [3, 5]
    for name in ("Ottilie", "Ottilie Kranewitt"):
        rows = (await memory.pattern("entities_across_sessions", pair | {"entity": name})).rows
        assert {tuple(sorted((row["one"], row["other"]))) for row in rows} == {
            ("Osaka", "Ottilie Kranewitt"),
            ("Ferryman", "Ottilie Kranewitt"),
        }
    assert (await memory.pattern("bridges")).rows == [], "its sessions share a name now"


async def test_sessions_that_use_two_names_of_one_are_linked(three_sessions: Graphmem):
    memory = three_sessions
    rows = await memory.runtime.graph.execute(
        "MATCH (s:Session {client_id: $client}) RETURN s.external_id AS name, s.id AS id",
        client=memory.client_id,
    )
    sessions = {row["name"]: row["id"] for row in rows}

    async def shared() -> dict[str, list[str] | None]:
        await memory.summarize_session(sessions["autumn"])
        related = (await memory.related_sessions(sessions["autumn"])).related
        return {one.session_id: one.entities for one in related if one.basis == "entities"}

    assert sessions["spring"] not in await shared()
    await memory.add_alias("Ottilie", "Ottilie Kranewitt")
    later = {"role": "user", "session_id": "autumn", "content": "The boat leaks a little."}
    await memory.remember("c", [later])
    assert (await shared())[sessions["spring"]] == ["Ottilie Kranewitt"]
