"""Search along links: what is reached, how it counts, by which way, and what holds on the way."""

import uuid
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.model.vocabulary import GivenLinkType
from graphmem.retrieval.expansion import EDGES, HUB, LEVEL_EDGES, expand
from graphmem.retrieval.filters import Sources
from graphmem.runtime import Runtime
from graphmem.search.types import SearchResult
from tests.graphmem.search.test_ask import MARCH, card, ids, thread
from tests.planted import WHEN, join, plant

FORGED = """CYPHER 25
MATCH (here:Memory {client_id: $client_id, id: $id}), (there:Memory {client_id: $other, id: $to})
CREATE (here)-[:RELATES_TO]->(there), (there)-[:REFERENCES]->(here)"""

SHARED = """CYPHER 25
MATCH (here:Memory {client_id: $client_id, id: $id}), (there:Memory {client_id: $other, id: $to})
CREATE (entity:Entity {client_id: $owner, normalized: $name, name: $name})
CREATE (here)-[:MENTIONS]->(entity), (there)-[:MENTIONS]->(entity), (there)-[:NAMES]->(entity)"""


def word() -> str:
    """A word that no text but a test's own holds, and that no stemmer changes."""
    return f"zq{uuid.uuid4().int % 10**12}"


async def chain(memory: Graphmem, *names: str, link: GivenLinkType = "references") -> list[str]:
    """Write references that share no words, and link each to the next."""
    written = await memory.add_references([card(name, f"{name} {word()}") for name in names])
    made = [one.id for one in written]
    for here, there in pairwise(made):
        await memory.link(here, there, link)
    return made


def steps(found: SearchResult) -> list[tuple[str, str, str]]:
    return [(step.from_id, step.to_id, step.link_type) for step in found.hop_paths]


async def test_without_hops_it_is_a_search_like_any_other(memory: Graphmem):
    [a, b] = await chain(memory, "zqalpha", "vkbeta")

    found = await memory.search("zqalpha", max_hops=0)
    assert a in ids(found)
    assert (found.hops_used, found.hop_paths, found.query.sort_by) == (0, [], "relevance")  # S1.41
    plain = await memory.search("zqalpha")
    # The index counts the words of all clients, so the last digits of scores may move meanwhile.
    assert (plain.query, ids(plain)) == (found.query, ids(found))
    assert (await memory.search_with_hops("zqalpha")).query.max_hops == 1
    assert b not in {item.id for item in found.items if item.scores["words"]}


async def test_links_are_followed_either_way_level_by_level(memory: Graphmem):
    a, b, c, d = await chain(memory, "quartz", "banana bread", "tax return", "violin lesson")

    for start, way in (("quartz", [a, b, c, d]), ("violin lesson", [d, c, b, a])):
        for hops in (1, 2, 3):
            found = await memory.search(start, max_hops=hops, min_relevance=0.08)
            assert ids(found) == way[: hops + 1]  # S1.42
            assert found.hops_used == hops
            assert steps(found) == [
                (here, there, "references") for here, there in pairwise(way[: hops + 1])
            ]  # S1.43 S1.23
            relevance = [item.relevance for item in found.items]
            assert relevance == pytest.approx([relevance[0] * 0.5**n for n in range(hops + 1)])
            assert [item.hop for item in found.items] == list(range(hops + 1))
            assert [item.hop_from for item in found.items] == [None, *way[:hops]]
            assert found.total_count == hops + 1  # S1.44


async def test_with_hops_the_order_is_combined_unless_said_otherwise(memory: Graphmem):
    [a] = await chain(memory, "quartz")
    b = await memory.add_reference(
        **card("banana bread", "a recipe", importance=1.0, occurred_at=MARCH + timedelta(days=1))
    )
    await memory.link(a, b.id, "relates_to")

    found = await memory.search_with_hops("quartz")
    combined = [item.combined_score for item in found.items]
    assert (found.query.sort_by, combined) == ("combined", sorted(combined, reverse=True))
    assert combined == [
        pytest.approx(0.7 * item.relevance + 0.3 * item.importance) for item in found.items
    ]
    by_time = await memory.search("quartz", max_hops=1, sort_by="recency")
    assert (ids(by_time), by_time.query.sort_by) == ([b.id, a], "recency")


