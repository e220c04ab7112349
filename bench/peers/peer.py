"""A memory that is measured: its process, its environment, and the Neo4j that is started for it."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct
from neo4j import AsyncGraphDatabase

from bench.peers.serve import Hit, Message
from graphmem import config
from graphmem.embedding import Vector
from graphmem.server.private import private_server

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "peers"
LINE_BYTES = 2**28
ANSWER_SECONDS = 600.0

Embed = Callable[[list[str]], Awaitable[list[Vector]]]


class Failed(Exception):
    """A peer cannot be measured, or not to the end; says why."""


class Named(Struct, frozen=True):
    """A memory that is compared: its module here, how it is asked, and how it keeps tenants apart."""

    module: str
    settings: str
    tenants: str
    environment: str | None = None
    """The name of its environment below `build/peers`; None means graphmem's own."""

    on_neo4j: bool = False
    """Whether it is given a Neo4j; graphmem starts its own."""

    has_context: bool = False
    """Whether it makes a context itself; the others' hits are taken while they fit."""


PEERS = {
    "graphmem": Named(
        module="bench.peers.ours",
        settings="defaults",
        tenants="a client, inside both indexes",
        has_context=True,
    ),
    "neo4j-agent-memory": Named(
        module="bench.peers.agent_memory",
        settings="`search_messages` with threshold 0 and a limit of 400; without extraction",
        tenants="a metadata filter, after the index; `session_id` is not looked at",
        environment="agent-memory",
        on_neo4j=True,
    ),
    "neo4j-graphrag": Named(
        module="bench.peers.graphrag",
        settings="`HybridRetriever`, linear ranker, alpha .6",
        tenants="two indexes for each tenant, since its hybrid search has no filter",
        environment="graphrag",
        on_neo4j=True,
    ),
    "mem0": Named(
        module="bench.peers.mem0",
        settings="`infer=False`, threshold 0, Qdrant in process, with its BM25",
        tenants="a user, inside its index",
        environment="mem0",
    ),
    "graphiti": Named(
        module="bench.peers.graphiti",
        settings="messages as facts, by its bulk function; `search`, which fuses words and cosine",
        tenants="a group, inside both searches",
        environment="graphiti",
        on_neo4j=True,
    ),
    "Hindsight": Named(
        module="bench.peers.hindsight",
        settings="provider `none`, reranker `rrf`, middle budget, no links of like texts, PostgreSQL of pg0",
        tenants="a bank",
        environment="hindsight",
    ),
}


def interpreter(peer: Named) -> Path:
    """Return the Python of a peer's environment; raise `Failed` if that could not be made."""
    if peer.environment is None:
        return Path(sys.executable)
    python = BUILT / peer.environment / "bin" / "python"
    if not (python.parent.parent / "installed.stamp").exists():
        raise Failed("its packages could not be installed")
    return python


class Process:
    """The process that serves a peer."""

    def __init__(self, process: asyncio.subprocess.Process, embed: Embed) -> None:
        self._process, self._embed = process, embed
        self.version = ""

    async def greet(self) -> None:
        """Wait until it is there, and learn the peer's version."""
        self.version = str((await self._answer())["version"])

    async def add(self, tenant: str, messages: Sequence[Message], *, invented: bool) -> float:
        """Have messages stored; return the seconds that it took."""
        answer = await self.ask("add", tenant=tenant, messages=messages, invented=invented)
        return float(answer["seconds"])

    async def search(self, tenant: str, query: str, limit: int) -> tuple[list[Hit], float]:
        """Return the hits for a question, and the seconds that they took."""
        answer = await self.ask("search", tenant=tenant, query=query, limit=limit)
        hits: dict[str, str] = {}
        for id, text in answer["result"]:
            hits.setdefault(id, text)
        return list(hits.items()), float(answer["seconds"])

    async def context(self, tenant: str, query: str, tokens: int) -> tuple[str, float]:
        """Return the context for a question, and the seconds that it took."""
        answer = await self.ask("context", tenant=tenant, query=query, tokens=tokens)
        return str(answer["result"]), float(answer["seconds"])

    async def ask(self, do: str, **given: Any) -> dict[str, Any]:
        """Ask for something; raise `Failed` with the error that is answered."""
        await self._send({"do": do, **given})
        while "embed" in (answer := await self._answer()):
            await self._send({"vectors": await self._embed(answer["embed"])})
        if "error" in answer:
            raise Failed(f"{do}: {answer['error']}")
        return answer

    async def _send(self, request: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        await self._process.stdin.drain()

    async def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                line = await self._process.stdout.readline()
        except TimeoutError:
            raise Failed(f"no answer within {ANSWER_SECONDS:.0f} s") from None
        if not line:
            raise Failed("its process ended")
        return dict(json.loads(line))


@asynccontextmanager
async def running(peer: Named, vectors: Path, log: Path, embed: Embed) -> AsyncIterator[Process]:
    """Have a peer's process running, whose errors go to a log, and its store opened."""
    command = [str(interpreter(peer)), "-m", "bench.peers.serve", peer.module, str(vectors)]
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="graphmem-peer-")))
        neo4j = await stack.enter_async_context(database(folder)) if peer.on_neo4j else None
        errors = stack.enter_context(log.open("w", encoding="utf-8"))
        child = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            cwd=ROOT,
            limit=LINE_BYTES,
        )
        stack.push_async_callback(ended, child)
        place = folder / "peer"
        place.mkdir()
        process = Process(child, embed)
        await process.greet()
        await process.ask("open", folder=str(place), neo4j=neo4j)
        yield process


async def ended(process: asyncio.subprocess.Process) -> None:
    """Close a peer's store and end its process; kill it if it does not end."""
    if process.returncode is None:
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(60):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


@asynccontextmanager
async def database(folder: Path) -> AsyncIterator[dict[str, str]]:
    """Have a private Neo4j running as it is by default, which speaks Cypher 5."""
    settings = config.load(data_dir=folder / "neo4j")
    async with private_server(settings) as server:
        access = {"uri": server.uri, "user": server.user, "password": server.password}
        async with AsyncGraphDatabase.driver(
            server.uri, auth=(server.user, server.password)
        ) as driver:
            await driver.execute_query(
                "ALTER DATABASE neo4j SET DEFAULT LANGUAGE CYPHER 5", database_="system"
            )
        yield access
