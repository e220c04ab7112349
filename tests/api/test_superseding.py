"""Superseding a fact over HTTP: what is taken over, what is refused, who comes first."""

import asyncio
import uuid
from datetime import UTC, datetime
from typing import Any

import httpx
import msgspec
import pytest
from graphmem_api.bodies import decoded
from graphmem_api.facts import NEXT

from graphmem.client import Graphmem
from graphmem.errors import NotHead
from graphmem.facts.types import FactVersion, NextFact

FACTS = "/api/v0/facts"
OLD = {
    "fact": "Orders are kept in Postgres",
    "category": "architectural_decision",
    "scope": "repo",
    "keywords": ["storage"],
    "importance": 0.9,
    "valid_at": "2026-01-10T00:00:00Z",
}


async def remembered(http: httpx.AsyncClient, **more: Any) -> str:
    answer = await http.post(FACTS, json=OLD | more)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def supersede(http: httpx.AsyncClient, id: str, **body: Any) -> httpx.Response:
    return await http.post(
        f"{FACTS}/{id}/supersede", json={"fact": "Orders are kept in SQLite"} | body
    )


async def conversation_of(http: httpx.AsyncClient) -> str:
    return (await http.post("/api/v0/conversations", json={})).json()["id"]


def test_the_example_can_be_sent() -> None:
    assert decoded(msgspec.json.encode(NEXT.value), NextFact)


async def test_a_version_expires_when_the_one_before_would_have(http: httpx.AsyncClient) -> None:
    expiry = {"expires_at": "2099-01-01T00:00:00Z"}
    old = await remembered(http, **expiry)

    new = (await supersede(http, old)).json()["id"]

    shown = await http.get(f"/api/v0/memories/{new}")
    assert (shown.status_code, shown.json()["expires_at"]) == (200, expiry["expires_at"])
    listed = (await http.get("/api/v0/memories")).json()["memories"]
    assert [one["id"] for one in listed] == [new]
    assert (await http.patch(f"/api/v0/memories/{new}", json={"tags": ["a"]})).status_code == 200


async def test_what_is_not_said_stays_as_it_was(http: httpx.AsyncClient) -> None:  # B4 S4.28
    c = await conversation_of(http)
    old = await remembered(http, conversation_id=c)

    answer = await supersede(http, old, valid_at="2026-05-04T09:00:00+02:00", reason="one file")
    assert answer.status_code == 201
    new = answer.json()
    assert (new["version"], new["supersedes"], new["reason"]) == (2, old, "one file")
    shown = (await http.get(f"/api/v0/memories/{new['id']}")).json()
    for name in ("category", "scope", "keywords", "importance", "conversation_id"):
        assert new[name] == shown[name] == (OLD | {"conversation_id": c})[name]
    assert new["valid_at"] == shown["valid_at"] == shown["occurred_at"] == "2026-05-04T07:00:00Z"
    assert (shown["active"], shown["text"]) == (True, "Orders are kept in SQLite")
    before = (await http.get(f"/api/v0/memories/{old}")).json()
    assert (before["active"], before["text"]) == (False, OLD["fact"])
    assert (before["invalid_at"], before["superseded_at"]) == (new["valid_at"], new["created_at"])
    for id in (old, new["id"]):
        chain = (await http.get(f"/api/v0/memories/{id}/versions")).json()["versions"]
        assert [(one["id"], one["reason"]) for one in chain] == [
            (old, None),
            (new["id"], "one file"),
        ]


async def test_what_is_said_counts(http: httpx.AsyncClient) -> None:
    c = await conversation_of(http)
    said = {"session_id": "s", "role": "user", "content": "We moved to SQLite"}
    path = f"/api/v0/conversations/{c}/messages"
    [source] = (await http.post(path, json={"messages": [said]})).json()["ids"]
    given = {
        "category": "correction",
        "scope": "user",
        "keywords": [],
        "importance": 0.1,
        "conversation_id": c,
    }
    new = (
        await supersede(http, await remembered(http), source_episode_ids=[source], **given)
    ).json()
    assert {name: new[name] for name in given} == given
    links = (await http.get(f"/api/v0/memories/{new['id']}/links")).json()
    assert [(one["type"], one["other_id"]) for one in links["links"]] == [("derived_from", source)]


