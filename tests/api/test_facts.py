"""Facts over HTTP: new or reinforced, never lost; categories are the client's own; bad input is named."""

import asyncio
import uuid
from typing import Any

import httpx
import pytest

from bench.near_duplicates import ONE_WORD_APART, SAME_AGAIN
from graphmem.client import Graphmem
from graphmem.model.vocabulary import CATEGORIES
from graphmem.runtime import Runtime

FACTS = "/api/v0/facts"
LINKS = """CYPHER 25
MATCH (one:Fact {client_id: $client_id})-[link:RELATES_TO]->(other:Fact {client_id: $client_id})
RETURN one.id AS one, other.id AS other, link.basis AS basis, link.score AS score"""
STORED = """CYPHER 25
MATCH (fact:Fact {client_id: $client_id})
OPTIONAL MATCH (fact)-[:DERIVED_FROM]->(source:Memory {client_id: $client_id})
RETURN fact.id AS id, fact.text AS text, fact.reinforced AS reinforced, fact.importance AS importance,
  fact.keywords AS keywords, fact.search_text AS search_text, fact.version AS version,
  fact.category AS category, fact.other_categories AS other_categories,
  collect(source.id) AS sources"""


def fact(text: str = "The user prefers dark mode", **more: Any) -> dict[str, Any]:
    return {"fact": text, "category": "preference"} | more


async def opened(http: httpx.AsyncClient) -> str:
    return (await http.post("/api/v0/conversations", json={})).json()["id"]


async def said(http: httpx.AsyncClient, conversation_id: str, *contents: str) -> list[str]:
    messages = [{"session_id": "s", "role": "user", "content": one} for one in contents]
    path = f"/api/v0/conversations/{conversation_id}/messages"
    return (await http.post(path, json={"messages": messages})).json()["ids"]


async def stored(runtime: Runtime, memory: Graphmem) -> dict[str, dict[str, Any]]:
    rows = await runtime.graph.execute(STORED, client_id=memory.client_id)
    return {row["id"]: row for row in rows}


