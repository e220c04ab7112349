"""No pattern crosses from one client to another, even where somebody has forged the edges for it."""

import uuid
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from graphmem.client import Graphmem
from graphmem.patterns.running import catalogue
from graphmem.runtime import Runtime
from tests.patterned import ASKED, live
from tests.planted import plant, reference, thread

FORGED = [
    ("Message", "PART_OF", "Session"),
    ("Message", "MENTIONS", "Entity"),
    ("Fact", "MENTIONS", "Entity"),
    ("Reference", "NAMES", "Entity"),
    ("Summary", "SUMMARIZES", "Session"),
    ("Entity", "ALIAS_OF", "Entity"),
    ("Fact", "SUPERSEDES", "Fact"),
    ("Fact", "CONTRADICTS", "Fact"),
    ("Fact", "DERIVED_FROM", "Fact"),
    ("Fact", "REFERENCES", "Fact"),
    ("Fact", "REFINES", "Fact"),
    ("Access", "RETURNED", "Memory"),
    ("Context", "HOLDS", "Memory"),
    ("Review", "RATED", "Memory"),
]
"""Every edge that a pattern walks."""

EXTRA = """
CREATE (:Context {client_id: $client, id: 'c', max_tokens: 9})
CREATE (:Review {client_id: $client, id: 'r', query: 'rival', state: 'done'})
"""

FORGE = """
MATCH (a:{start} {{client_id: $one}}), (b:{end} {{client_id: $other}})
WITH a, b LIMIT 400
CREATE (a)-[:{edge} {{rank: 1, score: 1.0, rating: 'good', created_at: datetime(), reason: 'rival'}}]->(b)
"""


class Forgery(msgspec.Struct):
    """A client whose graph has been joined to a rival's, and what it saw before."""

    memory: Graphmem
    rival: Graphmem
    before: dict[str, list[dict[str, Any]]]
    foreign: set[str]


async def rows(memory: Graphmem) -> dict[str, list[dict[str, Any]]]:
    return {name: (await memory.pattern(name, ASKED[name])).rows for name in catalogue()}


@pytest_asyncio.fixture(scope="module")
async def forgery(runtime: Runtime) -> Forgery:
    """Two clients with the same life and the same ids of conversations, every node joined to the other's."""
    memory = Graphmem(runtime, f"test-{uuid.uuid4().hex}")
    rival = Graphmem(runtime, f"rival-{uuid.uuid4().hex}")
    await live(memory)
    await live(rival)
    before = await rows(memory)
    await runtime.graph.execute(EXTRA, client=rival.client_id)
    await plant(rival, thread(text="rival"), reference(text="rival"))
    for one, other in ((memory, rival), (rival, memory)):
        for start, edge, end in FORGED:
            await runtime.graph.execute(
                FORGE.format(start=start, edge=edge, end=end),
                one=one.client_id,
                other=other.client_id,
            )
    found = await runtime.graph.execute(
        "MATCH (n {client_id: $client}) WHERE n.id IS NOT NULL RETURN collect(n.id) AS ids",
        client=rival.client_id,
    )
    own = await runtime.graph.execute(
        "MATCH (n {client_id: $client}) WHERE n.id IS NOT NULL RETURN collect(n.id) AS ids",
        client=memory.client_id,
    )
    return Forgery(memory, rival, before, set(found[0]["ids"]) - set(own[0]["ids"]))


def test_every_pattern_is_asked() -> None:
    assert set(ASKED) == set(catalogue())


@pytest.mark.parametrize("name", catalogue())
async def test_forged_edges_change_nothing(name: str, forgery: Forgery) -> None:
    assert forgery.before[name], "a pattern that finds nothing would prove nothing"
    after = (await forgery.memory.pattern(name, ASKED[name])).rows
    assert after == forgery.before[name]
    shown = {id for row in after for id in row["memory_ids"]}
    assert shown.isdisjoint(forgery.foreign)
    assert len(forgery.foreign) > 20


@pytest.mark.parametrize("name", catalogue())
async def test_a_client_of_nothing_finds_nothing(name: str, forgery: Forgery) -> None:
    nobody = forgery.memory.for_client(f"nobody-{uuid.uuid4().hex}")
    assert (await nobody.pattern(name, ASKED[name])).rows == []
