"""What a neighbourhood costs on a hub, as a ratio to an HTTP `/health/ready` of the same run.

    python -m bench.graph --edges 10000 --out graph.json

One client on a private Neo4j of the run's own: so many messages in sessions of fifty, all of which mention
one name. Everything is asked over HTTP, in turns, so that a busy moment of the machine hits all alike.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from msgspec.structs import replace

from bench.latency import Ask, interleaved, say, served, timed
from bench.reporting import arguments, report
from bench.store import corpus, fill
from graphmem import config
from graphmem.neighbourhood.types import MOST_NODES, NODES
from graphmem.runtime import Runtime, running

CLIENT = "hub"
NAME = "harbour"
ASKED = 150
WARMED = 30
EDGES_AT_ONCE = 5_000
BAR = 10.0
"""How many times as long as `/health/ready` the neighbourhood of a hub may take, in the median."""

READY, HUB = "ready", "hub"

SESSIONS = """CYPHER 25
MATCH (message:Message {client_id: $client_id})
WHERE message.session_id IS NOT NULL AND message.idx IS NOT NULL
WITH message ORDER BY message.position
WITH message.session_id AS id, collect(message) AS messages
CALL (id, messages) {
  CREATE (session:Session {
    client_id: $client_id, id: id, conversation_id: head(messages).conversation_id, external_id: id,
    started_at: head(messages).occurred_at, last_active_at: last(messages).occurred_at,
    next_idx: size(messages)
  })
  FOREACH (message IN messages | CREATE (message)-[:PART_OF]->(session))
  FOREACH (place IN range(1, size(messages) - 1) |
    FOREACH (before IN [messages[place - 1]] |
      FOREACH (after IN [messages[place]] | CREATE (before)-[:NEXT]->(after))))
} IN TRANSACTIONS OF 100 ROWS
FINISH
"""

MENTIONS = """CYPHER 25
MERGE (entity:Entity {client_id: $client_id, normalized: $name})
SET entity.name = $name
WITH entity
MATCH (message:Message {client_id: $client_id})
WHERE message.session_id IS NOT NULL AND message.idx IS NOT NULL
  AND NOT (message)-[:MENTIONS]->(entity)
WITH entity, message LIMIT $limit
CREATE (message)-[:MENTIONS]->(entity)
FINISH
"""


async def grow(runtime: Runtime, edges: int) -> None:
    """Write a client whose messages all mention one name."""
    made_of = await corpus(runtime.embedder)
    await fill(runtime, made_of, CLIENT, edges, 5)
    say(f"{edges} messages")
    await runtime.graph.execute(SESSIONS, client_id=CLIENT)
    for start in range(0, edges, EDGES_AT_ONCE):
        some = min(EDGES_AT_ONCE, edges - start)
        await runtime.graph.execute(MENTIONS, client_id=CLIENT, name=NAME, limit=some)
    say(f"{edges} edges at one name")


def asks(http: httpx.AsyncClient) -> dict[str, Ask]:
    """Return what is asked, each by its name; what it is asked about stands in its path."""
    paths = {
        READY: "/health/ready",
        HUB: f"/api/v0/graph/entity:{NAME}",
        "hub, one type": f"/api/v0/graph/entity:{NAME}?types=mentions",
        f"hub, {MOST_NODES} nodes": f"/api/v0/graph/entity:{NAME}?limit={MOST_NODES}",
        "hub, depth 3": f"/api/v0/graph/entity:{NAME}?depth=3",
        "schema": "/api/v0/graph/schema",
    }

    def asking(path: str) -> Ask:
        async def ask(question: str) -> None:
            answer = await http.get(path, headers={"X-Client-Id": CLIENT})
            answer.raise_for_status()

        return ask

    return {name: asking(path) for name, path in paths.items()}


async def measure(http: httpx.AsyncClient, edges: int) -> dict[str, Any]:
    """Time everything in one run, and look whether the hub stays within its bounds."""
    asked = [""] * (ASKED + WARMED)
    every = asks(http)
    for ask in every.values():
        await timed(ask, asked[:WARMED], 1)
    figures = await interleaved(every, asked[WARMED:], 1)
    path = f"/api/v0/graph/entity:{NAME}"
    shown = (await http.get(path, headers={"X-Client-Id": CLIENT})).json()
    ratio = round(figures[HUB]["p50"] / figures[READY]["p50"], 2)
    within = len(shown["nodes"]) == min(NODES, edges + 1) and shown["truncated"] == (edges >= NODES)
    return {
        "edges": edges,
        "milliseconds": figures,
        "nodes shown": len(shown["nodes"]),
        "edges shown": len(shown["edges"]),
        "within its bounds": within,
        "p50 of the hub to ready": ratio,
        "bar": BAR,
        "passed": within and ratio <= BAR,
    }


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("graph", __doc__)
    parser.add_argument("--edges", type=int, default=10_000)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="graphmem-graph-") as folder:
        settings = replace(config.load({}), data_dir=Path(folder) / "data")
        async with running(settings) as runtime:
            await grow(runtime, given.edges)
            async with served(settings) as (http, _):
                result = await measure(http, given.edges)
    report(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
