"""Recall on the seed story: a real Neo4j, the real embedding model."""

import asyncio
import json
import random
import string
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from graphmem import config
from graphmem.client import Graphmem
from graphmem.errors import InvalidInput, Unavailable
from graphmem.graph.driver import Graph
from graphmem.model.vocabulary import KINDS, Kind, Ranking
from graphmem.recall import abstaining, compose as composing
from graphmem.recall.types import Recalled
from graphmem.retrieval import finding
from graphmem.retrieval.filters import Filters
from graphmem.retrieval.understanding import LANGUAGE, NO_VECTOR
from graphmem.runtime import Runtime

RANKINGS: tuple[Ranking, ...] = get_args(Ranking)
BUDGETS = (1, 5, 20, 100, 300, 1000, 5000)
QUESTION = "How did the price of the Harbour plan change, and why?"
CONVERSATION = "7d0f4c52-9a3e-4b8e-b1c6-2f5d8e60a913"
QUESTIONS = [
    json.loads(line)
    for line in (config.folder("seed") / "questions.jsonl").read_text("utf-8").splitlines()
]


def line(item: Any) -> str:
    """Return an item as the context holds it."""
    return f"{item.name or item.role}: {item.text}\n"


def check(found: Recalled, runtime: Runtime, *, limit: int | None = None, max_tokens: int) -> None:
    """Assert what holds for every answer."""
    assert runtime.tokens.count(found.context) == found.tokens_used <= max_tokens
    assert limit is None or len(found.items) <= limit
    ranks = [item.rank for item in found.items]
    assert ranks == sorted(set(ranks))
    scores = [item.score for item in found.items]
    assert scores == sorted(scores, reverse=True)
    # Each text whole, and nothing but the items and the headings of their sessions.
    rest = found.context
    for item in sorted(found.items, key=lambda item: len(item.text), reverse=True):
        assert rest.count(line(item)) >= 1, item.text
        rest = rest.replace(line(item), "", 1)
    headings = [left for left in rest.split("\n") if left]
    assert all(heading.startswith("## 2026-") for heading in headings), headings
    assert len(headings) == len(
        {(item.session_id, item.occurred_at.date()) for item in found.items}
    )
    check_omitted(found, limit=limit)


def check_omitted(found: Recalled, *, limit: int | None) -> None:
    """Assert that what was left out is said, with the right reason."""
    assert len(found.omitted) == min(found.omitted_total, composing.OMITTED_SHOWN)
    ranks = [item.rank for item in found.items]
    left_out = [omitted.rank for omitted in found.omitted]
    assert left_out == sorted(set(left_out))
    assert set(ranks).isdisjoint(left_out)
    everything = len(ranks) + found.omitted_total
    if found.omitted_total <= composing.OMITTED_SHOWN:
        assert sorted(ranks + left_out) == list(range(1, everything + 1))
    assert all(rank <= everything for rank in ranks)
    full = len(ranks) == limit
    for omitted in found.omitted:
        beyond = full and omitted.rank > ranks[-1]
        assert omitted.reason == ("beyond_limit" if beyond else "no_room")


@pytest.mark.parametrize("ranking", RANKINGS)
@pytest.mark.parametrize("max_tokens", BUDGETS)
async def test_a_budget_holds(story: Graphmem, runtime: Runtime, ranking: Ranking, max_tokens: int):
    for limit in (3, 200):
        found = await story.recall(QUESTION, limit=limit, max_tokens=max_tokens, ranking=ranking)

        check(found, runtime, limit=limit, max_tokens=max_tokens)
        assert found.items or max_tokens <= 100
        assert found.degraded == []


async def test_a_budget_holds_whatever_it_is(story: Graphmem, runtime: Runtime):
    """Hypothesis chooses in a thread of its own, so that the event loop stays free to answer."""
    loop = asyncio.get_running_loop()

    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(
        st.sampled_from([question["query"] for question in QUESTIONS]),
        st.integers(1, 60),
        st.integers(1, 800),
        st.sampled_from(RANKINGS),
    )
    def holds(query: str, limit: int, max_tokens: int, ranking: Ranking) -> None:
        asked = story.recall(query, limit=limit, max_tokens=max_tokens, ranking=ranking)
        found = asyncio.run_coroutine_threadsafe(asked, loop).result()
        check(found, runtime, limit=limit, max_tokens=max_tokens)

    await asyncio.to_thread(holds)


