"""Chains among many facts: which version is found at which times, against the definition.

2,000 facts, or as many as `GRAPHMEM_TEST_FACTS` says.
"""

import asyncio
import os
import random
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest_asyncio

from graphmem.embedding import Embedding, Vector
from graphmem.episodes.consolidate import INVALIDATE_FACTS
from graphmem.graph.driver import Transaction
from graphmem.graph.scope import scope_word
from graphmem.memories.versions import supersede
from graphmem.memories.write import Prepared, write
from graphmem.model.times import BEGINNING, END
from graphmem.retrieval.filters import NOW, Filters, Validity, sources_asked
from graphmem.retrieval.finding import find_best, find_pool
from graphmem.retrieval.listing import list_memories
from graphmem.runtime import Runtime
from tests.planted import draft
from tests.timelines import BEGIN, Timeline, Version, asked, timeline

FACTS = int(os.environ.get("GRAPHMEM_TEST_FACTS", "2000"))
CHAINS = 200
DATES = 1_000
TOP = 20
TWINS = 50
AT_ONCE = 8

JOINED = """CYPHER 25
UNWIND $pairs AS pair
MATCH (newer:Memory {client_id: $client_id, id: pair[0]})
MATCH (older:Memory {client_id: $client_id, id: pair[1]})
CREATE (newer)-[:SUPERSEDES {created_at: newer.created_at}]->(older)"""


class World(NamedTuple):
    """A client's chains; what was never superseded is a chain of one."""

    client_id: str
    timelines: list[Timeline]
    vectors: list[Vector]
    """The middle of each of the first chains: its versions lie nearest to it."""

    chains: dict[str, Timeline]
    """The chain of each version."""

    def holds(self, id: str, **times: datetime) -> bool:
        return id in self.chains[id].holding(**{"as_of": None, "known_as_of": None, **times})

    def holding(self, **times: datetime) -> set[str]:
        asked_for = {"as_of": None, "known_as_of": None, **times}
        return {id for one in self.timelines for id in one.holding(**asked_for)}


def unit(vector: np.ndarray) -> Vector:
    return (vector / np.linalg.norm(vector)).tolist()


def fact(client_id: str, version: Version, word: str, vector: Vector, **other: Any) -> Prepared:
    """Return a version as the boundary writes it."""
    made = draft(
        client_id,
        "fact",
        f"{word} fact",
        id=version.id,
        occurred_at=version.valid_at,
        valid_at=version.valid_at,
        created_at=version.created_at,
        **{"version": 1} | other,
    )
    return Prepared(made, Embedding(vector, False), 8)


async def keep(runtime: Runtime, client_id: str, rows: Sequence[Prepared]) -> None:
    for start in range(0, len(rows), 1_000):
        some = rows[start : start + 1_000]
        await runtime.graph.write(partial(write, memories=some, client_id=client_id))


async def keep_chain(
    transaction: Transaction, client_id: str, chain: Timeline, rows: Sequence[Prepared]
) -> None:
    """Write a chain as its versions were written, one after the other."""
    for place, row in enumerate(rows):
        if place == 0:
            await write(transaction, [row], client_id=client_id)
        else:
            await supersede(
                transaction,
                rows[place - 1].draft.id,
                row,
                client_id=client_id,
                now=row.draft.created_at,
            )
        if chain.over and chain.over.place == place:
            await transaction.rows(
                INVALIDATE_FACTS,
                client_id=client_id,
                ids=[row.draft.id],
                at=chain.over.since,
                now=chain.over.known_at,
                active_word=scope_word(client_id, "active"),
            )


async def at_once(work: Sequence[Any]) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(each: Any) -> None:
        async with gate:
            await each()

    async with asyncio.TaskGroup() as group:
        for each in work:
            group.create_task(one(each))


