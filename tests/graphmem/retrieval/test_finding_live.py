"""What both indexes find is what a search by hand finds: for any filters, for clients of any size."""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings, strategies as st

from graphmem.client import Graphmem
from graphmem.embedding import Embedder, Embedding, Vector
from graphmem.graph.scope import SCOPED
from graphmem.memories.write import Draft, prepare, write
from graphmem.model.times import BEGINNING, END
from graphmem.model.vocabulary import KINDS, MOST_READS, Ranking
from graphmem.retrieval import finding as module
from graphmem.retrieval.filters import Filters, conditions, ranges, scope_groups
from graphmem.retrieval.finding import (
    FOUND_EXACTLY,
    FOUND_IN_CLIENT,
    FOUND_IN_CONVERSATION,
    FOUND_IN_SCOPE,
    FOUND_NOW,
    FOUND_OF_KIND,
    FOUND_OF_KIND_IN_CONVERSATION,
    FOUND_OF_SOURCES,
    MOST_CANDIDATES,
    Candidate,
    find_best,
)
from graphmem.runtime import Runtime
from graphmem.text.words import lucene_query, scope_query, terms

DIMENSIONS = 384
ALL = 200
"""How many are wanted when all are: more than a world has."""

RECALL = 0.98
"""How much of the exact answer an approximate index must give."""

ALIKE = 1e-4
"""How far the index' cosine may be from the exact one."""

DRIFT = 0.05
"""How far two answers' BM25 may differ: the index counts words over all clients, and others write."""

AT_ONCE = 8

# No stemmer changes these.
WORDS = [f"zq{number}" for number in range(12)]
DAYS = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day) for day in range(12)]
VALUES = {
    "kind": KINDS,
    "conversation_id": ("c1", "c2", "c3", ""),
    "session_id": ("s1", "s2", "s3", "s4", ""),
    "source_type": ("message", "episode_log", "web", "file", "span"),
    "source_id": ("a.py", "B.md", "C D", "s1", "ünï", ""),
    "category": ("skill", "préférence", "\uffee wide", "\U0001f98a fox", ""),
    "scope": ("user", "User", "team one", ""),
}


class GivenVectors(Embedder):
    """Stands in for the embedding model: a text's vector is the one that was given for it."""

    key = "current"
    beside = None

    def __init__(self) -> None:
        self.vectors: dict[str, Vector] = {}

    async def passages(self, texts: Sequence[str], *, priority: int = 0) -> list[Embedding]:
        return [Embedding(self.vectors[text], False) for text in texts]


class Client:
    """One client's memories: those written, and what a search by hand finds in them."""

    def __init__(self, id: str, drafts: list[Draft], vectors: np.ndarray) -> None:
        self.id = id
        self.drafts = {draft.id: draft for draft in drafts}
        self.vectors = dict(zip(self.drafts, vectors, strict=True))

    def passing(self, filters: Filters) -> set[str]:
        return {draft.id for draft in self.drafts.values() if passes(draft, filters)}

    def holding(self, words: Iterable[str]) -> set[str]:
        return {id for id, draft in self.drafts.items() if set(words) & set(draft.text.split())}

    def cosine(self, id: str, embedding: Vector) -> float:
        return float(self.vectors[id] @ np.array(embedding))

    def nearest(self, ids: set[str], embedding: Vector, wanted: int) -> list[str]:
        return sorted(ids, key=lambda each: -self.cosine(each, embedding))[:wanted]


def passes(draft: Draft, filters: Filters) -> bool:
    """Tell whether a memory passes: the definition that the indexes are held to."""
    if any(
        (values := getattr(filters, name)) is not None and getattr(draft, name) not in values - {""}
        for name in SCOPED
    ):
        return False
    if not filters.since <= draft.occurred_at < filters.until:
        return False
    as_of, known_as_of = filters.as_of or END, filters.known_as_of or END
    if draft.valid_at > as_of or draft.created_at > known_as_of:
        return False
    over = not draft.active and draft.own["invalidated_at"] <= known_as_of
    return filters.include_superseded or not over or draft.invalid_at > as_of