async def test_with_room_for_all_nothing_is_left_out_for_want_of_room(story: Graphmem):
    found = await story.recall(QUESTION, limit=200, max_tokens=200_000)

    assert len(found.items) + found.omitted_total >= 100
    assert found.omitted_total == 0


async def test_a_smaller_one_further_down_fills_the_room_a_larger_one_left(story: Graphmem):
    # Which budget ends before a long one depends on the order, and that on what else the store holds.
    answers = [
        await story.recall(QUESTION, limit=200, max_tokens=tokens) for tokens in range(100, 300, 20)
    ]

    filled = [found for found in answers if found.items[-1].rank > len(found.items)]
    assert filled, "something between was left out"
    for found in filled:
        before = [omitted for omitted in found.omitted if omitted.rank < found.items[-1].rank]
        assert {omitted.reason for omitted in before} == {"no_room"}


async def test_without_a_limit_the_budget_is_filled(story: Graphmem, runtime: Runtime):
    found = await story.recall(QUESTION, max_tokens=2_000)
    limited = await story.recall(QUESTION, max_tokens=2_000, limit=20)

    check(found, runtime, max_tokens=2_000)
    assert len(found.items) > len(limited.items)
    assert found.tokens_used > 1_900
    assert [one.id for one in found.items][:5] == [one.id for one in limited.items][:5]


async def test_the_default_ranking_compares_texts_with_the_question(story: Graphmem):
    found = await story.recall(QUESTION, max_tokens=2_000)
    by_meaning = await story.recall(QUESTION, max_tokens=2_000, ranking="vector")

    assert max(item.scores.get("coverage", 0.0) for item in found.items) > 0.5
    assert all("substance" in item.scores for item in found.items)
    assert not any("coverage" in item.scores for item in by_meaning.items)


async def test_a_large_budget_without_a_limit_has_more_candidates(story: Graphmem):
    some = await story.recall(QUESTION, max_tokens=2_000)
    more = await story.recall(QUESTION, max_tokens=20_000)

    assert len(more.items) + more.omitted_total > len(some.items) + some.omitted_total


async def test_beyond_the_limit_is_said(story: Graphmem):
    found = await story.recall(QUESTION, limit=4, max_tokens=200_000)

    assert [item.rank for item in found.items] == [1, 2, 3, 4]
    assert {omitted.reason for omitted in found.omitted} == {"beyond_limit"}


async def test_the_context_stands_in_sessions_in_the_order_of_time(story: Graphmem):
    found = await story.recall(QUESTION, limit=40, max_tokens=5000)

    sessions: dict[str, list[Any]] = {}
    for item in found.items:
        assert item.session_id is not None
        sessions.setdefault(item.session_id, []).append(item)
    assert len(sessions) > 3
    ordered = sorted(sessions.values(), key=lambda items: min(item.occurred_at for item in items))
    expected = "\n".join(
        f"## {min(item.occurred_at for item in items):%Y-%m-%d %H:%M}\n"
        + "".join(line(item) for item in sorted(items, key=lambda item: item.idx))
        for items in ordered
    )
    assert found.context == expected


async def test_an_item_says_where_it_comes_from(story: Graphmem, said: dict[str, dict[str, Any]]):
    found = await story.recall(QUESTION, limit=30, max_tokens=5000)

    for item in found.items:
        assert item.external_id is not None
        record = said[item.external_id]
        assert item.text == record["content"]
        assert (item.role, item.name) == (record["role"], record.get("name"))
        assert item.session_external_id == record["session_id"]
        assert item.occurred_at == datetime.fromisoformat(record["occurred_at"])
        assert (item.kind, item.conversation_id) == ("message", CONVERSATION)
        assert set(item.ranks) <= set(item.scores)
        assert item.ranks