async def test_a_version_of_what_begins_later_begins_no_earlier_unless_it_says_so(
    http: httpx.AsyncClient,
) -> None:
    c = str(uuid.uuid4())
    await http.post("/api/v0/conversations", json={"id": c})
    planned = await remembered(http, valid_at="2999-01-01T00:00:00Z", conversation_id=c)
    new = (await supersede(http, planned)).json()
    assert new["valid_at"] == "2999-01-01T00:00:00Z"
    sooner = await supersede(http, new["id"], valid_at="2998-06-01T00:00:00Z")
    assert sooner.json()["valid_at"] == "2998-06-01T00:00:00Z"
    for id in (planned, new["id"]):
        ended = (await http.get(f"/api/v0/memories/{id}")).json()
        assert ended["invalid_at"] == ended["valid_at"] == "2999-01-01T00:00:00Z"
    asked = {"query": "orders", "conversation_id": c, "include_superseded": True}
    found = (await http.post("/api/v0/retrieve_memory/raw", json=asked)).json()["semantic"]
    assert len(found) == 3
    assert all(one["invalid_at"] in (None, one["valid_at"]) for one in found)


async def test_a_category_that_was_legal_once_is_taken_over(http: httpx.AsyncClient) -> None:
    old = await remembered(http)
    await http.put("/api/v0/categories", json={"categories": ["recipe"]})
    new = await supersede(http, old)
    assert (new.status_code, new.json()["category"]) == (201, OLD["category"])
    refused = await supersede(http, new.json()["id"], category="goal")
    assert (refused.status_code, refused.json()["field"]) == (400, "category")


async def test_only_the_head_is_superseded_and_the_answer_names_it(
    http: httpx.AsyncClient,
) -> None:  # B4
    old = await remembered(http)
    middle = (await supersede(http, old)).json()["id"]
    head = (await supersede(http, middle, fact="Orders are kept in files")).json()["id"]
    for id in (old, middle):
        answer = await supersede(http, id)
        problem = answer.json()
        assert (answer.status_code, problem["code"], problem["head_id"]) == (409, "not_head", head)
        assert head in problem["detail"]
    assert len((await http.get(f"/api/v0/memories/{old}/versions")).json()["versions"]) == 3


async def test_of_many_at_once_one_wins_and_the_others_are_told_who(
    http: httpx.AsyncClient,
) -> None:  # B4
    old = await remembered(http)
    answers = await asyncio.gather(
        *(supersede(http, old, fact=f"Orders are kept in store {n}") for n in range(6))
    )
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 5
    [winner] = [answer.json()["id"] for answer in answers if answer.status_code == 201]
    assert {a.json()["head_id"] for a in answers if a.status_code == 409} == {winner}


