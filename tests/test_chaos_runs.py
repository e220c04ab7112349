"""Kill -9 of Neo4j during budgeted runs: every budget balances, nothing is charged twice or lost.

Only `make chaos` runs this; the callers of tests/test_faults.py have a few runs too.
`GRAPHMEM_CHAOS_OPERATIONS` is the number of operations (`make chaos` performs 500 on 20 runs).
"""

import asyncio
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import msgspec
import psutil
import pytest

from graphmem.runs.types import TreeRun
from graphmem.runtime import database
from graphmem.server.private import status
from tests.budgeted import STORED, below, check, span
from tests.test_chaos import Service, answers, service
from tests.thorough import only_thorough

pytestmark = [pytest.mark.usefixtures("own_server", "killed_processes"), only_thorough]

OPERATIONS = int(os.environ.get("GRAPHMEM_CHAOS_OPERATIONS", "60"))
RUNS = 20 if OPERATIONS >= 500 else 5
SHOTS = 2
RUN_TOKENS = 1_500
PATH = "/api/v0/rlm/sessions"

RECORDED = """CYPHER 25
MATCH (:Run {client_id: 'default'})-[:PERFORMED]->(access:Access {client_id: 'default'})
WHERE access.operation_id IS NOT NULL
RETURN access.operation_id AS id, access.operation AS operation, access.tokens AS tokens,
  COUNT { (access)-[:RETURNED]->(:Memory) } AS returned, COUNT { (access)-[:WROTE]->(:Memory) } AS wrote
"""

WRITTEN = """CYPHER 25
MATCH (reference:Reference {client_id: 'default'}) RETURN count(reference) AS written
"""


class Acknowledged(msgspec.Struct):
    """The answer to an operation."""

    operation: str
    tokens: int = 0
    id: str = ""


async def insistent(client: httpx.AsyncClient, path: str, body: Any) -> httpx.Response:
    """Post until there is an answer, as a caller with operation ids may."""
    async with asyncio.timeout(240):
        while True:
            try:
                answer = await client.post(path, json=body)
            except httpx.TransportError:
                await asyncio.sleep(0.2)
                continue
            if answer.status_code != 503:
                return answer
            assert answer.headers["retry-after"]
            await asyncio.sleep(0.2)


async def agent(
    client: httpx.AsyncClient, run_id: str, number: int, seed: int, done: dict[str, Acknowledged]
) -> None:
    """Perform operations one after the other; keep the acknowledged ones."""
    chance = random.Random(seed)
    for place in range(number):
        operation = chance.choices(["retrieve", "peek", "write", "subcall"], [6, 1, 2, 1])[0]
        id = f"{run_id}:{place}"
        bodies: dict[str, dict[str, Any]] = {
            "retrieve": {"query": f"product pricing {place}", "max_tokens": chance.randint(20, 80)},
            "peek": {"span_id": f"span-{chance.randrange(8)}"},
            "write": {"type": "log", "content": f"Note {place} of {run_id}."},
            "subcall": {"agent_type": "qa", "budget_fraction": 0.1},
        }
        answer = await insistent(
            client, f"{PATH}/{run_id}/{operation}", bodies[operation] | {"operation_id": id}
        )
        if answer.status_code == 409:
            assert answer.json()["code"] in {"budget_exhausted", "childless_budget"}, answer.text
            continue
        assert answer.status_code < 300, answer.text
        shown = answer.json()
        done[id] = Acknowledged(operation, shown.get("tokens_used", 0), shown.get("id", ""))


async def kill_neo4j(started: Service, client: httpx.AsyncClient) -> None:
    """Kill the database and wait until the service answers again."""
    record = status(started.settings.data_dir)
    assert record is not None
    psutil.Process(record.pid).kill()
    while (now := status(started.settings.data_dir)) is None or now.pid == record.pid:
        await asyncio.sleep(0.05)
    while not answers(now.port):
        await asyncio.sleep(0.05)
    await started.ready(client, 600)


async def performed_under_fire(
    started: Service, client: httpx.AsyncClient, runs: list[str]
) -> dict[str, Acknowledged]:
    done: dict[str, Acknowledged] = {}
    each = OPERATIONS // len(runs)
    agents = asyncio.gather(
        *(agent(client, run, each, place, done) for place, run in enumerate(runs))
    )
    for shot in range(1, SHOTS + 1):
        while len(done) < OPERATIONS * shot // (SHOTS + 2):
            assert not agents.done(), "the agents end before the last shot"
            await asyncio.sleep(0.02)
        await kill_neo4j(started, client)
    await agents
    return done


async def test_budgets_survive_a_kill(tmp_path: Path) -> None:
    # The children stay open, and about one operation in ten starts one.
    limit = {"GRAPHMEM_MAX_CONCURRENT_SESSIONS": str(RUNS + OPERATIONS)}
    async with service(tmp_path / "data", **limit) as (started, client):
        spans = [span(place) for place in range(8)]
        assert (await insistent(client, "/api/v0/spans", spans)).status_code == 201
        budget = {"max_tokens": RUN_TOKENS, "max_time_ms": 3_600_000, "max_retries": 1_000}
        runs = []
        for place in range(RUNS):
            body = {
                "agent_type": "a",
                "episode_id": "e",
                "budget": budget,
                "operation_id": f"r{place}",
            }
            runs.append((await insistent(client, PATH, body)).json()["id"])
        done = await performed_under_fire(started, client, runs)
        trees = [
            msgspec.json.decode((await client.get(f"{PATH}/{run}/tree")).content, type=TreeRun)
            for run in runs
        ]
        await compare(started, trees, done)


async def compare(started: Service, trees: list[TreeRun], done: dict[str, Acknowledged]) -> None:
    """Compare the graph with the acknowledged operations."""
    for tree in trees:
        check(tree)
        assert all(run.held == 0 for run in below(tree)), "every operation was settled"
        mine = [one.tokens for id, one in done.items() if id.startswith(f"{tree.id}:")]
        assert tree.spent == sum(mine)
    async with database(started.settings) as graph:
        recorded = {row["id"]: row for row in await graph.execute(RECORDED)}
        for id, one in done.items():
            assert recorded[id]["operation"] == one.operation
            assert recorded[id]["tokens"] == one.tokens
        # Every recorded operation was acknowledged, and its repetition is not recorded again.
        assert {id for id in recorded if ":" in id} == set(done)
        for row in await graph.execute(STORED, client_id="default"):
            assert row["spent"] == sum(row["charged"]) == sum(row["delivered"])
            assert row["given"] == sum(row["gave"])
        wrote = Counter(one.operation for one in done.values())["write"]
        assert (await graph.execute(WRITTEN))[0]["written"] == wrote
        assert sum(row["wrote"] for row in recorded.values()) == wrote
