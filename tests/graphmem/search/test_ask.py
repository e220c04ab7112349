"""Search on a real Neo4j with the real embedding model: what is found, in which order, within what."""

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, get_args

import pytest
import pytest_asyncio
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.errors import InvalidInput, Unavailable
from graphmem.graph.installation import Calibration
from graphmem.memories.cards import StoredCard, load_stored_cards
from graphmem.model.vocabulary import SourceType
from graphmem.retrieval import finding
from graphmem.retrieval.filters import Sources
from graphmem.retrieval.finding import Candidate
from graphmem.retrieval.heads import Head
from graphmem.retrieval.understanding import NO_VECTOR
from graphmem.runtime import Runtime
from graphmem.search import ask as module
from graphmem.search.types import SearchQuery, SearchResult, SortBy, SpanSearchResult
from tests.planted import plant
from tests.scripted import ScriptedGraph, scripted_context

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


def thread(**other: Any) -> dict[str, Any]:
    return {
        "type": "thread",
        "target_id": "thread-1",
        "platform": "instagram",
        "participant_count": 2,
        "message_count": 10,
        "key_points": ["User asked about pricing", "Interested in premium plan", "Wants a demo"],
        "sentiment": "positive",
        "last_activity_at": MARCH,
    } | other


def plan(**other: Any) -> dict[str, Any]:
    return {
        "type": "plan",
        "target_id": "plan-1",
        "plan_type": "content_calendar",
        "total_nodes": 10,
        "completed_nodes": 5,
        "pending_nodes": 5,
        "failed_nodes": 0,
        "key_milestones": ["Week 1 complete", "Pricing page drafted"],
        "current_phase": "execution",
        "last_activity_at": MARCH + timedelta(days=2),
    } | other


def card(label: str, description: str, **other: Any) -> dict[str, Any]:
    return {
        "type": "knowledge_base",
        "target_id": label.lower().replace(" ", "-"),
        "label": label,
        "description": description,
        "occurred_at": MARCH,
    } | other


FAQ = card(
    "Product FAQ",
    "Frequently asked questions about pricing and features",
    target_id="kb-1",
    importance=0.9,
    metadata={"language": "en"},
    occurred_at=MARCH + timedelta(days=1),
)


async def write_catalogue(memory: Graphmem) -> dict[str, str]:
    """Write the specification's thread, plan and reference, an offer and a span; return their ids."""
    faq, offer = await memory.add_references(
        [FAQ, card("Spring offer", "A discount on yearly pricing", type="offer", importance=0.1)]
    )
    text = "The price list: pricing starts at 10 euros."
    span = await memory.register_span(
        source_type="knowledge_base",
        source_id="kb-1",
        start_byte=0,
        end_byte=len(text),
        content=text,
        occurred_at=MARCH + timedelta(days=3),
    )
    return {
        "thread": (await memory.add_summary(**thread())).id,
        "plan": (await memory.add_summary(**plan())).id,
        "faq": faq.id,
        "offer": offer.id,
        "span": span.id,
    }


@pytest_asyncio.fixture
async def catalogue(memory: Graphmem, rival: Graphmem) -> dict[str, str]:
    """This test's client's catalogue; its rival has one that matches better."""
    await rival.add_references(
        [card(f"Pricing {n}", "pricing pricing pricing", importance=1.0) for n in range(5)]
    )
    return await write_catalogue(memory)


def ids(found: SearchResult | SpanSearchResult) -> list[str]:
    return [item.id for item in found.items]


async def test_every_source_is_searched_when_none_is_named(memory: Graphmem, catalogue):
    found = await memory.search("pricing")

    assert set(ids(found)) == set(catalogue.values())  # S1.24 S1.25 S1.64
    assert found.total_count >= len(found.items)
    assert all(0.0 < item.relevance <= 1.0 for item in found.items)  # S1.28
    assert found.total_is_exact
    assert (found.degraded, found.hops_used, found.hop_paths) == ([], 0, [])
    assert found.query.query == "pricing"  # S1.17
    assert found.query.sort_by == "relevance"  # S1.14