def unit_vectors(chance: np.random.Generator, count: int) -> np.ndarray:
    vectors = chance.standard_normal((count, DIMENSIONS))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def near(chance: np.random.Generator, vector: Vector, count: int) -> np.ndarray:
    """Return vectors that lie nearer to a vector than any random one does."""
    vectors = np.array(vector) + 0.7 * unit_vectors(chance, count)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


async def keep(runtime: Runtime, client: Client) -> None:
    """Write a client's memories through the writing boundary."""
    embedder = GivenVectors()
    embedder.vectors = {
        draft.embedded_text: client.vectors[id].tolist() for id, draft in client.drafts.items()
    }
    prepared = await prepare(list(client.drafts.values()), embedder=embedder, tokens=runtime.tokens)
    await runtime.graph.write(lambda transaction: write(transaction, prepared, client_id=client.id))


def random_draft(client_id: str, chance: random.Random) -> Draft:
    """Return a memory of random values: half of them hold now, all times lie on few days.

    Those that do not were said to be over; tests/graphmem/memories/test_versions_live.py has chains.
    """
    valid, invalid = sorted(chance.sample(DAYS, 2))
    created, over = sorted(chance.sample(DAYS, 2))
    held = chance.random() < 0.5
    id = str(uuid.UUID(int=chance.getrandbits(128)))
    text = " ".join([*chance.sample(WORDS, chance.randint(0, 4)), "and", id[:8]])
    values: dict[str, Any] = {name: chance.choice(some) for name, some in VALUES.items()}
    return Draft(
        id=id,
        client_id=client_id,
        text=text,
        search_text=text,
        embedded_text=id,
        occurred_at=chance.choice(DAYS),
        valid_at=valid,
        invalid_at=END if held else invalid,
        created_at=created,
        active=held,
        own={} if held else {"invalidated_at": over, "invalidated_from": invalid},
        **values,
    )


@pytest_asyncio.fixture(scope="module")
async def question() -> Vector:
    return unit_vectors(np.random.default_rng(1), 1)[0].tolist()


@pytest_asyncio.fixture(scope="module")
async def own(runtime: Runtime, new_client: Callable[[], str], question: Vector) -> Client:
    """150 random memories of all kinds; a rival has the same words and nearer vectors."""
    chance, vectors = random.Random(3), np.random.default_rng(3)
    client_id, rival_id = new_client(), new_client()
    client = Client(
        client_id, [random_draft(client_id, chance) for _ in range(150)], unit_vectors(vectors, 150)
    )
    rival = Client(
        rival_id, [random_draft(rival_id, chance) for _ in range(300)], near(vectors, question, 300)
    )
    for each in (client, rival):
        await keep(runtime, each)
    return client


def some_filters(given: Iterable[str], client: Client, chance: random.Random) -> Filters:
    """Return random filters of which these are given; most let some memory pass."""
    given = set(given)
    for pair, names in PAIRS.items():
        if pair in given:
            given |= set(chance.choice((names, names[:1], names[1:])))
    draft = chance.choice(list(client.drafts.values()))
    values: dict[str, Any] = {
        name: {
            getattr(draft, name) or chance.choice(VALUES[name][:-1]),
            *chance.sample(VALUES[name], chance.choice((0, 0, 1, 2))),
        }
        - {""}
        for name in SCOPED
        if name in given
    }
    since, until = sorted(chance.sample(DAYS, 2))
    moments: dict[str, Any] = {
        "since": min(since, draft.occurred_at),
        "until": max(until, draft.occurred_at),
        "as_of": chance.choice((draft.valid_at, *DAYS)),
        "known_as_of": chance.choice((draft.created_at, *DAYS)),
        "include_superseded": True,
    }
    return Filters(**values, **{name: moments[name] for name in moments if name in given})