async def test_a_circle_is_walked_once_and_no_memory_stands_twice(memory: Graphmem):
    a, b, c = await chain(memory, "quartz", "banana bread", "tax return", link="relates_to")
    await memory.link(c, a, "derived_from")
    await memory.link(b, a, "references")
    await join(memory, "RELATES_TO", (a, a))

    found = await memory.search("quartz", max_hops=3)
    assert len(ids(found)) == len(set(ids(found)))
    assert set(ids(found)) == {a, b, c}
    assert found.hops_used == 1, "both are one step away"
    assert {(here, there) for here, there, _ in steps(found)} == {(a, b), (a, c)}


@pytest.mark.parametrize(
    "link", ["relates_to", "references", "refines", "contradicts", "derived_from"]
)
async def test_only_links_of_the_types_asked_for_are_followed(memory: Graphmem, link: Any):
    a, b = await chain(memory, "quartz", "banana bread", link=link)
    others: Any = sorted({"relates_to", "references", "refines"} - {link})

    followed: Any
    for followed in (None, [link], [link, *others]):
        assert b in ids(await memory.search("quartz", max_hops=1, link_types=followed))
    found = await memory.search("quartz", max_hops=2, link_types=others, min_relevance=0.08)
    assert ids(found) == [a]  # S1.45
    assert found.hops_used == 0


async def test_related_to_is_relates_to(memory: Graphmem):
    _, b = await chain(memory, "quartz", "banana bread", link="related_to")

    for name in ("related_to", "relates_to"):
        found = await memory.search("quartz", max_hops=1, link_types=[name])
        assert b in ids(found)
        assert {step.link_type for step in found.hop_paths} == {"relates_to"}


async def test_neighbours_and_parts_come_when_asked(memory: Graphmem):
    page, first, second = await plant(
        memory,
        {"kind": "reference", "text": "quartz", "source_type": "offer", "label": "quartz"},
        {"kind": "span", "text": "banana bread", "source_type": "offer", "start_byte": 0},
        {"kind": "span", "text": "tax return", "source_type": "offer", "start_byte": 9},
    )
    await join(memory, "PART_OF", (first, page))
    await join(memory, "NEXT", (first, second))

    assert ids(await memory.search("quartz", max_hops=3, min_relevance=0.08)) == [page]
    parts = await memory.search("quartz", max_hops=3, link_types=["part_of"], min_relevance=0.08)
    assert ids(parts) == [page, first]
    both = await memory.search(
        "quartz", max_hops=3, link_types=["part_of", "next"], min_relevance=0.08
    )
    assert ids(both) == [page, first, second]
    assert [step.link_type for step in both.hop_paths] == ["part_of", "next"]


async def test_what_was_derived_leads_to_where_it_comes_from_through_what_is_filtered_out(
    memory: Graphmem,
):
    fact, episode, other = await plant(
        memory,
        {"kind": "fact", "text": "quartz", "version": 1, "keywords": []},
        {"kind": "episode", "text": "banana bread", "title": "x"},
        {"kind": "fact", "text": "tax return", "version": 1, "keywords": []},
    )
    await join(memory, "DERIVED_FROM", (fact, episode), (other, episode))

    near = await memory.search("quartz", max_hops=1, source_types=["fact", "episode"])
    assert {fact, episode} <= set(ids(near))
    facts = await memory.search("quartz", max_hops=2, source_types=["fact"], min_relevance=0.08)
    assert ids(facts) == [fact, other]
    assert steps(facts) == [(fact, episode, "derived_from"), (episode, other, "derived_from")]
    assert facts.hops_used == 2


async def test_a_shared_name_is_one_step_and_leads_to_what_is_called_so(memory: Graphmem):
    name = "Zorvath Quillon"
    [asked, titled] = await memory.add_references(
        [
            card("Harvest notes", f"The barley was cut by {name} before the storm."),
            card(name, "A farmer from the north who keeps bees."),
        ]
    )

    found = await memory.search("when was the barley cut", max_hops=1)
    assert ids(found)[:2] == [asked.id, titled.id]
    [step] = [step for step in found.hop_paths if step.to_id == titled.id]
    assert (step.from_id, step.link_type, step.entity) == (asked.id, "mentions", name)
    assert found.items[1].relevance == pytest.approx(found.items[0].relevance * 0.5, rel=0.5)
    without = await memory.search("when was the barley cut", max_hops=1, link_types=["references"])
    assert titled.id not in {item.id for item in without.items if item.hop}