async def test_a_fact_is_new_then_reinforced_and_an_object_gives_an_object(
    http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    first = await http.post(FACTS, json=fact(importance=0.2))
    assert first.status_code == 201
    assert (first.json()["action"], first.json()["similar"]) == ("new", [])
    again = await http.post(FACTS, json=fact("user prefers the dark mode.", importance=0.9))
    assert again.status_code == 200
    assert again.json() == first.json() | {"action": "reinforced"}
    [row] = (await stored(runtime, memory)).values()
    assert (row["reinforced"], row["importance"], row["version"]) == (1, 0.9, 1)
    listed = await http.post(FACTS, json=[fact(), fact("Mara has two cats", keywords=["Ballast"])])
    assert listed.status_code == 201
    assert [one["action"] for one in listed.json()] == ["reinforced", "new"]
    shown = (await http.get(f"/api/v0/memories/{first.json()['id']}")).json()
    assert (shown["kind"], shown["category"], shown["scope"]) == ("fact", "preference", "user")


async def test_fifty_pairs_that_differ_in_one_word_lose_none_and_are_linked(
    http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    assert len(ONE_WORD_APART) == 50
    # Each pair in a scope of its own, since some facts stand in two pairs.
    for half in (0, 1):
        for begin in (0, 25):
            sent = [
                fact(pair[half], scope=f"pair-{place}")
                for place, pair in enumerate(ONE_WORD_APART)
                if begin <= place < begin + 25
            ]
            answer = await http.post(FACTS, json=sent)
            assert {one["action"] for one in answer.json()} == {"new"}
            if half:
                assert all(one["similar"] for one in answer.json())
    assert len(await stored(runtime, memory)) == 100
    links = await runtime.graph.execute(LINKS, client_id=memory.client_id)
    assert len(links) == 50
    assert {link["basis"] for link in links} == {"similar"}
    assert all(0.75 <= link["score"] <= 1 for link in links)


async def test_pairs_in_one_batch_lose_none_either_and_what_is_the_same_is_one(
    http: httpx.AsyncClient,
) -> None:
    both = [fact(text, scope=f"p{n}") for n, pair in enumerate(ONE_WORD_APART) for text in pair]
    answer = await http.post(FACTS, json=both)
    assert {one["action"] for one in answer.json()} == {"new"}
    same = [fact(text, scope=f"s{n}") for n, pair in enumerate(SAME_AGAIN) for text in pair]
    kept = (await http.post(FACTS, json=same)).json()
    assert [one["action"] for one in kept] == ["new", "reinforced"] * len(SAME_AGAIN)
    assert [one["id"] for one in kept[::2]] == [one["id"] for one in kept[1::2]]


LESSENED = """CYPHER 25
MATCH (fact:Fact {client_id: $client_id})
REMOVE fact.keywords, fact.reinforced"""


async def test_a_stored_fact_that_another_program_left_incomplete_is_read_and_made_whole(
    http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    conversation_id = str(uuid.uuid4())
    await memory.open_conversation(id=conversation_id)
    known = fact(conversation_id=conversation_id)
    first = (await http.post(FACTS, json=known)).json()
    await runtime.graph.execute(LESSENED, client_id=memory.client_id)

    asked = {"query": "dark mode", "conversation_id": conversation_id}
    found = await http.post("/api/v0/retrieve_memory/raw", json=asked)
    assert [one["keywords"] for one in found.json()["semantic"]] == [[]]
    # Found by its vector, then by its words alone: these keywords move the vector away.
    again = await http.post(FACTS, json=known)
    assert again.json() == first | {"action": "reinforced"}
    await runtime.graph.execute(LESSENED, client_id=memory.client_id)
    others = ["ui", "Quastel Holdings", "household", "Mara Lind"]
    again = await http.post(FACTS, json=known | {"keywords": others})
    assert again.json() == first | {"action": "reinforced"}
    [row] = (await stored(runtime, memory)).values()
    assert (row["keywords"], row["reinforced"]) == (others, 1)


async def test_nothing_is_lost_by_reinforcing(http: httpx.AsyncClient) -> None:
    conversation_id = await opened(http)
    known = fact(keywords=["editor"])
    first = (await http.post(FACTS, json=known)).json()
    for other in (
        known | {"scope": "repo"},
        known | {"conversation_id": conversation_id},
    ):
        kept = (await http.post(FACTS, json=other)).json()
        assert (kept["action"], kept["id"] != first["id"]) == ("new", True)
    assert (await http.post(FACTS, json=known)).json()["action"] == "reinforced"


async def test_joined_letters_are_no_others_and_raised_digits_are(http: httpx.AsyncClient) -> None:
    sent = (
        "The oﬃce is open.",
        "The office is open.",
        "The hall has 10² seats.",
        "The hall has 102 seats.",
    )
    kept = [(await http.post(FACTS, json=fact(text))).json()["action"] for text in sent]
    assert kept == ["new", "reinforced", "new", "new"]


async def test_the_same_fact_with_other_keywords_or_another_category_gets_both(
    http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    c = await opened(http)
    known = fact(keywords=["editor", "UI"], conversation_id=c)
    first = (await http.post(FACTS, json=known)).json()
    # Keywords of this kind move the vector of the fact to a cosine of about .8.
    others = ["ui", "Quastel Holdings", "household", "Mara Lind"]
    sent = [known | {"keywords": others}, known | {"category": "guideline", "keywords": ["last"]}]
    for one in sent:
        assert (await http.post(FACTS, json=one)).json() == first | {"action": "reinforced"}
    [row] = (await stored(runtime, memory)).values()
    assert row["keywords"] == ["editor", "UI", *others[1:], "last"]
    assert row["search_text"] == " ".join([row["text"], *row["keywords"]])
    assert (row["category"], row["other_categories"]) == ("preference", ["guideline"])
    assert row["reinforced"] == 2
    shown = (await http.get(f"/api/v0/memories/{first['id']}")).json()
    assert shown["other_categories"] == ["guideline"]
    for category, count in (("preference", 1), ("guideline", 1), ("goal", 0)):
        asked = {"query": "colours", "conversation_id": c, "category": category}
        found = (await http.post("/api/v0/retrieve_memory/raw", json=asked)).json()["semantic"]
        assert len(found) == count
    version = await http.post(f"{FACTS}/{first['id']}/supersede", json={"fact": "No dark mode"})
    inherited = (await http.get(f"/api/v0/memories/{version.json()['id']}")).json()
    assert inherited["other_categories"] == ["guideline"]


async def test_the_same_fact_is_found_by_its_words_where_others_lie_nearer(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphmem.facts.remember.NEAREST", 1)
    keywords = ["Quastel Holdings", "household", "Mara Lind"]
    sent = [fact(), fact("The user prefers light mode", keywords=keywords)]
    known = (await http.post(FACTS, json=sent)).json()[0]
    again = (await http.post(FACTS, json=fact(keywords=keywords))).json()
    assert (again["id"], again["action"]) == (known["id"], "reinforced")
    other = (await http.post(FACTS, json=fact(scope="repo", keywords=keywords))).json()
    assert other["action"] == "new"


async def test_a_repeated_fact_is_found_by_the_keywords_that_it_has_got(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    both = [fact(), fact(keywords=["Quastel Holdings", "sauerkraut"])]
    new, again = (await http.post(FACTS, json=both)).json()
    assert (new["action"], again["action"]) == ("new", "reinforced")
    await http.post(FACTS, json=fact("Mara keeps a barrel of fermented herring"))
    near = await memory.recall("pickled cabbage", kinds=["fact"], ranking="vector")
    assert near.items[0].id == new["id"]
    words = await memory.recall("Quastel", kinds=["fact"], ranking="bm25")
    assert [item.id for item in words.items] == [new["id"]]
    assert [one.name for one in (await memory.entities(name="Quastel")).entities] == [
        "Quastel Holdings"
    ]


async def test_of_equal_facts_that_come_together_one_is_new(
    http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    conversation_id = await opened(http)
    for more in ({}, {"conversation_id": conversation_id}):
        answers = await asyncio.gather(*(http.post(FACTS, json=fact(**more)) for _ in range(6)))
        actions = sorted(one.json()["action"] for one in answers)
        assert actions == ["new"] + ["reinforced"] * 5
        assert len({one.json()["id"] for one in answers}) == 1
    assert [row["reinforced"] for row in (await stored(runtime, memory)).values()] == [5, 5]


async def test_a_fact_is_found_by_an_entity_that_stands_only_in_its_keywords(  # S2.24
    http: httpx.AsyncClient,
) -> None:
    text = "The user prefers written agreements"
    id = (await http.post(FACTS, json=fact(text, keywords=["Quastel Holdings"]))).json()["id"]
    await http.post(FACTS, json=fact("The cat sleeps on the keyboard"))
    found = await http.post(
        "/api/v0/recall", json={"query": "Quastel", "kinds": ["fact"], "ranking": "bm25"}
    )
    assert [item["id"] for item in found.json()["items"]] == [id]


async def test_sources_are_joined_and_each_repetition_brings_its_own(
    http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    conversation_id = await opened(http)
    ids = await said(http, conversation_id, "I like dark mode.", "Dark mode, please.")
    body = {"conversation_id": conversation_id, "message_ids": ids[:1]}
    episode = (await http.post("/api/v0/episodes", json=body)).json()["id"]
    new = fact(conversation_id=conversation_id, source_episode_ids=[episode, episode])
    kept = (await http.post(FACTS, json=new)).json()
    assert (await stored(runtime, memory))[kept["id"]]["sources"] == [episode]
    await http.post(FACTS, json=new | {"source_episode_ids": [ids[1]]})
    row = (await stored(runtime, memory))[kept["id"]]
    assert sorted(row["sources"]) == sorted([episode, ids[1]])


async def test_another_client_s_fact_reinforces_nothing_and_its_ids_are_unknown(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    foreign_conversation = await opened(rival_http)
    [foreign] = await said(rival_http, foreign_conversation, "Dark mode.")
    await rival_http.post(FACTS, json=fact())
    kept = (await http.post(FACTS, json=fact())).json()
    assert (kept["action"], kept["similar"]) == ("new", [])
    for change, known in (
        ({"source_episode_ids": [foreign]}, foreign),
        ({"conversation_id": foreign_conversation}, foreign_conversation),
    ):
        hidden = await http.post(FACTS, json=fact("Something else") | change)
        [name] = change
        nobody = [known[::-1]] if name == "source_episode_ids" else "nobody-s"
        unknown = await http.post(FACTS, json=fact("Something else") | {name: nobody})
        assert hidden.status_code == unknown.status_code == 404
        assert hidden.json()["code"] == unknown.json()["code"]
    assert len(await stored(runtime, memory)) == 1


async def test_a_batch_is_all_or_none(
    http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    sent = [fact(), fact("Other", source_episode_ids=["nothing"])]
    assert (await http.post(FACTS, json=sent)).status_code == 404
    assert await stored(runtime, memory) == {}


@pytest.mark.parametrize(
    ("body", "field", "told"),
    [
        (fact(category="recipe"), "category", ", ".join(CATEGORIES)),
        ([fact(), fact("x", category="recipe")], "[1].category", "identity, preference"),
        ([fact(), fact("  ")], "[1].fact", "blank"),
    ],
)
async def test_what_cannot_be_a_fact_writes_nothing(
    body: Any, field: str, told: str, http: httpx.AsyncClient, runtime: Runtime, memory: Graphmem
) -> None:
    answer = await http.post(FACTS, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["field"]) == ("invalid_input", field)
    assert told in answer.json()["detail"]
    assert await stored(runtime, memory) == {}


@pytest.mark.parametrize(
    ("body", "field", "told"),
    [
        (fact("  "), "fact", "blank"),
        (fact(""), "fact", "at least 1 character"),
        ({"category": "goal"}, "fact", "missing required"),
        (fact(scope="two words"), "scope", "the form that it must have"),
        (fact(keywords=["a", " "]), "keywords[1]", "blank"),
        (fact(importance=1.5), "importance", "<= 1.0"),
        (fact(valid_at="2026-03-02T09:30:00"), "valid_at", "its zone"),
        (fact(colour="red"), "colour", "unknown field"),
        ([], "body", "at least 1 entry"),
        ([fact(str(number)) for number in range(101)], "body", "at most 100"),
    ],
)
async def test_what_cannot_be_a_fact_is_named(
    body: Any, field: str, told: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.post(FACTS, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["field"] == field
    assert told in answer.json()["detail"]


async def test_too_long_a_fact_is_too_large(refusing: httpx.AsyncClient) -> None:
    answer = await refusing.post(FACTS, json=fact("x" * 10_001))
    assert (answer.status_code, answer.json()["field"]) == (413, "fact")


async def test_a_source_is_an_episode_or_a_message(http: httpx.AsyncClient) -> None:
    id = (await http.post(FACTS, json=fact())).json()["id"]
    answer = await http.post(FACTS, json=fact("Another", source_episode_ids=[id]))
    assert (answer.status_code, answer.json()["field"]) == (400, "source_episode_ids")


async def test_categories_are_the_client_s_own(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient
) -> None:
    assert (await http.get("/api/v0/categories")).json() == {"categories": list(CATEGORIES)}
    chosen = await http.put("/api/v0/categories", json={"categories": ["recipe", "guest"]})
    assert (chosen.status_code, chosen.json()) == (200, {"categories": ["recipe", "guest"]})
    assert (await http.get("/api/v0/categories")).json() == chosen.json()
    assert (await rival_http.get("/api/v0/categories")).json() == {"categories": list(CATEGORIES)}
    assert (await http.post(FACTS, json=fact(category="recipe"))).status_code == 201
    refused = await http.post(FACTS, json=fact())
    assert refused.status_code == 400
    assert refused.json()["detail"].endswith("recipe, guest")
    assert (await rival_http.post(FACTS, json=fact())).status_code == 201


@pytest.mark.parametrize(
    ("categories", "field"),
    [
        ([], "categories"),
        (["a", "a"], "categories"),
        (["two words"], "categories[0]"),
        ("a", "categories"),
    ],
)
async def test_categories_that_cannot_be_are_named(
    categories: Any, field: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.put("/api/v0/categories", json={"categories": categories})
    assert (answer.status_code, answer.json()["field"]) == (400, field)


async def test_categories_that_cannot_be_change_nothing(http: httpx.AsyncClient) -> None:
    answer = await http.put("/api/v0/categories", json={"categories": ["a", "a"]})
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert answer.json()["field"] == "categories"
    assert (await http.get("/api/v0/categories")).json() == {"categories": list(CATEGORIES)}