async def test_foreign_unknown_and_no_facts_are_refused(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, memory: Graphmem
) -> None:
    mine, foreign = await remembered(http), await remembered(rival_http)
    source = (await rival_http.post(FACTS, json={"fact": "A source"})).json()["id"]
    for id in (foreign, str(uuid.uuid4())):
        answer = await supersede(http, id)
        assert (answer.status_code, answer.json()["code"]) == (404, "memory_not_found")
    for unknown in ({"source_episode_ids": [source]}, {"source_episode_ids": ["none"]}):
        assert (await supersede(http, mine, **unknown)).json()["code"] == "memory_not_found"
    gone = await supersede(http, mine, conversation_id="none")
    assert (gone.status_code, gone.json()["code"]) == (404, "conversation_not_found")
    said = {"session_id": "s", "role": "user", "content": "Hello"}
    message = (await memory.remember(await conversation_of(http), [said])).ids[0]
    refused = await supersede(http, message)
    assert (refused.status_code, refused.json()["field"]) == (400, "fact_id")
    assert "message" in refused.json()["detail"]
    [only] = (await http.get(f"/api/v0/memories/{mine}/versions")).json()["versions"]
    assert only["superseded_at"] is None


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"reason": " "}, 400, "reason"),
        ({"reason": "x" * 2_001}, 413, "reason"),
        ({"valid_at": "2026-05-04T09:00:00"}, 400, "valid_at"),
        ({"scope": "two words"}, 400, "scope"),
        ({"keywords": [""]}, 400, "keywords[0]"),
        ({"importance": 1.5}, 400, "importance"),
        ({"version": 7}, 400, "version"),
    ],
)
async def test_bad_input_is_named(
    body: dict[str, Any], status: int, field: str, refusing: httpx.AsyncClient
) -> None:
    answer = await supersede(refusing, str(uuid.uuid4()), **body)
    assert (answer.status_code, answer.json()["field"]) == (status, field), answer.text


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({"fact": " "}, 400, "invalid_input", "fact"),
        ({"fact": "x" * 10_001}, 413, "too_large", "fact"),
        ({"category": "nonsense"}, 400, "invalid_input", "category"),
        ({"importance": 1.5}, 400, "invalid_input", "importance"),
    ],
    ids=["blank", "too long", "category", "importance"],
)
async def test_bad_input_supersedes_nothing(
    body: dict[str, Any], status: int, code: str, field: str, http: httpx.AsyncClient
) -> None:
    old = await remembered(http)
    answer = await supersede(http, old, **body)
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.json()["field"] == field
    [only] = (await http.get(f"/api/v0/memories/{old}/versions")).json()["versions"]
    assert only["superseded_at"] is None


async def test_from_python_as_over_http(memory: Graphmem) -> None:
    old = await memory.remember_fact("Orders are kept in Postgres", importance=0.7)
    new = await memory.supersede_fact(old.id, "Orders are kept in SQLite", reason="smaller")
    assert (new.version, new.importance, new.reason) == (2, 0.7, "smaller")
    assert [one.id for one in (await memory.versions(old.id)).versions] == [old.id, new.id]


async def linked(memory: Graphmem, id: str) -> set[tuple[str, str, str]]:
    """Return the type, the direction and the other end of a memory's links."""
    links = (await memory.links(id, include_superseded=True)).links
    return {(one.type, one.direction, one.other_id) for one in links}


async def remembered_facts(memory: Graphmem, *facts: str) -> list[str]:
    return [(await memory.remember_fact(fact)).id for fact in facts]


async def test_a_version_has_the_links_of_the_one_before_but_not_its_contradictions_and_sources(
    memory: Graphmem,
) -> None:
    old, water, lunch, against, source = await remembered_facts(
        memory,
        "The ferry leaves at nine",
        "Low water is at eight",
        "Lunch is on board",
        "Nothing sails on Sundays",
        "A timetable hangs at the pier",
    )
    await memory.link(water, old, "relates_to")
    await memory.link(old, lunch, "refines")
    await memory.link(old, against, "contradicts")
    await memory.link(old, source, "derived_from")

    new = (await memory.supersede_fact(old, "The ferry leaves at half past nine")).id

    assert await linked(memory, new) == {("relates_to", "in", water), ("refines", "out", lunch)}
    assert {type for type, _, _ in await linked(memory, old)} == {
        "relates_to",
        "refines",
        "contradicts",
        "derived_from",
    }
    found = await memory.search("Low water is at eight", max_hops=1, max_results=2)
    assert [one.id for one in found.items] == [water, new]


async def test_two_linked_facts_that_are_superseded_at_once_stay_linked(memory: Graphmem) -> None:
    # Of one conversation one would wait for the other before it begins.
    for conversation in ("colours", "shapes"):
        await memory.open_conversation(conversation)
    red = (await memory.remember_fact("The buoy is red", conversation_id="colours")).id
    round = (await memory.remember_fact("The buoy is round", conversation_id="shapes")).id
    await memory.link(red, round, "relates_to")

    blue, square = await asyncio.gather(
        memory.supersede_fact(red, "The buoy is blue"),
        memory.supersede_fact(round, "The buoy is square"),
    )

    assert square.id in {other for _, _, other in await linked(memory, blue.id)}