async def test_a_name_that_everything_mentions_joins_nothing(memory: Graphmem):
    hub = "Ottilie Kranewitt"
    [asked] = await memory.add_references([card("Harvest notes", f"Barley, said {hub}.")])
    await memory.add_references(
        [card(f"Page {n}", f"{hub} went to place {n}.") for n in range(HUB + 1)]
    )

    found = await memory.search("barley harvest", max_hops=1, max_results=100, min_relevance=0.1)
    assert ids(found)[0] == asked.id
    assert {item.hop for item in found.items} == {0}


@pytest.mark.parametrize("hops", [1, 2, 3])
async def test_nothing_of_another_client_is_reached(
    memory: Graphmem, rival: Graphmem, runtime: Runtime, hops: int
):
    """Not by a better match, not over a forged edge or a forged entity, not as a way station."""
    [a] = await chain(memory, "quartz")
    theirs, beyond = await chain(rival, "quartz quartz", "quartz mine")
    client, other = memory.client_id, rival.client_id
    forged = {"client_id": client, "id": a, "other": other, "to": theirs}
    await runtime.graph.execute(FORGED, **forged)
    for owner in (client, other):
        await runtime.graph.execute(SHARED, **forged, owner=owner, name=word())
    back = (await memory.add_references([card("banana bread", "a recipe")]))[0].id
    await runtime.graph.execute(FORGED, client_id=other, id=theirs, other=client, to=back)

    found = await memory.search("quartz", max_hops=hops, min_relevance=0.05)
    assert ids(found) == [a]  # S1.46 S1.67
    assert (found.total_count, found.hop_paths) == (1, [])
    assert {theirs, beyond} == set(ids(await rival.search("quartz", min_relevance=0.3)))


async def test_superseded_memories_are_not_entered_nor_is_superseding_walked(memory: Graphmem):
    [a] = await chain(memory, "quartz")
    old = await memory.add_summary(**thread(key_points=["banana bread"]))
    # Of a type that the next version does not take over.
    await memory.link(a, old.id, "derived_from")
    assert old.id in ids(await memory.search("quartz", max_hops=1))

    newer = await memory.add_summary(**thread(key_points=["tax return"]))
    found = await memory.search("quartz", max_hops=3, min_relevance=0.08)
    assert ids(found) == [a]
    assert newer.id not in ids(found)


@pytest.mark.parametrize(
    "filters",
    [
        {"source_types": ["offer"]},
        {"source_ids": ["yes"]},
        {"since": MARCH + timedelta(days=1)},
        {"source_types": ["offer", "span"], "source_ids": ["yes"]},
    ],
)
async def test_filters_hold_for_what_hops_find(memory: Graphmem, filters: dict[str, Any]):
    later = {"occurred_at": MARCH + timedelta(days=2), "type": "offer", "target_id": "yes"}
    start, good, bad, beyond = [
        one.id
        for one in await memory.add_references(
            [
                card("quartz", word(), **later),
                card("banana bread", word(), **later),
                card("tax return", word(), target_id="no"),
                card("violin lesson", word(), **later),
            ]
        )
    ]
    for there in (good, bad):
        await memory.link(start, there, "relates_to")
    await memory.link(bad, beyond, "relates_to")

    one = await memory.search("quartz", max_hops=1, min_relevance=0.08, **filters)
    assert ids(one) == [start, good]
    two = await memory.search("quartz", max_hops=2, min_relevance=0.08, **filters)
    assert set(ids(two)) == {start, good, beyond}
    assert (bad, beyond, "relates_to") in steps(two)
    border = two.items[-1].relevance + 0.01
    strict = await memory.search("quartz", max_hops=2, min_relevance=border, **filters)
    assert beyond not in ids(strict)


