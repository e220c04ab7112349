"""S2 over HTTP: facts and episodes of one conversation, ranked as specified, and nobody else's."""

import asyncio
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import msgspec
import pytest
import pytest_asyncio
from graphmem_api.app import create_app
from graphmem_api.bodies import decoded
from graphmem_api.retrieve_memory import FACTS_ASKED, MEMORY_ASKED, WHOLE
from litestar import Litestar
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.errors import InvalidInput, Unavailable
from graphmem.model.times import END
from graphmem.model.vocabulary import CATEGORIES, Kind
from graphmem.retrieval.decay import retrievability_at
from graphmem.retrieve_memory.types import FactsAsked, MemoryAsked
from graphmem.runtime import Runtime
from tests.episodes import episode, facts, stored, talk

RAW = "/api/v0/retrieve_memory/raw"
MARKDOWN = "/api/v0/retrieve_memory"
PRE = "/api/v0/context_pre_retrieve"
ROUTES = (MARKDOWN, RAW, PRE)
NOWHERE = "550e8400-e29b-41d4-a716-446655440001"

SAID = [
    ("monday", "user", "I've been doing Python for 5 years but my new team is all Rust"),
    ("monday", "assistant", "That's a big shift. What prompted it?"),
    ("tuesday", "user", "The trading system needs microsecond latency"),
]