async def test_an_item_is_shown_as_the_specification_has_it(memory: Graphmem, catalogue):
    found = {item.id: item for item in (await memory.search("pricing")).items}
    faq, talk, plan = (found[catalogue[name]] for name in ("faq", "thread", "plan"))

    assert (faq.source_type, faq.source_id, faq.label) == ("knowledge_base", "kb-1", "Product FAQ")
    assert faq.snippet == FAQ["description"]
    assert faq.metadata == {"language": "en"}
    assert (faq.importance, faq.token_estimate) == (0.9, 100)  # S1.35
    assert faq.combined_score == pytest.approx(0.7 * faq.relevance + 0.27)  # S1.31
    assert talk.label == "Thread: instagram (10 messages)"  # S1.32
    assert talk.snippet == "User asked about pricing. Interested in premium plan"  # S1.33
    assert talk.metadata["platform"] == "instagram"  # S1.34
    assert talk.importance == 0.5
    assert plan.label == "Plan: content_calendar (50% complete)"
    assert {"vector", "meaning", "words", "bm25"} <= set(faq.scores)
    assert set(faq.ranks) == {"vector", "bm25"}


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["thread_summary"], {"thread"}),
        (["plan_summary"], {"plan"}),
        (["knowledge_base"], {"faq", "span"}),
        (["offer", "thread_summary"], {"offer", "thread"}),
        (["span"], {"span"}),
        (["span", "offer"], {"span", "offer"}),
        (["message"], set()),
    ],
)
async def test_only_the_types_named_are_found(memory: Graphmem, catalogue, types, expected):
    for query in ("pricing", "*"):
        found = await memory.search(query, source_types=types)

        assert set(ids(found)) == {catalogue[name] for name in expected}  # S1.9 S1.26
        assert found.total_count == len(expected)
        assert found.total_is_exact
        assert all(item.source_type in types or item.kind == "span" for item in found.items)


async def test_only_the_sources_named_are_found(memory: Graphmem, catalogue):
    for query in ("pricing", "*"):
        found = await memory.search(query, source_ids=["kb-1", "plan-1", "unknown"])
        assert set(ids(found)) == {catalogue[name] for name in ("faq", "span", "plan")}  # S1.10
        one = await memory.search(query, source_ids=["kb-1"], source_types=["span"])
        assert ids(one) == [catalogue["span"]]
        assert (await memory.search(query, source_ids=["pricing-1", "nowhere"])).items == []


async def test_messages_episodes_and_facts_are_found_named_or_not(
    memory: Graphmem, rival: Graphmem
):
    await rival.remember_fact("Pricing pricing pricing")
    await memory.open_conversation("c")
    said = await memory.remember(
        "c", [{"session_id": "s", "role": "user", "content": "The pricing is too high."}]
    )
    fact, episode = await plant(
        memory,
        {"kind": "fact", "text": "Pricing worries the user", "category": "preference", "keywords": [],
         "conversation_id": "c", "version": 1},
        {"kind": "episode", "text": "They argued about pricing", "title": "Pricing"},
    )  # fmt: skip

    for query in ("pricing", "*"):
        assert set(ids(await memory.search(query))) == {*said.ids, fact, episode}  # S1.24
        here = await memory.search(query, conversation_id="c")
        assert set(ids(here)) == {*said.ids, fact}
    by_types: list[tuple[list[SourceType], set[str]]] = [
        (["message"], set(said.ids)),
        (["fact"], {fact}),
        (["episode", "fact", "message"], {*said.ids, fact, episode}),
    ]
    for types, expected in by_types:
        assert set(ids(await memory.search("pricing", source_types=types))) == expected
        assert set(ids(await memory.search("*", source_types=types))) == expected
    here = await memory.search("pricing", source_types=["fact", "episode"], conversation_id="c")
    assert ids(here) == [fact]
    listed = await memory.search("*", source_types=["fact", "episode"], conversation_id="c")
    assert ids(listed) == [fact]
    assert (await memory.search("pricing", conversation_id="elsewhere")).total_count == 0


