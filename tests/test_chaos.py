"""Kill -9 during writes: acknowledged messages are stored, in order, and nothing is stored in part.

Only `make chaos` runs these; tests/test_faults.py kills both at every change, with fewer writes.
`GRAPHMEM_CHAOS_MESSAGES` is the number of messages to write (`make chaos` writes 10,000), and
`GRAPHMEM_CHAOS_BACK_SECONDS` the limit from Neo4j's first answer until the service is ready (there: 10).
"""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from graphmem import config
from graphmem.config import Settings
from graphmem.runtime import database
from graphmem.server.private import status
from tests.thorough import only_thorough

pytestmark = [pytest.mark.usefixtures("own_server", "killed_processes"), only_thorough]

MESSAGES = int(os.environ.get("GRAPHMEM_CHAOS_MESSAGES", "600"))
SHOTS = 2
"""The kills while messages are written."""

BATCH = 10
WRITERS = 4
BACK_WITHIN_SECONDS = float(os.environ.get("GRAPHMEM_CHAOS_BACK_SECONDS", "60"))

Kill = Callable[[], Awaitable[None]]

CONVERSATION = """
MATCH (m:Message {client_id: 'default', conversation_id: $conversation})
OPTIONAL MATCH (m)-[:PART_OF]->(s:Session {client_id: 'default'})
OPTIONAL MATCH (before:Message)-[:NEXT]->(m)
RETURN m.external_id AS external_id, m.position AS position, m.idx AS idx, m.token_count AS tokens,
  m.embedding IS NOT NULL AS embedded, s.external_id AS session, before.external_id AS before
ORDER BY position
"""


class Service:
    """`graphmem serve` in its own process, which can be killed and started again."""

    def __init__(self, settings: Settings, **said: str) -> None:
        self.settings = settings
        self.said = said
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHMEM_")} | {
            "GRAPHMEM_DATA_DIR": str(self.settings.data_dir),
            "GRAPHMEM_CACHE_DIR": str(self.settings.cache_dir),
            "GRAPHMEM_NEO4J_HEAP": "512m",
            **self.said,
        }
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "graphmem", "serve", "--port", str(self.port)),
            env=environment,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )

    async def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        await self.process.wait()

    async def end(self) -> None:
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        await self.process.wait()

    async def ready(self, client: httpx.AsyncClient, seconds: float) -> float:
        """Wait until the service is ready; return the seconds that it took."""
        started = time.monotonic()
        while time.monotonic() - started < seconds:
            try:
                if (await client.get("/health/ready", timeout=5)).status_code == 200:
                    return time.monotonic() - started
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.1)
        raise AssertionError(f"not ready within {seconds} s")


@asynccontextmanager
async def service(folder: Path, **said: str) -> AsyncIterator[tuple[Service, httpx.AsyncClient]]:
    started = Service(config.load({}, data_dir=folder), **said)
    await started.start()
    try:
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{started.port}", timeout=300
        ) as client:
            await started.ready(client, 600)
            yield started, client
    finally:
        await started.end()


def message(conversation: str, place: int) -> dict[str, Any]:
    return {
        "session_id": f"session-{place // 50}",
        "role": "user",
        "content": f"Message {place} of {conversation} says hello.",
        "external_id": f"{conversation}-{place}",
    }


async def post(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> None:
    """Post until it is acknowledged, as a caller with its own ids may."""
    async with asyncio.timeout(180):
        while True:
            try:
                answer = await client.post(f"/api/v0{path}", json=body)
            except httpx.TransportError:
                await asyncio.sleep(0.2)
                continue
            if answer.status_code < 300:
                return
            assert answer.status_code == 503, answer.text
            assert answer.headers["retry-after"]
            await asyncio.sleep(0.2)


async def write(client: httpx.AsyncClient, conversation: str, written: list[str]) -> None:
    await post(client, "/conversations", {"id": conversation})
    for start in range(0, MESSAGES // WRITERS, BATCH):
        batch = [message(conversation, place) for place in range(start, start + BATCH)]
        await post(client, f"/conversations/{conversation}/messages", {"messages": batch})
        written += [one["external_id"] for one in batch]


async def written_under_fire(
    client: httpx.AsyncClient, kill: Kill, shots: int
) -> dict[str, list[str]]:
    """Write with four writers while a process is killed; return the acknowledged messages."""
    acknowledged: dict[str, list[str]] = {f"talk-{place}": [] for place in range(WRITERS)}
    writers = asyncio.gather(*(write(client, name, done) for name, done in acknowledged.items()))
    for shot in range(1, shots + 1):
        while sum(map(len, acknowledged.values())) < MESSAGES * shot // (shots + 1):
            assert not writers.done(), "the writers end before the last shot"
            await asyncio.sleep(0.02)
        await kill()
    await writers
    return acknowledged


async def check(settings: Settings, acknowledged: dict[str, list[str]]) -> None:
    """Compare the graph with the acknowledged messages."""
    async with database(settings) as graph:
        for conversation, expected in acknowledged.items():
            rows = await graph.execute(CONVERSATION, conversation=conversation)
            assert [row["external_id"] for row in rows] == expected
            assert [row["position"] for row in rows] == list(range(len(expected)))
            for place, row in enumerate(rows):
                assert row["idx"] == place % 50
                assert row["session"] == f"session-{place // 50}"
                assert row["before"] == (expected[place - 1] if place % 50 else None)
                assert row["embedded"]
                assert row["tokens"] > 0
        loose = await graph.execute(
            "MATCH (m:Message) WHERE NOT EXISTS { (m)-[:PART_OF]->(:Session) } "
            "RETURN count(*) AS loose"
        )
        assert loose[0]["loose"] == 0


@pytest.mark.parametrize("victim", ["Neo4j", "service"])
async def test_what_was_acknowledged_survives_a_kill(victim: str, tmp_path: Path) -> None:
    async with service(tmp_path / "data") as (started, client):

        async def kill_neo4j() -> None:
            record = status(started.settings.data_dir)
            assert record is not None
            psutil.Process(record.pid).kill()
            while (now := status(started.settings.data_dir)) is None or now.pid == record.pid:
                await asyncio.sleep(0.05)
            # The server's process is running again; the time counts from its first answer.
            while not answers(now.port):
                await asyncio.sleep(0.05)
            assert await started.ready(client, 600) <= BACK_WITHIN_SECONDS

        async def kill_service() -> None:
            await started.kill()
            await started.start()
            await started.ready(client, 600)

        kill = kill_neo4j if victim == "Neo4j" else kill_service
        acknowledged = await written_under_fire(client, kill, shots=SHOTS)
        assert sum(map(len, acknowledged.values())) == MESSAGES // WRITERS * WRITERS
        await check(started.settings, acknowledged)
        found = await client.post("/api/v0/recall", json={"query": "hello", "limit": 5})
        assert len(found.json()["items"]) == 5


def answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.2)
        return probe.connect_ex(("127.0.0.1", port)) == 0