class Tally:
    """How much of the exact answers the approximate ones had."""

    def __init__(self) -> None:
        self.right = self.wanted = 0

    def assert_found(
        self,
        found: list[Candidate],
        client: Client,
        filters: Filters,
        embedding: Vector | None,
        words: list[str],
        wanted: int,
    ) -> None:
        """Assert that an answer is what a search by hand finds."""
        passing, context = client.passing(filters), (filters, words, wanted)
        near_ids = {candidate.id for candidate in found if candidate.by_vector}
        word_ids = {candidate.id for candidate in found if candidate.bm25 is not None}
        assert len({candidate.id for candidate in found}) == len(found), context
        assert {candidate.id for candidate in found} == near_ids | word_ids <= passing, context
        holding = passing & client.holding(words)
        assert len(word_ids) == min(wanted, len(holding)), context
        assert word_ids <= holding, context
        if embedding is None:
            assert not near_ids, context
            return
        exact = client.nearest(passing, embedding, wanted)
        assert len(near_ids) == len(exact), context
        if len(passing) <= wanted:
            assert near_ids == passing, context
        self.right += len(near_ids & set(exact))
        self.wanted += len(exact)
        for candidate in found:
            expected = client.cosine(candidate.id, embedding)
            assert candidate.cosine == pytest.approx(expected, abs=ALIKE), context

    def assert_enough(self, recall: float = RECALL) -> None:
        assert self.right >= recall * self.wanted, f"{self.right} of {self.wanted}"


async def at_once(work: Iterable[Callable[[], Awaitable[None]]]) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(each: Callable[[], Awaitable[None]]) -> None:
        async with gate:
            await each()

    async with asyncio.TaskGroup() as group:
        for each in work:
            group.create_task(one(each))


# Of a pair one or both are given: with each by itself there were four times as many.
PAIRS = {"occurred": ("since", "until"), "then": ("as_of", "known_as_of")}
FLAGS = (*SCOPED, *PAIRS, "include_superseded")
COMBINATIONS = [
    [name for name, given in zip(FLAGS, chosen, strict=True) if given]
    for chosen in product((False, True), repeat=len(FLAGS))
]
BATCHES = 4


@pytest.mark.parametrize("batch", range(BATCHES))
async def test_every_combination_of_filters_finds_what_a_search_by_hand_finds(
    batch: int, runtime: Runtime, own: Client, question: Vector, bulk_data: None
) -> None:
    tally = Tally()

    async def asked(number: int) -> None:
        chance = random.Random(number)
        filters = some_filters(COMBINATIONS[number], own, chance)
        words = chance.sample(WORDS, chance.choice((0, 1, 2)))
        embedding = None if words and chance.random() < 0.2 else question
        wanted = chance.choice((3, 10, ALL))
        found = await find_best(
            embedding, words, filters, client_id=own.id, wanted=wanted, graph=runtime.graph
        )
        tally.assert_found(found, own, filters, embedding, words, wanted)

    numbers = range(batch, len(COMBINATIONS), BATCHES)
    await at_once(partial(asked, number) for number in numbers)
    tally.assert_enough()


def moments() -> st.SearchStrategy[datetime]:
    """Times at, just before and just after those that memories have."""
    return st.builds(
        lambda day, ticks: day + ticks * datetime.resolution,
        st.sampled_from(DAYS),
        st.integers(-1, 1),
    )


def value_sets(name: str) -> st.SearchStrategy[frozenset[str] | None]:
    """Values that memories have or not, none at all, '' and more than Lucene is asked for."""
    known = st.frozensets(st.sampled_from((*VALUES[name], "unknown")), max_size=4)
    many = known.map(lambda values: values | {f"unknown {number}" for number in range(70)})
    return st.none() | known | many


@settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(
    filters=st.builds(
        Filters,
        **{name: value_sets(name) for name in SCOPED},
        since=st.just(BEGINNING) | moments(),
        until=st.just(END) | moments(),
        as_of=st.none() | moments(),
        known_as_of=st.none() | moments(),
        include_superseded=st.booleans(),
    ),
    words=st.lists(st.sampled_from((*WORDS, "unheard")), max_size=4, unique=True),
    wanted=st.sampled_from((1, 5, ALL)),
)
async def test_any_filters_find_what_a_search_by_hand_finds(
    filters: Filters,
    words: list[str],
    wanted: int,
    runtime: Runtime,
    own: Client,
    question: Vector,
    bulk_data: None,
) -> None:
    found = await find_best(
        question, words, filters, client_id=own.id, wanted=wanted, graph=runtime.graph
    )

    Tally().assert_found(found, own, filters, question, words, wanted)


