"""A rolling restart of two services on one Neo4j: under load no request fails."""

import asyncio
import itertools
import os
import signal
import socket
import sys
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import httpx
import pytest

from graphmem.config import Settings

pytestmark = pytest.mark.usefixtures("killed_processes")

CALLERS = 6
DRAIN_SECONDS = 10
LOOK_SECONDS = 0.2


class Service:
    """One of the services: a process that can end and start again at its port."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", timeout=120)
        self.process: asyncio.subprocess.Process | None = None
        self.is_ready = False
        self.answered = 0

    async def start(self) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHMEM_")} | {
            "GRAPHMEM_NEO4J_URI": str(self._settings.neo4j_uri),
            "GRAPHMEM_NEO4J_PASSWORD": self._settings.neo4j_password,
            "GRAPHMEM_CACHE_DIR": str(self._settings.cache_dir),
            "GRAPHMEM_DRAIN_SECONDS": str(DRAIN_SECONDS),
        }
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "graphmem", "serve", "--port", str(self.port)),
            env=environment,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )

    async def end(self) -> int:
        assert self.process is not None
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        return await self.process.wait()

    async def look(self) -> None:
        """Ask whether it is ready, again and again."""
        while True:
            try:
                self.is_ready = (await self.http.get("/health/ready")).status_code == 200
            except httpx.TransportError:
                self.is_ready = False
            await asyncio.sleep(LOOK_SECONDS)

    async def until_ready(self) -> None:
        async with asyncio.timeout(300):
            while not self.is_ready:
                await asyncio.sleep(0.05)


class Balancer:
    """Sends each request to the next service that is ready, once."""

    def __init__(self, services: list[Service]) -> None:
        self._services = services
        self._order = itertools.count()

    async def post(self, path: str, body: object, client_id: str) -> httpx.Response:
        ready = [one for one in self._services if one.is_ready]
        service = ready[next(self._order) % len(ready)]
        answer = await service.http.post(path, json=body, headers={"X-Client-Id": client_id})
        service.answered += 1
        return answer


@asynccontextmanager
async def running(settings: Settings, number: int) -> AsyncIterator[list[Service]]:
    services = [Service(settings) for _ in range(number)]
    async with AsyncExitStack() as stack:
        for one in services:
            stack.push_async_callback(one.http.aclose)
            await one.start()
            stack.push_async_callback(one.end)
            looking = asyncio.create_task(one.look())
            stack.callback(looking.cancel)
        for one in services:
            await one.until_ready()
        yield services


async def test_a_rolling_restart_under_load_fails_no_request(neo4j_settings: Settings) -> None:
    client_id = f"rolling-{uuid.uuid4().hex}"
    failed: list[str] = []
    statuses: Counter[int] = Counter()
    ended = asyncio.Event()

    async with running(neo4j_settings, 2) as services:
        balancer = Balancer(services)

        async def call(caller: int) -> None:
            for place in itertools.count():
                if ended.is_set():
                    return
                said = {"session_id": "s", "role": "user", "content": f"Message {place}."}
                path, body = (
                    (
                        f"/api/v0/conversations/c{caller}/messages",
                        {"messages": [said], "create": True},
                    )
                    if place % 2 == 0
                    else ("/api/v0/recall", {"query": f"message {place}", "max_tokens": 200})
                )
                try:
                    answer = await balancer.post(path, body, client_id)
                except httpx.TransportError as problem:
                    failed.append(f"{path}: {problem!r}")
                    continue
                statuses[answer.status_code] += 1
                if not answer.is_success:
                    failed.append(f"{path}: {answer.status_code} {answer.text[:200]}")

        callers = [asyncio.create_task(call(number)) for number in range(CALLERS)]
        for one in services:
            await asyncio.sleep(2)
            before = one.answered
            assert await one.end() == 0
            one.is_ready = False
            await one.start()
            await one.until_ready()
            await asyncio.sleep(2)
            assert one.answered > before, "the new one is asked"
        ended.set()
        await asyncio.gather(*callers)

    assert failed == []
    assert sum(statuses.values()) > 10 * CALLERS
