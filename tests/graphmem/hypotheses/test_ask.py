"""Retrieval by hypotheses on a real Neo4j, with a stand-in for the language model's server."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.errors import InvalidInput, Unavailable
from graphmem.graph.driver import Graph
from graphmem.hypotheses.ask import new_turns, prepare_turns
from graphmem.llm import LanguageModel
from graphmem.retrieval.expansion import expand
from tests.stub_llm import Misbehaviour, StubModel, stub_model

WINDOW = ["user: How do I indent?", "assistant: As you like.", "user: Which one do I like, again?"]
TABS = "The user prefers tabs for indentation."
SPACES = "The repository's YAML is indented with two spaces."
STORE = "The rollups are kept in Postgres."
MODES: list[Misbehaviour] = ["hang", "drip", "garbage", "status", "nonsense", "half", "empty"]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """A busy machine may need longer than two seconds, which the bench measures."""
    if "two_seconds" not in request.node.name:
        monkeypatch.setattr("graphmem.hypotheses.ask.SECONDS", 30.0)


@pytest_asyncio.fixture
async def stub() -> AsyncIterator[StubModel]:
    """A language model that says two sentences."""
    async with stub_model() as stub:
        stub.answer = f"1. {TABS}\n2. YAML files are indented with spaces."
        yield stub


@pytest_asyncio.fixture
async def asking(memory: Graphmem, stub: StubModel) -> AsyncIterator[Graphmem]:
    """This test's client, with the language model and turns of its own."""
    model = LanguageModel(stub.url, "stub")
    yield Graphmem(replace(memory.runtime, llm=model, turns=new_turns()), memory.client_id)
    await model.close()


@pytest_asyncio.fixture
async def facts(memory: Graphmem) -> dict[str, str]:
    """Three facts, the first linked with the third."""
    kept = [await memory.remember_fact(text, scope="repo") for text in (TABS, SPACES, STORE)]
    await memory.link(kept[0].id, kept[2].id, "relates_to")
    return dict(zip((TABS, SPACES, STORE), (one.id for one in kept), strict=True))


async def test_the_scenario_of_the_specification(
    asking: Graphmem, stub: StubModel, facts: dict[str, str]
):  # S4.2 S4.44 S4.45
    turn = await asking.hyde_retrieve("turn-1", window=WINDOW, top_k=2, hop_depth=1)

    assert [one.id for one in turn.memories] == [facts[TABS], facts[SPACES], facts[STORE]]
    assert [one.hop for one in turn.memories] == [0, 0, 1]
    assert turn.memories[2].hop_from == facts[TABS]
    assert turn.hypotheses == [TABS, "YAML files are indented with spaces."]
    assert turn.degraded == []
    # S4.43
    assert set(turn.timings) == {"hypotheses", "embed", "search", "hops", "total"}
    without = await asking.hyde_retrieve("turn-0", window=WINDOW, top_k=2, hop_depth=0)
    assert [one.id for one in without.memories] == [facts[TABS], facts[SPACES]]


async def test_a_turn_asks_once_and_the_next_turn_again(
    asking: Graphmem, stub: StubModel, facts: dict[str, str], monkeypatch: pytest.MonkeyPatch
):  # S4.19 S4.46 S4.47
    first = await asking.hyde_retrieve("turn-1", window=WINDOW)
    embedded: list[int] = []
    embed = asking.runtime.embedder.queries

    async def counted(texts):
        embedded.append(len(texts))
        return await embed(texts)

    monkeypatch.setattr(asking.runtime.embedder, "queries", counted)
    again = await asking.hyde_retrieve("turn-1", window=["user: something else"])

    assert (first.cached, again.cached, len(stub.asked), embedded) == (False, True, 1, [])
    assert again.memories == first.memories
    assert not (await asking.hyde_retrieve("turn-2", window=WINDOW)).cached
    assert not (await asking.hyde_retrieve("turn-1", window=WINDOW, conversation_id="c")).cached
    assert (len(stub.asked), embedded) == (3, [2, 2])