@pytest.mark.parametrize("budget", [1, 99, 100, 250, 10_000])
async def test_limits_and_budgets_hold_after_hops(memory: Graphmem, budget: int):
    start = (await chain(memory, "quartz"))[0]
    others = await memory.add_references([card(f"Page {n}", word()) for n in range(20)])
    await memory.link_all([{"from": start, "to": one.id, "type": "references"} for one in others])

    found = await memory.search("quartz", max_hops=1, max_results=5, max_tokens=budget)
    assert len(found.items) == min(5, budget // 100)
    assert found.tokens_used == sum(item.token_estimate for item in found.items) <= budget  # S1.47
    assert found.total_count >= 21
    assert found.hops_used == (1 if len(found.items) > 1 else 0)
    assert {there for _, there, _ in steps(found)} <= set(ids(found))
    assert found.omitted_total == found.total_count - len(found.items)


async def linked(memory: Graphmem, start: str, count: int) -> Sequence[str]:
    """Write memories that share no words with anything and link them to one."""
    rows = [
        {"kind": "reference", "text": word(), "source_type": "offer", "label": "x"}
        for _ in range(count)
    ]
    made = await plant(memory, *rows)
    await join(memory, "RELATES_TO", *((start, id) for id in made))
    return made


async def test_of_a_hub_s_edges_the_strongest_are_followed(memory: Graphmem, runtime: Runtime):
    [start] = await chain(memory, "quartz")
    made = await linked(memory, start, 3 * EDGES)
    strong = set(sorted(made)[::3])
    await runtime.graph.execute(
        "MATCH (:Memory {client_id: $client, id: $id})-[link:RELATES_TO]->(there:Memory) "
        "SET link.score = CASE WHEN there.id IN $strong THEN 0.9 ELSE 0.2 END",
        client=memory.client_id,
        id=start,
        strong=sorted(strong),
    )

    first = await memory.search("quartz", max_hops=1, max_results=200)
    again = await memory.search("quartz", max_hops=1, max_results=200)
    assert ids(first) == ids(again)
    assert {item.id for item in first.items if item.hop} == strong
    assert len(strong) == EDGES


async def test_a_cut_at_a_hub_is_told_and_leaves_the_most_important_then_the_newest(
    memory: Graphmem,
):
    start, other = await chain(memory, "quartz", "basalt")
    rows = [
        {
            "kind": "reference",
            "text": word(),
            "source_type": "offer",
            "label": "x",
            "importance": 0.9 if place % 10 == 0 else 0.4,
            "occurred_at": WHEN + timedelta(minutes=place),
        }
        for place in range(EDGES + 8)
    ]
    made = await plant(memory, *rows)
    await join(memory, "RELATES_TO", *((start, id) for id in made))

    found = await memory.search("quartz", max_hops=1, max_results=200)

    reached = {item.id for item in found.items if item.hop}
    important = [id for place, id in enumerate(made) if place % 10 == 0]
    newest = [id for id in reversed(made) if id not in important]
    # One place is that of the reference beside it, which was written last and is more important.
    assert reached == {other, *important, *newest[: EDGES - 1 - len(important)]}
    assert (found.fan_out, found.degraded) == ([start], ["fan_out"])
    assert not found.total_is_exact

    near = await memory.search("quartz", max_hops=1, max_results=200, link_types=["references"])
    assert (near.fan_out, near.degraded, near.total_is_exact) == ([], [], True)


async def test_what_passes_the_filters_comes_before_what_is_only_walked_through(memory: Graphmem):
    [start] = await chain(memory, "quartz")
    await linked(memory, start, 2 * EDGES)
    rare = await plant(
        memory,
        *({"kind": "span", "text": word(), "source_type": "brand_kit"} for _ in range(5)),
    )
    await join(memory, "RELATES_TO", *((start, id) for id in rare))

    kinds: Any = {"source_types": ["brand_kit", "knowledge_base"], "min_relevance": 0.1}
    for hops in (1, 2):
        found = await memory.search("quartz", max_hops=hops, max_results=50, **kinds)
        assert set(ids(found)) == {start, *rare}


async def test_a_level_is_bounded(memory: Graphmem, runtime: Runtime, bulk_data: None) -> None:
    starts = await plant(
        memory,
        *({"kind": "reference", "text": "quartz", "source_type": "offer"} for _ in range(20)),
    )
    for start in starts:
        await linked(memory, start, 2 * EDGES)

    expansion = await expand(
        dict.fromkeys(starts, 1.0),
        {},
        hops=2,
        steps=None,
        sources=Sources(),
        client_id=memory.client_id,
        graph=runtime.graph,
    )
    first, *_ = expansion.levels
    assert len(first) == LEVEL_EDGES
    assert max(Counter(step.from_id for step in first.values()).values()) <= EDGES
