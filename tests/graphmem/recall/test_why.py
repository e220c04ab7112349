"""Why a memory is in an answer, and why another one is not."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.errors import MemoryNotFound, Unavailable
from graphmem.recall import ask
from graphmem.recall.types import Recalled
from graphmem.retrieval.ranking import NEIGHBOURS
from graphmem.runtime import Runtime

QUESTION = "How did the price of the Harbour plan change, and why?"
BEGUN = datetime(2026, 3, 1, 9, tzinfo=UTC)

DRIFT = 0.05
"""How far the scores of two answers may differ: the index counts words over all clients, and others write."""


async def tell(memory: Graphmem, *said: str, conversation_id: str = "c") -> list[str]:
    await memory.open_conversation(conversation_id)
    remembered = await memory.remember(
        conversation_id,
        [
            {
                "session_id": conversation_id,
                "role": "user",
                "content": content,
                "occurred_at": BEGUN + timedelta(minutes=place),
            }
            for place, content in enumerate(said)
        ],
    )
    return remembered.ids


async def whole(story: Graphmem) -> Recalled:
    """Return every candidate of the question in its order."""
    return await story.recall(QUESTION, limit=200, max_tokens=200_000, explain=True)


async def test_a_score_is_the_weighted_sum_of_the_signals_that_are_shown(story: Graphmem):
    found = await whole(story)

    assert found.weights
    for item in found.items:
        parts = (weight * item.scores.get(name, 0.0) for name, weight in found.weights.items())
        assert item.score == pytest.approx(sum(parts))
    by_words = await story.recall(QUESTION, ranking="bm25", explain=True)
    assert by_words.weights == {"bm25": 1.0}
    plain = await story.recall(QUESTION)
    assert plain.weights is None
    assert all(item.lifted_by is None for item in plain.items)


async def test_an_item_names_the_memories_beside_it_and_those_that_stand_for_its_session(
    story: Graphmem,
):
    found = await whole(story)
    items = {item.id: item for item in found.items}
    lifts = [(item, lift) for item in found.items for lift in item.lifted_by or []]

    assert {lift.signal for _, lift in lifts} == {*NEIGHBOURS, "session"}
    for item, lift in lifts:
        other = items[lift.id]
        assert (other.session_id, other.external_id) == (item.session_id, lift.external_id)
        assert lift.score == other.scores["hybrid"]
        assert lift.id != item.id
        if lift.signal in NEIGHBOURS:
            assert (other.idx or 0) - (item.idx or 0) in NEIGHBOURS[lift.signal]
    for item in found.items:
        signals = {lift.signal for lift in item.lifted_by or []} - {"session"}
        assert signals == {signal for signal in NEIGHBOURS if item.scores.get(signal)}


async def test_a_memory_that_was_taken_has_its_rank(story: Graphmem):
    first = (await story.recall(QUESTION)).items[0]

    found = await story.explain(QUESTION, first.id)

    assert (found.stage, found.rank, found.ranks) == ("taken", 1, first.ranks)
    assert found.score == pytest.approx(first.score, rel=DRIFT)
    assert found.scores == pytest.approx(first.scores, rel=DRIFT)
    assert found.relevance == pytest.approx(first.relevance)
    assert found.memory_id == first.id
    assert found.last_taken is None
    assert "rank 1" in found.reason


async def test_what_others_outranked_is_compared_with_the_last_one_that_was_taken(story: Graphmem):
    answer = await story.recall(QUESTION, limit=5, max_tokens=5000)
    out = answer.omitted[1]

    found = await story.explain(QUESTION, out.id, limit=5, max_tokens=5000)

    assert (found.stage, found.rank) == ("outranked", 7)
    assert found.score == pytest.approx(out.score, rel=DRIFT)
    last = found.last_taken
    assert last is not None
    assert (last.id, last.rank) == (answer.items[4].id, 5)
    assert last.scores == pytest.approx(answer.items[4].scores, rel=DRIFT)
    assert f"{last.score:.3f}" in found.reason


async def test_what_had_no_room_says_how_much_it_needed_and_how_much_was_left(
    story: Graphmem, runtime: Runtime
):
    found = await story.recall(QUESTION, max_tokens=150)
    out = next(one for one in found.omitted if one.reason == "no_room")

    why = await story.explain(QUESTION, out.id, max_tokens=150)

    assert (why.stage, why.rank) == ("no_room", out.rank)
    assert why.tokens_needed is not None
    assert why.tokens_left is not None
    assert out.tokens <= why.tokens_needed
    assert 0 <= why.tokens_left < why.tokens_needed
    assert str(why.tokens_left) in why.reason
    assert (await story.explain(QUESTION, out.id, max_tokens=5000)).stage == "taken"


@pytest.mark.parametrize(
    ("options", "excluding"),
    [
        ({"kinds": ["fact"]}, ["kinds"]),
        ({"conversation_id": "elsewhere"}, ["conversation_id"]),
        ({"since": BEGUN + timedelta(minutes=1)}, ["since"]),
        ({"until": BEGUN}, ["until"]),
        ({"kinds": ["fact", "episode"], "since": BEGUN + timedelta(days=1)}, ["kinds", "since"]),
        ({"known_as_of": BEGUN - timedelta(days=900)}, ["known_as_of"]),
    ],
)
async def test_a_filter_that_excludes_it_is_named(
    memory: Graphmem, options: dict[str, Any], excluding: list[str]
):
    [id] = await tell(memory, "The harbour light is red.")

    found = await memory.explain("harbour light", id, **options)

    assert (found.stage, found.filters, found.rank) == ("filtered", excluding, None)
    assert all(name in found.reason for name in excluding)
    assert (await memory.explain("harbour light", id)).stage == "taken"


async def test_a_superseded_memory_names_its_newest_version(memory: Graphmem):
    old = await memory.remember_fact("The light is red.")
    middle = await memory.supersede_fact(old.id, "The light is green.")
    newest = await memory.supersede_fact(middle.id, "The light is white.")

    found = await memory.explain("the light", old.id)
    assert (found.stage, found.filters) == ("filtered", ["superseded"])
    assert found.superseded_by == newest.id
    both = await memory.explain("the light", old.id, include_superseded=True)
    assert (both.stage, both.superseded_by) == ("taken", newest.id)


async def test_what_is_not_relevant_enough_is_said(memory: Graphmem):
    [boiler, train] = await tell(memory, "The boiler was repaired.", "The train costs 62 euros.")

    found = await memory.explain("Who repaired the boiler?", train, min_relevance=0.5)
    assert (found.stage, found.min_relevance) == ("below_min_relevance", 0.5)
    assert found.relevance is not None
    assert found.relevance < 0.5
    assert (await memory.explain("Who repaired the boiler?", boiler, min_relevance=0.5)).stage == (
        "taken"
    )
    foreign = await memory.explain("Which of Zebulon's frogs won in Ontario?", train, abstain=True)
    assert (foreign.stage, foreign.rank is not None) == ("below_min_relevance", True)


async def test_what_is_not_relevant_enough_counts_in_no_rank(story: Graphmem):
    every = (await whole(story)).items

    def below(rank: int) -> int:
        return sum(one.relevance < every[rank].relevance for one in every[:rank])

    place = max(range(len(every)), key=below)
    chosen, least = every[place], every[place].relevance - 0.001
    found = await story.recall(QUESTION, limit=200, max_tokens=200_000, min_relevance=least)
    rank = next(item.rank for item in found.items if item.id == chosen.id)
    told = await story.explain(
        QUESTION, chosen.id, limit=200, max_tokens=200_000, min_relevance=least
    )
    assert (told.stage, told.rank) == ("taken", rank)
    assert rank < chosen.rank


async def test_the_rank_of_what_is_no_candidate_is_exact(
    memory: Graphmem, rival: Graphmem, monkeypatch: pytest.MonkeyPatch
):
    said = [f"Parcel {number} was sent to Porto." for number in range(60)]
    ids = await tell(memory, *said, "The boiler hums at night.", "Bread needs an hour.")
    await tell(rival, *said)
    question = "Which parcel was sent to Porto?"
    everything = await memory.recall(question, ranking="vector", limit=200, max_tokens=200_000)
    place = {item.id: item.rank for item in everything.items}
    monkeypatch.setattr(ask, "CANDIDATES", 5)

    for id in ids[-2:]:
        found = await memory.explain(question, id, limit=5)
        assert (found.stage, found.rank) == ("not_a_candidate", None)
        assert found.ranks == {"vector": place[id], "bm25": None}
        assert str(place[id]) in found.reason
    words = await memory.recall(question, ranking="bm25", limit=200, max_tokens=200_000)
    last = words.items[-1]
    found = await memory.explain(question, last.id, ranking="bm25", limit=5)
    assert (found.stage, found.ranks) == ("not_a_candidate", {"bm25": last.rank})
    assert found.scores["bm25"] == pytest.approx(last.scores["bm25"])


async def test_without_a_vector_only_words_are_explained(
    story: Graphmem, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    async def fail(text: str) -> list[float]:
        raise Unavailable("the embedding model failed")

    monkeypatch.setattr(runtime.embedder, "query", fail)
    found = await story.recall(QUESTION)
    why = await story.explain(QUESTION, found.items[0].id)

    assert (why.degraded, why.weights, why.stage) == (["no_vector"], {"bm25": 1.0}, "taken")


async def test_an_unknown_memory_and_one_of_another_client_are_refused_alike(
    memory: Graphmem, rival: Graphmem
):
    [theirs] = await tell(rival, "The harbour light is red.")

    for id in (theirs, "unknown"):
        with pytest.raises(MemoryNotFound, match=f"^no memory '{id}'$"):
            await memory.explain("harbour", id)