@pytest.mark.parametrize("deleted", ["memory", "chain", "conversation"])
async def test_a_known_turn_does_not_show_what_was_deleted_meanwhile(
    asking: Graphmem, memory: Graphmem, facts: dict[str, str], deleted: str
):
    await memory.open_conversation("c")
    told = await memory.remember_fact("Tabs are four wide.", conversation_id="c")
    newer = await memory.supersede_fact(told.id, "Tabs are eight wide.")
    first = await asking.hyde_retrieve("turn-1", window=WINDOW)
    assert newer.id in {one.id for one in first.memories}

    if deleted == "conversation":
        await memory.delete_conversation("c")
    else:
        await memory.delete_memory(newer.id if deleted == "memory" else told.id)
    again = await asking.hyde_retrieve("turn-1", window=WINDOW)

    assert again.cached
    assert again.memories == [one for one in first.memories if one.id != newer.id] != []
    assert "wide" not in again.injection


async def test_a_known_turn_without_the_database_shows_nothing_and_says_so(
    asking: Graphmem, facts: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    async def fails(*_: object, **__: object):
        raise Unavailable("not now")

    assert (await asking.hyde_retrieve("turn-1", window=WINDOW)).memories
    with monkeypatch.context() as patch:
        patch.setattr(Graph, "rows", fails)
        turn = await asking.hyde_retrieve("turn-1", window=WINDOW)
        assert (turn.cached, turn.memories, turn.degraded) == (True, [], ["search_failed"])
    turn = await asking.hyde_retrieve("turn-1", window=WINDOW)
    assert (turn.cached, bool(turn.memories), turn.degraded) == (True, True, [])


@pytest.mark.parametrize(
    "other",
    [{"scopes": ["user"]}, {"top_k": 1}, {"hop_depth": 0}, {"mode": "hybrid"}, {"hypotheses": 2}],
)
async def test_a_turn_that_asks_for_something_else_is_not_answered_from_before(
    asking: Graphmem, facts: dict[str, str], other: dict[str, Any]
):
    await asking.hyde_retrieve("turn-1", window=WINDOW, scopes=["repo"])

    asked = {"scopes": ["repo"]} | other
    turn = await asking.hyde_retrieve("turn-1", window=WINDOW, **asked)

    assert not turn.cached
    assert all(one.scope in asked["scopes"] for one in turn.memories)
    assert (await asking.hyde_retrieve("turn-1", window=WINDOW, scopes=["repo"])).cached


async def test_a_hundred_sub_turns_at_once_ask_the_model_once(
    asking: Graphmem, stub: StubModel, facts: dict[str, str]
):  # S4.3 S4.31
    turns = await asyncio.gather(
        *(asking.hyde_retrieve("turn-1", window=WINDOW) for _ in range(100))
    )

    assert len(stub.asked) == 1
    assert sum(not one.cached for one in turns) == 1
    assert all(one.memories == turns[0].memories and one.memories for one in turns)


async def test_who_leaves_does_not_take_the_turn_along(
    asking: Graphmem, stub: StubModel, facts: dict[str, str]
):
    leaving = asyncio.create_task(asking.hyde_retrieve("turn-1", window=WINDOW))
    await asyncio.sleep(0)
    staying = asyncio.create_task(asking.hyde_retrieve("turn-1", window=WINDOW))
    await asyncio.sleep(0.01)
    leaving.cancel()

    assert (await staying).memories
    assert len(stub.asked) == 1


async def test_the_model_is_asked_as_specified(
    asking: Graphmem, stub: StubModel, facts: dict[str, str]
):  # S4.22 S4.52
    await asking.hyde_retrieve("turn-1", window=WINDOW, hypotheses=3)

    [body] = stub.asked
    system, user = body["messages"]
    assert body["model"] == "stub"
    assert "exactly 3 short declarative sentences" in system["content"]
    assert "\n---\n".join(WINDOW) in user["content"]
    assert user["content"].endswith("Generate 3 hypothetical memory sentences.")


async def test_messages_make_the_window_without_tools_from_the_last_summary_on(
    asking: Graphmem, stub: StubModel, facts: dict[str, str]
):
    said = [
        {"role": "user", "content": "long ago"},
        {"role": "user", "content": "Tabs?"},
        {"role": "tool", "content": "secret"},
    ]
    await asking.hyde_retrieve("turn-1", messages=said, summarised_until=1)

    assert "Conversation window:\n\nuser: Tabs?\n\n" in stub.asked[0]["messages"][1]["content"]
    assert "secret" not in str(stub.asked)
    assert "long ago" not in str(stub.asked)


async def test_an_empty_window_asks_nothing(asking: Graphmem, stub: StubModel):  # S4.23
    windows: list[dict[str, Any]] = [{"window": []}, {"window": ["  "]}, {"messages": []}]
    for window in windows:
        turn = await asking.hyde_retrieve("turn-1", **window)
        assert (turn.memories, turn.hypotheses, turn.injection, turn.degraded) == ([], [], "", [])
    assert stub.asked == []


async def test_each_memory_counts_with_its_best_score(
    asking: Graphmem, stub: StubModel, facts: dict[str, str]
):  # S4.21
    stub.answer = TABS
    alone = await asking.hyde_retrieve("alone", window=WINDOW, hop_depth=0)
    stub.answer = f"Something about boats.\n{TABS}\n{SPACES}"
    turn = await asking.hyde_retrieve("turn-1", window=WINDOW, hop_depth=0)

    scores = [one.score for one in turn.memories]
    assert scores == sorted(scores, reverse=True)
    assert len({one.id for one in turn.memories}) == len(turn.memories) == 3
    best = {one.id: one.score for one in turn.memories}
    assert best[facts[TABS]] == pytest.approx(alone.memories[0].score, abs=0.02)
    assert alone.memories[0].score > 0.98


async def test_words_count_only_on_request(
    asking: Graphmem, stub: StubModel, memory: Graphmem, facts: dict[str, str]
):
    rare = await memory.remember_fact("Quillfeather is on.", scope="repo")
    stub.answer = "The tea kettle is quillfeather."
    hybrid = await asking.hyde_retrieve("hybrid", window=WINDOW, mode="hybrid", hop_depth=0)
    pure = await asking.hyde_retrieve("pure", window=WINDOW, hop_depth=0)

    assert hybrid.memories[0].id == rare.id
    by_id = {one.id: one.score for one in pure.memories}
    assert hybrid.memories[0].score == pytest.approx(0.65 * by_id[rare.id] + 0.35, abs=1e-6)


async def test_scopes_and_the_client_bound_what_is_found_hops_too(
    asking: Graphmem, memory: Graphmem, rival: Graphmem, facts: dict[str, str]
):
    mine = await memory.remember_fact("Indent with tabs, always.", scope="user")
    await rival.remember_fact(TABS, scope="user")
    await memory.link(mine.id, facts[STORE], "relates_to")

    turn = await asking.hyde_retrieve("turn-1", window=WINDOW, scopes=["user"], hop_depth=3)

    assert [one.id for one in turn.memories] == [mine.id]


async def test_links_to_other_scopes_take_no_place_of_a_linked_fact(
    asking: Graphmem, memory: Graphmem, facts: dict[str, str], monkeypatch: pytest.MonkeyPatch
):  # S4.24
    monkeypatch.setattr("graphmem.retrieval.expansion.EDGES", 2)
    mine = await memory.remember_fact("Reviews need two people.", scope="repo", importance=0.1)
    for text in ("The dog is called Bo.", "Rome is far.", "Ann has a red bicycle."):
        other = await memory.remember_fact(text, scope="user", importance=0.9)
        await memory.link(facts[SPACES], other.id, "relates_to")
    await memory.link(facts[SPACES], mine.id, "relates_to")

    turn = await asking.hyde_retrieve("turn-1", window=WINDOW, scopes=["repo"], top_k=2)

    assert [one.id for one in turn.memories if one.hop] == [facts[STORE], mine.id]


async def test_of_equally_linked_facts_the_newest_come_first(
    asking: Graphmem, memory: Graphmem, facts: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    texts = ["Rome is far.", "The dog is called Bo.", "Ann sings.", "Tea is hot.", "It snows."]
    for year, text in zip((2022, 2025, 2021, 2024, 2023), texts, strict=True):
        other = await memory.remember_fact(text, valid_at=datetime(year, 1, 1, tzinfo=UTC))
        await memory.link(facts[SPACES], other.id, "relates_to")
    monkeypatch.setattr("graphmem.hypotheses.ask.HOP_RESULTS", 4)

    turn = await asking.hyde_retrieve("turn-1", window=WINDOW, top_k=2)

    linked = [one.valid_at.year for one in turn.memories if one.hop_from == facts[SPACES]]
    assert linked == [2025, 2024, 2023]


async def test_the_block_holds_its_budget_and_the_chain_comes_along(
    asking: Graphmem, memory: Graphmem, facts: dict[str, str]
):  # S4.28 S4.48 S4.49
    newer = await memory.supersede_fact(facts[TABS], "The user prefers spaces.", reason="a change")
    whole = await asking.hyde_retrieve("turn-1", window=WINDOW)
    tight = await asking.hyde_retrieve("turn-1", window=WINDOW, injection_tokens=70)

    [changed] = [one for one in whole.memories if one.id == newer.id]
    assert [one.text for one in changed.versions] == [TABS, "The user prefers spaces."]
    assert (changed.version, changed.supersedes) == (2, facts[TABS])
    assert changed.versions[1].reason == "a change"
    assert all(one.text in whole.injection for one in whole.memories)
    assert f"*(supersedes {facts[TABS]})*" in whole.injection
    assert 0 < memory.runtime.tokens.count(tight.injection) <= 70
    assert len(tight.injection) <= 280
    assert tight.cached


async def test_a_turn_of_another_time_shows_what_was_true_and_known_then(
    asking: Graphmem, memory: Graphmem, facts: dict[str, str]
):
    newer = await memory.supersede_fact(facts[TABS], "The user prefers spaces for indentation.")
    first = (await memory.versions(newer.id)).versions[0]
    ask: dict[str, Any] = {"window": WINDOW, "top_k": 1, "hop_depth": 0}

    now = await asking.hyde_retrieve("turn-1", **ask)
    known = await asking.hyde_retrieve("turn-1", known_as_of=first.created_at, **ask)
    before = await asking.hyde_retrieve("turn-1", as_of="2001-01-01T00:00:00Z", **ask)

    assert [one.id for one in now.memories] == [newer.id]
    assert [one.id for one in known.memories] == [facts[TABS]]
    assert [one.id for one in known.memories[0].versions] == [facts[TABS]]
    assert known.memories[0].versions[0].superseded_at is None
    assert (before.memories, before.cached) == ([], False)
    assert (await asking.hyde_retrieve("turn-1", **ask)).cached
    linked = await asking.hyde_retrieve(
        "linked", window=WINDOW, top_k=1, known_as_of=first.created_at
    )
    assert [one.id for one in linked.memories] == [facts[TABS]], "the link was made later"


@pytest.mark.parametrize(
    ("valid_at", "shown"),
    [
        ("2026-04-30T00:00:00Z", "The user prefers spaces."),
        ("2026-05-01T00:00:00Z", "The user prefers spaces."),
        ("2026-05-01T00:00:00.000001Z", TABS),
    ],
)
async def test_a_known_turn_of_another_time_shows_what_was_corrected_meanwhile(
    asking: Graphmem, memory: Graphmem, valid_at: str, shown: str
):  # S4.19
    told = await memory.remember_fact(TABS, valid_at="2026-01-01T00:00:00Z")
    linked = await memory.remember_fact("The dog is called Bo.", valid_at="2026-01-01T00:00:00Z")
    await memory.link(told.id, linked.id, "relates_to")
    ask: dict[str, Any] = {"window": WINDOW, "top_k": 1, "as_of": "2026-05-01T00:00:00Z"}
    first = await asking.hyde_retrieve("turn-1", **ask)
    newer = await memory.supersede_fact(told.id, "The user prefers spaces.", valid_at=valid_at)
    await memory.supersede_fact(newer.id, "The user prefers both.", valid_at="2026-06-01T00:00:00Z")

    again = await asking.hyde_retrieve("turn-1", **ask)

    assert again.cached
    assert [one.text for one in first.memories] == [TABS, "The dog is called Bo."]
    assert [one.text for one in again.memories] == [shown, "The dog is called Bo."]
    assert again.memories[1].hop_from == again.memories[0].id


async def test_a_known_turn_of_another_time_shows_no_correction_of_another_scope(
    asking: Graphmem, memory: Graphmem
):
    told = await memory.remember_fact(TABS, valid_at="2026-01-01T00:00:00Z", scope="repo")
    ask: dict[str, Any] = {"window": WINDOW, "as_of": "2026-05-01T00:00:00Z", "scopes": ["repo"]}
    assert (await asking.hyde_retrieve("turn-1", **ask)).memories
    await memory.supersede_fact(told.id, SPACES, valid_at="2026-02-01T00:00:00Z", scope="user")

    again = await asking.hyde_retrieve("turn-1", **ask)

    assert (again.memories, again.injection) == ([], "")


async def test_a_fact_that_lies_ahead_begins_with_its_day_in_the_block(
    asking: Graphmem, memory: Graphmem, stub: StubModel
):
    await memory.remember_fact(TABS)
    await memory.remember_fact(SPACES, valid_at=datetime(2199, 3, 2, tzinfo=UTC))

    block = (await asking.hyde_retrieve("turn-1", window=WINDOW)).injection

    assert f"\n{TABS}\n" in block
    assert f"\nfrom 2199-03-02: {SPACES}\n" in block


async def test_preparing_asks_for_nobody_and_never_fails(
    asking: Graphmem, stub: StubModel, monkeypatch: pytest.MonkeyPatch
):
    context = asking.runtime.context(asking.client_id)
    planned: list[tuple[str, str]] = []
    rows = Graph.rows

    async def seen(self, query, **parameters):
        if "client_id" in parameters:
            planned.append((query.name, parameters["client_id"]))
        return await rows(self, query, **parameters)

    monkeypatch.setattr(Graph, "rows", seen)
    await prepare_turns(context)
    assert {client for _, client in planned} == {""}
    assert {name for name, _ in planned} == {
        "retrieval/found_of_kind",
        "retrieval/found_of_kind_in_conversation",
        "retrieval/found_now",
        "retrieval/found_exactly",
        "retrieval/passages_in_client",
        "retrieval/passages_in_conversation",
        "hypotheses/turn_facts",
        "retrieval/hop",
    }
    assert stub.asked == []

    async def fails(*_: object, **__: object):
        raise Unavailable("not now")

    monkeypatch.setattr(Graph, "rows", fails)
    await prepare_turns(context)


async def test_without_a_model_it_says_so_and_can_search_with_the_window(
    memory: Graphmem, facts: dict[str, str]
):  # S4.16 S4.36
    off = Graphmem(replace(memory.runtime, llm=None, turns=new_turns()), memory.client_id)

    nothing = await off.hyde_retrieve("turn-1", window=WINDOW)
    assert (nothing.memories, nothing.degraded, nothing.injection) == ([], ["no_llm"], "")
    said = [*WINDOW, "user: Do I like tabs for indentation?", "assistant: Let me see."]
    window = await off.hyde_retrieve("turn-2", window=said, on_failure="window")
    assert window.degraded == ["no_llm", "window"]
    assert window.memories[0].id == facts[TABS]
    assert window.hypotheses == []


REASONS = {
    "hang": "llm_timeout",
    "drip": "llm_timeout",
    "garbage": "llm_error",
    "status": "llm_error",
    "nonsense": "llm_error",
    "half": "llm_error",
    "empty": "llm_empty",
}


@pytest.mark.parametrize("mode", MODES)
async def test_whatever_the_endpoint_does_it_answers_in_two_seconds_and_says_why(
    asking: Graphmem,
    stub: StubModel,
    facts: dict[str, str],
    mode: Misbehaviour,
    log_at_debug: list[str],
    monkeypatch: pytest.MonkeyPatch,
):  # S4.6 S4.39 S4.50
    stub.misbehaviour = mode
    began = time.monotonic()
    turn = await asking.hyde_retrieve("turn-1", window=WINDOW)
    took = time.monotonic() - began

    assert (turn.memories, turn.degraded) == ([], [REASONS[mode]])
    assert took < 10.0, "the bench measures two seconds; here the machine may be busy"
    assert any(REASONS[mode] in line for line in log_at_debug)
    assert not any("indent" in line for line in log_at_debug), "no text of the window is logged"
    # A busy machine needs more than the 300 ms that are kept for searching, and so does the endpoint to fail.
    seconds = 10.3 if REASONS[mode] == "llm_timeout" else 30.0
    monkeypatch.setattr("graphmem.hypotheses.ask.SECONDS", seconds)
    monkeypatch.setattr("graphmem.hypotheses.ask.SEARCH_SECONDS", 10.0)
    instead = await asking.hyde_retrieve("turn-2", window=WINDOW, on_failure="window")
    assert instead.degraded == [REASONS[mode], "window"]
    assert instead.memories


async def test_a_failure_is_forgotten_within_seconds(
    asking: Graphmem, stub: StubModel, facts: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("graphmem.single_flight.FAILED_SECONDS", 0.2)
    stub.misbehaviour = "status"
    assert (await asking.hyde_retrieve("turn-1", window=WINDOW)).degraded == ["llm_error"]
    stub.misbehaviour = None
    assert (await asking.hyde_retrieve("turn-1", window=WINDOW)).cached
    await asyncio.sleep(0.25)

    healed = await asking.hyde_retrieve("turn-1", window=WINDOW)
    assert (healed.cached, healed.degraded, bool(healed.memories)) == (False, [], True)


async def test_a_failing_embedder_or_database_gives_a_partial_answer(
    asking: Graphmem, facts: dict[str, str], monkeypatch: pytest.MonkeyPatch
):  # S4.35 S4.40 S4.42
    async def fails(*_: object, **__: object):
        raise Unavailable("not now")

    async def sleeps(*_: object, **__: object):
        await asyncio.sleep(60)

    with monkeypatch.context() as patch:
        patch.setattr(asking.runtime.embedder, "queries", fails)
        turn = await asking.hyde_retrieve("no-embedder", window=WINDOW)
        assert (turn.memories, turn.degraded) == ([], ["embedding_failed"])
        assert turn.hypotheses
    with monkeypatch.context() as patch:
        patch.setattr("graphmem.hypotheses.ask.find_with_passages", fails)
        turn = await asking.hyde_retrieve("no-search", window=WINDOW)
        assert (turn.memories, turn.degraded) == ([], ["search_failed"])
    with monkeypatch.context() as patch:
        patch.setattr("graphmem.hypotheses.ask.expand", sleeps)
        patch.setattr("graphmem.hypotheses.ask.SECONDS", 8.0)
        patch.setattr("graphmem.hypotheses.ask.LOAD_SECONDS", 4.0)
        turn = await asking.hyde_retrieve("slow-hops", window=WINDOW, top_k=2)
        assert [one.id for one in turn.memories] == [facts[TABS], facts[SPACES]]
        # S4.5 S4.20
        assert turn.degraded == ["deadline"]
        assert turn.injection


async def test_a_turn_whose_queries_were_not_planned_in_time_has_them_planned_for_the_next_one(
    asking: Graphmem, facts: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    planned = asyncio.Event()

    async def plans(*args: Any, client_id: str, **named: Any):
        if client_id == "":
            planned.set()
        elif not planned.is_set():
            await asyncio.sleep(60)
        return await expand(*args, client_id=client_id, **named)

    monkeypatch.setattr("graphmem.hypotheses.ask.expand", plans)
    monkeypatch.setattr("graphmem.hypotheses.ask.PREPARE_SECONDS", 300.0)
    with monkeypatch.context() as patch:
        patch.setattr("graphmem.hypotheses.ask.SECONDS", 8.0)
        patch.setattr("graphmem.hypotheses.ask.LOAD_SECONDS", 4.0)
        assert (await asking.hyde_retrieve("turn-1", window=WINDOW)).degraded == ["deadline"]
    await asking.runtime.afterwards.settle()
    turn = await asking.hyde_retrieve("turn-2", window=WINDOW, top_k=2)
    assert (turn.degraded, [one.hop for one in turn.memories]) == ([], [0, 0, 1])


async def test_a_linked_fact_that_was_deleted_is_passed_over(
    asking: Graphmem, memory: Graphmem, facts: dict[str, str]
):  # S4.24 S4.41
    await memory.delete_memory(facts[STORE])

    turn = await asking.hyde_retrieve("turn-1", window=WINDOW, top_k=2)
    assert [one.id for one in turn.memories] == [facts[TABS], facts[SPACES]]
    assert turn.degraded == []


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({}, "window"),
        ({"window": ["a"], "messages": []}, "window"),
        ({"window": ["a"], "hypotheses": 11}, "hypotheses"),
        ({"window": ["a"], "top_k": 0}, "top_k"),
        ({"window": ["a"], "hop_depth": 4}, "hop_depth"),
        ({"window": ["a"], "injection_tokens": -1}, "injection_tokens"),
        ({"window": ["a"], "mode": "both"}, "mode"),
        ({"window": ["a"], "as_of": "yesterday"}, "as_of"),
        ({"window": ["a"], "on_failure": "panic"}, "on_failure"),
    ],
)
async def test_what_cannot_be_asked_is_refused_by_name(memory: Graphmem, wrong, field):
    with pytest.raises(InvalidInput) as refused:
        await memory.hyde_retrieve("turn-1", **wrong)
    assert refused.value.field == field


@pytest.fixture
def log_at_debug(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What graphmem logs at debug."""
    caplog.set_level(logging.DEBUG, logger="graphmem")

    class Lines(list):
        def __iter__(self):
            return iter([record.getMessage() for record in caplog.records])

    return Lines()