async def test_with_each_correction_of_two_linked_facts_there_is_one_link_more(
    memory: Graphmem,
) -> None:
    wind, tide = await remembered_facts(memory, "The wind is west", "The tide is low")
    await memory.link(wind, tide, "relates_to")
    for number in range(3):
        wind = (await memory.supersede_fact(wind, f"The wind is {number} knots")).id
        before = tide
        tide = (await memory.supersede_fact(tide, f"The tide is {number} metres")).id

    ends = [("relates_to", "out", before), ("relates_to", "out", tide)]
    assert await linked(memory, wind) == set(ends)
    assert await linked(memory, tide) == {("relates_to", "in", wind)}


async def test_old_versions_take_no_place_among_the_links_that_a_hop_examines(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphmem.retrieval.expansion.LOOKED_AT", 2)
    harbour, light = await remembered_facts(memory, "The harbour is old", "The light is red")
    await memory.link(harbour, light, "relates_to")
    for colour in ("green", "white", "off"):
        light = (await memory.supersede_fact(light, f"The light is {colour}")).id

    found = await memory.search("The harbour is old", max_hops=1, max_results=2)

    assert ([one.id for one in found.items], found.degraded) == ([harbour, light], [])


async def test_a_version_from_the_past_has_the_links_to_what_held_then(memory: Graphmem) -> None:
    winter, spring = datetime(2026, 1, 10, tzinfo=UTC), datetime(2026, 3, 10, tzinfo=UTC)
    keeper = (await memory.remember_fact("Ana keeps the light", valid_at=winter)).id
    lamp = (await memory.remember_fact("The lamp burns oil", valid_at=winter)).id
    await memory.link(keeper, lamp, "relates_to")
    electric = await memory.supersede_fact(lamp, "The lamp is electric", valid_at=spring)

    february = datetime(2026, 2, 10, tzinfo=UTC)
    new = await memory.supersede_fact(keeper, "Tom keeps the light", valid_at=february)

    assert {id for _, _, id in await linked(memory, new.id)} == {lamp, electric.id}
    found = await memory.search("Tom keeps the light", as_of=february, max_hops=1, max_results=2)
    assert [one.id for one in found.items] == [new.id, lamp]


async def test_a_new_link_names_the_newest_versions_and_one_made_before_is_found_again(
    memory: Graphmem, http: httpx.AsyncClient
) -> None:
    old, lamp, buoy = await remembered_facts(
        memory, "The ferry leaves at nine", "The lamp is lit", "The buoy is red"
    )
    await memory.link(lamp, old, "refines")
    middle = await memory.supersede_fact(old, "The ferry leaves at ten")
    new = (await memory.supersede_fact(middle.id, "The ferry leaves at eleven")).id

    again = await memory.link(lamp, old, "refines")
    assert not again.created
    for ends in ({"from": buoy, "to": old}, {"from": middle.id, "to": buoy}):
        good = {"from": lamp, "to": buoy, "type": "references"}
        refused = await http.post("/api/v0/links", json=[good, ends | {"type": "contradicts"}])
        problem = refused.json()
        assert (refused.status_code, problem["code"], problem["head_id"]) == (409, "not_head", new)
    assert await linked(memory, buoy) == set()
    with pytest.raises(NotHead, match=new):
        await memory.link(buoy, old, "relates_to")
    assert (await memory.link(buoy, new, "relates_to")).created


async def test_a_link_made_while_its_end_is_superseded_leads_to_the_new_version_or_is_refused(
    memory: Graphmem,
) -> None:
    [lamp] = await remembered_facts(memory, "The lamp is lit")
    for number in range(6):
        [old] = await remembered_facts(memory, f"Boat {number} leaves at nine")
        new, made = await asyncio.gather(
            memory.supersede_fact(old, f"Boat {number} leaves at ten"),
            memory.link(lamp, old, "refines"),
            return_exceptions=True,
        )
        assert isinstance(new, FactVersion)
        assert isinstance(made, NotHead) or ("refines", "in", lamp) in await linked(memory, new.id)


@pytest.mark.parametrize("named", [(0, 0), (-1, -1), (0, -1)])
async def test_a_link_is_deleted_between_all_versions_of_both_memories(
    memory: Graphmem, named: tuple[int, int]
) -> None:
    before = await remembered_facts(memory, "The wind is west", "The tide is low")
    wind, tide = [before[0]], [before[1]]
    await memory.link(wind[0], tide[0], "refines")
    await memory.link(wind[0], tide[0], "contradicts")
    tide.append((await memory.supersede_fact(tide[0], "The tide is high")).id)
    wind.append((await memory.supersede_fact(wind[0], "The wind is east")).id)
    await memory.link(tide[1], wind[1], "refines")

    await memory.unlink(wind[named[0]], tide[named[1]], "refines")

    assert await linked(memory, wind[1]) == {("refines", "in", tide[1])}
    assert await linked(memory, wind[0]) == {("contradicts", "out", tide[0])}


async def test_a_list_of_links_has_each_neighbour_once_as_it_holds_now(
    memory: Graphmem, http: httpx.AsyncClient
) -> None:
    wind, tide = await remembered_facts(memory, "The wind is west", "The tide is low")
    await memory.link(wind, tide, "relates_to")
    high = (await memory.supersede_fact(tide, "The tide is high")).id

    [link] = (await memory.links(wind)).links
    assert (link.other_id, link.other_active) == (high, True)
    query = {"include_superseded": "true"}
    every = (await http.get(f"/api/v0/memories/{wind}/links", params=query)).json()["links"]
    assert {one["other_id"]: one["other_active"] for one in every} == {tide: False, high: True}


@pytest.mark.parametrize("known", [False, True])
async def test_versions_of_other_times_take_no_place_among_the_links_that_a_hop_examines(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    monkeypatch.setattr("graphmem.retrieval.expansion.LOOKED_AT", 2)
    days = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 7)]
    zebras = (await memory.remember_fact("Zebras graze", valid_at=days[0])).id
    lights = [(await memory.remember_fact("The light is red", valid_at=days[0])).id]
    await memory.link(zebras, lights[0], "relates_to")
    for day in days[1:]:
        light = await memory.supersede_fact(lights[-1], f"The light is {day:%A}", valid_at=day)
        lights.append(light.id)

    for place in (0, 3, 5):
        found = await memory.search(
            "Zebras graze",
            max_hops=1,
            as_of=days[place],
            known_as_of=datetime.now(UTC) if known else None,
        )
        steps = [(step.from_id, step.to_id) for step in found.hop_paths]
        assert (steps, found.degraded) == ([(zebras, lights[place])], [])