@pytest_asyncio.fixture(scope="module")
async def world(
    runtime: Runtime, new_client: Callable[[], str], bulk_data: None
) -> AsyncIterator[World]:
    """200 chains of 1–5 versions, and facts that were never superseded; a rival has the same, nearer."""
    chance, vectors = random.Random(8), np.random.default_rng(8)
    client_id, rival_id = new_client(), new_client()
    chains = [timeline(f"{client_id}-{n}", chance) for n in range(CHAINS)]
    middles = [vectors.standard_normal(384) for _ in chains]
    drafts = [
        [
            fact(client_id, version, f"zqc{n}x", unit(middle + 0.1 * vectors.standard_normal(384)))
            for version in chain.versions
        ]
        for n, (chain, middle) in enumerate(zip(chains, middles, strict=True))
    ]
    await at_once(
        [
            lambda start=start: runtime.graph.write(
                lambda tx: _kept(tx, client_id, chains[start : start + 10], drafts[start:])
            )
            for start in range(0, CHAINS, 10)
        ]
    )
    alone = [
        Timeline((timeline(f"{client_id}-alone-{n}", chance).versions[0],)) for n in range(FACTS)
    ]
    await keep(
        runtime,
        client_id,
        [
            fact(client_id, one.versions[0], "zqalone", unit(vectors.standard_normal(384)))
            for one in alone
        ],
    )
    await keep(
        runtime,
        rival_id,
        [
            fact(rival_id, Version(str(uuid.uuid4()), BEGIN, BEGIN), f"zqc{n}x", unit(middle))
            for n, middle in enumerate(middles)
        ],
    )
    every = chains + alone
    by_id = {version.id: one for one in every for version in one.versions}
    yield World(client_id, every, [unit(middle) for middle in middles], by_id)


async def _kept(
    transaction: Transaction,
    client_id: str,
    chains: Sequence[Timeline],
    drafts: Sequence[Sequence[Prepared]],
) -> None:
    for chain, rows in zip(chains, drafts, strict=False):
        await keep_chain(transaction, client_id, chain, rows)


async def test_no_superseded_version_is_in_any_top_twenty(world: World, runtime: Runtime) -> None:
    heads = world.holding()  # S4.28 B4

    async def one(number: int) -> None:
        found = await find_best(
            world.vectors[number],
            [f"zqc{number}x"],
            Filters(kind={"fact"}),
            client_id=world.client_id,
            wanted=TOP,
            graph=runtime.graph,
        )
        assert {candidate.id for candidate in found} <= heads
        assert sum(candidate.by_vector for candidate in found) == TOP
        assert world.timelines[number].holding(None, None) <= {one.id for one in found}

    await at_once([partial(one, number) for number in range(CHAINS)])


async def test_at_a_thousand_random_times_exactly_what_held_then_is_found(
    world: World, runtime: Runtime
) -> None:  # B4 S4.28
    async def one(seed: int) -> None:
        chance = random.Random(seed)
        number = chance.randrange(CHAINS)
        chain = world.timelines[number]
        times = asked(chance, [chain])
        found = await find_best(
            world.vectors[number],
            [f"zqc{number}x"],
            Filters(kind={"fact"}, **times),
            client_id=world.client_id,
            wanted=5,
            graph=runtime.graph,
        )
        expected = chain.holding(**{"as_of": None, "known_as_of": None, **times})
        members = {version.id for version in chain.versions}
        assert all(world.holds(candidate.id, **times) for candidate in found), (times, chain)
        legs = {
            "vectors": {candidate.id for candidate in found if candidate.by_vector},
            "words": {candidate.id for candidate in found if candidate.bm25 is not None},
        }
        for name, leg in legs.items():
            assert leg & members == expected, (name, seed, times, len(leg))

    await at_once([lambda seed=seed: one(seed) for seed in range(DATES)])


