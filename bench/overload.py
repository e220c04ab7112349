"""What callers see of a service that has too many of them, and what a long write costs a short one.

    python -m bench.overload --seconds 60 --callers 300 --out overload.json

`graphmem serve` with a private Neo4j, both of the run's own; ten clients with facts each. 16 callers, and
then `--callers`, recall one question after the other, respecting `Retry-After`. After that, one caller
recalls alone and beside `--callers` of one other client, and remembers one-line messages, alone and beside
another client's messages of 400 KB. The targets: no request longer than its deadline and a second, answers at
≥ .8 × the rate of 16 callers, `/health/live` < 100 ms, and a one-line write delayed by less than 2 × its
quiet time.
"""

import asyncio
import contextlib
import itertools
import os
import random
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import asynccontextmanager
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from bench.reporting import arguments, report
from bench.store import sentence, words
from graphmem.config import load

CLIENTS = 10
FACTS = 200
FEW = 16
WARMED = 100
MOST_PAUSE_SECONDS = 5.0
SHORT_WRITES = 40
LONG_CHARACTERS = 400_000


def sentences(number: int, seed: int) -> list[str]:
    """Return random sentences."""
    vocabulary, shares = words()
    chance = random.Random(seed)
    return [sentence(chance, vocabulary, shares) for _ in range(number)]


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[str]:
    """Run the service as its own program for the length of the block, and provide its URL."""
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "graphmem", "serve", "--port", "0"),
        env=os.environ | {"GRAPHMEM_DATA_DIR": str(folder), "GRAPHMEM_LOG_LEVEL": "error"},
        stdout=asyncio.subprocess.PIPE,
    )
    assert program.stdout is not None
    try:
        async for line in program.stdout:
            if found := re.search(rb"http://\S+", line):
                yield found[0].decode()
                break
    finally:
        with contextlib.suppress(ProcessLookupError):
            program.terminate()
        await program.wait()


def client_of(url: str, number: int) -> httpx.AsyncClient:
    """Return the HTTP client of one of the clients."""
    return httpx.AsyncClient(
        base_url=url,
        headers={"X-Client-Id": f"client-{number}"},
        timeout=300,
        limits=httpx.Limits(max_connections=None),
    )


def probed(url: str, seconds: float) -> list[float]:
    """Ask for some time whether the service lives, ten times a second; return how long each answer took.

    In a process of its own: what the callers do in theirs would be measured too.
    """
    took = []
    end = time.perf_counter() + seconds
    with httpx.Client(base_url=url, timeout=300) as http:
        while (began := time.perf_counter()) < end:
            http.get("/health/live")
            took.append(time.perf_counter() - began)
            time.sleep(0.1)
    return took


def recalled(url: str, seconds: float) -> list[float]:
    """Recall for some time, one question after the other; return how long each answer took."""
    took = []
    questions = itertools.cycle(sentences(1_000, seed=8))
    end = time.perf_counter() + seconds
    with httpx.Client(base_url=url, headers={"X-Client-Id": "client-0"}, timeout=300) as http:
        while (began := time.perf_counter()) < end:
            http.post("/api/v0/recall", json={"query": next(questions)}).raise_for_status()
            took.append(time.perf_counter() - began)
    return took


async def beside_flood(url: str, callers: int, seconds: float, prober: Executor) -> dict[str, Any]:
    """Time recalls of one client, alone and beside so many callers of another one."""
    loop = asyncio.get_running_loop()
    quiet = statistics.median(await loop.run_in_executor(prober, recalled, url, seconds))
    questions = sentences(1_000, seed=9)

    async def caller(number: int, http: httpx.AsyncClient) -> None:
        for question in itertools.islice(itertools.cycle(questions), number, None):
            answer = await http.post("/api/v0/recall", json={"query": question})
            if pause := answer.headers.get("retry-after"):
                await asyncio.sleep(float(pause))

    async with client_of(url, 1) as http:
        flood = [asyncio.create_task(caller(number, http)) for number in range(callers)]
        await asyncio.sleep(1)
        took = await loop.run_in_executor(prober, recalled, url, seconds)
        for one in flood:
            one.cancel()
        await asyncio.gather(*flood, return_exceptions=True)
    beside = statistics.median(took)
    return {
        "quiet_ms": round(1000 * quiet, 1),
        "beside_ms": round(1000 * beside, 1),
        "times_quiet": round(beside / quiet, 2),
    }


