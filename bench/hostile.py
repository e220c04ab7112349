"""How fast another client recalls while operators send hostile Cypher.

    python -m bench.hostile --asked 200 --out hostile.json

One client with facts on a private Neo4j of the run's own, queried over HTTP (ASGI, no socket) by one caller:
without other load, and while 20 callers send statements continuously, respecting `Retry-After`. The target:
p50 of recall under this load ≤ 2 × its p50 without it, in the same run.
"""

import asyncio
import itertools
import random
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from bench.asgi import over_http
from bench.reporting import arguments, report
from bench.store import sentence, words
from graphmem import config
from graphmem.client import Graphmem
from graphmem.runtime import running

CLIENT = "recalling"
CALLERS = 20
FACTS = 500
WARMED = 30
MOST_PAUSE_SECONDS = 5.0

HEAVY = (
    "MATCH (a:Memory), (b:Memory), (c:Memory) WHERE a.text < b.text AND b.text < c.text RETURN count(*)",
    "MATCH (a:Memory), (b:Memory), (c:Memory) RETURN a.text AS x ORDER BY x",
    "UNWIND range(1, 1000000000000) AS x RETURN count(x)",
    "UNWIND range(1, 100000000) AS x RETURN collect(x)",
    "MATCH (a:Memory), (b:Memory) RETURN a, b",
)
"""Statements that the database can interrupt."""

REFUSED = (
    "RETURN reduce(s = 0, i IN range(1, 9000000000000000000) | s + i)",
    "WITH reduce(s = '', i IN range(1, 60) | s + 'a') + '!' AS t RETURN t =~ '((a|a)*)*b'",
    "MATCH (n) WHERE "
    + "EXISTS { MATCH (n)--(m) WHERE " * 60
    + "true"
    + " }" * 60
    + " RETURN count(n)",
    "CALL db.index.fulltext.queryNodes('memory_text', '/((a{1,100}){1,100}){1,100}/') YIELD node RETURN 1",
    "RETURN " + "(" * 3_000,
)
"""Statements that it could not interrupt, which are refused."""


def sentences(seed: int = 11) -> list[str]:
    """Return the texts of the facts."""
    vocabulary, shares = words()
    chance = random.Random(seed)
    return [sentence(chance, vocabulary, shares) for _ in range(FACTS)]


async def recalled(http: httpx.AsyncClient, questions: Sequence[str]) -> dict[str, Any]:
    """Time the questions one after another."""
    seconds: list[float] = []
    statuses: Counter[int] = Counter()
    for question in questions:
        began = time.perf_counter()
        answer = await http.post("/api/v0/recall", json={"query": question, "max_tokens": 500})
        seconds.append(time.perf_counter() - began)
        statuses[answer.status_code] += 1
    cuts = statistics.quantiles(seconds, n=20)
    return {
        "p50_ms": round(1000 * cuts[9], 1),
        "p95_ms": round(1000 * cuts[18], 1),
        "most_ms": round(1000 * max(seconds), 1),
        "statuses": dict(statuses),
    }


@asynccontextmanager
async def hostile(
    http: httpx.AsyncClient, statements: Sequence[str]
) -> AsyncIterator[Counter[int]]:
    """Send statements continuously during the block, and count the statuses of the answers."""
    statuses: Counter[int] = Counter()
    over = asyncio.Event()

    async def caller(number: int) -> None:
        for query in itertools.islice(itertools.cycle(statements), number, None):
            # A request in progress answers a cancellation with 503, as at the end of a service.
            if over.is_set():
                return
            body = {"query": query, "timeout_ms": 10_000}
            answer = await http.post("/api/v0/cypher", json=body)
            statuses[answer.status_code] += 1
            pause = float(answer.headers.get("retry-after", 0.1))
            await asyncio.sleep(min(pause, MOST_PAUSE_SECONDS))

    callers = [asyncio.create_task(caller(number)) for number in range(CALLERS)]
    try:
        yield statuses
    finally:
        over.set()
        for one in callers:
            one.cancel()
        await asyncio.gather(*callers, return_exceptions=True)


async def measured(http: httpx.AsyncClient, texts: Sequence[str], asked: int) -> dict[str, Any]:
    """Time the recalls without and with hostile statements."""
    await recalled(http, texts[:WARMED])
    figures: dict[str, Any] = {"quiet": await recalled(http, texts[:asked])}
    async with hostile(http, (*HEAVY, *REFUSED)) as statuses:
        await asyncio.sleep(1)
        figures["hostile"] = await recalled(http, texts[:asked])
    figures["statements"] = dict(statuses)
    figures["times_quiet"] = round(figures["hostile"]["p50_ms"] / figures["quiet"]["p50_ms"], 2)
    return figures


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("hostile", __doc__)
    parser.add_argument("--asked", type=int, default=200)
    parser.add_argument("--at-once", type=int, help="GRAPHMEM_CYPHER_AT_ONCE; unset: its default")
    given = parser.parse_args()
    with TemporaryDirectory(prefix="graphmem-hostile-") as folder:
        settings = config.load(
            {}, data_dir=Path(folder) / "data", cypher="on", cypher_at_once=given.at_once
        )
        async with running(settings) as runtime:
            texts = sentences()
            memory = Graphmem(runtime, CLIENT)
            for start in range(0, FACTS, 100):
                await memory.remember_facts([{"fact": text} for text in texts[start : start + 100]])
            async with over_http(runtime, CLIENT) as http:
                figures = await measured(http, texts, given.asked)
    report(figures, given.out)


if __name__ == "__main__":
    asyncio.run(main())