async def test_values_of_every_script_are_found_without_a_filter_on_them(
    runtime: Runtime, own: Client, question: Vector
) -> None:
    # Cypher orders by UTF-16 units, the index by code points: ranges would lose one of these.
    filters = Filters(include_superseded=True)

    found = await find_best(
        question, WORDS, filters, client_id=own.id, wanted=ALL, graph=runtime.graph
    )

    assert {own.drafts[candidate.id].category for candidate in found} == set(VALUES["category"])
    assert len(found) == len(own.drafts)


async def test_no_value_asks_for_memories_that_have_none(
    runtime: Runtime, own: Client, question: Vector
) -> None:
    for name in SCOPED:
        only: dict[str, Any] = {name: {""}}
        filters = Filters(**only)
        assert not await find_best(question, WORDS, filters, client_id=own.id, graph=runtime.graph)


async def test_an_answer_is_cut_to_the_best_of_each_leg(
    runtime: Runtime, own: Client, question: Vector
) -> None:
    words = WORDS[:3]

    everything = await find_best(
        question, words, Filters(), client_id=own.id, wanted=ALL, graph=runtime.graph
    )
    found = await find_best(
        question, words, Filters(), client_id=own.id, wanted=7, graph=runtime.graph
    )

    by_words = sorted((c.bm25 for c in everything if c.bm25 is not None), reverse=True)
    best = sorted((c.bm25 for c in found if c.bm25 is not None), reverse=True)
    assert best == pytest.approx(by_words[:7], rel=DRIFT)
    assert len([candidate for candidate in found if candidate.by_vector]) == 7


@pytest.mark.parametrize(
    ("filters", "hot"),
    [
        (Filters(), FOUND_IN_CLIENT),
        (Filters(kind={"fact"}), FOUND_OF_KIND),
        (Filters(conversation_id={"c2"}), FOUND_IN_CONVERSATION),
        (Filters(kind={"fact"}, conversation_id={"c2"}), FOUND_OF_KIND_IN_CONVERSATION),
        (Filters(kind={"fact", "message"}, scope={"user"}, until=DAYS[9]), FOUND_NOW),
        (Filters(kind={"fact", "message"}, source_type={"web", "file"}), FOUND_NOW),
        (Filters(source_id={"a.py", "B.md"}, until=DAYS[9]), FOUND_OF_SOURCES),
    ],
)
async def test_a_hot_file_answers_as_the_general_one(
    filters: Filters, hot: object, runtime: Runtime, own: Client, question: Vector
) -> None:
    words = lucene_query(WORDS[:3], scope_groups(filters, own.id))
    asked = {"client_id": own.id, "words": words, "limit": ALL, "longest": 0, "least": 0.0}
    asked |= {"vectors": [{"place": 0, "vector": question}], "by_vectors": True, "detailed": False}

    query, parameters = module._file_for(filters)
    [general] = await runtime.graph.rows(
        FOUND_IN_SCOPE, **asked, **ranges(filters), **conditions(filters), now_only=True
    )

    assert query is hot
    [narrow] = await runtime.graph.rows(query, **asked, **parameters)
    assert by_id(narrow.rows) == by_id(general.rows)
    assert bm25(narrow.rows) == pytest.approx(bm25(general.rows), rel=DRIFT)


async def test_words_alone_and_exact_cosines_answer_as_both_legs(
    runtime: Runtime, own: Client, question: Vector
) -> None:
    filters = Filters(kind={"fact", "message", "span"}, scope={"user"}, until=DAYS[9])
    groups = scope_groups(filters, own.id)
    words = lucene_query(WORDS[:3], groups)
    asked = {"client_id": own.id, "limit": ALL, "longest": 0, **conditions(filters)}
    vectors = [{"place": 0, "vector": question}]
    in_scope = (
        asked
        | ranges(filters)
        | {"words": words, "least": 0.0, "by_vectors": True, "detailed": False}
    )

    [both] = await runtime.graph.rows(FOUND_IN_SCOPE, now_only=True, **in_scope, vectors=vectors)
    [by_words] = await runtime.graph.rows(FOUND_IN_SCOPE, now_only=True, **in_scope, vectors=[])
    nearest = await runtime.graph.rows(
        FOUND_EXACTLY,
        **asked,
        vectors=vectors,
        scope=scope_query(groups),
        most=MOST_CANDIDATES,
    )

    assert bm25(by_words.rows) == pytest.approx(bm25(both.rows), rel=DRIFT)
    assert {c.id for c in nearest} == own.passing(filters)
    exact = {c.id: c.cosine for c in nearest}
    for candidate in both.rows:
        if candidate.passes:
            assert candidate.cosine == pytest.approx(exact[candidate.id], abs=ALIKE)


