"""Which words are common within one client."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.retrieval import understanding
from graphmem.retrieval.understanding import (
    CLIENTS_KEPT,
    FEWEST,
    FRESH_SECONDS,
    FRESH_SECONDS_WHILE_SMALL,
    SAMPLED,
    SAMPLED_TEXTS,
    SHORT_CHARACTERS,
    Sample,
    SampledTexts,
    Vocabulary,
    common_stems,
    sampled,
)
from graphmem.runtime import Runtime
from tests.scripted import ScriptedGraph


def holding(texts: int) -> ScriptedGraph:
    """Return a graph in which every client has so many texts."""

    def sampled(client_id: str, limit: int) -> list[SampledTexts]:
        return [SampledTexts(["Mara's boat"] * min(texts, limit), has_passages=False)]

    return ScriptedGraph({SAMPLED_TEXTS.name: sampled})


def clients(graph: ScriptedGraph) -> list[str]:
    """Return whose texts were asked for."""
    return [parameters["client_id"] for _, parameters in graph.asked]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_stems_that_many_texts_hold_are_common() -> None:
    texts = ["Mara sails boats"] * 60 + ["Mara's boat"] * 39 + ["a lantern"]

    assert common_stems(texts) == {"mara": 0.99, "boat": 0.99, "sail": 0.6}


def test_a_word_counts_once_for_each_text() -> None:
    assert common_stems(["boat boat boats"] + ["sea"] * 99)["sea"] == 0.99
    assert "boat" not in common_stems(["boat boat boats"] + ["sea"] * 99)


def test_of_few_texts_nothing_is_concluded() -> None:
    assert common_stems(["boat"] * (FEWEST - 1)) == {}
    assert common_stems(["boat"] * FEWEST) == {"boat": 1.0}


def test_a_sample_tells_how_long_memories_are() -> None:
    texts = ["a" * (SHORT_CHARACTERS - 100)] * 3 + ["a" * (SHORT_CHARACTERS + 100)]

    found = sampled(texts)

    assert (found.length, found.short) == (SHORT_CHARACTERS - 50, 0.75)
    assert sampled([]) == Sample()
    assert sampled([""]).length > 0


async def test_a_sample_is_kept_for_each_client(clock: list[float]) -> None:
    graph = holding(SAMPLED)
    vocabulary = Vocabulary(graph)

    shares = [await vocabulary.shares(client) for client in ("a", "b", "a", "b")]

    assert clients(graph) == ["a", "b"]
    assert shares == [{"mara": 1.0, "boat": 1.0}] * 4


@pytest.mark.parametrize(
    ("texts", "seconds"),
    [(SAMPLED, FRESH_SECONDS), (SAMPLED - 1, FRESH_SECONDS_WHILE_SMALL)],
)
async def test_a_sample_is_believed_for_a_while(
    texts: int, seconds: float, clock: list[float]
) -> None:
    graph = holding(texts)
    vocabulary = Vocabulary(graph)

    await vocabulary.shares("a")
    clock[0] += seconds - 1
    await vocabulary.shares("a")
    assert clients(graph) == ["a"]

    clock[0] += 1
    await vocabulary.shares("a")
    assert clients(graph) == ["a", "a"]


async def test_the_client_not_asked_for_longest_is_forgotten(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(understanding, "CLIENTS_KEPT", 2)
    graph = holding(SAMPLED)
    vocabulary = Vocabulary(graph)
    assert CLIENTS_KEPT > 2

    for client in ("a", "b", "a", "c", "a", "b"):
        await vocabulary.shares(client)

    assert clients(graph) == ["a", "b", "c", "b"]


async def test_the_sample_is_the_clients_own(
    runtime: Runtime, new_client: Callable[[], str]
) -> None:
    for client_id, text in ((mine := new_client(), "lantern"), (new_client(), "harbour")):
        memory = Graphmem(runtime, client_id)
        conversation = await memory.open_conversation()
        await memory.remember(
            conversation.id,
            [
                {"session_id": "s", "role": "user", "content": f"{text} number {number}"}
                for number in range(FEWEST)
            ],
        )

    shares = await Vocabulary(runtime.graph).shares(mine)

    assert shares["lantern"] == 1.0
    assert "harbour" not in shares


async def test_the_sample_is_taken_by_an_index(runtime: Runtime) -> None:
    async with runtime.graph.driver.session(database=runtime.graph.database) as session:
        statement = SAMPLED_TEXTS.text.replace("CYPHER 25", "CYPHER 25 EXPLAIN", 1)
        plan = (await (await session.run(statement, client_id="c", limit=1)).consume()).plan

    assert plan is not None
    # A scan would read every client's memories, a sort all of this one's.
    used = operators(plan)
    assert any("IndexSeek" in name for name in used)
    assert not any("Scan" in name or "Top" in name or "Sort" in name for name in used)


def operators(plan: dict[str, Any]) -> list[str]:
    below = [name for child in plan.get("children", ()) for name in operators(child)]
    return [plan["operatorType"], *below]
