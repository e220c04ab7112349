"""How fast recall is, as ratios to the bare parts it is made of, measured in one run.

    python -m bench.latency --memories 100000 --out latency.json

Ten clients of equal size, one small client and one hot one, on a private Neo4j of the run's own. At 1
and at 8 callers: a bare round trip; the reference query (both indexes, 100 hits each, the client inside
both, ids and scores returned); the embedding alone; recall in process; recall over HTTP, by a client that
only sends a request and reads its answer, and by httpx, whose own work takes milliseconds. Recall is timed
once more with what is asked and shown recorded, and without (`GRAPHMEM_RECORD`), in turns. At the end all is
started anew, and the first ten questions after readiness are compared with the warm median.
"""

import asyncio
import json
import os
import re
import socket
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import psutil
from msgspec.structs import replace

from bench.reporting import arguments, report
from bench.store import Corpus, corpus, fill, memories, questions
from graphmem import config
from graphmem.client import Graphmem
from graphmem.config import Settings
from graphmem.graph.inspection import COUNTED_MEMORIES
from graphmem.graph.scope import scope_word
from graphmem.runtime import Runtime, running
from graphmem.text.words import lucene_query, terms

CLIENTS = 10
SMALL = 1_000
FEW_OTHERS = 10_000
CALLERS = (1, 8)
ASKED = 300
WARMED = 150

REFERENCE = """CYPHER 25
MATCH (m:Memory)
  SEARCH m IN (VECTOR INDEX memory_embedding FOR $embedding WHERE m.client_id = $client LIMIT 100)
  SCORE AS score
RETURN m.id AS id, score
UNION ALL
MATCH (m:Memory)
  SEARCH m IN (FULLTEXT INDEX memory_text FOR $words LIMIT 100) SCORE AS score
RETURN m.id AS id, score
"""

BARE_WRITE = """CYPHER 25
UNWIND $rows AS row
CREATE (m:Memory:Message)
SET m = row.properties
WITH m, row
CALL db.create.setNodeVectorProperty(m, 'embedding', row.vector)
FINISH
"""

Ask = Callable[[str], Awaitable[Any]]


def percentiles(seconds: Iterable[float]) -> dict[str, float]:
    """Return p50, p95 and p99 in milliseconds."""
    cuts = statistics.quantiles(seconds, n=100)
    return {f"p{n}": round(cuts[n - 1] * 1000, 2) for n in (50, 95, 99)}


async def timed(ask: Ask, asked: list[str], callers: int) -> dict[str, float]:
    """Ask everything with so many callers at once; return the percentiles of a call."""
    waiting = iter(asked)
    took: list[float] = []

    async def caller() -> None:
        for question in waiting:
            started = time.perf_counter()
            await ask(question)
            took.append(time.perf_counter() - started)

    await asyncio.gather(*(caller() for _ in range(callers)))
    return percentiles(took)


async def interleaved(asks: dict[str, Ask], asked: list[str], callers: int) -> dict[str, Any]:
    """Time all in turns of 30 questions, so that a busy moment of the machine hits all alike."""
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in asks}
    for start in range(0, len(asked), 30):
        for name, ask in asks.items():
            figures[name].append(await timed(ask, asked[start : start + 30], callers))
    return {
        name: {cut: round(statistics.median(turn[cut] for turn in turns), 2) for cut in turns[0]}
        for name, turns in figures.items()
    }


def bare(runtime: Runtime, client_id: str) -> dict[str, Ask]:
    """Return the bare parts: a round trip, the reference query, the embedding."""
    driver, database = runtime.graph.driver, runtime.graph.database

    async def run(text: str, **parameters: Any) -> int:
        async with driver.session(database=database, default_access_mode="READ") as session:
            return len([record async for record in await session.run(text, parameters)])

    async def round_trip(question: str) -> None:
        await run("RETURN 1")

    async def reference(question: str) -> None:
        await run(
            REFERENCE,
            embedding=vectors[question],
            client=client_id,
            words=lucene_query(terms(question), [[scope_word(client_id, "client")]]),
        )

    vectors: dict[str, list[float]] = {}

    async def embedding(question: str) -> None:
        vectors[question] = await runtime.embedder.query(question)

    return {"embedding": embedding, "round trip": round_trip, "reference query": reference}