async def test_a_version_that_begins_before_the_head_has_the_links_of_older_versions_of_that_time(
    memory: Graphmem,
) -> None:
    winter, spring, summer, autumn = (
        datetime(2026, month, 1, tzinfo=UTC) for month in (1, 3, 6, 9)
    )
    keeper = (await memory.remember_fact("Ana keeps the light", valid_at=winter)).id
    oil = (await memory.remember_fact("The lamp burns oil", valid_at=winter)).id
    await memory.link(keeper, oil, "refines")
    gone = (await memory.remember_fact("The pier is closed", valid_at=winter)).id
    await memory.link(keeper, gone, "refines")
    gas = (await memory.supersede_fact(oil, "The lamp burns gas", valid_at=summer)).id
    tom = (await memory.supersede_fact(keeper, "Tom keeps the light", valid_at=autumn)).id
    await memory.unlink(tom, gone, "refines")
    assert await linked(memory, tom) == {("refines", "out", gas)}

    eva = (await memory.supersede_fact(tom, "Eva keeps the light", valid_at=spring)).id

    assert await linked(memory, eva) == {("refines", "out", oil), ("refines", "out", gas)}
    found = await memory.search("Eva keeps the light", as_of=spring, max_hops=1, max_results=2)
    assert [one.id for one in found.items] == [eva, oil]


async def test_a_link_by_similarity_has_the_score_of_the_new_text(memory: Graphmem) -> None:
    [white] = await remembered_facts(memory, "The harbour wall is painted white")
    kept = await memory.remember_fact("The harbour wall is painted grey")
    [near] = kept.similar
    new = (await memory.supersede_fact(kept.id, "Ferries need a new timetable")).id

    [link] = (await memory.links(new)).links
    assert (near.id, link.other_id, link.basis) == (white, white, "similar")
    assert link.score is not None
    assert 0 <= link.score < 0.75 < near.score