async def test_a_search_at_random_times_finds_what_held_then_and_lists_and_counts_it(
    world: World, runtime: Runtime
) -> None:
    async def one(seed: int) -> None:
        chance = random.Random(seed)
        number = chance.randrange(CHAINS)
        chain = world.timelines[number]
        times = asked(chance, [chain])
        sources = sources_asked(["fact"], None, None, BEGINNING, END, validity=Validity(**times))
        holding = world.holding(**times)
        rows, count = await list_memories(
            sources,
            by_importance=bool(seed % 2),
            client_id=world.client_id,
            limit=FACTS + 5 * CHAINS,
            graph=runtime.graph,
        )
        assert ({row.id for row in rows}, count) == (holding, len(holding)), times
        for embedding in (world.vectors[number], None):
            found = await find_pool(
                embedding,
                [f"zqc{number}x"],
                sources,
                client_id=world.client_id,
                results=10,
                weight={},
                graph=runtime.graph,
                embedder=runtime.embedder,
            )
            expected = chain.holding(**{"as_of": None, "known_as_of": None, **times})
            ids = {one.id for one in found.found}
            assert ids <= holding, times
            assert ids & {version.id for version in chain.versions} == expected, times

    await at_once([lambda seed=seed: one(seed) for seed in range(24)])


@pytest_asyncio.fixture(scope="module")
async def twins(
    runtime: Runtime, new_client: Callable[[], str], bulk_data: None
) -> tuple[str, list[list[Version]]]:
    """20 chains of 51 versions, a day apart; the superseded ones lie nearer to the question than any head."""
    vectors, client_id = np.random.default_rng(9), new_client()
    chains = [
        [
            Version(f"{client_id}-{n}-{day}", moment := BEGIN + timedelta(days=day), moment)
            for day in range(TWINS + 1)
        ]
        for n in range(TOP)
    ]
    rows = []
    for chain in chains:
        for version, newer in zip(chain, [*chain[1:], None], strict=True):
            noise = 0.1 if newer else 0.8
            vector = unit(QUESTION + noise * vectors.standard_normal(384))
            ended = (
                {"active": False, "superseded_at": newer.created_at, "invalid_at": newer.valid_at}
                if newer
                else {}
            )
            rows.append(fact(client_id, version, "zqtwin", vector, **ended))
    far = [
        fact(
            client_id,
            Version(str(uuid.uuid4()), BEGIN + timedelta(days=300), BEGIN + timedelta(days=300)),
            "zqfar",
            unit(vectors.standard_normal(384)),
        )
        for _ in range(200)
    ]
    await keep(runtime, client_id, [*rows, *far])
    pairs = [[newer.id, older.id] for chain in chains for older, newer in pairwise(chain)]
    await runtime.graph.execute(JOINED, client_id=client_id, pairs=pairs)
    return client_id, chains


QUESTION = np.random.default_rng(10).standard_normal(384)


async def test_twenty_heads_are_found_though_fifty_superseded_twins_lie_nearer_than_each(
    twins: tuple[str, list[list[Version]]], runtime: Runtime
) -> None:  # B4 S4.28
    client_id, chains = twins

    async def both(holding: Validity) -> tuple[set[str], set[str]]:
        times = {name: getattr(holding, name) for name in ("as_of", "known_as_of")}
        near = await find_best(
            unit(QUESTION), ["zqtwin"], Filters(kind={"fact"}, **times),
            client_id=client_id, wanted=TOP, graph=runtime.graph,
        )  # fmt: skip
        found = await find_pool(
            unit(QUESTION), [], sources_asked(["fact"], None, None, BEGINNING, END, validity=holding),
            client_id=client_id, results=TOP, weight={}, graph=runtime.graph, embedder=runtime.embedder,
        )  # fmt: skip
        best = sorted(found.found, key=lambda one: -(one.cosine or 0.0))[:TOP]
        return {one.id for one in near if one.by_vector}, {one.id for one in best}

    heads = {chain[-1].id for chain in chains}
    assert await both(NOW) == (heads, heads)
    for day in (0, 7, TWINS - 1):
        then = BEGIN + timedelta(days=day, hours=1)
        held = {chain[day].id for chain in chains}
        for holding in (
            Validity(as_of=then),
            Validity(known_as_of=then),
            Validity(as_of=then, known_as_of=END),
        ):
            assert await both(holding) == (held, held), holding
        # What was true on the last day, as far as it was known on that day.
        late = Validity(as_of=BEGIN + timedelta(days=200), known_as_of=then)
        assert await both(late) == (held, held)