async def test_since_is_inclusive_and_until_exclusive(memory: Graphmem, catalogue):
    for query in ("pricing", "*"):
        later = await memory.search(query, since=MARCH + timedelta(days=1))
        assert set(ids(later)) == {catalogue[name] for name in ("faq", "plan", "span")}  # S1.36
        before = await memory.search(query, until=MARCH + timedelta(days=1))
        assert set(ids(before)) == {catalogue[name] for name in ("thread", "offer")}
        day = await memory.search(query, since=MARCH, until=MARCH + timedelta(days=1))
        assert set(ids(day)) == set(ids(before))


async def test_min_relevance_drops_what_is_less_relevant(memory: Graphmem, catalogue):
    everything = (await memory.search("pricing")).items
    border = everything[2].relevance

    found = await memory.search("pricing", min_relevance=border)
    assert ids(found) == [item.id for item in everything if item.relevance >= border]  # S1.13
    assert found.total_count == len(found.items) < len(everything)


async def test_what_matches_nothing_is_no_result(memory: Graphmem, catalogue):
    await memory.add_reference(**card("Kitchen rules", "Wash your cup after lunch"))

    found = await memory.search("zzyzx quuxolotl")
    assert [item.id for item in found.items if item.scores["words"] > 0] == []
    assert all(item.scores["meaning"] > 0 for item in found.items)
    kitchen = await memory.search("AUTH-401 token server clock drift")
    assert "Kitchen rules" not in {item.label for item in kitchen.items}


@pytest.mark.parametrize("sort_by", get_args(SortBy))
@pytest.mark.parametrize("query", ["pricing", "*"])
async def test_four_orders(memory: Graphmem, catalogue, query: str, sort_by: SortBy):
    found = await memory.search(query, sort_by=sort_by)
    key = {
        "relevance": lambda item: item.relevance,
        "recency": lambda item: item.occurred_at,
        "importance": lambda item: item.importance,
        "combined": lambda item: item.combined_score,
    }[sort_by]

    assert len(found.items) == 5
    for first, second in pairwise(found.items):
        assert key(first) >= key(second)  # S1.37 S1.38 S1.39
        if key(first) == key(second):
            assert (first.occurred_at, second.id) >= (second.occurred_at, first.id)
    assert [item.rank for item in found.items] == [1, 2, 3, 4, 5]


FRUIT = (
    "papaya",
    "papaya and mango",
    "papaya, mango, lime, quince, medlar, fig and sorb in a bowl",
)