async def asked(http: httpx.AsyncClient, route: str, conversation: str, query: str, **more: Any):
    """Ask a route and return the answer: JSON from `raw`, else the Markdown."""
    body = {"query": query, "conversation_id": conversation, **more}
    answer = await http.post(route, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json() if route == RAW else answer.text


async def ids(http: httpx.AsyncClient, conversation: str, query: str, part: str, **more: Any):
    return [one["id"] for one in (await asked(http, RAW, conversation, query, **more))[part]]


async def test_markdown_for_a_model_with_facts_first(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.1 S2.26 S2.51
    c = await talk(memory)
    rust = await episode(
        memory, c, "Rust is the new team's language.", said=SAID, days_ago=3, surprise=0.85
    )
    await facts(memory, c, "User's new team uses Rust", category="experience", sources=[rust])
    answer = await http.post(
        MARKDOWN, json={"query": "Rust", "conversation_id": c, "detail": "high"}
    )
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    # S2.31
    score = float(answer.text.partition("score: ")[2][:4])
    assert 0.85 < score < 0.95, "three days with a stability of 3.3 days"
    assert answer.text == (
        "## Semantic Memory\n"
        "- [experience] User's new team uses Rust (sources: 2 conversations)\n"
        "\n"
        "## Episodic Memories\n"
        "\n"
        f"### About Rust [rank: 1, score: {score:.2f}, key moment]\n"
        "**When:** 3 days ago\n"
        "**Summary:** Rust is the new team's language.\n"
        "\n"
        "**Details:**\n"
        '- user: "I\'ve been doing Python for 5 years but my new team is all Rust"\n'
        '- assistant: "That\'s a big shift. What prompted it?"\n'
        '- user: "The trading system needs microsecond latency"'
    )


async def test_raw_has_the_fields_of_the_specification(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.2 S2.40 S2.41
    c = await talk(memory)
    first = await episode(memory, c, "Rust was tried.", said=SAID[:1], days_ago=2)
    second = await episode(memory, c, "Rust was chosen.", said=SAID[1:], days_ago=1, surprise=0.85)
    [fact] = await facts(
        memory, c, "The team uses Rust", keywords=["Ferris"], sources=[second, first]
    )
    found = await asked(http, RAW, c, "Rust")
    assert list(found) == ["semantic", "episodic"]
    score, scores = (found["semantic"][0].pop(name) for name in ("score", "scores"))
    assert score == scores["fused"] == pytest.approx(2 / 61)
    assert set(scores) == {"vector", "bm25", "fused"}
    assert found["semantic"] == [
        {
            "id": fact,
            "conversation_id": c,
            "category": "preference",
            "fact": "The team uses Rust",
            "keywords": ["Ferris"],
            "source_episodic_ids": [first, second],
            "valid_at": "2026-03-02T09:30:00Z",
            "invalid_at": None,
            "ranks": {"vector": 1, "bm25": 1},
            "other_categories": [],
        }
    ]
    shown = {one["id"]: one for one in found["episodic"]}[second]
    assert list(shown) == [
        *("id", "conversation_id", "messages", "title", "summary", "stability", "difficulty"),
        *("surprise", "start_at", "end_at", "created_at", "last_reviewed_at", "consolidated_at"),
        *("score", "scores", "ranks"),
    ]
    assert shown["messages"] == [{"role": role, "content": text} for _, role, text in SAID[1:]]
    assert (shown["title"], shown["summary"]) == ("About Rust", "Rust was chosen.")
    assert shown["stability"] == pytest.approx(2.3065 * 1.425)
    assert shown["end_at"] == shown["last_reviewed_at"] == shown["created_at"]
    assert shown["consolidated_at"] is None


async def test_nothing_found_is_an_empty_answer(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.38 S2.39
    for c in (await talk(memory), NOWHERE):
        assert await asked(http, RAW, c, "anything") == {"semantic": [], "episodic": []}
        assert await asked(http, MARKDOWN, c, "anything") == ""
        assert await asked(http, PRE, c, "anything") == ""


async def test_no_answer_holds_an_embedding(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.42
    c = await talk(memory)
    await episode(memory, c, "Rust was tried.", said=SAID)
    await facts(memory, c, "The team uses Rust")
    for route in ROUTES:
        answer = await http.post(route, json={"query": "Rust", "conversation_id": c})
        assert "embedding" not in answer.text
        assert len(answer.content) < 3_000


async def test_the_pre_retrieval_answers_with_facts_alone(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.3 S2.50
    c = await talk(memory)
    e = await episode(memory, c, "Rust was tried.", said=SAID[:1], surprise=1.0)
    await facts(memory, c, "The team uses Rust", sources=[e])
    answer = await http.post(PRE, json={"query": "Rust", "conversation_id": c})
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.text == (
        "## Semantic Memory\n- [preference] The team uses Rust (sources: 1 conversation)"
    )


async def test_a_fact_begins_with_its_day_if_that_lies_ahead_or_earlier_versions_are_asked_for(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    c = await talk(memory)
    about: dict[str, Any] = {"conversation_id": c, "category": "identity"}
    march, april = (datetime(2026, month, 2, tzinfo=UTC) for month in (3, 4))
    old = await memory.remember_fact("Mara lives in Bergen", valid_at=march, **about)
    await memory.supersede_fact(old.id, "Mara lives in Oslo", valid_at=april)
    await memory.remember_fact(
        "Mara lives in Paris", valid_at=datetime(2199, 5, 2, tzinfo=UTC), **about
    )

    def bullets(text: str) -> set[str]:
        return {line[13:].partition(" (")[0] for line in text.splitlines() if line[:3] == "- ["}

    now = {"Mara lives in Oslo", "from 2199-05-02: Mara lives in Paris"}
    for route in (MARKDOWN, PRE):
        assert bullets(await asked(http, route, c, "Where does Mara live?")) == now
    every = await asked(http, MARKDOWN, c, "Where does Mara live?", include_superseded=True)
    assert bullets(every) == {
        "from 2026-03-02: Mara lives in Bergen",
        "from 2026-04-02: Mara lives in Oslo",
        "from 2199-05-02: Mara lives in Paris",
    }


PLAIN = {"query": "Rust", "conversation_id": NOWHERE}
TOO_LONG = "x" * 32_769


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({"conversation_id": NOWHERE}, "query", "missing"),  # S2.4
        (PLAIN | {"query": ""}, "query", "at least 1 character"),
        (PLAIN | {"query": " \n"}, "query", "blank"),
        (PLAIN | {"query": None}, "query", "a text"),
        (PLAIN | {"query": 7}, "query", "a text"),
        (PLAIN | {"query": TOO_LONG}, "query", "32,768"),
        ({"query": "Rust"}, "conversation_id", "missing"),  # S2.5
        (PLAIN | {"conversation_id": "atlas"}, "conversation_id", "UUID"),
        (PLAIN | {"conversation_id": ""}, "conversation_id", "UUID"),
        (PLAIN | {"conversation_id": f"{NOWHERE}\n"}, "conversation_id", "UUID"),
        (PLAIN | {"conversation_id": NOWHERE[:-1]}, "conversation_id", "UUID"),
        (PLAIN | {"conversation_id": NOWHERE.replace("-", "")}, "conversation_id", "UUID"),
        (PLAIN | {"conversation_id": None}, "conversation_id", "a text"),
        (PLAIN | {"semantic_limit": 0}, "semantic_limit", "1–1,000"),  # S2.7
        (PLAIN | {"semantic_limit": 1_001}, "semantic_limit", "1–1,000"),
        (PLAIN | {"semantic_limit": -1}, "semantic_limit", "1–1,000"),
        (PLAIN | {"semantic_limit": 2.5}, "semantic_limit", "a whole number"),
        (PLAIN | {"semantic_limit": "20"}, "semantic_limit", "a whole number"),
        (PLAIN | {"semantic_limit": None}, "semantic_limit", "a whole number"),
        (PLAIN | {"category": "x" * 129}, "category", "at most 128"),
        (PLAIN | {"category": 3}, "category", "a text"),
        (PLAIN | {"limit": 3}, "limit", "unknown field"),
    ],
)
@pytest.mark.parametrize("route", ROUTES)
async def test_what_cannot_be_asked_is_named(
    route: str, body: dict[str, Any], field: str, said: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.post(route, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["field"] == field
    assert said in answer.json()["detail"]


@pytest.mark.parametrize(
    ("category", "said"),
    [("gossip", ", ".join(CATEGORIES)), ("", "architectural_decision")],  # S2.9
)
@pytest.mark.parametrize("route", ROUTES)
async def test_a_category_that_the_client_has_not_is_told_with_those_it_has(
    route: str, category: str, said: str, http: httpx.AsyncClient
) -> None:
    answer = await http.post(route, json=PLAIN | {"category": category})
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["field"]) == ("invalid_input", "category")
    assert said in answer.json()["detail"]


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"episodic_limit": 0}, "episodic_limit", "1–100"),  # S2.6
        ({"episodic_limit": 101}, "episodic_limit", "1–100"),
        ({"episodic_limit": 5.5}, "episodic_limit", "a whole number"),
        ({"episodic_limit": None}, "episodic_limit", "a whole number"),
        ({"detail": "full"}, "detail", "auto, high, low, none"),  # S2.8
        ({"detail": ""}, "detail", "auto"),
        ({"detail": None}, "detail", "auto"),
    ],
)
@pytest.mark.parametrize("route", [MARKDOWN, RAW])
async def test_what_concerns_episodes_is_checked_where_there_are_some(
    route: str, given: dict[str, Any], field: str, said: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.post(route, json=PLAIN | given)
    assert answer.status_code == 400
    assert answer.json()["field"] == field
    assert said in answer.json()["detail"]


@pytest.mark.parametrize("name", ["episodic_limit", "detail"])
async def test_the_pre_retrieval_knows_no_episodes(
    name: str, refusing: httpx.AsyncClient
) -> None:  # S2.10
    legal = {"episodic_limit": 5, "detail": "auto"}
    answer = await refusing.post(PRE, json=PLAIN | {name: legal[name]})
    assert (answer.status_code, answer.json()["field"]) == (400, name)


async def test_the_pre_retrieval_knows_what_facts_are_narrowed_by(
    http: httpx.AsyncClient,
) -> None:  # S2.10
    both = {"semantic_limit": 20, "category": None}
    assert (await http.post(PRE, json=PLAIN | both)).status_code == 200


@pytest.fixture(scope="module")
def reader(runtime: Runtime) -> Graphmem:
    """The memory of a client that tests only read."""
    return Graphmem(runtime, f"test-{uuid.uuid4().hex}")


@pytest_asyncio.fixture(scope="module")
async def one_fact(reader: Graphmem) -> str:
    """The id of a conversation with one fact."""
    c = await talk(reader)
    await facts(reader, c, "The team uses Rust")
    return c


@pytest.mark.parametrize(
    "query", ["*", "?", '+-&|!(){}[]^"~*?:\\/ AND OR NOT', "日本", "🦀", "a" * 32_768, "the of"]
)
async def test_any_text_is_a_question(
    query: str, app: Litestar, asking: Any, reader: Graphmem, one_fact: str
) -> None:
    async with asking(app, x_client_id=reader.client_id) as http:
        for route in ROUTES:
            assert await asked(http, route, one_fact, query)


async def test_the_limits_are_the_specification_s(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.6 S2.7 S2.23
    c = await talk(memory)
    await facts(memory, c, *(f"Rust fact number {n}" for n in range(25)))
    for number in range(7):
        await episode(memory, c, f"Rust episode number {number}")
    found = await asked(http, RAW, c, "Rust")
    assert (len(found["semantic"]), len(found["episodic"])) == (20, 5)
    found = await asked(http, RAW, c, "Rust", semantic_limit=1, episodic_limit=1)
    assert (len(found["semantic"]), len(found["episodic"])) == (1, 1)
    found = await asked(http, RAW, c, "Rust", semantic_limit=1_000, episodic_limit=100)
    assert (len(found["semantic"]), len(found["episodic"])) == (25, 7)


async def legs(memory: Graphmem, conversation: str, query: str, kind: Kind) -> list[list[str]]:
    """Return each leg's ids, best first, as recall ranks by that leg alone."""
    ranked = []
    for ranking in ("vector", "bm25"):
        found = await memory.recall(
            query,
            conversation_id=conversation,
            kinds=[kind],
            ranking=ranking,
            limit=100,
            max_tokens=200_000,
        )
        ranked.append([item.id for item in found.items])
    return ranked


ABOUT = ("Rust", "Python", "the harbour", "a red lighthouse", "microsecond latency", "tea")
VERBS = ("likes", "is afraid of", "talks about", "forgot", "is learning")


async def test_facts_score_by_reciprocal_ranks_of_both_lists(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.14 S2.18 S2.20
    c = await talk(memory)
    await facts(memory, c, *(f"User {verb} {thing}" for verb in VERBS for thing in ABOUT))
    query = "learning Rust beside the lighthouse"
    lists = await legs(memory, c, query, "fact")
    assert [len(one) for one in lists] == [30, 14]
    found = await asked(http, RAW, c, query, semantic_limit=1_000)
    for fact in found["semantic"]:
        ranks = {
            leg: one.index(fact["id"]) + 1
            for leg, one in zip(("vector", "bm25"), lists, strict=True)
            if fact["id"] in one
        }
        assert fact["ranks"] == ranks
        assert {leg for leg in ranks if leg in fact["scores"]} == set(ranks)
        fused = sum(1 / (60 + rank) for rank in ranks.values())
        assert fact["score"] == fact["scores"]["fused"] == pytest.approx(fused, rel=1e-12)
    scores = [fact["score"] for fact in found["semantic"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 30


async def test_episodes_score_by_ranks_times_retrievability(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.14 S2.15 S2.16
    c = await talk(memory)
    for place, (verb, thing) in enumerate((v, t) for v in VERBS for t in ABOUT):
        await episode(memory, c, f"User {verb} {thing}", days_ago=place * 1.3, surprise=place / 30)
    query = "learning Rust beside the lighthouse"
    lists = await legs(memory, c, query, "episode")
    before = datetime.now(UTC)
    found = (await asked(http, RAW, c, query, episodic_limit=100))["episodic"]
    assert len(found) == 30
    for one in found:
        ranks = [leg.index(one["id"]) + 1 for leg in lists if one["id"] in leg]
        fused = sum(1 / (60 + rank) for rank in ranks)
        reviewed = datetime.fromisoformat(one["last_reviewed_at"])
        remembered = retrievability_at(one["stability"], reviewed, before)
        assert one["score"] == pytest.approx(fused * remembered, rel=1e-4)
        assert sorted(one["ranks"].values()) == sorted(ranks)
        scores = one["scores"]
        assert one["score"] == pytest.approx(scores["fused"] * scores["retrievability"])
        assert scores["retrievability"] == pytest.approx(remembered, rel=1e-4)
        assert -1 <= scores["vector"] <= 1
        assert ("bm25" in scores) == ("bm25" in one["ranks"])
    scores = [one["score"] for one in found]
    assert scores == sorted(scores, reverse=True)
    assert [one["id"] for one in found] != lists[0], "how well they are remembered moves them"


async def test_the_cut_comes_after_the_decay(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.15
    c = await talk(memory)
    old = await episode(memory, c, "Rust in the trading system", days_ago=3_000)
    new = await episode(memory, c, "Rust, briefly", days_ago=0)
    assert (await legs(memory, c, "Rust in the trading system", "episode"))[0] == [old, new]
    for limit, expected in ((1, [new]), (2, [new, old])):
        found = await ids(http, c, "Rust in the trading system", "episodic", episodic_limit=limit)
        assert found == expected


async def test_facts_do_not_decay(http: httpx.AsyncClient, memory: Graphmem) -> None:  # S2.54
    c = await talk(memory)
    long_ago = datetime(1990, 1, 1, tzinfo=UTC)
    [old] = await facts(
        memory, c, "Rust in the trading system", valid_at=long_ago, created_at=long_ago,
        occurred_at=long_ago,
    )  # fmt: skip
    [new] = await facts(memory, c, "Rust, briefly")
    found = (await asked(http, RAW, c, "Rust in the trading system"))["semantic"]
    assert [fact["id"] for fact in found] == [old, new]
    assert found[0]["score"] == pytest.approx(2 / 61)


@pytest.mark.parametrize("kind", ["fact", "episode"])
async def test_each_list_holds_a_hundred(
    kind: Kind, http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.12 S2.13 S2.19
    c = await talk(memory)
    near = [f"Crab number {n} is a crustacean of the sea" for n in range(110)]
    by_words = [f"Rust {n} and {n}" for n in range(110)]
    if kind == "fact":
        await facts(memory, c, *near, *by_words)
    else:
        from tests.planted import plant

        at = datetime.now(UTC)
        row = {
            "kind": "episode", "conversation_id": c, "title": "t", "start_at": at, "end_at": at,
            "surprise": 0.0, "stability": 1.0, "difficulty": 5.0, "last_reviewed_at": at,
        }  # fmt: skip
        await plant(memory, *(row | {"text": text} for text in near + by_words))
    part = "semantic" if kind == "fact" else "episodic"
    limit = {"semantic_limit": 1_000} if kind == "fact" else {"episodic_limit": 100}
    before = await legs(memory, c, "rust", kind)
    found = (await asked(http, RAW, c, "rust", **limit))[part]
    after = await legs(memory, c, "rust", kind)
    assert [len(one) for one in before + after] == [100] * 4
    # The words of many score the same: which of them are among the hundred changes whenever the
    # index merges its segments, also between two questions.
    in_both = [set(old) & set(new) for old, new in zip(before, after, strict=True)]
    either = set().union(*before, *after)
    found_ids = {one["id"] for one in found}
    assert found_ids <= either
    if kind == "fact":
        assert set().union(*in_both) <= found_ids
        assert 100 < len(found) < 220
    assert all(one["score"] <= 2 / 61 for one in found)
    assert min(one["score"] for one in found) >= 0.9 / 160


async def test_a_category_narrows_both_lists_from_within(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.21 S2.49
    c = await talk(memory)
    await facts(memory, c, *(f"How should I respond, version {n}" for n in range(120)))
    guidelines = await facts(
        memory, c, "Be brief", "Show examples", "Never flatter", category="guideline"
    )
    found = await asked(
        http, RAW, c, "how should I respond", category="guideline", semantic_limit=10
    )
    assert {fact["id"] for fact in found["semantic"]} == set(guidelines)
    assert {fact["category"] for fact in found["semantic"]} == {"guideline"}
    markdown = await asked(http, PRE, c, "how should I respond", category="guideline")
    assert markdown.count("- [guideline]") == 3
    everything = await ids(http, c, "how should I respond", "semantic", category=None)
    assert len(everything) == 20


async def test_a_category_leaves_episodes_alone(http: httpx.AsyncClient, memory: Graphmem) -> None:
    c = await talk(memory)
    e = await episode(memory, c, "Rust was tried.")
    assert await ids(http, c, "Rust", "episodic", category="guideline") == [e]


async def test_only_facts_that_hold_are_found(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.22
    c = await talk(memory)
    yesterday = datetime.now(UTC) - timedelta(days=1)
    [holds] = await facts(memory, c, "User uses Rust at work")
    await facts(memory, c, "User uses Rust", active=False, invalid_at=yesterday)
    await facts(memory, c, "User uses Rust", invalid_at=yesterday)
    await facts(memory, c, "User uses Rust", active=False, superseded_at=yesterday)
    for category in (None, "preference"):
        assert await ids(http, c, "User uses Rust", "semantic", category=category) == [holds]
    assert (await stored(memory, holds))["invalid_at"].to_native() == END


async def test_a_fact_is_found_by_a_name_that_only_its_keywords_hold(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.18 S2.24
    c = await talk(memory)
    await facts(memory, c, *(f"User likes {thing}" for thing in ABOUT))
    [alex] = await facts(memory, c, "The colleague sails on Sundays", keywords=["Alex", "boat"])
    found = (await asked(http, RAW, c, "Alex"))["semantic"]
    assert found[0]["id"] == alex
    assert "Alex" not in found[0]["fact"]


async def test_other_conversations_and_other_clients_are_not_seen(
    http: httpx.AsyncClient,
    rival_http: httpx.AsyncClient,
    memory: Graphmem,
    rival: Graphmem,
) -> None:  # S2.25
    c, other = await talk(memory), await talk(memory)
    await talk(rival, c)
    e = await episode(memory, c, "User mentioned Rust once.", said=[("s", "user", "Rust!")])
    [f] = await facts(memory, c, "Rust came up", sources=[e])
    for whose, where in ((memory, other), (rival, c), (rival, await talk(rival))):
        better = await episode(whose, where, "what the user said about Rust", said=SAID, days_ago=0)
        await facts(whose, where, "what the user said about Rust", sources=[better])
    for route in ROUTES:
        answer = str(await asked(http, route, c, "what the user said about Rust"))
        assert "what the user said" not in answer
        assert "trading" not in answer
    assert await ids(http, c, "what the user said about Rust", "semantic") == [f]
    assert await ids(http, c, "what the user said about Rust", "episodic") == [e]
    unknown = await asked(rival_http, RAW, other, "Rust")
    assert unknown == {"semantic": [], "episodic": []}


async def test_the_id_of_a_conversation_may_be_in_capitals(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    c = await talk(memory)
    [f] = await facts(memory, c, "Rust came up")
    assert await ids(http, c.upper(), "Rust", "semantic") == [f]


async def test_sources_are_the_sessions_behind_a_fact(
    http: httpx.AsyncClient, memory: Graphmem, rival: Graphmem
) -> None:  # S2.27
    c = await talk(memory)
    both = await episode(memory, c, "Rust, twice.", said=SAID)
    again = await episode(memory, c, "Rust again.", said=[("monday", "user", "Rust!")])
    third = await episode(memory, c, "Rust, a third time.", said=[("wednesday", "user", "Rust")])
    [direct] = (
        await memory.remember(c, [{"session_id": "sunday", "role": "user", "content": "Hm"}])
    ).ids
    # Another client's message in the same episode counts for nobody.
    elsewhere = await talk(rival)
    await rival.remember(elsewhere, [{"session_id": "x", "role": "user", "content": "Rust"}])
    await memory.runtime.graph.execute(
        "MATCH (m:Message {client_id: $rival}) MATCH (e:Episode {client_id: $client, id: $id}) "
        "CREATE (m)-[:PART_OF]->(e)",
        rival=rival.client_id, client=memory.client_id, id=both,
    )  # fmt: skip
    cases: tuple[tuple[list[str], str], ...] = (
        ([], "0 conversations"),
        ([again], "1 conversation"),
        ([both], "2 conversations"),
        ([both, again], "2 conversations"),
        ([both, third], "3 conversations"),
        ([direct], "1 conversation"),
        ([direct, both, third], "4 conversations"),
    )
    for number, (sources, _) in enumerate(cases):
        await facts(memory, c, f"Rust case {number}", sources=sources)
    lines = (await asked(http, PRE, c, "Rust")).splitlines()[1:]
    assert sorted(lines) == [
        f"- [preference] Rust case {number} (sources: {said})"
        for number, (_, said) in enumerate(cases)
    ]
    raw = {one["fact"]: one for one in (await asked(http, RAW, c, "Rust"))["semantic"]}
    assert raw["Rust case 6"]["source_episodic_ids"] == sorted(
        [both, third], key=[both, again, third].index
    )


async def test_messages_come_in_the_order_in_which_they_were_said(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    c = await talk(memory)
    said = [("s", "user", f"line {n}") for n in range(30)]
    await episode(memory, c, "Lines were said.", said=said)
    [found] = (await asked(http, RAW, c, "Lines", detail="none"))["episodic"]
    assert [one["content"] for one in found["messages"]] == [text for *_, text in said]


async def test_detail_decides_what_the_markdown_shows(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.33 S2.34 S2.52
    c = await talk(memory)
    for number in range(3):
        await episode(
            memory, c, f"Rust episode {number}", said=[("s", "user", "Rust!")], surprise=0.9
        )
    await episode(memory, c, "Rust, without a surprise", said=[("s", "user", "Rust.")])
    shown = {
        detail: (await asked(http, MARKDOWN, c, "Rust episode", detail=detail)).count("Details")
        for detail in ("auto", "none", "low", "high")
    }
    assert shown == {"auto": 2, "none": 0, "low": 1, "high": 4}


async def test_markdown_costs_fewer_tokens_than_json(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.53
    c = await talk(memory)
    e = await episode(memory, c, "Rust is the new team's language.", said=SAID, surprise=0.9)
    await facts(memory, c, *(f"Rust fact {n}" for n in range(10)), sources=[e])
    body = {"query": "Rust", "conversation_id": c, "detail": "high"}
    markdown, raw = [(await http.post(route, json=body)).text for route in (MARKDOWN, RAW)]
    count = memory.runtime.tokens.count
    assert all(text in markdown for *_, text in SAID)
    assert count(markdown) < count(raw) / 3


class Counting:
    """An embedder that counts the questions, or fails."""

    def __init__(self, runtime: Runtime, problem: Exception | None = None) -> None:
        self._embedder = runtime.embedder
        self._problem = problem
        self.asked: list[str] = []

    async def query(self, text: str) -> list[float]:
        self.asked.append(text)
        if self._problem:
            raise self._problem
        return await self._embedder.query(text)


class Meeting:
    """A graph in which a leg goes on only when the other has begun."""

    def __init__(self, runtime: Runtime) -> None:
        self._graph = runtime.graph
        self._met = asyncio.Barrier(2)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    async def rows(self, query: Any, **parameters: Any) -> Any:
        if query.name.startswith("retrieval/found"):
            async with asyncio.timeout(300):
                await self._met.wait()
        return await self._graph.rows(query, **parameters)


def having(memory: Graphmem, **parts: Any) -> Graphmem:
    """Return the same memory with some collaborators of its own."""
    return Graphmem(replace(memory.runtime, **parts), memory.client_id)


async def test_a_question_is_embedded_once_and_both_legs_run_at_a_time(
    memory: Graphmem,
) -> None:  # S2.11
    c = await talk(memory)
    e = await episode(memory, c, "Rust was tried.")
    [f] = await facts(memory, c, "The team uses Rust")
    embedder = Counting(memory.runtime)
    watched = having(memory, embedder=embedder, graph=Meeting(memory.runtime))
    found = (await watched.retrieve_memory("Rust?", c)).found
    assert [found.semantic[0].id, found.episodic[0].id] == [f, e]
    assert embedder.asked == ["Rust?"]


async def test_without_vectors_the_words_decide_and_the_answer_says_so(
    memory: Graphmem, asking
) -> None:
    c = await talk(memory)
    await episode(memory, c, "Rust was tried.", days_ago=0)
    [f] = await facts(memory, c, "The team uses Rust")
    await facts(memory, c, "The crab is a crustacean")
    embedder = Counting(memory.runtime, Unavailable("the embedding model failed"))
    broken = create_app(replace(memory.runtime, embedder=embedder))
    async with asking(broken, x_client_id=memory.client_id) as http:
        for route in ROUTES:
            answer = await http.post(route, json={"query": "Rust", "conversation_id": c})
            assert answer.status_code == 200
            assert answer.headers["x-graphmem-degraded"] == "no_vector"
            if route == MARKDOWN:
                assert "score: 1.00]" in answer.text, "of the one list that there is"
        assert await ids(http, c, "Rust", "semantic") == [f]
    answer = await memory.retrieve_memory("Rust", c)
    assert answer.degraded == []


async def test_a_whole_answer_says_nothing_of_degradation(http: httpx.AsyncClient) -> None:
    for route in ROUTES:
        assert "x-graphmem-degraded" not in (await http.post(route, json=PLAIN)).headers


async def reviews(http: httpx.AsyncClient, **asked_for: str) -> list[dict[str, Any]]:
    return (await http.get("/api/v0/reviews", params=asked_for)).json()["reviews"]


async def test_a_pending_review_is_there_soon_after(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.43
    c = await talk(memory)
    first = await episode(memory, c, "Rust in the trading system")
    second = await episode(memory, c, "Tea was made.")
    found = await asked(http, RAW, c, "Rust in the trading system")
    async with asyncio.timeout(300):
        while not (pending := await reviews(http)):
            await asyncio.sleep(0.02)
    assert len(pending) == 1
    assert pending[0]["query"] == "Rust in the trading system"
    assert (pending[0]["state"], pending[0]["conversation_id"]) == ("pending", c)
    assert pending[0]["episodes"] == [
        {"id": id, "rank": rank, "score": one["score"], "rated": None}
        for rank, (id, one) in enumerate(zip([first, second], found["episodic"], strict=True), 1)
    ]
    await asked(http, MARKDOWN, c, "tea", episodic_limit=1)
    await memory.runtime.afterwards.settle()
    newest = (await reviews(http))[0]
    assert (newest["query"], [one["id"] for one in newest["episodes"]]) == ("tea", [second])


async def test_nothing_is_recorded_where_no_episode_was_shown(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.43 S2.44
    c, bare = await talk(memory), await talk(memory)
    await episode(memory, c, "Rust was tried.")
    await facts(memory, c, "The team uses Rust")
    await facts(memory, bare, "The team uses Rust")
    await asked(http, PRE, c, "Rust")
    await asked(http, RAW, bare, "Rust")
    await asked(http, RAW, NOWHERE, "Rust")
    await memory.runtime.afterwards.settle()
    assert await reviews(http) == []


async def test_retrieval_changes_no_episode(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.45
    c = await talk(memory)
    e = await episode(memory, c, "Rust was tried.", said=SAID)
    before = await stored(memory, e)
    for route in (MARKDOWN, RAW, PRE):
        await asked(http, route, c, "Rust")
    await memory.runtime.afterwards.settle()
    assert await stored(memory, e) == before
    assert before["stability"] == pytest.approx(2.3065 * 1.15)


class ReadOnly:
    """A graph that takes no write."""

    def __init__(self, runtime: Runtime) -> None:
        self._graph = runtime.graph
        self.tried = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    async def write(self, work: Any) -> Any:
        self.tried += 1
        raise Unavailable("the database does not answer")


async def test_a_review_that_cannot_be_recorded_does_not_fail_the_answer(
    memory: Graphmem, asking, caplog: pytest.LogCaptureFixture
) -> None:  # S2.43
    c = await talk(memory)
    e = await episode(memory, c, "Rust was tried.")
    graph = ReadOnly(memory.runtime)
    async with asking(
        create_app(replace(memory.runtime, graph=graph)), x_client_id=memory.client_id
    ) as http:
        assert await ids(http, c, "Sesame Rust", "episodic") == [e]
        await memory.runtime.afterwards.settle()
        assert await reviews(http) == []
    assert graph.tried == 1
    assert "not done after an answer: record_review" in caplog.text
    assert "Sesame" not in caplog.text


async def test_a_conversation_deleted_in_between_leaves_no_review(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    c = await talk(memory)
    await episode(memory, c, "Rust was tried.")
    found = await memory.retrieve_memory("Rust", c)
    assert found.found.episodic
    await memory.delete_conversation(c)
    await memory.runtime.afterwards.settle()
    assert await reviews(http, conversation_id=c) == []


async def test_python_answers_what_http_answers(http: httpx.AsyncClient, memory: Graphmem) -> None:
    c = await talk(memory)
    e = await episode(memory, c, "Rust was tried.", said=SAID)
    await facts(memory, c, "The team uses Rust", sources=[e])
    same = await memory.retrieve_memory("Rust", uuid.UUID(c), raw=True)
    raw = await asked(http, RAW, c, "Rust")
    assert [one.id for one in same.found.episodic] == [one["id"] for one in raw["episodic"]]
    assert [one.score for one in same.found.semantic] == [one["score"] for one in raw["semantic"]]
    assert len(same.found.episodic[0].messages) == 3
    assert (await memory.context_pre_retrieve("Rust", c)).markdown == await asked(
        http, PRE, c, "Rust"
    )
    with pytest.raises(InvalidInput, match="detail"):
        await memory.retrieve_memory("Rust", c, detail="full")  # type: ignore[arg-type]


async def test_equal_scores_stand_in_the_order_of_time_then_id(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    c = await talk(memory)
    ids_ = [str(uuid.UUID(int=n)) for n in (3, 1, 2)]
    for id in ids_:
        await facts(memory, c, "Rust", id=id)
    newer = datetime(2026, 5, 1, tzinfo=UTC)
    [last] = await facts(memory, c, "Rust", occurred_at=newer)
    order = await ids(http, c, "Rust", "semantic")
    assert order[0] == last
    assert order == await ids(http, c, "Rust", "semantic")


@pytest.mark.parametrize(
    ("example", "wanted"), [(MEMORY_ASKED, MemoryAsked), (FACTS_ASKED, FactsAsked)]
)
def test_every_example_can_be_sent(example: Any, wanted: type) -> None:
    assert decoded(msgspec.json.encode(example.value), wanted)


def test_the_description_shows_markdown_and_limits(offline_app: Litestar) -> None:
    document = offline_app.openapi_schema.to_schema()
    for route in (MARKDOWN, PRE):
        answer = document["paths"][route]["post"]["responses"]["200"]
        assert list(answer["content"]) == ["text/markdown"]
    schema = next(
        shape for name, shape in document["components"]["schemas"].items() if "MemoryAsked" in name
    )
    assert schema["properties"]["episodic_limit"]["maximum"] == 100
    assert schema["properties"]["semantic_limit"]["default"] == 20
    assert sorted(schema["required"]) == ["conversation_id", "query"]


async def test_both_forms_come_in_one_answer_to_who_accepts_it(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    c = await talk(memory)
    await facts(memory, c, "User's new team uses Rust", category="experience")
    for route in ROUTES:
        accept = {"Accept": f"{WHOLE}, application/problem+json"}
        body = {"query": "Rust", "conversation_id": c}
        answer = await http.post(route, json=body, headers=accept)
        assert answer.headers["content-type"] == WHOLE
        assert "new team uses Rust" in answer.json()["markdown"]
        assert answer.json()["found"]["semantic"][0]["fact"] == "User's new team uses Rust"