async def asked(url: str, callers: int, seconds: float, prober: Executor) -> dict[str, Any]:
    """Have callers ask for some time, and return what they have seen."""
    statuses: Counter[int] = Counter()
    ages: list[float] = []
    questions = sentences(1_000, seed=5)
    end = time.perf_counter() + seconds

    async def caller(number: int, http: httpx.AsyncClient) -> None:
        for question in itertools.islice(itertools.cycle(questions), number, None):
            began = time.perf_counter()
            if began >= end:
                return
            answer = await http.post("/api/v0/recall", json={"query": question, "max_tokens": 500})
            ages.append(time.perf_counter() - began)
            # What was asked in time counts, whenever it is answered.
            statuses[answer.status_code] += 1
            if pause := answer.headers.get("retry-after"):
                await asyncio.sleep(min(float(pause), MOST_PAUSE_SECONDS))

    probe = asyncio.get_running_loop().run_in_executor(prober, probed, url, seconds)
    began = time.perf_counter()
    async with contextlib.AsyncExitStack() as stack:
        https = [
            await stack.enter_async_context(client_of(url, number)) for number in range(CLIENTS)
        ]
        await asyncio.gather(
            *(caller(number, https[number % CLIENTS]) for number in range(callers))
        )
    lasted = time.perf_counter() - began
    live = await probe
    return {
        "callers": callers,
        "answered_a_second": round(statuses[200] / lasted, 1),
        "statuses": dict(statuses),
        "p50_ms": round(1000 * statistics.median(ages)),
        "oldest_s": round(max(ages), 1),
        "live_p50_ms": round(1000 * statistics.median(live), 1),
        "live_most_ms": round(1000 * max(live)),
    }


async def write_short(http: httpx.AsyncClient, texts: list[str]) -> float:
    """Remember one-line messages one after the other, and return the median in milliseconds."""
    seconds = []
    for text in texts:
        began = time.perf_counter()
        await remember(http, text)
        seconds.append(time.perf_counter() - began)
    return round(1000 * statistics.median(seconds), 1)


async def remember(http: httpx.AsyncClient, text: str) -> None:
    """Remember a message."""
    body = {"messages": [{"session_id": "s", "role": "user", "content": text}], "create": True}
    answer = await http.post("/api/v0/conversations/c/messages", json=body)
    answer.raise_for_status()


async def fairness(url: str) -> dict[str, Any]:
    """Time short writes of one client, alone and beside long ones of another."""
    texts = sentences(2 * SHORT_WRITES, seed=6)
    long = " ".join(sentences(LONG_CHARACTERS // 40, seed=7))[:LONG_CHARACTERS]

    async def write_long(http: httpx.AsyncClient) -> None:
        while True:
            await remember(http, long)

    async with client_of(url, 0) as short_http, client_of(url, 1) as long_http:
        await write_short(short_http, texts[:5])
        quiet = await write_short(short_http, texts[:SHORT_WRITES])
        writer = asyncio.create_task(write_long(long_http))
        await asyncio.sleep(1)
        beside = await write_short(short_http, texts[SHORT_WRITES:])
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)
    return {"quiet_ms": quiet, "beside_ms": beside, "times_quiet": round(beside / quiet, 2)}


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("overload", __doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--callers", type=int, default=300)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="graphmem-overload-") as folder:
        async with serving(Path(folder) / "data") as url:
            for number in range(CLIENTS):
                async with client_of(url, number) as http:
                    facts = [{"fact": text} for text in sentences(FACTS, seed=number)]
                    for start in range(0, FACTS, 20):
                        answer = await http.post("/api/v0/facts", json=facts[start : start + 20])
                        answer.raise_for_status()
            async with client_of(url, 0) as http:
                for text in sentences(WARMED, seed=4):
                    await http.post("/api/v0/recall", json={"query": text})
            with ProcessPoolExecutor(1, get_context("spawn")) as prober:
                prober.submit(probed, url, 0.1).result()
                few = await asked(url, FEW, given.seconds, prober)
                many = await asked(url, given.callers, given.seconds, prober)
                recalls = await beside_flood(url, given.callers, given.seconds, prober)
            fair = await fairness(url)
    figures = {
        "deadline_s": load({}).request_seconds,
        "few": few,
        "many": many,
        "rate_of_few": round(many["answered_a_second"] / few["answered_a_second"], 2),
        "recalls_beside_a_flood": recalls,
        "short_writes": fair,
    }
    report(figures, given.out)


if __name__ == "__main__":
    asyncio.run(main())
