"""`graphmem serve` as a program beside its private Neo4j, and the faults that are done to both."""

import asyncio
import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import httpx
import psutil

from graphmem.graph.driver import Graph, connect
from graphmem.server import folder
from graphmem.server.folder import Record
from graphmem.server.private import status, stop
from graphmem.server.process import DATABASE, ONLINE, USER, log_in, uri

POLL_SECONDS = 0.1
START_SECONDS = 600.0
END_SECONDS = 600.0


class Service:
    """A service that can be killed and started again on its port; its log is a file."""

    def __init__(
        self, data_dir: Path, given: Mapping[str, str] | None = None, *, log: Path | None = None
    ) -> None:
        self.data_dir = data_dir
        self.given = dict(given or {})
        self.log = log or data_dir.with_suffix(".log")
        self.port = 0
        self.process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        """The address of the service."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The number of the service's process."""
        assert self.process is not None
        return self.process.pid

    @property
    def runs(self) -> bool:
        """Whether its process runs."""
        return self.process is not None and self.process.returncode is None

    def record(self) -> Record:
        """Return the record of the running Neo4j."""
        found = status(self.data_dir)
        assert found is not None, "no Neo4j runs"
        return found

    def neo4j(self) -> psutil.Process:
        """Return Neo4j's process."""
        return psutil.Process(self.record().pid)

    def environment(self) -> dict[str, str]:
        """Return the variables of its process, and of commands on its data."""
        ours = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHMEM_")}
        if cache := os.environ.get("GRAPHMEM_CACHE_DIR"):
            ours["GRAPHMEM_CACHE_DIR"] = cache
        return ours | {"GRAPHMEM_DATA_DIR": str(self.data_dir)} | self.given

    async def start(self) -> None:
        """Start it, and return once it has said its address. Raises `RuntimeError` with its log."""
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "graphmem", "serve", "--port", str(self.port)),
                env=self.environment(),
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert self.process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            async for line in self.process.stdout:
                if found := re.search(rb"http://[\w.]+:(\d+)", line):
                    self.port = int(found[1])
                    return
        await self.process.wait()
        raise RuntimeError(self.log.read_text("utf-8", "replace")[-4_000:])

    async def kill(self) -> None:
        """Kill it at once; Neo4j goes on."""
        assert self.process is not None
        self.process.kill()
        await self.process.wait()

    async def end(self) -> float:
        """Ask it to end; return the seconds that it took. Raises `TimeoutError` after it was killed."""
        assert self.process is not None
        began = time.monotonic()
        if self.runs:
            self.process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self.process.wait(), END_SECONDS)
        except TimeoutError:
            await self.kill()
            raise
        return time.monotonic() - began

    async def close(self) -> None:
        """End it, and its Neo4j: one that was killed, or could not be started again, leaves that."""
        try:
            if self.process is not None:
                await self.end()
        finally:
            await stop(self.data_dir)

    @asynccontextmanager
    async def graph(self) -> AsyncIterator[Graph]:
        """Connect to its Neo4j for the length of the block, without keeping that alive."""
        password = folder.password(self.data_dir)
        graph = await connect(uri(self.record().port), USER, password, DATABASE)
        try:
            yield graph
        finally:
            await graph.close()

    async def restarted(self, pid: int) -> None:
        """Wait until another process than this one is the Neo4j."""

        async def is_another() -> bool:
            found = status(self.data_dir)
            return found is not None and found.pid != pid

        async with asyncio.timeout(START_SECONDS):
            await when(is_another)

    async def back(self, *, seconds: float = START_SECONDS) -> float:
        """Wait until it is ready; return the seconds since the database answered queries again."""
        async with (
            asyncio.timeout(seconds),
            httpx.AsyncClient(base_url=self.url, timeout=5) as http,
        ):
            # One after the other: before the database is away for it, the service says that it is ready.
            answered = await when(self._database_answers)
            return await when(partial(_is_ready, http)) - answered

    async def _database_answers(self) -> bool:
        found = status(self.data_dir)
        if found is None:
            return False
        with contextlib.suppress(Exception):
            async with asyncio.timeout(5):
                database = await log_in(found.port, folder.password(self.data_dir))
                return database is not None and database.status == ONLINE
        return False


async def _is_ready(http: httpx.AsyncClient) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return (await http.get("/health/ready")).status_code == 200
    return False


async def when(holds: Callable[[], Awaitable[bool]]) -> float:
    """Return the moment when something holds for the first time."""
    while True:
        if await holds():
            return time.monotonic()
        await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def serving(
    data_dir: Path, given: Mapping[str, str] | None = None, *, log: Path | None = None
) -> AsyncIterator[Service]:
    """Run a service with these variables for the length of the block."""
    service = Service(data_dir, given, log=log)
    try:
        await service.start()
        yield service
    finally:
        await service.close()


async def kill_neo4j(service: Service) -> float:
    """Kill Neo4j; return the seconds from the database's return until the service is ready."""
    neo4j = service.neo4j()
    neo4j.kill()
    await service.restarted(neo4j.pid)
    return await service.back()


async def suspend_neo4j(service: Service, seconds: float = 20.0) -> float:
    """Suspend Neo4j for some time; return the seconds from its continuation until the service is ready."""
    neo4j = service.neo4j()
    neo4j.suspend()
    try:
        await asyncio.sleep(seconds)
    finally:
        neo4j.resume()
    return await service.back()


async def kill_service(service: Service) -> float:
    """Kill the service, whose Neo4j goes on, and start it; return the seconds until it is ready."""
    await service.kill()
    began = time.monotonic()
    await service.start()
    await service.back()
    return time.monotonic() - began


async def hang_up(service: Service, callers: int = 200) -> float:
    """Have many callers ask and hang up; return the seconds until the service is ready."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=service.url, timeout=0.2, limits=limits) as http:

        async def left(number: int) -> None:
            with contextlib.suppress(httpx.HTTPError):
                await http.post("/api/v0/recall", json={"query": f"What about item {number}?"})

        await asyncio.gather(*map(left, range(callers)))
    return await service.back()
