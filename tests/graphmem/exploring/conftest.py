"""A client's small graph, and its visible contents."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from msgspec import Struct

from graphmem.client import Graphmem
from graphmem.runtime import Runtime
from tests.planted import plant

SEEN = """
MATCH (n {client_id: $client}) WHERE NOT n:Audit
RETURN labels(n) AS labels, properties(n) AS properties,
  COLLECT { MATCH (n)-[r]-(m) RETURN type(r) + ' ' + m.id ORDER BY m.id } AS edges
ORDER BY n.id
"""

INTRUDERS = """
MATCH (n) WHERE n:Intruder OR (n:Fact AND n.intruded IS NOT NULL)
RETURN count(n) AS intruders
"""


class Small(Struct):
    """Two facts of a client, the first of which has superseded the second."""

    memory: Graphmem
    parameters: dict[str, Any]

    async def seen(self) -> list[dict[str, Any]]:
        """Return the graph's contents for the client."""
        graph = self.memory.runtime.graph
        return await graph.execute(SEEN, client=self.memory.client_id)


async def planted(memory: Graphmem) -> Small:
    """Write the small graph for a client."""
    fact = {"kind": "fact", "category": "preference", "scope": "user"}
    a, b = await plant(
        memory,
        fact | {"text": "We chose postgres", "fact": "We chose postgres"},
        fact | {"text": "We chose sqlite", "fact": "We chose sqlite"},
    )
    await memory.runtime.graph.execute(
        "MATCH (a:Fact {client_id: $c, id: $a}), (b:Fact {client_id: $c, id: $b}) "
        "CREATE (a)-[:SUPERSEDES {created_at: datetime(), reason: 'two writers'}]->(b)",
        c=memory.client_id,
        a=a,
        b=b,
    )
    return Small(memory, {"c": memory.client_id, "a": a, "b": b})


@pytest_asyncio.fixture(scope="module")
async def small(runtime: Runtime) -> AsyncIterator[Small]:
    """A small graph that the tests of a module share, since none of them may change it."""
    shared = await planted(Graphmem(runtime, f"small-{uuid.uuid4().hex}"))
    before = await shared.seen()
    assert len(before) == 2
    yield shared
    assert await shared.seen() == before, "a test of this module has changed the graph"


@pytest_asyncio.fixture
async def own_small(memory: Graphmem) -> Small:
    """A small graph for one test, which may change it."""
    return await planted(memory)
