"""A client's small graph, and what can be seen of it."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from msgspec import Struct

from graphmem.service import Graphmem
from tests.planted import plant

Seen = Callable[[], Awaitable[list[dict[str, Any]]]]

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


@pytest_asyncio.fixture
async def small(memory: Graphmem) -> Small:
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


@pytest.fixture
def seen(memory: Graphmem) -> Seen:
    """What stands in the graph for the client."""

    async def look() -> list[dict[str, Any]]:
        return await memory.runtime.graph.execute(SEEN, client=memory.client_id)

    return look
