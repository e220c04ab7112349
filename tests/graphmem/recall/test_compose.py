"""Composing without a database: what a budget does when texts are known only after ranking."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import asdict, replace

from graphmem.model.vocabulary import Kind
from graphmem.prompts.truncation import Part
from graphmem.recall.compose import (
    OMITTED_SHOWN,
    TEXTS,
    ComposedContext,
    MemoryText,
    Packing,
    pack,
    repeated_shares,
    worth,
)
from graphmem.recall.types import Explanation
from graphmem.recall.why import sentence
from graphmem.retrieval.filters import Filters
from graphmem.retrieval.finding import Candidate, Details, FoundPassage
from graphmem.retrieval.heads import Head
from graphmem.retrieval.ranking import Ranked
from graphmem.text.passages import passages
from graphmem.text.words import stems
from graphmem.tokens import TokenCounter
from tests.scripted import ScriptedGraph, scripted_context

BEGUN = datetime(2026, 3, 1, 9, tzinfo=UTC)


class Superadditive(TokenCounter):
    """Counts a whole for more than its parts, as no tokenizer should."""

    def count(self, text: str) -> int:
        return len(text.split()) + 2 * max(0, text.count("\n") - 2)


def ranked(
    id: str, tokens: int, passages: Sequence[FoundPassage] = (), score: float = 1.0
) -> Ranked:
    candidate = Candidate(
        id=id,
        external_id=None,
        kind="message",
        role="user",
        name=None,
        occurred_at=BEGUN + timedelta(seconds=ord(id)),
        conversation_id="c",
        session_id="s",
        idx=ord(id),
        importance=0.5,
        token_count=tokens,
        cosine=0.5,
        bm25=None,
        by_vector=True,
        passages=list(passages),
    )
    return Ranked(candidate=candidate, score=score, places={"vector": {id: 1}})


def head_of(id: str, new: str) -> Head | None:
    """Return the memory that has taken the place of another."""
    if id == new:
        return None
    own: dict[str, Any] = {"source_type": "message", "source_id": "", "category": "", "scope": ""}
    fields = asdict(ranked(new, 500).candidate)
    return Head(**fields, **own, other_categories=[], chain=[id, new])


def place_of(text: str, needle: str) -> int:
    return next(place for place, one in enumerate(passages(text)) if needle in one.text)


def excerpted(id: str, text: str) -> MemoryText:
    """Return the row of a long memory with all of its passages."""
    parts = [
        Part(place=place, start=one.start, end=one.end, text=one.text)
        for place, one in enumerate(passages(text))
    ]
    return MemoryText(id, "", "name", parts=parts, bytes=len(text.encode()))


async def packed(
    texts: dict[str, str],
    *,
    limit: int | None,
    max_tokens: int,
    tokens: TokenCounter | None = None,
    heads: dict[str, str | None] | None = None,
    by_worth: bool = False,
    needles: dict[str, str] | None = None,
    scores: dict[str, float] | None = None,
    details: dict[str, Details] | None = None,
) -> tuple[Packing, ScriptedGraph]:
    """Pack texts that stand in their order of rank; `heads` have taken places, None of the deleted.

    `needles` are parts of long texts, whose passages were found; a score that is not given is 1. What has
    `details` came with them and with its text.
    """
    counter = tokens or TokenCounter()
    places = {id: place_of(texts[id], needle) for id, needle in (needles or {}).items()}

    def rows(
        ids: list[str], named: list[str], around: dict[str, Any], **_: Any
    ) -> list[MemoryText]:
        found = []
        for id in ids:
            if id in named:
                row = MemoryText(id, has_text=False)
            elif id in around:
                row = excerpted(id, texts[id])
            else:
                row = MemoryText(id, texts[id], "name")
            if new := (heads or {}).get(id, id):
                found.append(replace(row, id=new, head=head_of(id, new)))
        return found

    graph = ScriptedGraph({TEXTS.name: rows})
    ranking = [
        ranked(
            id,
            counter.count(text),
            [FoundPassage(place=places[id], start=0, end=0)] if id in places else (),
            (scores or {}).get(id, 1.0),
        )
        for id, text in texts.items()
    ]
    came = details or {}
    ranking = [
        replace(one, candidate=replace(one.candidate, text=texts[one.id], details=came[one.id]))
        if one.id in came
        else one
        for one in ranking
    ]
    context = scripted_context(graph, tokens=counter)
    packing = await pack(
        ranking,
        Filters(),
        context,
        words=dict.fromkeys(stems(" ".join((needles or {}).values())), 1.0),
        limit=limit,
        max_tokens=max_tokens,
        by_worth=by_worth,
    )
    return packing, graph


async def composed(texts: dict[str, str], **options: Any) -> tuple[ComposedContext, ScriptedGraph]:
    packing, graph = await packed(texts, **options)
    return packing.compose(), graph


async def test_what_had_no_room_is_not_beyond_the_limit_that_others_filled():
    texts = {"a": "word " * 500, "b": "short", "c": "short too", "d": "one more"}
    answer, _ = await composed(texts, limit=2, max_tokens=100)

    assert [item.id for item in answer.items] == ["b", "c"]
    assert [(omitted.id, omitted.reason) for omitted in answer.omitted] == [
        ("a", "no_room"),
        ("d", "beyond_limit"),
    ]


@pytest.mark.parametrize("max_tokens", range(30, 50))
async def test_the_whole_context_is_counted_and_cut_until_it_fits(max_tokens: int):
    texts = dict.fromkeys("abcdefgh", "some words here")
    counter = Superadditive()
    answer, _ = await composed(texts, limit=10, max_tokens=max_tokens, tokens=counter)

    assert answer.items
    assert counter.count(answer.context) == answer.tokens_used <= max_tokens
    assert [item.id for item in answer.items] == list("abcdefgh")[: len(answer.items)]
    assert answer.omitted_total == len(texts) - len(answer.items)


async def test_without_a_limit_the_budget_alone_decides():
    texts = {chr(0x4E00 + place): "some words here" for place in range(120)}
    answer, graph = await composed(texts, limit=None, max_tokens=400)

    assert 20 < len(answer.items) < 120
    assert {omitted.reason for omitted in answer.omitted} == {"no_room"}
    assert answer.omitted_total == 120 - len(answer.items)
    assert graph.names.count(TEXTS.name) == 1
    everything, _ = await composed(texts, limit=None, max_tokens=10_000)
    assert (len(everything.items), everything.omitted_total) == (120, 0)


async def test_of_like_scores_the_shorter_text_is_packed_first_where_worth_decides():
    texts = {"a": "word " * 80, "b": "short", "c": "word " * 30}
    by_worth, _ = await composed(texts, limit=None, max_tokens=110, by_worth=True)
    by_rank, _ = await composed(texts, limit=None, max_tokens=110)

    # Items keep their ranks.
    assert [(item.id, item.rank) for item in by_worth.items] == [("b", 2), ("c", 3)]
    assert [item.id for item in by_rank.items] == ["a", "b"]


def test_a_much_better_answer_is_worth_its_length():
    assert worth(1.0, 500) > worth(0.8, 80) > worth(1.0, 3_000)


def test_an_episode_is_worth_the_part_that_no_message_says() -> None:
    def found(id: str, kind: Kind, text: str) -> Candidate:
        return replace(ranked(id, 5).candidate, kind=kind, text=text)

    said = [
        found("a", "message", "The boiler hums. It was mended in May! Who came?"),
        found("b", "message", "Tom came: he lives near."),
    ]
    of_messages = found(
        "e", "episode", "Nora: The boiler hums. It was mended in May!\n- Tom came: he lives near."
    )
    half = found("f", "summary", "The boiler hums.\nNobody knows why")
    own = found("g", "episode", "A repair")

    shares = repeated_shares([of_messages, half, *said, own])
    assert shares == {"e": 1.0, "f": 0.5, "g": 0.0}
    assert repeated_shares(said) == {}


def test_of_an_episode_and_the_summary_of_its_session_one_is_worth_its_text() -> None:
    texts = {
        "s": "Nora: The boiler hums. It was mended in May!",
        "e": "Nora: It was mended in May! The boiler hums.",
        "f": "Tom: The boiler hums. He lives near it.",
    }
    made = [
        replace(ranked(id, 5).candidate, kind="summary" if id == "s" else "episode", text=text)
        for id, text in texts.items()
    ]

    shares = repeated_shares(made)
    assert shares["s"] == 0.0
    assert shares["e"] == 1.0
    assert 0.0 < shares["f"] < 1.0


async def test_an_episode_that_repeats_messages_does_not_take_their_room() -> None:
    message, episode = ranked("a", 5), ranked("b", 5, score=1.5)
    text = "The boiler hums"
    both = [
        replace(one, candidate=replace(one.candidate, kind=kind, text=text, session_id=id))
        for one, kind, id in ((episode, "episode", ""), (message, "message", "s"))
    ]
    graph = ScriptedGraph({TEXTS.name: lambda ids, **_: [MemoryText(id, text) for id in ids]})
    context = scripted_context(graph, tokens=Superadditive())
    for by_worth, taken in ((True, "a"), (False, "b")):
        packing = await pack(
            both, Filters(), context, words={}, limit=None, max_tokens=9, by_worth=by_worth
        )
        assert [item.id for item in packing.compose().items] == [taken]


async def test_a_text_pays_for_its_prefix_and_heading_too():
    # Of the texts alone, of 60 tokens and 1, the better one would be worth less.
    texts = {"a": "word " * 60, "b": "short"}
    answer, _ = await composed(texts, limit=None, max_tokens=80, by_worth=True, scores={"b": 0.86})

    assert [item.id for item in answer.items] == ["a"]


async def test_a_short_text_far_below_fills_the_last_room_in_one_round_trip():
    texts = {chr(0x4E00 + place): "word " * 40 for place in range(30)} | {"z": "short"}
    answer, graph = await composed(texts, limit=None, max_tokens=120)

    assert [item.id for item in answer.items][-1] == "z"
    assert graph.names.count(TEXTS.name) == 1


async def test_only_what_the_answer_may_name_is_looked_up_without_a_limit():
    texts = {chr(0x4E00 + place): "word " * 40 for place in range(200)}
    answer, graph = await composed(texts, limit=None, max_tokens=100)

    assert len(answer.omitted) == OMITTED_SHOWN
    looked_up = sum(len(asked["ids"]) for _, asked in graph.asked)
    assert looked_up <= OMITTED_SHOWN + 4


async def test_no_text_is_fetched_that_cannot_fit():
    texts = {"a": "word " * 500, "b": "short"}
    answer, graph = await composed(texts, limit=10, max_tokens=60)

    assert [item.id for item in answer.items] == ["b"]
    [(_, asked)] = graph.asked
    assert (asked["ids"], asked["named"]) == (["b", "a"], ["a"])


def details(text: str | None = None) -> Details:
    return Details(text=text, metadata='{"a": 1}', tags=["t"], session_external_id="name")


async def test_what_came_with_the_search_is_not_read_again():
    texts = {"a": "short", "b": "word " * 500, "c": "short words"}
    whole = dict.fromkeys("ab", details()) | {"c": details("Shown.")}
    answer, graph = await composed(texts, limit=10, max_tokens=60, details=whole)

    assert graph.asked == []
    assert [(one.id, one.text) for one in answer.items] == [("a", "short"), ("c", "Shown.")]
    assert {(one.session_external_id, *one.tags) for one in answer.items} == {("name", "t")}
    assert [one.metadata for one in answer.items] == [{"a": 1}] * 2
    assert [one.id for one in answer.omitted] == ["b"]
    assert answer.judged == {"a": ["short"], "c": ["Shown."]}


async def test_everything_is_read_once_more_where_something_did_not_come_with_the_search():
    texts = {"a": "short", "b": "newer", "c": "short words"}
    some = dict.fromkeys("ac", details())
    answer, graph = await composed(texts, limit=10, max_tokens=60, details=some, heads={"a": "b"})

    [(_, asked)] = graph.asked
    assert asked["ids"] == ["a", "b", "c"]
    assert [one.id for one in answer.items] == ["b", "c"]


async def test_what_is_left_out_is_named_as_it_stands_now():
    texts = dict.fromkeys("abcd", "word " * 500) | {"e": "short"}
    answer, _ = await composed(
        texts, limit=10, max_tokens=60, heads={"b": "x", "c": "d", "a": None}
    )

    assert [item.id for item in answer.items] == ["e"]
    assert [(one.id, one.rank) for one in answer.omitted] == [("x", 2), ("d", 3)]


async def test_a_head_keeps_the_ranks_of_the_version_that_was_found():
    texts = {"a": "short", "b": "short too"}
    answer, _ = await composed(texts, limit=10, max_tokens=60, heads={"a": "x"})

    assert [(item.id, item.ranks) for item in answer.items] == [
        ("x", {"vector": 1}),
        ("b", {"vector": 1}),
    ]


async def test_what_is_left_out_is_named_where_nothing_fits():
    answer, graph = await composed({"a": "word " * 500}, limit=10, max_tokens=60)

    assert [one.id for one in answer.omitted] == ["a"]
    [(_, asked)] = graph.asked
    assert asked["ids"] == asked["named"] == ["a"]


async def test_at_most_fifty_left_out_are_named_and_all_are_counted():
    texts = {chr(0x4E00 + place): "word" for place in range(80)}
    answer, _ = await composed(texts, limit=5, max_tokens=10_000)

    assert (len(answer.items), len(answer.omitted), answer.omitted_total) == (5, 50, 75)


NEEDLE = (
    "2026-10-13T02:14:07Z ERROR pool.worker export lock wait: process 88121 was blocked by VACUUM FULL"
    " on table ledger_entries for 1874 s trace=12345678abcdef01 node=arm-3 zone=eu-central-1 shard=12"
)
LINE = (
    "2026-10-01T02:{0:02d}:11Z INFO pool.worker request_id={1:08x} POST /v2/items/{0} status=200"
    " trace={2:016x} node=arm-3 zone=eu-central-1 shard={0}"
)
LOG = "\n".join(
    NEEDLE if number == 37 else LINE.format(number, number * 7919, number * 104729)
    for number in range(60)
)


@pytest.mark.parametrize("max_tokens", range(10, 200, 7))
async def test_a_budget_pays_for_the_heading_of_each_day_of_a_session(max_tokens: int):
    # `ranked` takes the id for the second: these are twelve days of one session.
    texts = {
        chr(90_000 * day + second): "some words here" for day in range(1, 13) for second in (0, 1)
    }
    answer, _ = await composed(texts, limit=None, max_tokens=max_tokens)

    days = {item.occurred_at.date() for item in answer.items}
    assert answer.context.count("## ") == len(days)
    assert TokenCounter().count(answer.context) == answer.tokens_used <= max_tokens
    assert answer.tokens_used > max_tokens - 30


@pytest.mark.parametrize(("score", "taken"), [(0.95, [1, 2, 3, 4]), (0.99, [2, 3, 4, 5])])
async def test_an_excerpt_is_worth_as_much_as_a_text_of_a_quarter_of_the_budget(
    score: float, taken: list[int]
):
    others = {chr(0x4E00 + place): "word " * 60 for place in range(10)}
    answer, _ = await composed(
        {"a": LOG} | others,
        limit=None,
        max_tokens=300,
        by_worth=True,
        needles={"a": NEEDLE},
        scores=dict.fromkeys(others, score),
    )

    assert [item.rank for item in answer.items] == taken
    assert (NEEDLE in answer.context) == (1 in taken)
    assert answer.tokens_used <= 300


async def test_what_had_no_room_tells_what_packing_needed_and_had_left():
    texts = {"a": "word " * 230, "b": LOG, "c": "short"}
    packing, _ = await packed(texts, limit=None, max_tokens=300, needles={"b": NEEDLE})
    answer = packing.compose()
    [omitted] = answer.omitted
    needed, left = packing.room(ranked("b", 3_000).candidate)

    assert [item.id for item in answer.items] == ["a", "c"]
    assert (omitted.id, omitted.reason) == ("b", "no_room")
    assert left < omitted.tokens < needed < 80
    assert needed == TokenCounter().count(f"user: [...] {NEEDLE} [...]\n")
    assert 300 - left == TokenCounter().count(f"\n## 2026-03-01 09:01\nuser: {texts['a']}\n")


async def test_a_text_that_was_not_read_is_not_explained_by_the_room_that_was_left():
    """Excerpts took less than estimated, so that the next text would have fitted."""
    logs = {chr(0x4E00 + place): LOG for place in range(20)}
    shorts = {chr(0x5000 + place): "word " * (5 + place % 7) for place in range(300)}
    packing, graph = await packed(
        logs | shorts, limit=None, max_tokens=2_000, needles=dict.fromkeys(logs, NEEDLE)
    )
    packing.compose()
    needed, left = packing.room(ranked(next(iter(shorts)), 6).candidate)
    found = Explanation(
        memory_id=next(iter(shorts)),
        external_id=None,
        kind="message",
        stage="no_room",
        filters=[],
        superseded_by=None,
        min_relevance=None,
        rank=21,
        weights={},
        candidates=320,
        tokens_needed=needed,
        tokens_left=left,
        degraded=[],
    )

    assert needed <= left
    read = [id for _, asked in graph.asked for id in asked["ids"] if id not in asked["named"]]
    assert found.memory_id not in read
    assert sentence(found) == (
        f"rank 21; needs {needed} tokens, {left} were left"
        "; its text was not read, since it did not fit by estimate"
    )
    assert sentence(replace(found, tokens_left=needed - 1)).endswith(f"{needed - 1} were left")


@pytest.mark.parametrize("max_tokens", range(100, 1_000, 20))
async def test_a_sentence_longer_than_a_first_excerpt_is_shown_in_any_budget(max_tokens: int):
    texts = {"a": LOG, "b": "Why are the exports slow?", "c": "Move the maintenance."}
    answer, _ = await composed(texts, limit=None, max_tokens=max_tokens, needles={"a": NEEDLE})

    assert NEEDLE in answer.context
    assert answer.tokens_used <= max_tokens