async def test_the_token_count_is_the_text_s_own(story: Graphmem, runtime: Runtime):
    found = await story.recall(QUESTION, max_tokens=5000)

    assert [i.token_count for i in found.items] == [
        runtime.tokens.count(i.text) for i in found.items
    ]


async def test_since_is_inclusive_and_until_exclusive(
    story: Graphmem, said: dict[str, dict[str, Any]]
):
    times = sorted(datetime.fromisoformat(record["occurred_at"]) for record in said.values())
    since, until = times[60], times[90]
    found = await story.recall(
        QUESTION, limit=200, max_tokens=200_000, since=since, until=until, ranking="vector"
    )

    assert sorted(item.occurred_at for item in found.items) == [
        time for time in times if since <= time < until
    ]
    assert since in {item.occurred_at for item in found.items}


async def test_times_are_moments_whatever_their_zone(
    story: Graphmem, said: dict[str, dict[str, Any]]
):
    times = sorted(datetime.fromisoformat(record["occurred_at"]) for record in said.values())
    east = timezone(timedelta(hours=5, minutes=45))
    found = []
    for zone in (UTC, east):
        since, until = times[60].astimezone(zone), times[90].astimezone(zone)
        # All that passes is shown: which of it is best may depend on what others keep in the store.
        found.append(
            await story.recall(QUESTION, limit=200, max_tokens=200_000, since=since, until=until)
        )

    first, other = ({item.id for item in answer.items} for answer in found)
    assert first == other
    assert len(first) == sum(times[60] <= time < times[90] for time in times)


@pytest.mark.parametrize(
    "options",
    [
        {"since": datetime(2027, 1, 1, tzinfo=UTC)},
        {"until": datetime(2026, 1, 1, tzinfo=UTC)},
        {"kinds": ["fact"]},
        {"kinds": [kind for kind in KINDS if kind != "message"]},
        {"conversation_id": "nobody's"},
        {"conversation_id": ""},
        {"conversation_id": 'x" OR *:*'},
    ],
    ids=str,
)
@pytest.mark.parametrize("ranking", RANKINGS)
async def test_what_nothing_passes_gives_an_empty_answer(
    story: Graphmem, options: dict[str, Any], ranking: Ranking
):
    assert await story.recall(QUESTION, ranking=ranking, **options) == NOTHING


NOTHING = Recalled(
    items=[],
    context="",
    tokens_used=0,
    omitted=[],
    omitted_total=0,
    abstained=False,
    degraded=[],
    timings=None,
)


async def test_a_foreign_conversation_an_unknown_and_an_empty_one_look_the_same(
    story: Graphmem, memory: Graphmem
):
    await memory.open_conversation("empty")

    for conversation_id in (CONVERSATION, "unknown", "empty", None):
        assert await memory.recall(QUESTION, conversation_id=conversation_id) == NOTHING


async def test_only_the_conversation_asked_for_is_searched(memory: Graphmem):
    for id in ("c", "d"):
        await memory.open_conversation(id)
        new = {"session_id": "s", "role": "user", "content": f"The light of {id} is red."}
        await memory.remember(id, [new])

    found = await memory.recall("Which light is red?", conversation_id="c")
    assert [item.conversation_id for item in found.items] == ["c"]
    everywhere = await memory.recall("Which light is red?")
    assert {item.conversation_id for item in everywhere.items} == {"c", "d"}


@pytest.mark.parametrize("kinds", [["message"], ["fact", "message"], list(KINDS), None])
async def test_messages_are_found_by_their_kind(story: Graphmem, kinds: list[Kind] | None):
    found = await story.recall(QUESTION, kinds=kinds)

    assert {item.kind for item in found.items} == {"message"}
    assert [i.id for i in found.items][:5] == [i.id for i in (await story.recall(QUESTION)).items][
        :5
    ]


async def test_another_client_s_nearer_memories_are_neither_shown_nor_in_the_way(
    memory: Graphmem, rival: Graphmem
):
    for graphmem in (memory, rival):
        await graphmem.open_conversation("c")
    new = {"session_id": "s", "role": "user"}
    await rival.remember("c", [new | {"content": QUESTION}] * 150)
    ours = await memory.remember("c", [new | {"content": "The plan got cheaper."}])

    for ranking in RANKINGS:
        found = await memory.recall(QUESTION, ranking=ranking)
        assert [item.id for item in found.items] == ours.ids