@pytest.mark.parametrize("least", [None, 0.05])
@pytest.mark.parametrize("sort_by", ["recency", "importance", "combined"])
async def test_an_order_begins_with_the_first_of_all_that_matches(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch, sort_by: SortBy, least: float | None
):
    """Here the more important and the newer a reference is, the less relevant it is."""
    cards = [
        card(
            f"Fruit {place}",
            FRUIT[place // 8],
            importance=place / 24,
            occurred_at=MARCH + timedelta(days=place),
        )
        for place in range(24)
    ]
    written = [one.id for one in await memory.add_references(cards)]
    monkeypatch.setattr(finding, "LEAST_POOL", 4)

    found = await memory.search("papaya", sort_by=sort_by, max_results=2, min_relevance=least)
    every = await memory.search("papaya", sort_by=sort_by, max_results=200, min_relevance=least)

    assert ids(found) == ids(every)[:2]  # S1.37 S1.38 S1.39
    if sort_by != "combined":
        assert ids(found) == written[:-3:-1]
    assert (found.total_count, found.total_is_exact) == (24, True)
    assert found.omitted_total == 22
    monkeypatch.setattr(finding, "MATCHING", 6)
    assert not (await memory.search("papaya", sort_by=sort_by, max_results=2)).total_is_exact


async def test_of_equals_the_more_important_wins_when_combined(memory: Graphmem):
    plain, weighty = await memory.add_references(
        [card("Pricing", "pricing", importance=value) for value in (0.2, 0.8)]
    )

    assert ids(await memory.search("pricing", sort_by="combined")) == [weighty.id, plain.id]


async def test_everything_is_half_relevant_and_counted(memory: Graphmem, catalogue):
    found = await memory.search("*", max_results=2)

    assert {item.relevance for item in found.items} == {0.5}
    assert (found.total_count, found.total_is_exact, found.omitted_total) == (5, True, 3)
    assert {one.reason for one in found.omitted} == {"beyond_limit"}
    assert (await memory.search("*", min_relevance=0.51)).items == []
    assert (await memory.search(" * ", min_relevance=0.5)).total_count == 5


@pytest.mark.parametrize("budget", [1, 20, 60, 100, 130, 1_000])
@pytest.mark.parametrize("query", ["pricing", "*"])
async def test_a_budget_holds_and_says_what_it_left_out(
    memory: Graphmem, catalogue, query: str, budget: int
):
    whole = await memory.search(query)
    found = await memory.search(query, max_tokens=budget)

    assert found.tokens_used == sum(item.token_estimate for item in found.items)
    assert found.tokens_used <= budget  # S1.12 S1.27 S1.66
    assert whole.tokens_used == sum(item.token_estimate for item in whole.items)
    # By rank: what was left out would not have fitted when its turn came.
    room, expected = budget, []
    for item in whole.items:
        if item.token_estimate <= room:
            room -= item.token_estimate
            expected.append(item.id)
    assert ids(found) == expected
    assert {one.id for one in found.omitted} == set(ids(whole)) - set(expected)
    assert {one.reason for one in found.omitted} <= {"no_room"}


@pytest.mark.parametrize("sort_by", [None, "recency", "importance", "combined"])
async def test_what_fits_a_budget_is_found_behind_many_that_do_not(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch, sort_by: SortBy | None
):  # S1.12
    monkeypatch.setattr(finding, "LEAST_POOL", 2)
    await memory.add_references([card(f"Pricing {n}", "all about pricing") for n in range(12)])
    small = card("Parking", "less about pricing than about parking")
    small["span_pointer"] = {"span_id": "s", "token_estimate": 20}
    [short] = await memory.add_references([small])

    found = await memory.search("pricing", max_results=1, max_tokens=60, sort_by=sort_by)

    assert ids(found) == [short.id]
    assert (found.tokens_used, found.total_count, found.omitted_total) == (20, 13, 12)


async def test_there_are_never_more_than_asked_and_ten_unless_said(memory: Graphmem):
    await memory.add_references([card(f"Pricing {n}", "about pricing") for n in range(25)])

    found = await memory.search("pricing")
    assert len(found.items) == 10  # S1.11
    assert (found.total_count, found.omitted_total) == (25, 15)
    assert len((await memory.search("pricing", max_results=3)).items) == 3
    assert len((await memory.search("pricing", max_results=200)).items) == 25


async def test_without_vectors_the_words_decide_and_the_answer_says_so(
    memory: Graphmem, catalogue, monkeypatch: pytest.MonkeyPatch
):
    async def fail(text: str) -> None:
        raise Unavailable("the embedding model failed")

    monkeypatch.setattr(memory.runtime.embedder, "query", fail)
    found = await memory.search("pricing discount")

    assert found.degraded == [NO_VECTOR]
    assert found.items[0].id == catalogue["offer"]
    assert found.items[0].relevance == 1.0  # S1.29
    assert all(item.relevance == 0.5 for item in found.items[1:])
    assert all(set(item.ranks) == {"bm25"} for item in found.items)


@pytest.mark.parametrize("sort_by", ["relevance", "recency", "combined"])
async def test_no_score_tells_of_the_words_of_another_client(
    memory: Graphmem, rival: Graphmem, sort_by: SortBy
):
    texts = ["The quastel is in the harbour.", "The quastel leaks.", "A harbour.", "Boats"]
    await memory.register_spans(
        {
            "source_type": "offer",
            "source_id": "o",
            "start_byte": 100 * place,
            "end_byte": 100 * place + len(text),
            "content": text,
        }
        for place, text in enumerate(texts)
    )

    async def ask() -> list[Any]:
        found = await memory.search("quastel harbour", sort_by=sort_by)
        spans = await memory.search_spans("quastel harbour")
        async with memory.run(agent_type="a", episode_id="e") as run:
            read = await run.retrieve("quastel harbour", max_tokens=500)
        return [
            [(one.scores, one.ranks) for one in (*found.items, *spans.items)],
            [one.scores for one in read.spans],
        ]

    before = await ask()
    await rival.remember_facts([{"fact": f"quastel {n} quastel"} for n in range(40)])

    assert await ask() == before
    assert all(scores["bm25"] > 0.0 for scores, _ in before[0] if scores["words"] == 1.0)


async def test_words_match_whatever_their_case(memory: Graphmem):
    texts = ["Große Straße", "GROSSE STRASSE", "Grosse Strasse", "Quiet ΟΔΟΣ", "quiet οδος"]
    await memory.add_references([card(text, text) for text in texts])

    for query, found in (("STRASSE", texts[:3]), ("große straße", texts[:3]), ("οδοσ", texts[3:])):
        words = await memory.search(query, max_results=50)
        scored = {item.label for item in words.items if item.scores["words"] == 1.0}
        assert scored == set(found)  # S1.29
        assert all(item.scores.get("bm25") for item in words.items if item.label in found)


async def test_a_long_text_is_matched_to_its_end(memory: Graphmem):
    await memory.open_conversation("c")
    long = "nothing much happens here. " * 4_000 + "Then the zeppelin landed."
    [id] = (await memory.remember("c", [{"session_id": "s", "role": "user", "content": long}])).ids

    found = await memory.search("zeppelin", source_types=["message"])
    assert ids(found) == [id]
    assert found.items[0].scores["words"] == 1.0


async def test_what_is_deleted_while_it_is_searched_is_passed_over(
    memory: Graphmem, catalogue, monkeypatch: pytest.MonkeyPatch
):
    async def late(wanted, **more):
        await memory.delete_memory(catalogue["faq"])
        monkeypatch.setattr(module, "load_stored_cards", load_stored_cards)
        return await load_stored_cards(wanted, **more)

    monkeypatch.setattr(module, "load_stored_cards", late)
    found = await memory.search("pricing", max_results=4)
    assert set(ids(found)) == set(catalogue.values()) - {catalogue["faq"]}
    assert catalogue["faq"] not in {one.id for one in found.omitted}


async def test_an_old_version_is_not_found(memory: Graphmem, catalogue):
    newer = await memory.add_summary(**thread(key_points=["pricing was settled"]))

    for query in ("pricing", "*"):
        found = await memory.search(query, source_types=["thread_summary"])
        assert ids(found) == [newer.id]


async def test_any_text_is_a_legal_query(memory: Graphmem, catalogue):
    for query in ("???", '"pricing" AND +(', "\\", "价格", "pricing*", "a" * 32_768, "\u0000 x"):
        assert "no_vector" not in (await memory.search(query)).degraded


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "  "}, "query"),
        ({"query": "x" * 32_769}, "query"),
        ({"query": "\ud800"}, "query"),
        ({"source_types": ["nonsense"]}, "source_types"),
        ({"source_types": []}, "source_types"),
        ({"source_ids": [str(n) for n in range(65)]}, "source_ids"),
        ({"max_results": 0}, "max_results"),
        ({"max_results": 201}, "max_results"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"min_relevance": 1.1}, "min_relevance"),
        ({"sort_by": "luck"}, "sort_by"),
        ({"max_hops": 4}, "max_hops"),
        ({"max_hops": -1}, "max_hops"),
        ({"link_types": ["supersedes"]}, "link_types"),
        ({"since": datetime(2026, 3, 1)}, "since"),
    ],
)
async def test_what_cannot_be_asked_is_named(memory: Graphmem, options, field: str):
    with pytest.raises(InvalidInput) as refused:
        await memory.search(**{"query": "pricing", **options})

    assert refused.value.field.startswith(field)  # S1.8 S1.15