def by_id(found: list[Candidate]) -> dict[str, tuple[object, ...]]:
    """Return what was found so that two answers compare: the index' cosines differ by roundings."""
    return {
        c.id: (c.by_vector, c.kind, c.occurred_at, c.cosine and round(c.cosine, 3))
        for c in found
        if c.passes
    }


def bm25(found: list[Candidate]) -> dict[str, float]:
    return {c.id: c.bm25 for c in found if c.passes and c.bm25 is not None}


# Clients of very different sizes.

QUESTION = "Which lantern burns in the old harbour?"
SIZES = [2000, 800, 400, 200, 101, 100, 99, 50, *(1 + number % 9 for number in range(200))]
MANY = frozenset({"rare 0"} | {f"unknown {number}" for number in range(70)})


def plain_draft(client_id: str, number: int) -> Draft:
    """Return a memory that shares the question's words; in every tenth they stand twice."""
    id = f"{client_id}-{number:04}"
    text = f"lantern harbour {'lantern old harbour ' * (number % 10 == 0)}number {number}"
    rare = number % 250 == 7
    return Draft(
        id=id,
        client_id=client_id,
        kind="summary" if rare else "episode" if number % 2 else "message",
        text=text,
        search_text=text,
        embedded_text=id,
        source_type="message",
        source_id=f"rare {number // 250}" if rare else "",
        conversation_id="harbour",
        occurred_at=DAYS[0] if rare else DAYS[1] + timedelta(minutes=number),
        valid_at=DAYS[0],
        created_at=DAYS[0],
    )


@pytest_asyncio.fixture(scope="module")
async def asked(runtime: Runtime) -> Vector:
    return await runtime.embedder.query(QUESTION)


@pytest_asyncio.fixture(scope="module")
async def crowd(
    runtime: Runtime, new_client: Callable[[], str], asked: Vector, bulk_data: None
) -> AsyncIterator[list[Client]]:
    """More than 200 clients; the larger ones' vectors lie nearer and hold the words more often."""
    chance = np.random.default_rng(5)
    clients = []
    for size in SIZES:
        client_id = new_client()
        drafts = [plain_draft(client_id, number) for number in range(size)]
        vectors = near(chance, asked, size) if size >= 50 else unit_vectors(chance, size)
        for place, draft in enumerate(drafts):
            if draft.kind == "summary":  # what few filters let pass lies far away
                vectors[place] = unit_vectors(chance, 1)[0]
        clients.append(Client(client_id, drafts, vectors))
    for client in clients[:4]:
        await keep(runtime, client)
    rest = clients[4:]
    prepared = []
    for client in rest:
        embedder = GivenVectors()
        embedder.vectors = dict(
            zip(client.drafts, (vector.tolist() for vector in client.vectors.values()), strict=True)
        )
        prepared.append(
            await prepare(list(client.drafts.values()), embedder=embedder, tokens=runtime.tokens)
        )

    async def written(transaction) -> None:
        for client, memories in zip(rest, prepared, strict=True):
            await write(transaction, memories, client_id=client.id)

    await runtime.graph.write(written)
    yield clients


async def test_no_client_starves_and_none_sees_anothers(
    runtime: Runtime, crowd: list[Client], asked: Vector
) -> None:
    tally, words = Tally(), terms(QUESTION)
    assert words == ["lantern", "burns", "old", "harbour"]

    async def looked(client: Client) -> None:
        for filters in (Filters(), Filters(until=END - timedelta(days=1))):
            found = await find_best(
                asked, words, filters, client_id=client.id, wanted=100, graph=runtime.graph
            )
            tally.assert_found(found, client, filters, asked, words, 100)

    await at_once(partial(looked, client) for client in crowd)
    # Vectors crowded in one ball are hard to tell apart with a bit for each dimension.
    tally.assert_enough(0.9)