@pytest.mark.parametrize("ranking", RANKINGS)
async def test_equal_questions_get_equal_answers(
    story: Graphmem, ranking: Ranking, monkeypatch: pytest.MonkeyPatch
):
    rows = Graph.rows
    found: dict[str, Any] = {}

    async def once(self: Graph, query: Any, **parameters: Any) -> Any:
        """Let the indexes answer once: BM25 counts words over all clients, and others write."""
        if not query.name.startswith("retrieval/found_"):
            return await rows(self, query, **parameters)
        asked = f"{query.name} {sorted(parameters.items())}"
        if asked not in found:
            found[asked] = await rows(self, query, **parameters)
        return found[asked]

    monkeypatch.setattr(Graph, "rows", once)
    answers = [await story.recall(QUESTION, ranking=ranking, limit=50) for _ in range(3)]

    assert answers[1:] == answers[:1] * 2


async def test_the_rankings_are_four(story: Graphmem):
    found = {
        ranking: await story.recall(QUESTION, ranking=ranking, limit=50, max_tokens=20_000)
        for ranking in RANKINGS
    }
    orders = {tuple(item.id for item in answer.items) for answer in found.values()}

    assert len(orders) == len(RANKINGS)
    for item in found["vector"].items:
        assert item.score == item.scores["vector"]
        assert item.ranks == {"vector": item.rank}
    for item in found["bm25"].items:
        assert item.score == item.scores["bm25"]
        assert item.ranks == {"bm25": item.rank}
    for item in found["rrf"].items:
        assert item.score == pytest.approx(sum(1 / (60 + r) for r in item.ranks.values()))
    assert {"hybrid", "vector"} <= set(found["default"].items[0].scores)