async def test_an_unknown_argument_is_an_error_of_the_call(memory: Graphmem):
    unknown: Any = {"colour": "red"}
    with pytest.raises(TypeError, match="colour"):
        await memory.search("pricing", **unknown)


async def test_an_unknown_link_type_is_answered_with_the_legal_ones(memory: Graphmem):
    unknown: Any = ["supersedes"]
    with pytest.raises(InvalidInput, match=r"mentions, next, part_of, .*relates_to"):
        await memory.search("x", max_hops=1, link_types=unknown)


async def test_spans_are_searched_by_themselves(memory: Graphmem, catalogue):
    found = await memory.search_spans("pricing")
    assert ids(found) == [catalogue["span"]]
    kb: dict[str, Any] = {"source_types": ["knowledge_base"], "source_ids": ["kb-1"]}
    assert ids(await memory.search_spans("pricing", **kb)) == [catalogue["span"]]
    assert ids(await memory.search_spans("*", **kb)) == [catalogue["span"]]
    others: list[dict[str, Any]] = [
        {"source_types": ["offer"]},
        {"source_ids": ["kb-2"]},
        {"min_relevance": 1.0},
    ]
    for other in others:
        assert (await memory.search_spans("pricing", **other)).items == []
        if "min_relevance" not in other:
            assert (await memory.search_spans("*", **other)).total_count == 0


