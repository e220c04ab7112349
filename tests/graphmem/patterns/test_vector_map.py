"""S4's vector map is Neo4j's index: its promises, kept by writes that are searchable when they return."""

import asyncio
import math
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.errors import Unavailable

FACTS = [
    {"fact": "The user prefers tabs.", "scope": "user"},
    {"fact": "This repository is indented with spaces.", "scope": "repo"},
    {"fact": "Deploys happen on Tuesdays.", "scope": "repo"},
]
EMBEDDINGS = "MATCH (f:Fact {client_id: $client}) RETURN f.embedding AS embedding"


async def found(memory: Graphmem, *, turn_id: str = "t", **asked: Any) -> list[str]:
    """Return the facts that the fallback of a turn finds, best first."""
    turn = await memory.hyde_retrieve(
        turn_id,
        window=["user: How is it indented?"],
        on_failure="window",
        hop_depth=0,
        **asked,
    )
    scores = [one.score for one in turn.memories]
    assert scores == sorted(scores, reverse=True)
    return [one.text for one in turn.memories]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may need longer than two seconds; the bench measures those."""
    monkeypatch.setattr("graphmem.hypotheses.ask.SECONDS", 30.0)


async def test_facts_of_every_scope_are_in_it_when_their_write_returns(
    memory: Graphmem,
):  # S4.1 S4.12 S4.34
    assert await found(memory, turn_id="before") == []
    await memory.remember_facts(FACTS)

    everything = await found(memory, turn_id="after")
    assert set(everything) == {one["fact"] for one in FACTS}
    assert everything[0] in {FACTS[0]["fact"], FACTS[1]["fact"]}


async def test_asking_for_more_than_there_are_returns_all_and_for_fewer_the_nearest(
    memory: Graphmem,
):  # S4.10
    await memory.remember_facts(FACTS)

    every = await found(memory, turn_id="all", top_k=50)
    assert len(every) == 3
    assert await found(memory, turn_id="two", top_k=2) == every[:2]


async def test_every_vector_in_it_has_unit_length(memory: Graphmem):  # S4.11
    await memory.remember_facts(FACTS)

    rows = await memory.runtime.graph.execute(EMBEDDINGS, client=memory.client_id)
    assert [math.hypot(*row["embedding"]) for row in rows] == pytest.approx([1.0] * 3, abs=1e-3)


async def test_a_reader_sees_a_batch_whole_or_not_at_all(memory: Graphmem):  # S4.9
    seen: set[int] = set()
    writing = True

    async def reading(reader: int) -> None:
        turn = 0
        while writing:
            turn += 1
            texts = await found(memory, turn_id=f"{reader}-{turn}", top_k=50)
            seen.add(len(texts))

    readers = [asyncio.create_task(reading(number)) for number in range(2)]
    await memory.remember_facts(
        [{"fact": f"Rule {number}: use {number} spaces."} for number in range(30)]
    )
    writing = False
    await asyncio.gather(*readers)

    assert seen <= {0, 30}
    assert len(await found(memory, turn_id="last", top_k=50)) == 30


async def test_what_cannot_be_embedded_is_not_in_it_and_what_was_stays(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
):  # S4.14
    await memory.remember_facts(FACTS[:2])

    async def fails(texts: object) -> None:
        raise Unavailable("the model failed")

    with monkeypatch.context() as patch:
        patch.setattr(memory.runtime.embedder, "passages", fails)
        with pytest.raises(Unavailable):
            await memory.remember_facts(FACTS[2:])

    assert set(await found(memory)) == {one["fact"] for one in FACTS[:2]}
