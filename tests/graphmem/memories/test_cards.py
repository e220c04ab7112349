"""Cards on a real Neo4j: every kind has its label, and only one's own are shown."""

import pytest
from hypothesis import given, strategies as st

from graphmem.client import Graphmem
from graphmem.memories.cards import Card, Location, load_cards, progress
from tests.planted import WHEN, plan, plant, reference, thread


async def one(memory: Graphmem, row: dict) -> Card:
    """Plant a memory, and return its card."""
    ids = await plant(memory, row)
    [card] = await load_cards(ids, client_id=memory.client_id, graph=memory.runtime.graph)
    return card


async def test_a_thread_s_card(memory: Graphmem):
    # S1.32 S1.33 S1.34
    # S1.35
    card = await one(memory, thread())

    assert card == Card(
        id=card.id,
        kind="summary",
        source_type="thread_summary",
        source_id="thread-1",
        label="Thread: instagram (10 messages)",
        description="User asked about pricing. Interested in premium plan. Wants a demo",
        snippet="User asked about pricing. Interested in premium plan",
        metadata={"platform": "instagram", "sentiment": "positive", "last_activity_at": WHEN},
        importance=0.5,
        token_estimate=memory.runtime.tokens.count(thread()["text"]),
        occurred_at=WHEN,
        location=None,
    )


async def test_a_plan_s_card(memory: Graphmem):
    # S1.32 S1.33 S1.34
    milestones = ["Week 1 complete", "Week 2 begun", "Week 3 planned"]
    card = await one(memory, plan(key_milestones=milestones))

    assert card.label == "Plan: content_calendar (50% complete)"
    assert card.snippet == "Week 1 complete. Week 2 begun"
    assert card.description == "Week 1 complete. Week 2 begun. Week 3 planned"
    assert card.metadata == {
        "plan_type": "content_calendar",
        "current_phase": "execution",
        "completed_nodes": 5,
        "total_nodes": 10,
    }


async def test_a_reference_s_card_shows_its_pointer_and_what_the_caller_said(memory: Graphmem):
    # S1.32 S1.33 S1.34
    row = reference(span_id="s", span_start_byte=8, span_end_byte=90, span_token_estimate=21)
    card = await one(memory, row)

    assert (card.label, card.source_type, card.source_id) == (
        "Product FAQ",
        "knowledge_base",
        "kb-1",
    )
    assert card.snippet == card.description == row["description"]
    assert card.metadata == {"language": "en"}
    assert card.importance == 0.9
    assert card.token_estimate == 21
    assert card.location == Location(span_id="s", start_byte=8, end_byte=90)


@pytest.mark.parametrize(
    ("own", "tokens"),
    [
        ({}, 100),
        ({"span_id": "s", "span_token_estimate": 21}, 21),
        ({"span_id": "s", "span_token_estimate": 21, "content_tokens": 7}, 7),
        ({"content_tokens": 0}, 0),
    ],
)
async def test_a_reference_without_content_is_estimated(own: dict, tokens: int, memory: Graphmem):
    # S1.35
    assert (await one(memory, reference(**own))).token_estimate == tokens


async def test_a_reference_without_a_description_shows_none(memory: Graphmem):
    card = await one(memory, reference(text="Product FAQ", description=None, metadata=None))

    assert (card.description, card.snippet, card.metadata) == (None, None, {})


SECRET = "The lighthouse keeper is called Ansgar."


@pytest.mark.parametrize(
    ("row", "label", "metadata"),
    [
        (
            {"kind": "message", "role": "user", "name": "Mara"},
            "Mara, 2026-03-02 09:30",
            {"role": "user", "name": "Mara"},
        ),
        (
            {"kind": "message", "role": "tool"},
            "tool, 2026-03-02 09:30",
            {"role": "tool"},
        ),
        (
            {"kind": "episode", "title": "At the light", "end_at": WHEN, "surprise": 0.25},
            "At the light",
            {"end_at": WHEN, "surprise": 0.25},
        ),
        (
            {"kind": "fact", "category": "preference", "scope": "user", "keywords": [SECRET]},
            "Fact: preference",
            {"category": "preference", "scope": "user", "version": 1},
        ),
        (
            {"kind": "span", "source_id": "kb-1", "start_byte": 0, "end_byte": 39, "tags": ["a"]},
            "Span 0–39 of kb-1",
            {"tags": ["a"]},
        ),
        (
            {"kind": "summary", "source_type": "session_summary", "version": 2},
            "Session: 2026-03-02 09:30",
            {"version": 2},
        ),
    ],
)
async def test_what_has_no_label_of_its_own_shows_nothing_of_its_text(
    row: dict, label: str, metadata: dict, memory: Graphmem
):
    card = await one(memory, {"text": SECRET} | row)

    assert (card.label, card.metadata) == (label, metadata)
    assert card.description is None
    assert card.snippet == SECRET
    assert card.token_estimate == memory.runtime.tokens.count(SECRET)


async def test_a_span_lies_where_it_lies(memory: Graphmem):
    card = await one(memory, {"kind": "span", "text": "x", "start_byte": 4, "end_byte": 5})

    assert card.location == Location(span_id=card.id, start_byte=4, end_byte=5)


async def test_a_long_text_s_snippet_is_its_beginning(memory: Graphmem):
    card = await one(memory, {"kind": "fact", "text": "x" * 201, "category": "goal"})
    assert card.snippet == "x" * 199 + "…"
    card = await one(memory, {"kind": "fact", "text": "x" * 200, "category": "goal"})
    assert card.snippet == "x" * 200


async def test_cards_come_in_the_order_asked_and_only_one_s_own(memory: Graphmem, rival: Graphmem):
    # S1.64
    mine = await plant(memory, thread(), plan(), reference())
    [foreign] = await plant(rival, reference(label="Foreign"))
    asked = [mine[2], foreign, "unknown", mine[0], mine[1], mine[0]]

    found = await load_cards(asked, client_id=memory.client_id, graph=memory.runtime.graph)

    assert [card.id for card in found] == [mine[2], mine[0], mine[1], mine[0]]


@pytest.mark.parametrize(
    ("completed", "total", "percent"),
    [(0, 0, 0), (1, 8, 13), (1, 200, 1), (1, 201, 0), (199, 200, 100), (10, 10, 100), (3, 0, 0)],
)
def test_progress_rounds_half_up(completed: int, total: int, percent: int):
    # S1.32
    assert progress(completed, total) == percent


@given(st.integers(1, 10_000), st.data())
def test_progress_is_within_half_a_percent(total: int, data: st.DataObject):
    completed = data.draw(st.integers(0, total))

    assert -0.5 < progress(completed, total) - 100 * completed / total <= 0.5