async def test_equal_questions_get_equal_answers(memory: Graphmem, catalogue, runtime: Runtime):
    answers = await asyncio.gather(*(memory.search("pricing", max_hops=1) for _ in range(5)))

    # BM25 alone may differ: the index counts words over all clients, and others write.
    seen = [[(item.id, item.relevance, item.hop) for item in answer.items] for answer in answers]
    assert seen == [seen[0]] * 5


async def test_what_is_left_out_is_named_as_it_stands_now() -> None:
    own: dict[str, Any] = {
        "kind": "fact",
        "importance": 0.5,
        "token_count": 1,
        "occurred_at": MARCH,
    }
    hits = [
        module.Hit(found=Candidate(id=f"{place:03}", **own), relevance=0.5, scores={})
        for place in range(80)
    ]
    other: dict[str, Any] = {"source_type": "fact", "source_id": "", "category": "", "scope": ""}
    chain = ["055", "055-new"]
    head = Head(id="055-new", **own, **other, other_categories=[], chain=chain)

    def cards(ids: list[str], **_: Any) -> list[StoredCard]:
        fields: dict[str, Any] = {
            name: own.get(name, "fact") for name in ("kind", "importance", "token_count")
        }
        stored = StoredCard(id="", source_type="fact", source_id="", occurred_at=MARCH, **fields)
        there = [replace(stored, id=id) for id in ids if id not in {"055", "054"}]
        return [*there, replace(stored, id="055-new", head=head)] if "055" in ids else there

    context = scripted_context(ScriptedGraph({"memories/cards": cards}))
    query = SearchQuery(query="x", max_results=10, sort_by="relevance")
    packed = await module._pack(hits, query, Sources(), context)

    wanted = [f"{place:03}" for place in range(10, 60)]
    wanted[45] = "055-new"
    wanted.remove("054")
    assert [one.id for one in packed.omitted] == wanted


def test_equal_scores_rank_by_newer_time_then_by_id_in_each_leg() -> None:
    found = [
        Candidate(
            id=id,
            kind="fact",
            importance=0.5,
            token_count=1,
            occurred_at=MARCH + timedelta(days=day),
            cosine=0.9,
            bm25=2.0,
            by_vector=True,
        )
        for id, day in (("a", 0), ("c", 1), ("b", 1))
    ]
    hits = module.weighed(found, "anything", Calibration(low=0.5, high=0.8), None)
    wanted = {"b": 1, "c": 2, "a": 3}
    assert {hit.id: hit.ranks for hit in hits} == {
        id: {"vector": rank, "bm25": rank} for id, rank in wanted.items()
    }