class Connections:
    """Connections to a service on this machine, kept for the next request: the client of a benchmark."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(self, path: str, body: dict[str, Any], client_id: str) -> bytes:
        """Send a request and return the body of its answer. Raises `AssertionError` unless that is 200."""
        content = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Client-Id: {client_id}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        if not self._idle:
            self._idle.append(await asyncio.open_connection("127.0.0.1", self._port))
        reader, writer = self._idle.pop()
        writer.write(head.encode() + content)
        headers = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", headers.lower())
        if length is None or not headers.startswith(b"HTTP/1.1 200"):
            writer.close()
            raise AssertionError(headers)
        answer = await reader.readexactly(int(length[1]))
        self._idle.append((reader, writer))
        return answer

    def close(self) -> None:
        """Close all of them."""
        for _, writer in self._idle:
            writer.close()
        self._idle.clear()


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[tuple[httpx.AsyncClient, psutil.Process]]:
    """Have `graphmem serve` running in a process of its own on the same data folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {
        "GRAPHMEM_DATA_DIR": str(settings.data_dir),
        "GRAPHMEM_CACHE_DIR": str(settings.cache_dir),
        "GRAPHMEM_LOG_LEVEL": "warning",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "graphmem", "serve", "--port", str(port), env=environment,
        stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            while True:
                try:
                    if (await client.get("/health/ready")).status_code == 200:
                        break
                except httpx.TransportError:
                    pass
                await asyncio.sleep(0.2)
            yield client, psutil.Process(process.pid)
    finally:
        process.terminate()
        await process.wait()


async def both_ways(
    runtime: Runtime, http: httpx.AsyncClient, client_id: str, asked: list[str], callers: int
) -> dict[str, Any]:
    """Time the bare parts and recall, in process and over HTTP, for one client."""
    memory = Graphmem(runtime, client_id)

    connections = Connections(http.base_url.port or 80)

    async def over_http(question: str) -> None:
        await connections.post("/api/v0/recall", {"query": question}, client_id)

    async def by_httpx(question: str) -> None:
        await recall_over_http(http, client_id, question)

    asks: dict[str, Ask] = bare(runtime, client_id) | {
        "recall": memory.recall,
        "recall over HTTP": over_http,
        "recall over HTTP by httpx": by_httpx,
    }
    for ask in asks.values():
        await timed(ask, asked[:WARMED], callers)
    figures = await interleaved(asks, asked[WARMED:], callers)
    parts = figures["embedding"]["p50"] + figures["reference query"]["p50"]
    ratios = {
        name: round(figures[name]["p50"] / parts, 2) for name in asks if name.startswith("recall")
    }
    connections.close()
    return {"milliseconds": figures, "p50 to embedding + reference query": ratios}


def on_disk(data_dir: Path, memories: int) -> dict[str, Any]:
    """Return the bytes of the store for each memory, and those of its indexes, by their kind.

    The transaction log is left out: its size depends on what was written lately.
    """
    store = data_dir / "neo4j" / "data" / "databases" / "neo4j"
    indexes = {
        folder.name: round(size_of(folder) / memories)
        for folder in sorted((store / "schema" / "index").iterdir())
    }
    total = round(size_of(store) / memories)
    return {"memories": memories, "bytes a memory": total, "of which in indexes": indexes}


def size_of(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


FIRST = 10


async def after_a_start(settings: Settings, client_id: str, asked: list[str]) -> dict[str, Any]:
    """Start everything anew, ask the first different questions, and compare each with the warm median.

    The pages of the store may still be in the memory of the operating system.
    """
    started = time.perf_counter()
    async with served(settings) as (http, _):
        ready = time.perf_counter() - started

        async def ask(question: str) -> None:
            await recall_over_http(http, client_id, question)

        first = []
        for question in asked[:FIRST]:
            began = time.perf_counter()
            await ask(question)
            first.append(round((time.perf_counter() - began) * 1000, 2))
        await timed(ask, asked[FIRST:WARMED], 1)
        warm = (await timed(ask, asked[WARMED:], 1))["p50"]
    return {
        "seconds to readiness": round(ready, 1),
        "first questions, milliseconds": first,
        "warm p50, milliseconds": warm,
        "slowest of the first to warm p50": round(max(first) / warm, 2),
    }


async def recall_over_http(http: httpx.AsyncClient, client_id: str, question: str) -> None:
    """Ask one question of a client."""
    answer = await http.post(
        "/api/v0/recall", json={"query": question}, headers={"X-Client-Id": client_id}
    )
    answer.raise_for_status()


async def recording(runtime: Runtime, client_id: str, asked: list[str]) -> dict[str, Any]:
    """Time recall in process with what was asked and shown recorded and without, in turns."""
    assert runtime.recorder is not None, "recording is on unless GRAPHMEM_RECORD says off"
    asks: dict[str, Ask] = {
        "recorded": Graphmem(runtime, client_id).recall,
        "not recorded": Graphmem(replace(runtime, recorder=None), client_id).recall,
    }
    result: dict[str, Any] = {}
    for callers in CALLERS:
        for ask in asks.values():
            await timed(ask, asked[:WARMED], callers)
        figures = await interleaved(asks, asked[WARMED:], callers)
        ratio = figures["recorded"]["p50"] / figures["not recorded"]["p50"]
        result[f"{callers} callers"] = {"milliseconds": figures, "p50 ratio": round(ratio, 3)}
    return result


async def writing(runtime: Runtime, made_of: Corpus, texts: list[str]) -> dict[str, Any]:
    """Return rows a second of every way of writing, taken in turns, and the ratios that matter."""
    ways = await ways_of_writing(runtime, made_of, texts)
    seconds = dict.fromkeys(ways, 0.0)
    for turn in range(1 + TURNS):
        for name, way in ways.items():
            started = time.perf_counter()
            await way(turn)
            # The first turn warms.
            seconds[name] += time.perf_counter() - started if turn else 0.0
    rates = {name: round(ROWS[name] * TURNS / took) for name, took in seconds.items()}
    return {
        "rows a second": rates,
        "remember with cached vectors to bare UNWIND": round(rates[REMEMBER] / rates[BARE], 2),
        "remember with embedding to the embedder": round(rates[EMBED_WRITE] / rates[EMBED], 2),
    }


BARE, REMEMBER = "bare UNWIND of 500", "remember with cached vectors"
EMBED, EMBED_WRITE = "embedder alone", "remember with embedding"
ROWS = {BARE: 500, REMEMBER: 500, EMBED: 250, EMBED_WRITE: 250}
TURNS = 8


async def ways_of_writing(
    runtime: Runtime, made_of: Corpus, texts: list[str]
) -> dict[str, Callable[[int], Awaitable[Any]]]:
    """Return what is compared; each takes the number of its turn and writes other rows in each."""
    rows = list(memories(made_of, "bare", ROWS[BARE] * (TURNS + 1), 901))
    remembered = {
        name: Graphmem(replace(runtime, embedder=embedder), f"writing-{place}")
        for place, (name, embedder) in enumerate(
            {REMEMBER: Cached(made_of), EMBED_WRITE: runtime.embedder}.items()
        )
    }
    for memory in remembered.values():
        await memory.open_conversation("writing")

    async def bare_unwind(turn: int) -> None:
        chunk = rows[turn * ROWS[BARE] : (turn + 1) * ROWS[BARE]]
        bare = [memory.row | {"vector": memory.embedding.vector} for memory in chunk]
        await runtime.graph.execute(BARE_WRITE, rows=bare)

    def remember(name: str) -> Callable[[int], Awaitable[Any]]:
        async def way(turn: int) -> None:
            batch = [
                {"session_id": str(turn), "role": "user", "content": text}
                for text in texts[turn * ROWS[name] : (turn + 1) * ROWS[name]]
            ]
            await remembered[name].remember("writing", batch)

        return way

    async def embed(turn: int) -> None:
        await runtime.embedder.passages(texts[turn * ROWS[EMBED] : (turn + 1) * ROWS[EMBED]])

    return {
        BARE: bare_unwind,
        REMEMBER: remember(REMEMBER),
        EMBED: embed,
        EMBED_WRITE: remember(EMBED_WRITE),
    }


class Cached:
    """An embedder that has every vector at hand."""

    key = "current"
    beside = None

    def __init__(self, made_of: Corpus) -> None:
        from graphmem.embedding import Embedding

        self._vectors = [Embedding(vector.tolist(), False) for vector in made_of.vectors]

    async def passages(self, texts: list[str]) -> list[Any]:
        """Return a vector for each text."""
        return [self._vectors[place % len(self._vectors)] for place in range(len(texts))]


async def measure(
    runtime: Runtime, settings: Settings, number: int, texts: list[str]
) -> dict[str, Any]:
    """Fill the store step by step and measure at each."""
    made_of = await corpus(runtime.embedder)
    texts = texts or [
        memory.draft.text
        for memory in memories(made_of, "texts", ROWS[REMEMBER] * (TURNS + 1), 903)
    ]
    asked = questions(made_of, ASKED + WARMED)
    result: dict[str, Any] = {"memories": number, "clients": CLIENTS}
    async with served(settings) as (http, service):
        await fill(runtime, made_of, "small", SMALL, 1)
        started = time.perf_counter()
        few = min(FEW_OTHERS, number)
        await fill(runtime, made_of, "client-0", few, 2)
        say(f"{few} memories: {time.perf_counter() - started:.0f} s")
        alone = await both_ways(runtime, http, "small", asked, 1)
        for place in range(CLIENTS):
            missing = number // CLIENTS - (few if place == 0 else 0)
            await fill(runtime, made_of, f"client-{place}", max(missing, 0), 10 + place)
            say(f"client {place + 1} of {CLIENTS}: {time.perf_counter() - started:.0f} s")
        result["callers"] = {}
        for callers in CALLERS:
            result["callers"][callers] = await both_ways(runtime, http, "client-3", asked, callers)
            say(f"{callers} callers: {json.dumps(result['callers'][callers])}")
        result["recording"] = await recording(runtime, "client-3", asked)
        say(f"recording: {json.dumps(result['recording'])}")
        beside = await both_ways(runtime, http, "small", asked, 1)
        key = "recall over HTTP"
        before, after = (one["milliseconds"][key]["p50"] for one in (alone, beside))
        result["small client"] = {
            "memories": SMALL,
            f"p50 beside {few}": before,
            f"p50 beside {number}": after,
            "ratio": round(after / before, 2),
        }
        say(f"small client: {result['small client']}")
        await fill(runtime, made_of, "hot", number // 2, 77)
        hot = await both_ways(runtime, http, "hot", asked, 1)
        result["hot client"] = {"memories": number // 2} | hot
        say(f"hot client: {json.dumps(hot)}")
        result["writing"] = await writing(runtime, made_of, texts)
        result["resident megabytes"] = {
            "service": service.memory_info().rss >> 20,
            "Neo4j": neo4j_process(settings).memory_info().rss >> 20,
        }
    return result


def neo4j_process(settings: Settings) -> psutil.Process:
    """Return the private Neo4j's process."""
    from graphmem.server.private import status

    record = status(settings.data_dir)
    assert record is not None, "the server runs while it is measured"
    return psutil.Process(record.pid)


def say(line: str) -> None:
    """Tell how far it is."""
    print(line, file=sys.stderr, flush=True)


def contents(data: Path | None) -> list[str]:
    """Return what is said in a set of conversations, over again until there is enough."""
    if data is None:
        return []
    said = [
        message["content"]
        for conversation in json.loads(data.read_text(encoding="utf-8"))["conversations"]
        for session in conversation["sessions"]
        for message in session["messages"]
    ]
    needed = ROWS[REMEMBER] * (TURNS + 1)
    return (said * (1 + needed // len(said)))[:needed]


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("latency", __doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument(
        "--texts", type=Path, help="a set whose messages are written, as in quality"
    )
    given = parser.parse_args()
    with TemporaryDirectory(prefix="graphmem-latency-") as folder:
        settings = replace(config.load({}), data_dir=Path(folder) / "data")
        async with running(settings) as runtime:
            result = await measure(runtime, settings, given.memories, contents(given.texts))
            asked = questions(await corpus(runtime.embedder), ASKED + WARMED, seed=29)
            [stored] = await runtime.graph.rows(COUNTED_MEMORIES)
        result["on disk"] = on_disk(settings.data_dir, stored.memories)
        result["after a start"] = await after_a_start(settings, "client-3", asked)
    report(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