@pytest.mark.parametrize("ranking", get_args(Ranking))
async def test_recall_finds_all_of_a_handful_in_every_ranking(
    ranking: Ranking, runtime: Runtime, crowd: list[Client]
) -> None:
    for client in crowd[4:30]:
        memory = Graphmem(runtime, client.id)

        answer = await memory.recall(QUESTION, ranking=ranking, limit=200, max_tokens=200_000)

        assert {item.id for item in answer.items} == set(client.drafts)
        assert not answer.omitted_total


async def test_readers_of_others_see_their_own_and_what_is_permitted_and_nothing_else(
    runtime: Runtime, crowd: list[Client]
) -> None:
    chance = random.Random(7)
    small = crowd[8:]

    async def looked(reader: Client) -> None:
        others = chance.sample(small, chance.randint(0, MOST_READS))
        memory = Graphmem(runtime, reader.id, reads=[one.id for one in others])
        narrowed = chance.sample(others, chance.randint(0, len(others)))
        for reads in (None, [one.id for one in narrowed]):
            permitted = others if reads is None else narrowed
            mine = {(None, id) for id in reader.drafts}
            expected = mine | {
                (one.id, id) for one in permitted if one is not reader for id in one.drafts
            }
            for way, found in (await every_way(memory, reads)).items():
                assert found == expected, (way, reader.id)

    for reader in chance.sample(small, 12):
        await looked(reader)


async def every_way(
    memory: Graphmem, reads: Sequence[str] | None
) -> dict[str, set[tuple[str | None, str]]]:
    """Return the clients and ids that each way of asking finds."""
    recalled = await memory.recall(QUESTION, limit=200, max_tokens=200_000, reads=reads)
    answers: dict[str, Sequence[Any]] = {
        "recall": recalled.items,
        "search": (await memory.search(QUESTION, max_results=200, reads=reads)).items,
        "everything": (await memory.search("*", max_results=200, reads=reads)).items,
        "exact": (
            await memory.search(
                "lantern",
                match="exact",
                conversation_id="harbour",
                max_results=200,
                reads=reads,
            )
        ).items,
        "contextual": (
            await memory.search_contextual(
                QUESTION, top_sessions=20, top_k=50, max_tokens=200_000, reads=reads
            )
        ).items,
    }
    return {way: {(one.client_id, one.id) for one in items} for way, items in answers.items()}


@pytest.mark.parametrize(
    "filters",
    [
        Filters(kind={"summary", "fact"}),
        Filters(source_id=MANY),
        Filters(source_id=frozenset(f"rare {number}" for number in range(8))),
        Filters(until=DAYS[0] + datetime.resolution),
        Filters(kind={"summary"}, conversation_id={"harbour", "elsewhere"}),
    ],
)
async def test_a_filter_that_lets_few_pass_finds_them_all(
    filters: Filters, runtime: Runtime, crowd: list[Client], asked: Vector
) -> None:
    largest, words, tally = crowd[0], terms(QUESTION), Tally()
    assert 1 <= len(largest.passing(filters)) <= 8

    found = await find_best(
        asked, words, filters, client_id=largest.id, wanted=20, graph=runtime.graph
    )

    tally.assert_found(found, largest, filters, asked, words, 20)


async def test_a_filter_that_finds_nothing_beside_deleted_memories_is_answered(
    memory: Graphmem, rival: Graphmem
) -> None:
    # A quantised index of Neo4j 2026.09.0 fails here, or never answers.
    await memory.open_conversation("c")
    said = await memory.remember(
        "c", [{"session_id": "s", "role": "user", "content": f"Crate {n}"} for n in range(50)]
    )
    for id in said.ids[:10]:
        await memory.delete_memory(id)

    assert (await rival.recall("Which crate is it?")).items == []
    assert (await rival.search("Which crate is it?")).items == []
    assert len((await memory.recall("Which crate is it?", limit=100)).items) == 40
