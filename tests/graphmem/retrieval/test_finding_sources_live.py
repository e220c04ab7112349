"""A filtered search returns as many as exist, however rare they are beside the rest."""

import random
import uuid
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from graphmem.embedding import Embedding, Vector
from graphmem.memories.write import Draft, Prepared, write
from graphmem.model.times import END
from graphmem.retrieval.filters import sources_asked
from graphmem.retrieval.finding import LEAST_POOL, Findings, find_matching, find_pool
from graphmem.retrieval.listing import list_memories
from graphmem.runtime import Runtime
from graphmem.text.words import terms

MESSAGES = 20_000
RARE = 15
SOURCES = 64
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def memories(client_id: str, chance: random.Random, vectors: np.random.Generator):
    """Yield many messages, some references of 64 sources, and a few offers and spans."""
    rows: list[tuple[Any, str, str]] = [("message", "message", "talk")] * MESSAGES
    rows += [("reference", "knowledge_base", f"kb-{n % 200}") for n in range(1_000)]
    rows += [("reference", "offer", f"kb-{n}") for n in range(RARE)]
    rows += [("span", "brand_kit", f"kb-{n}") for n in range(RARE)]
    for place, (kind, source_type, source_id) in enumerate(rows):
        vector = vectors.standard_normal(384)
        moment = BEGIN + timedelta(minutes=place)
        text = " ".join(chance.choices(("apple", "pear", "plum", "fig", "kiwi"), k=4))
        draft = Draft(
            id=str(uuid.UUID(int=chance.getrandbits(128))),
            client_id=client_id,
            kind=kind,
            text=text,
            search_text=text,
            embedded_text=text,
            source_type=source_type,
            source_id=source_id,
            occurred_at=moment,
            valid_at=moment,
            created_at=moment,
        )
        yield Prepared(draft, Embedding((vector / np.linalg.norm(vector)).tolist(), False), 8)


@pytest_asyncio.fixture(scope="module")
async def crowded(
    runtime: Runtime, new_client: Callable[[], str], bulk_data: None
) -> AsyncIterator[str]:
    """A client with 20,000 messages and little of anything else."""
    client_id = new_client()
    rows = list(memories(client_id, random.Random(5), np.random.default_rng(5)))
    for start in range(0, len(rows), 1_000):
        some = rows[start : start + 1_000]
        await runtime.graph.write(partial(write, memories=some, client_id=client_id))
    yield client_id


def question(seed: int) -> Vector:
    vector = np.random.default_rng(seed).standard_normal(384)
    return (vector / np.linalg.norm(vector)).tolist()


async def found(
    client_id: str, runtime: Runtime, words: str = "", results: int = 10, **filters: Any
) -> Findings:
    asked = {"types": None, "ids": None, "conversation_id": None, "since": BEGIN, "until": END}
    return await find_pool(
        question(1),
        terms(words),
        sources_asked(**asked | filters),
        client_id=client_id,
        results=results,
        weight={},
        graph=runtime.graph,
        embedder=runtime.embedder,
    )


@pytest.mark.parametrize("words", ["", "apple pear"])
@pytest.mark.parametrize(
    ("filters", "exist"),
    [
        ({"types": ["offer"]}, RARE),
        ({"types": ["brand_kit"]}, RARE),
        ({"types": ["span"]}, RARE),
        ({"types": ["offer", "span"]}, 2 * RARE),
        ({"ids": [f"kb-{n}" for n in range(10, 10 + SOURCES)]}, SOURCES * 5 + 10),
        ({"ids": ["kb-3"]}, 7),
        ({"ids": ["kb-3"], "types": ["offer", "message"]}, 1),
        ({"since": BEGIN + timedelta(minutes=MESSAGES + 1_000)}, 2 * RARE),
        ({"types": ["message"], "until": BEGIN + timedelta(minutes=30)}, 30),
    ],
)
async def test_as_many_are_found_as_exist(
    crowded: str, runtime: Runtime, words: str, filters: dict[str, Any], exist: int
):
    every = await found(crowded, runtime, words, results=200, **filters)

    assert len(every.found) == exist  # S1.69
    assert every.all_by_vector
    listing, count = await list_memories(
        sources_asked(
            **{"types": None, "ids": None, "conversation_id": None, "since": BEGIN, "until": END}
            | filters
        ),
        by_importance=False,
        client_id=crowded,
        limit=1_000,
        graph=runtime.graph,
    )
    assert count == exist
    assert {one.id for one in listing} == {one.id for one in every.found}


async def test_every_source_has_its_own_pool(crowded: str, runtime: Runtime):
    types = ["message", "knowledge_base", "offer", "span"]
    for results in (10, 60):
        pool = (await found(crowded, runtime, results=results, types=types)).found
        records, _, _ = await runtime.graph.driver.execute_query(
            "MATCH (memory:Memory {client_id: $client_id}) WHERE memory.id IN $ids "
            "RETURN memory.source_type AS type, count(*) AS number",
            client_id=crowded,
            ids=[one.id for one in pool],
            database_=runtime.graph.database,
        )
        by_type = {record["type"]: record["number"] for record in records}
        wanted = max(LEAST_POOL, 2 * results)
        assert by_type == {
            "message": wanted, "knowledge_base": wanted, "offer": RARE, "brand_kit": RARE,
        }  # S1.40  # fmt: skip


async def test_what_is_not_all_says_so(crowded: str, runtime: Runtime):
    some = await found(crowded, runtime, "apple", types=["message"])

    assert not some.all_by_vector
    assert not some.all_by_words
    assert -1.0 < some.least_cosine < 1.0


async def test_all_matches_are_found_among_many_that_are_far(crowded: str, runtime: Runtime):
    sources = sources_asked(["message", "knowledge_base"], None, None, BEGIN, END)
    least = 0.12
    matches = await find_matching(
        question(1),
        [],
        sources,
        client_id=crowded,
        weight={},
        least_cosine=least,
        graph=runtime.graph,
        embedder=runtime.embedder,
    )
    exact = await runtime.graph.execute(
        "CYPHER 25 MATCH (m:Memory {client_id: $client_id}) "
        "WHERE m.source_type IN ['message', 'knowledge_base'] "
        "AND 2 * vector.similarity.cosine(m.embedding, $vector) - 1 >= $least RETURN m.id AS id",
        client_id=crowded,
        vector=question(1),
        least=least,
    )
    assert 50 < len(exact) < 500
    assert {one.id for one in matches.found} == {row["id"] for row in exact}
    assert matches.all_by_vector


@pytest.mark.parametrize("by_importance", [True, False])
async def test_a_list_has_its_order_and_the_count_of_all(
    crowded: str, runtime: Runtime, by_importance: bool
):
    everything = sources_asked(
        ["message", "knowledge_base", "offer", "span"], None, None, BEGIN, END
    )
    rows, count = await list_memories(
        everything, by_importance=by_importance, client_id=crowded, limit=50, graph=runtime.graph
    )

    assert count == MESSAGES + 1_000 + 2 * RARE
    assert len(rows) == 50
    times = [row.occurred_at for row in rows]
    assert times == sorted(times, reverse=True)
    assert rows[0].kind == "span", "the newest of all kinds, and all are equally important"