@pytest.fixture
def broken_embedder(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedding model that fails."""

    async def fail(text: str) -> list[float]:
        raise Unavailable("the embedding model failed (RuntimeError)")

    monkeypatch.setattr(runtime.embedder, "query", fail)


@pytest.mark.parametrize("ranking", ["default", "rrf", "vector"])
async def test_without_a_vector_the_words_decide_and_the_answer_says_so(
    story: Graphmem, runtime: Runtime, broken_embedder: None, ranking: Ranking
):
    found = await story.recall(QUESTION, ranking=ranking, max_tokens=800)

    assert found.degraded == [NO_VECTOR]
    check(found, runtime, max_tokens=800)
    assert found.items or ranking == "vector"
    assert all(set(item.ranks) == {"bm25"} for item in found.items)


async def test_words_alone_need_no_embedder(story: Graphmem, broken_embedder: None):
    found = await story.recall(QUESTION, ranking="bm25")

    assert found.degraded == []
    assert found.items


async def test_timings_are_given_when_asked_for(story: Graphmem):
    assert (await story.recall(QUESTION)).timings is None
    timings = (await story.recall(QUESTION, explain=True)).timings

    assert timings is not None
    assert set(timings) == {"embed", "candidates", "rank", "compose", "total"}
    stages = sum(milliseconds for stage, milliseconds in timings.items() if stage != "total")
    assert timings["total"] == pytest.approx(stages, abs=0.01)


async def test_a_memory_that_is_deleted_in_between_is_skipped(
    memory: Graphmem, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    await memory.open_conversation("c")
    new = {"session_id": "s", "role": "user"}
    contents = ["The lamp is red.", "The lamp is green.", "The lamp is lit."]
    ids = (await memory.remember("c", [new | {"content": c} for c in contents])).ids
    rows, graph = runtime.graph.rows, runtime.graph

    async def meanwhile(query, **parameters):
        if query is composing.TEXTS:
            monkeypatch.undo()
            await memory.delete_memory(ids[1])
        return await rows(query, **parameters)

    monkeypatch.setattr(graph, "rows", meanwhile)
    found = await memory.recall("Is the lamp green?")

    assert {item.id for item in found.items} == {ids[0], ids[2]}
    assert "green" not in found.context
    assert found.tokens_used == runtime.tokens.count(found.context)


@pytest.mark.parametrize("is_idle", [True, False])
async def test_the_statements_of_a_search_read_all_that_another_one_reads(
    memory: Graphmem, runtime: Runtime, monkeypatch: pytest.MonkeyPatch, is_idle: bool
):
    await memory.open_conversation("c")
    told = {"session_id": "s", "role": "user", "tags": ["sea"], "metadata": {"port": "Bremen"}}
    said = [told | {"content": f"The lamp of boat {n} is red."} for n in range(70)]
    said += [{"session_id": "t", "role": "user", "content": f"Boat {n}?"} for n in range(70)]
    await memory.remember("c", said)
    await memory.remember_fact("The lamp is green.", keywords=["lantern", "beacon"])
    rows, asked = runtime.graph.rows, list[str]()

    async def watched(query, **parameters):
        asked.append(query.name)
        return await rows(query, **parameters)

    monkeypatch.setattr(Graph, "is_idle", is_idle)
    monkeypatch.setattr(runtime.graph, "rows", watched)
    found = await memory.recall("Which lamp is red or green?", max_tokens=300, abstain=True)
    monkeypatch.setattr(Graph, "is_idle", False)
    monkeypatch.setattr(composing, "read_whole", lambda candidates: {})
    monkeypatch.setattr(abstaining, "read_whole", lambda candidates: {})
    read = await memory.recall("Which lamp is red or green?", max_tokens=300, abstain=True)

    assert found == read
    assert asked.count("retrieval/found_in_client") == (3 if is_idle else 2)
    assert asked.count("recall/texts") == 2
    assert {one.kind for one in found.items} == {"fact", "message"}
    assert [one.text for one in found.items if one.kind == "fact"] == ["The lamp is green."]
    shown = next(one for one in found.items if one.kind == "message")
    assert (shown.tags, shown.metadata) == (["sea"], {"port": "Bremen"})
    assert shown.session_external_id == "s"


async def test_what_no_longer_stands_or_is_long_does_not_come_with_its_details(
    memory: Graphmem, runtime: Runtime
):
    await memory.open_conversation("c")
    long = {"padding": "x" * 3_000}
    said = [
        {"session_id": "s", "role": "user", "content": f"Boat {n}.", "metadata": long}
        for n in range(2)
    ]
    await memory.remember("c", said)
    old = await memory.remember_fact("The lamp is green.")
    new = await memory.supersede_fact(old.id, "The lamp is red.")

    found = await finding.find_best(
        None,
        ["lamp", "boat"],
        Filters(include_superseded=True),
        client_id=memory.client_id,
        longest_text=2_000,
        graph=runtime.graph,
        detailed=True,
    )

    assert {one.id for one in found} > {old.id, new.id}
    assert [one.id for one in found if one.details] == [new.id]


async def test_the_seed_s_questions_are_answered(story: Graphmem):
    hits = 0
    for question in QUESTIONS:
        found = await story.recall(question["query"], limit=10, max_tokens=20_000)
        hits += bool({item.external_id for item in found.items} & set(question["evidence"]))

    assert hits >= 0.8 * len(QUESTIONS)


ANY_TEXT = {
    "Lucene": '+scope_words:(x) OR *:* AND NOT "a~2" ^5 [a TO z] {!} \\',
    "an open bracket": "(((",
    "operators alone": "AND OR NOT && || !",
    "Cypher": "`}) DETACH DELETE n // $client_id",
    "NUL": "price\0change",
    "right to left": "מה המחיר \u202e",
    "emoji": "\U0001f6a2\U0001f469\u200d\U0001f4bb",
    "question words alone": "what is the",
    "punctuation alone": "?!",
    "32,768 characters without a space": "x" * 32_768,
    "many words": " ".join(f"word{n}" for n in range(3_500)),
}


@pytest.mark.parametrize("query", ANY_TEXT.values(), ids=ANY_TEXT)
@pytest.mark.parametrize("ranking", ["default", "bm25"])
async def test_any_text_is_a_question(
    story: Graphmem, runtime: Runtime, query: str, ranking: Ranking
):
    found = await story.recall(query, max_tokens=500, ranking=ranking)

    check(found, runtime, max_tokens=500)
    assert ranking == "bm25" or found.items


BAD = {
    "lone surrogate": ({"query": "half \ud83d"}, "query", InvalidInput),
    "blank": ({"query": " \n"}, "query", InvalidInput),
    "empty": ({"query": ""}, "query", InvalidInput),
    "too long": ({"query": "x" * 32_769}, "query", InvalidInput),
    "no limit": ({"limit": 0}, "limit", InvalidInput),
    "beyond the limits": ({"limit": 201}, "limit", InvalidInput),
    "no budget": ({"max_tokens": 0}, "max_tokens", InvalidInput),
    "no kind": ({"kinds": ["rumour"]}, "kinds[0]", InvalidInput),
    "an empty list": ({"kinds": []}, "kinds", InvalidInput),
    "no ranking": ({"ranking": "random"}, "ranking", InvalidInput),
    "no zone": ({"since": datetime(2026, 3, 1)}, "since", InvalidInput),
    "out of range": ({"until": datetime(1, 1, 1, tzinfo=UTC)}, "until", InvalidInput),
}


@pytest.mark.parametrize(("options", "field", "error"), BAD.values(), ids=BAD)
async def test_what_cannot_be_asked_is_named(
    memory: Graphmem, options: dict[str, Any], field: str, error: type[InvalidInput]
):
    with pytest.raises(error) as raised:
        await memory.recall(**({"query": QUESTION} | options))

    assert raised.value.field == field


async def test_an_unknown_argument_is_an_error_of_the_call(memory: Graphmem):
    unknown: Any = {"colour": "red"}
    with pytest.raises(TypeError, match="colour"):
        await memory.recall(QUESTION, **unknown)


SAID = {
    "de": ["Unser Igel wohnt im Komposthaufen.", "Die Bremsen sind neu.", "Das Fenster klemmt."],
    "zh": ["冬天水管冻裂过一次。", "儿子上课总是画恐龙。", "妻子缺维生素D。"],
    "ru": ["Соседка читает газету вслух.", "Печь дымит при ветре.", "Кота подстригли."],
    "en": ["The bathroom window does not shut.", "The boiler is old.", "Our cat was shorn."],
}
ASKED = {
    "de": ("Warum dürfen wir den Kompost nicht umsetzen?", 0),
    "zh": ("水管什么时候裂的？", 0),
    "ru": ("Кто слушал чтение газет?", 0),
    "en": ("What is wrong with the window of the bathroom?", 0),
}


async def test_a_question_in_another_language_finds_by_words_and_spelling_and_the_answer_says_so(
    memory: Graphmem,
):
    await memory.open_conversation("c")
    for spoken, texts in SAID.items():
        told = [{"session_id": spoken, "role": "user", "content": text} for text in texts]
        await memory.remember("c", told)

    for spoken, (question, place) in ASKED.items():
        found = await memory.recall(question, max_tokens=2_000)

        assert found.items[0].text == SAID[spoken][place]
        assert found.degraded == ([] if spoken == "en" else [LANGUAGE])
        explained = await memory.explain(question, found.items[0].id)
        assert explained.degraded == found.degraded


async def test_a_question_in_another_language_is_so_answered_by_every_way_of_asking(
    memory: Graphmem,
):
    await memory.open_conversation("c")
    text_of: dict[str, str] = {}
    for spoken, texts in SAID.items():
        told = [{"session_id": spoken, "role": "user", "content": text} for text in texts]
        text_of |= zip((await memory.remember("c", told)).ids, texts, strict=True)

    for spoken, (question, place) in ASKED.items():
        degraded = [] if spoken == "en" else [LANGUAGE]
        searched = await memory.search(question)
        sessions = await memory.search_contextual(question)
        recalled = await memory.recall(question, abstain=True)

        assert searched.degraded == sessions.degraded == degraded
        assert text_of[searched.items[0].id] == SAID[spoken][place]
        hits = [one for found in sessions.contexts for one in found.messages if one.hit]
        best = (
            max(hits, key=lambda one: one.score or 0.0).content if hits else sessions.items[0].text
        )
        assert best == SAID[spoken][place]
        others = [item.relevance for item in recalled.items[1:]]
        assert recalled.abstained or recalled.items[0].relevance > max(others)


async def test_words_alone_are_not_degraded_by_a_language(memory: Graphmem):
    found = await memory.recall(ASKED["de"][0], ranking="bm25")

    assert found.degraded == []


@pytest.mark.parametrize(
    ("written", "asked"),
    [("24,99", "24,99"), ("24,99", "24.99"), ("1,120", "1120"), ("27400", "27.400")],
)
async def test_a_number_is_found_by_words_however_it_is_written(
    memory: Graphmem, written: str, asked: str
):
    kept = await memory.remember_fact(f"The lamp costs {written} euros")
    await memory.remember_fact("The lamp costs 24 euros, or 99, 1 or 120, 27 or 400")

    found = await memory.recall(f"{asked}?", ranking="bm25")
    assert [item.id for item in found.items] == [kept.id]


async def test_a_time_zone_shows_its_times_and_reads_yesterday_in_it(memory: Graphmem):
    await memory.open_conversation("c")
    times = ("2026-03-05T18:00:00Z", "2026-03-09T23:30:00Z", "2026-03-10T23:30:00Z")
    for time in times:
        new = {"role": "user", "content": "We had fish for dinner.", "occurred_at": time}
        await memory.remember("c", [new | {"session_id": time}])
    question, now = "What did we have for dinner yesterday?", "2026-03-11T10:00:00Z"

    plain = await memory.recall(question, as_of=now)
    berlin = await memory.recall(question, as_of=now, time_zone="Europe/Berlin")
    sessions = await memory.search_contextual(question, as_of=now, time_zone="Europe/Berlin")

    assert [item.session_external_id for item in plain.items] == [times[2], times[1], times[0]]
    assert plain.context.startswith("## 2026-03-05 18:00\nuser: ")
    assert [item.session_external_id for item in berlin.items] == [times[1], times[2], times[0]]
    assert berlin.context.startswith("## 2026-03-05 19:00\nuser: ")
    assert "## 2026-03-10 00:30\nuser: " in berlin.context
    assert berlin.items[0].occurred_at == datetime(2026, 3, 9, 23, 30, tzinfo=UTC)
    assert sessions.contexts[0].session_external_id == times[1]


@pytest.mark.parametrize(
    "question",
    ["What did I say yesterday?", "What did I say on Tuesday?"],
)
async def test_what_was_said_at_the_time_of_a_question_is_found_by_the_time_alone(
    memory: Graphmem, question: str, monkeypatch: pytest.MonkeyPatch
):
    """Though 150 messages of other days are nearer to the question by meaning and by words.

    No exact cosines of all memories are computed for a time that has few. All texts are read once more,
    since those of the time come from another statement.
    """
    load, read = composing.load_texts, list[str]()

    async def watched(ids, *rest, **options):
        read.extend(ids)
        return await load(ids, *rest, **options)

    monkeypatch.setattr(composing, "load_texts", watched)
    monkeypatch.setattr(finding, "_find_exactly", lambda *_: pytest.fail("all were read"))
    await memory.open_conversation("c")
    then = datetime(2025, 8, 4, 12, tzinfo=UTC)
    others = [
        {
            "role": "user",
            "content": f"What did I say yesterday or on Tuesday to number {place}?",
            "occurred_at": then + timedelta(minutes=place),
        }
        for place in range(150)
    ]
    hum = {"role": "user", "content": "Hum.", "occurred_at": "2026-03-10T18:00:00Z"}
    await memory.remember("c", [one | {"session_id": "old"} for one in others])
    [id] = (await memory.remember("c", [hum | {"session_id": "new"}])).ids

    asked: dict[str, Any] = {"as_of": "2026-03-11T10:00:00Z", "max_tokens": 200}
    found = await memory.recall(question, **asked)
    assert {id} < {item.id for item in found.items} <= set(read)
    day: dict[str, Any] = {"since": "2025-08-04T00:00:00Z", "until": "2025-08-05T00:00:00Z"}
    assert id not in {item.id for item in (await memory.recall(question, **asked, **day)).items}
    assert not (await memory.recall(question, **asked, abstain=True)).abstained
    named = await memory.explain("What did I say on 10 March?", id, **asked)
    assert named.stage != "not_a_candidate"


async def test_a_day_of_25_hours_is_looked_for_to_its_end(memory: Graphmem):
    """In Berlin 2025-10-26 ended at 23:00 UTC, 25 hours after its beginning."""
    await memory.open_conversation("c")
    others = [
        {
            "role": "user",
            "content": f"What did I say yesterday to number {place}?",
            "occurred_at": datetime(2025, 8, 4, 12, place // 60, place % 60, tzinfo=UTC),
        }
        for place in range(150)
    ]
    hums = [
        {"role": "user", "content": "Hum.", "occurred_at": f"2025-10-{time}:30:00Z"}
        for time in ("25T21", "25T22", "26T22", "26T23")
    ]
    await memory.remember("c", [one | {"session_id": "old"} for one in others])
    ids = [
        (await memory.remember("c", [one | {"session_id": one["occurred_at"]}])).ids[0]
        for one in hums
    ]

    found = await memory.recall(
        "What did I say yesterday?",
        as_of="2025-10-27T10:00:00Z",
        time_zone="Europe/Berlin",
        max_tokens=4000,
    )

    named = {one.id for one in found.items} | {one.id for one in found.omitted}
    assert [id in named for id in ids] == [False, True, True, False]


@pytest.mark.parametrize("zone", ["Middle/Earth", "../etc/passwd", "+01:00"])
async def test_an_unknown_time_zone_is_named(memory: Graphmem, zone: str):
    with pytest.raises(InvalidInput, match=r"time_zone: there is no time zone .* Europe/Berlin"):
        await memory.recall("What was yesterday?", time_zone=zone)
    with pytest.raises(InvalidInput, match="time_zone"):
        await memory.search_contextual("What was yesterday?", time_zone=zone)


@pytest.mark.parametrize("max_tokens", [40, 60, 80, 120, 300])
async def test_facts_that_lie_ahead_and_earlier_versions_show_their_day(
    memory: Graphmem, max_tokens: int
):
    first = await memory.remember_fact("The plan costs 49 euros.", valid_at="2026-03-03T23:30:00Z")
    await memory.supersede_fact(
        first.id, "The plan costs 59 euros.", valid_at="2026-06-25T12:00:00Z"
    )
    await memory.remember_fact("The plan will have a new name.", valid_at="2999-01-01T00:00:00Z")
    question = "What does the plan cost?"

    now = await memory.recall(question, max_tokens=max_tokens)
    every = await memory.recall(
        question, max_tokens=max_tokens, include_superseded=True, time_zone="Europe/Berlin"
    )

    assert max(now.tokens_used, every.tokens_used) <= max_tokens
    if max_tokens == 300:
        assert now.context == (
            "## Facts\n- The plan costs 59 euros.\n- from 2999-01-01: The plan will have a new name.\n"
        )
        assert every.context == (
            "## Facts\n- from 2026-03-04: The plan costs 49 euros.\n"
            "- from 2026-06-25: The plan costs 59 euros.\n"
            "- from 2999-01-01: The plan will have a new name.\n"
        )


async def test_a_long_text_without_sentences_has_a_part_in_a_small_budget(
    memory: Graphmem,
) -> None:
    noise = random.Random(7)
    data = "".join(noise.choices(string.ascii_letters + string.digits + "+/", k=9_000))
    text = f"{data[:4_000]} ledger-Bergen {data[4_000:]}"
    said = {"role": "user", "content": text}
    [id] = (await memory.remember("data", [said], create=True)).ids

    found = await memory.recall("Which ledger is in Bergen?", max_tokens=120)

    [item] = found.items
    assert item.id == id
    assert item.excerpt is not None
    assert found.tokens_used <= 120
    assert text.encode()[item.excerpt.start : item.excerpt.end].decode() in item.text
