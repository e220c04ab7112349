"""What a run retrieves: filters, orders, the pool of twenty, and pages that do not repeat."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.errors import InvalidInput, RunNotFound
from graphmem.retrieval import finding
from graphmem.retrieval.understanding import LANGUAGE
from graphmem.runs.session import RunSession
from graphmem.runs.types import RetrievalResult, RetrievedSpan
from tests.budgeted import fill, span
from tests.planted import plant, thread

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


async def run_of(memory: Graphmem, tokens: int = 100_000) -> RunSession:
    budget = {"max_tokens": tokens, "max_time_ms": 600_000, "max_retries": 3}
    return await memory.run(agent_type="copy-agent", episode_id="ep", budget=budget)


def ids(result: RetrievalResult) -> list[str]:
    return [one.span_id for one in result.spans]


def relevance(span: RetrievedSpan) -> float:
    assert span.relevance_score is not None
    return span.relevance_score


async def many(memory: Graphmem, number: int) -> None:
    """Register spans that all answer alike, each of its own importance and time."""
    spans = [
        span(
            place,
            f"Product pricing, chapter {place}: the price list of the season.",
            metadata={"importance": (place % 10) / 10},
            occurred_at=(NOW + timedelta(days=place)).isoformat(),
        )
        for place in range(number)
    ]
    await memory.register_spans(spans)


async def test_an_order_begins_with_the_first_of_all_that_matches(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ("Pricing", "The pricing of papayas", "Of mangos, limes, figs and, last, their pricing")
    spans = [
        span(
            place,
            f"{texts[place // 12]}, {place}.",
            metadata={"importance": place / 36},
            occurred_at=(NOW + timedelta(days=place)).isoformat(),
        )
        for place in range(36)
    ]
    await memory.register_spans(spans)
    monkeypatch.setattr(finding, "LEAST_POOL", 4)
    monkeypatch.setattr(finding, "POOL_FACTOR", 1)
    run = await run_of(memory)

    for sort_by in ("recency", "importance"):
        first = await run.retrieve("pricing", max_tokens=5_000, sort_by=sort_by)
        rest = await run.retrieve("pricing", max_tokens=5_000, sort_by=sort_by, cursor=first.cursor)
        every = [*ids(first), *ids(rest)]
        assert every == [f"span-{place}" for place in reversed(range(36))]  # S3.19
        assert (first.has_more, rest.has_more) == (True, False)


@pytest.mark.parametrize("sort_by", ["relevance", "recency", "importance"])
async def test_a_star_means_everything(memory: Graphmem, rival: Graphmem, sort_by: Any) -> None:
    await many(memory, 23)
    await many(rival, 3)
    await memory.add_reference(type="knowledge_base", target_id="kb-0", label="No span")
    [summary] = await plant(memory, thread(occurred_at=NOW + timedelta(days=50), importance=1.0))
    run = await run_of(memory)

    first = await run.retrieve(" * ", max_tokens=5_000, sort_by=sort_by)
    rest = await run.retrieve(" * ", max_tokens=5_000, sort_by=sort_by, cursor=first.cursor)

    assert first.spans[0].span_id == summary
    assert (first.spans[0].source_type, first.spans[0].source_id) == ("thread_summary", "thread-1")
    found = [*ids(first)[1:], *ids(rest)]
    places = range(22, -1, -1)
    if sort_by == "importance":
        places = sorted(places, key=lambda place: (-(place % 10), -place))  # type: ignore[assignment]
    assert found == [f"span-{place}" for place in places]
    assert {one.relevance_score for one in (*first.spans, *rest.spans)} == {0.5}
    assert (first.has_more, rest.has_more) == (True, False)
    some = await run.retrieve("*", max_tokens=5_000, source_types=["knowledge_base"])
    assert ids(some)[0] == "span-22"
    assert (await run.retrieve("*", max_tokens=50, min_relevance=0.51)).spans == []


# S3.26 S3.20
async def test_pages_go_on_without_repeating_until_nothing_is_left(memory: Graphmem) -> None:
    await many(memory, 45)
    run = await run_of(memory)
    seen: list[str] = []
    sizes, cursor = [], None
    while True:
        page = await run.retrieve("product pricing", max_tokens=5_000, cursor=cursor)
        sizes.append(len(page.spans))
        seen += ids(page)
        assert page.has_more == (page.cursor is not None)
        if page.cursor is None:
            break
        cursor = page.cursor
    assert sizes == [20, 20, 5]
    assert len(set(seen)) == len(seen) == 45
    tree = await run.tree()
    assert tree.spent == run.budget.tokens_used == 100_000 - tree.remaining


async def test_what_did_not_fit_comes_with_the_next_page(memory: Graphmem) -> None:
    await many(memory, 4)
    run = await run_of(memory)
    cost = (await memory.span("span-0")).token_count
    first = await run.retrieve("product pricing", max_tokens=cost * 2)
    assert (len(first.spans), first.has_more) == (2, True)
    assert {one.span_id for one in first.omitted} == {f"span-{i}" for i in range(4)} - set(
        ids(first)
    )
    assert {one.reason for one in first.omitted} == {"no_room"}
    second = await run.retrieve("product pricing", max_tokens=cost * 2, cursor=first.cursor)
    assert (sorted([*ids(first), *ids(second)]), second.has_more) == (
        [f"span-{i}" for i in range(4)],
        False,
    )


async def test_a_limit_below_every_span_delivers_nothing_and_charges_nothing(
    memory: Graphmem,
) -> None:
    await many(memory, 2)
    run = await run_of(memory)
    result = await run.retrieve("product pricing", max_tokens=1)
    assert (result.spans, result.tokens_used, result.has_more) == ([], 0, True)
    assert run.budget.tokens_used == 0
    again = await run.retrieve("product pricing", max_tokens=100, cursor=result.cursor)
    assert len(again.spans) == 2


async def test_pages_pass_over_what_no_page_can_deliver(memory: Graphmem) -> None:
    long = "Product pricing. " + "The price list of the season is long. " * 30
    small = span(30, "Product pricing.", occurred_at="2020-01-01T00:00:00Z")
    await memory.register_spans([*(span(place, long) for place in range(25)), small])
    await memory.runtime.graph.execute(
        "MATCH (m:Memory {client_id: $c, id: 'span-0'}) SET m.text = 'forged'", c=memory.client_id
    )
    run = await run_of(memory)
    asked: dict[str, Any] = {"query": "product pricing", "max_tokens": 100, "sort_by": "recency"}
    pages = [await run.retrieve(**asked)]
    while pages[-1].has_more and len(pages) < 5:
        pages.append(await run.retrieve(**asked, cursor=pages[-1].cursor))
    assert [(len(one.omitted), one.has_more) for one in pages] == [
        (20, True),
        (5, True),
        (0, False),
    ]
    assert [ids(one) for one in pages[-2:]] == [["span-30"], []]
    larger = await run.retrieve(**asked | {"max_tokens": 10_000}, cursor=pages[0].cursor)
    assert (len(larger.spans), larger.has_more) == (20, True)


# S3.21
async def test_a_misfit_is_left_out_and_the_next_is_tried(memory: Graphmem) -> None:
    long = "Product pricing. " + "The price list of the season is long. " * 30
    await memory.register_spans([span(0, long), span(1, "Product pricing in short.")])
    run = await run_of(memory)
    result = await run.retrieve("product pricing", max_tokens=50)
    assert ids(result) == ["span-1"]
    assert [one.span_id for one in result.omitted] == ["span-0"]
    assert result.tokens_used <= 50


# S3.19
async def test_filters_and_orders(memory: Graphmem) -> None:
    await many(memory, 8)
    await memory.register_span(
        **span(99, "Product pricing of an offer.", source_type="offer", source_id="o-1")
    )
    run = await run_of(memory)

    async def found(**options: Any) -> list[str]:
        return ids(await run.retrieve("product pricing", max_tokens=2_000, **options))

    assert await found(source_types=["offer"]) == ["span-99"]
    assert await found(source_types=["brand_kit"]) == []
    assert sorted(await found(source_ids=["kb-1", "o-1"])) == ["span-1", "span-5", "span-99"]
    assert await found(source_ids=["unknown"]) == []
    assert await found(source_types=["offer"], source_ids=["kb-1"]) == []
    by_time = await found(source_types=["knowledge_base"], sort_by="recency")
    assert by_time == [f"span-{place}" for place in reversed(range(8))]
    by_importance = await found(source_types=["knowledge_base"], sort_by="importance")
    assert by_importance == by_time
    relevant = await run.retrieve("product pricing", max_tokens=2_000)
    scores = [relevance(one) for one in relevant.spans]
    assert scores == sorted(scores, reverse=True)
    exact = [one.span_id for one in relevant.spans if relevance(one) >= 1.0]
    assert await found(min_relevance=1.0) == exact != ids(relevant)
    middle = scores[4]
    kept = await run.retrieve("product pricing", max_tokens=2_000, min_relevance=middle)
    assert {one.span_id for one in kept.spans} == {
        one.span_id for one in relevant.spans if relevance(one) >= middle
    }


# S3.47
async def test_a_question_may_be_a_vector(memory: Graphmem) -> None:
    await fill(memory, 8)
    vector = await memory.runtime.embedder.query("what do refunds look like?")
    run = await run_of(memory)
    by_vector = await run.retrieve(vector, max_tokens=30)
    by_text = await run.retrieve("what do refunds look like?", max_tokens=30)
    assert ids(by_vector)[0] == ids(by_text)[0] == "span-1"
    assert 0 < relevance(by_vector.spans[0]) <= 1
    scaled = await run.retrieve([1e200 * one for one in vector], max_tokens=30)
    assert ids(scaled) == ids(by_vector)
    with pytest.raises(InvalidInput, match="384"):
        await run.retrieve(vector[:-1], max_tokens=30)
    kinds = [one.params["query_kind"] for one in (await run.accesses()).accesses[:-1]]
    assert kinds == ["vector", "text", "vector"]


async def test_summaries_are_retrieved_too_and_references_and_messages_are_not(
    memory: Graphmem,
) -> None:
    [summary, reference, message] = await plant(
        memory,
        thread(),
        {"kind": "reference", "source_type": "knowledge_base", "text": "Pricing of the plan"},
        {"kind": "message", "text": "Pricing of the plan"},
    )
    run = await run_of(memory)
    result = await run.retrieve("pricing of the premium plan", max_tokens=500)
    assert ids(result) == [summary]
    assert {reference, message}.isdisjoint(ids(result))
    peeked = await run.peek(summary)
    assert (peeked.span.start_byte, peeked.span.source_type) == (0, "thread_summary")
    assert peeked.span.hash is not None
    assert len(peeked.span.hash) == 64
    typed = await run.retrieve(
        "pricing of the premium plan", max_tokens=500, source_types=["knowledge_base"]
    )
    assert ids(typed) == []


async def test_what_is_not_what_was_stored_is_not_delivered(memory: Graphmem) -> None:
    await memory.register_spans([span(0, "Product pricing one."), span(1, "Product pricing two.")])
    await memory.runtime.graph.execute(
        "MATCH (m:Memory {client_id: $c, id: 'span-0'}) "
        "SET m.text = 'forged', m.search_text = 'Product pricing none.'",
        c=memory.client_id,
    )
    run = await run_of(memory)
    result = await run.retrieve("product pricing", max_tokens=500)
    assert (ids(result), result.has_more) == (["span-1"], False)
    assert [(one.span_id, one.reason) for one in result.omitted] == [("span-0", "damaged")]


async def test_what_is_delivered_is_the_content_without_its_tags_or_what_else_is_searched(
    memory: Graphmem,
) -> None:
    plain, odd = "Product pricing, in euros: 49 €.", "Product pricing — übrigens"
    tagged = span(0, plain, metadata={"tags": ["offer", "season"]})
    await memory.register_spans([tagged, span(1, odd)])
    await memory.runtime.graph.execute(
        "MATCH (m:Memory {client_id: $c, id: 'span-1'}) SET m.search_text = 'Product prices'",
        c=memory.client_id,
    )
    run = await run_of(memory)
    note = "Product pricing: the shop asks for the old price."
    await run.write(type="log", content=note, metadata={"topic": "product pricing"})
    result = await run.retrieve("product pricing", max_tokens=500)
    assert {one.content for one in result.spans} == {plain, odd, note}


async def test_a_cursor_belongs_to_its_question_and_its_run(memory: Graphmem) -> None:
    await many(memory, 4)
    run, other = await run_of(memory), await run_of(memory)
    cursor = (await run.retrieve("product pricing", max_tokens=1)).cursor
    foreign: list[tuple[RunSession, str, dict[str, Any]]] = [
        (run, "refunds", {}),
        (run, "product pricing", {"sort_by": "recency"}),
        (other, "product pricing", {}),
    ]
    for asker, query, options in foreign:
        with pytest.raises(InvalidInput) as refused:
            await asker.retrieve(query, max_tokens=50, cursor=cursor, **options)
        assert refused.value.field == "cursor"
    with pytest.raises(InvalidInput, match="cursor"):
        await run.retrieve("product pricing", max_tokens=50, cursor="x")
    assert (await run.tree()).held == 0
    recorded = [one.operation for one in (await run.accesses()).accesses]
    assert recorded == ["retrieve", "start"], "what was refused leaves no record"
    with pytest.raises(RunNotFound):
        await memory.runs().retrieve(
            "session-none", query="product pricing", max_tokens=50, cursor=cursor
        )


async def test_a_span_that_was_deleted_since_is_left_out_of_the_same_answer(
    memory: Graphmem,
) -> None:
    await many(memory, 2)
    run = await run_of(memory)
    first = await run.retrieve("product pricing", max_tokens=100, operation_id="a")
    await memory.delete_memory("span-0")
    again = await run.retrieve("product pricing", max_tokens=100, operation_id="a")
    assert (ids(again), again.tokens_used) == (["span-1"], first.tokens_used)
    [gone] = again.omitted
    assert (gone.span_id, gone.reason, gone.token_count > 0) == ("span-0", "deleted", True)


async def test_the_same_answer_never_holds_more_than_was_paid_for(memory: Graphmem) -> None:
    await many(memory, 3)
    run = await run_of(memory)
    first = await run.retrieve("product pricing", max_tokens=100, operation_id="a")
    assert sorted(ids(first)) == ["span-0", "span-1", "span-2"]
    await memory.register_spans([span(0, "Product pricing: " + "the price list. " * 50)])
    await memory.runtime.graph.execute(
        "MATCH (m:Memory {client_id: $c, id: 'span-1'}) SET m.text = 'forged'", c=memory.client_id
    )

    again = await run.retrieve("product pricing", max_tokens=100, operation_id="a")

    assert (ids(again), again.tokens_used) == (["span-2"], first.tokens_used)
    assert {one.span_id: one.reason for one in again.omitted} == {
        "span-0": "deleted",
        "span-1": "damaged",
    }


async def test_a_question_in_a_language_that_the_model_does_not_know_is_answered_by_its_spelling(
    memory: Graphmem,
) -> None:
    texts = ["Соседка читает газету вслух.", "Печь дымит при ветре.", "Кота подстригли."]
    await memory.register_spans([span(place, text) for place, text in enumerate(texts)])
    run = await run_of(memory)

    strange = await run.retrieve("Кто слушал чтение газет?", max_tokens=1_000)
    known = await run.retrieve("Who read the papers?", max_tokens=1_000)

    assert strange.degraded == [LANGUAGE]
    assert strange.spans[0].content == texts[0]
    assert known.degraded == []
