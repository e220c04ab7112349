"""The facts nearest to any of several vectors, on a real Neo4j."""

from typing import Any

import pytest
import pytest_asyncio

from graphmem.client import Graphmem
from graphmem.graph.driver import Graph
from graphmem.retrieval.filters import Filters
from graphmem.retrieval.finding import FOUND_EXACTLY, FOUND_OF_KIND, Candidate, IndexQuery, find
from graphmem.text.words import terms

FACTS = {
    "tea": "The user drinks green tea in the morning.",
    "cat": "The user's cat is called Miso.",
    "bike": "The user rides a bicycle to work.",
    "sea": "The user swims in the sea every summer.",
}
KIND = frozenset({"fact"})


@pytest_asyncio.fixture
async def kept(memory: Graphmem, rival: Graphmem) -> dict[str, str]:
    """Four facts in three scopes; the rival has the same, and more of them."""
    scopes = {"tea": "user", "cat": "user", "bike": "repo", "sea": "club"}
    for text in FACTS.values():
        await rival.remember_fact(text)
    return {
        name: (await memory.remember_fact(text, scope=scopes[name])).id
        for name, text in FACTS.items()
    }


@pytest.fixture
def asked(kept: object, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The searches from now on."""
    names: list[str] = []
    rows = Graph.rows

    async def counted(self, query, **parameters):
        if query.name.startswith("retrieval/"):
            names.append(query.name)
        return await rows(self, query, **parameters)

    monkeypatch.setattr(Graph, "rows", counted)
    return names


async def found(
    memory: Graphmem,
    *questions: str,
    words: str = "",
    wanted: int = 1,
    least: float = -1.0,
    **how: Any,
) -> list[Candidate]:
    runtime = memory.runtime
    query = IndexQuery(
        embeddings=await runtime.embedder.queries(questions),
        words=terms(words) if words else (),
        filters=Filters(kind=KIND, **how),
        wanted=wanted,
        least_cosine=least,
    )
    near = await find(query, client_id=memory.client_id, graph=runtime.graph)
    return sorted(near.found, key=lambda one: -(one.cosine or 0.0))


async def test_each_vector_brings_its_nearest_of_this_client_only(memory, kept):
    near = await found(memory, FACTS["tea"], FACTS["bike"])

    assert {one.id for one in near} == {kept["tea"], kept["bike"]}
    assert all((one.cosine or 0.0) > 0.95 for one in near), (
        "the cosine is that to the nearest vector"
    )


async def test_one_statement_asks_for_all_vectors_and_words(memory, kept, asked):
    near = await found(memory, FACTS["tea"], FACTS["bike"], words="Miso")

    assert asked == [FOUND_OF_KIND.name]
    [cat] = [one for one in near if one.id == kept["cat"]]
    assert cat.bm25
    assert cat.cosine is not None
    assert -1 < cat.cosine < 0.95
    assert {one.id for one in near} == {kept["tea"], kept["bike"], kept["cat"]}


async def test_scopes_pass_however_many_others_lie_nearer(memory, kept):
    near = await found(
        memory, FACTS["tea"], FACTS["sea"], scope=frozenset({"repo", "user"}), wanted=3
    )

    assert {one.id for one in near} == {kept["tea"], kept["cat"], kept["bike"]}
    assert await found(memory, FACTS["tea"], scope=frozenset({"none"})) == []
    assert await found(memory, FACTS["tea"], scope=frozenset()) == []


async def test_what_held_at_a_time_is_found_then(memory, kept):
    newer = await memory.supersede_fact(kept["cat"], "The user's cat is called Mochi.")
    standing = await memory.versions(kept["cat"])
    before = standing.versions[0].created_at

    [now] = await found(memory, FACTS["cat"])
    assert now.id == newer.id
    [then] = await found(memory, FACTS["cat"], known_as_of=before)
    assert then.id == kept["cat"]


async def test_more_are_exact_where_fewer_exist_than_are_asked_for(memory, kept, asked):
    near = await found(memory, FACTS["tea"], wanted=10)

    assert {one.id for one in near} == set(kept.values())
    assert asked == [FOUND_OF_KIND.name, FOUND_EXACTLY.name]


async def test_what_shares_no_word_needs_the_least_cosine(memory, kept, asked):
    near = await found(memory, FACTS["tea"], words="Miso", wanted=10, least=0.9)

    assert {one.id for one in near} == {kept["tea"], kept["cat"]}
    assert asked == [FOUND_OF_KIND.name], "what is left out is no reason for an exact search"
    every = await found(memory, FACTS["tea"], wanted=5, least=0.2)
    assert {one.id for one in every} == set(kept.values())
    assert asked[1:] == [FOUND_OF_KIND.name, FOUND_EXACTLY.name], "the index may have missed some"
