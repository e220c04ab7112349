"""What Prometheus scrapes: counted by route and kind, read quickly, shown to whom it may be."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import Any

import httpx
import neo4j
import pytest
import pytest_asyncio
from graphmem_api.app import create_app
from litestar import Litestar
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from graphmem.client import Graphmem
from graphmem.embedding import Embedder
from graphmem.graph.driver import Graph
from graphmem.graph.statements import AtWork
from graphmem.jobs.outbox import Claim, enqueue
from graphmem.jobs.worker import Worker
from graphmem.runtime import Runtime
from tests.scripted import ScriptedGraph

Samples = dict[tuple[str, frozenset], float]


async def scraped(http: httpx.AsyncClient) -> Samples:
    """Return what a scrape shows."""
    answer = await http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples.get((name, frozenset(labels.items())), 0.0)


async def test_requests_are_counted_and_timed_by_their_route(http: httpx.AsyncClient) -> None:  # B8
    route = "/api/v0/memories/{memory_id}"
    before = await scraped(http)
    for id in ("a", "b", "c"):
        await http.get(f"/api/v0/memories/{id}")
    after = await scraped(http)
    counted = {"method": "GET", "route": route, "status": "404"}
    name = "graphmem_http_requests_total"
    assert value(after, name, **counted) - value(before, name, **counted) == 3
    timed = {"method": "GET", "route": route}
    name = "graphmem_http_request_duration_seconds_count"
    assert value(after, name, **timed) - value(before, name, **timed) == 3


class Silent:
    """A graph that has no connections and answers nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def pool(self) -> None:
        return None

    async def rows(self, query: Any, **parameters: Any) -> Any:
        self.asked.append(query.name)
        raise RuntimeError("unforeseen")


class Countable(ScriptedGraph):
    """A scripted graph that has no connections."""

    def pool(self) -> None:
        return None


def without_database(offline: Runtime, **parts: Any) -> Litestar:
    """Return an application that shows metrics without a database."""
    return create_app(replace(offline, **{"graph": Silent(), **parts}))


@pytest_asyncio.fixture(scope="module")
async def scraping(offline: Runtime, asking: Any) -> AsyncIterator[httpx.AsyncClient]:
    """HTTP of an application that shows metrics without a database."""
    async with asking(without_database(offline)) as client:
        yield client


async def test_what_callers_invent_adds_no_series(scraping: httpx.AsyncClient) -> None:
    await scraping.request("BREW", "/no/such/coffee")
    first = await scraped(scraping)
    for number in range(5):
        await scraping.request(f"BREW{number}", f"/no/such/tea/{number}")
    second = await scraped(scraping)
    other = {"method": "OTHER", "route": "-", "status": "404"}
    name = "graphmem_http_requests_total"
    assert value(second, name, **other) - value(first, name, **other) == 5
    assert {key for key in second.keys() - first.keys() if "OTHER" in str(key)} == set()


async def test_no_client_is_named(http: httpx.AsyncClient, memory: Graphmem) -> None:
    await http.post("/api/v0/recall", json={"query": "sesame-4711"})
    text = (await http.get("/metrics")).text
    assert memory.client_id not in text
    assert "sesame" not in text


async def test_the_process_the_pool_and_the_embedder_are_shown(http: httpx.AsyncClient) -> None:
    await http.post("/api/v0/recall", json={"query": "anything"})
    samples = await scraped(http)
    assert value(samples, "process_resident_memory_bytes") > 1e7
    assert value(samples, "process_cpu_seconds_total") > 0
    assert value(samples, "graphmem_neo4j_connections", state="idle") >= 1
    assert value(samples, "graphmem_embedding_duration_seconds_count", purpose="question") >= 1
    assert ("graphmem_embedder_waiting", frozenset()) in samples


async def test_degraded_answers_are_counted_by_reason(runtime: Runtime, asking: Any) -> None:
    class Broken:
        name, sha256, dimensions = "broken", "0", 384

        def embed(self, texts: list[str]) -> list[list[float]]:
            raise RuntimeError

        def truncates(self, text: str) -> bool:
            return False

    embedder = Embedder(Broken())
    try:
        async with asking(create_app(replace(runtime, embedder=embedder))) as http:
            before = await scraped(http)
            await http.post("/api/v0/recall", json={"query": "anything"})
            after = await scraped(http)
    finally:
        await embedder.close()
    name = "graphmem_degraded_answers_total"
    assert value(after, name, reason="no_vector") - value(before, name, reason="no_vector") == 1


async def test_jobs_are_counted_by_state_and_by_what_became_of_them(
    memory: Graphmem, asking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine may need more than a second.
    monkeypatch.setattr("graphmem_api.metrics.DEADLINE_SECONDS", 60.0)
    kind = f"kind-{uuid.uuid4().hex}"
    for key in ("good", "bad"):
        await memory.runtime.graph.write(
            partial(
                enqueue,
                client_id=memory.client_id,
                id=str(uuid.uuid4()),
                kind=kind,
                key=key,
                payload={},
                now=datetime.now(UTC),
            )
        )

    async def handler(held: Claim) -> None:
        if held.key == "bad":
            raise RuntimeError

    worker = Worker(memory.runtime.graph, {kind: handler})
    await worker.step()
    await worker.step()
    async with asking(create_app(memory.runtime)) as http:
        samples = await scraped(http)
    assert value(samples, "graphmem_job_attempts_total", kind=kind, outcome="done") == 1
    assert value(samples, "graphmem_job_attempts_total", kind=kind, outcome="failed") == 1
    assert value(samples, "graphmem_job_duration_seconds_count", kind=kind) == 2
    assert value(samples, "graphmem_jobs", state="queued") >= 1
    assert value(samples, "graphmem_database_up") == 1


async def test_a_database_that_hangs_does_not_keep_a_scrape(
    offline: Runtime, asking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphmem_api.metrics.FRESH_SECONDS", 3_600.0)
    asked = 0

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    driver = neo4j.AsyncGraphDatabase.driver(f"bolt://127.0.0.1:{port}")
    try:
        async with asking(without_database(offline, graph=Graph(driver, "neo4j"))) as http:
            for _ in range(2):
                # The driver itself would wait for a minute.
                async with asyncio.timeout(300):
                    samples = await scraped(http)
                assert asked == 1, "the second scrape does not wait"
                assert value(samples, "graphmem_database_up") == 0
                assert not [name for name, _ in samples if name == "graphmem_jobs"]
    finally:
        await driver.close()
        server.close()
        await server.wait_closed()


async def test_many_scrapes_ask_the_database_once(offline: Runtime, asking: Any) -> None:
    graph = Silent()
    async with asking(without_database(offline, graph=graph)) as http:
        await asyncio.gather(*(scraped(http) for _ in range(5)))
    assert graph.asked == ["jobs/jobs_by_state"]


@pytest.mark.parametrize("at_work", [[], [AtWork("a", 1.0, 60.0, terminated=False)]])
async def test_statements_that_nobody_waits_for_are_counted_apart(
    at_work: list[AtWork], offline: Runtime, asking: Any
) -> None:
    lost = [AtWork("b", 2.0, 60.0, terminated=True), AtWork("c", 90.0, 60.0, terminated=False)]
    answers = {"jobs/jobs_by_state": [], "graph/statements_at_work": [*at_work, *lost]}
    graph = Countable(answers)
    async with asking(without_database(offline, graph=graph)) as http:
        samples = await scraped(http)
    name = "graphmem_cypher_statements"
    assert value(samples, name, state="running") == len(at_work)
    assert value(samples, name, state="cut_off") == 2


@pytest.mark.parametrize(
    "accept", ["text/plain;version=abc", "application/openmetrics-text;version=q", "*/*", ";;,="]
)
async def test_any_accept_is_answered(accept: str, scraping: httpx.AsyncClient) -> None:
    assert (await scraping.get("/metrics", headers={"Accept": accept})).status_code == 200


async def test_open_metrics_are_given_where_they_are_asked_for(
    scraping: httpx.AsyncClient,
) -> None:
    wanted = {"Accept": "application/openmetrics-text; version=1.0.0"}
    answer = await scraping.get("/metrics", headers=wanted)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")
    assert answer.text.count("# EOF") == 1


def _line(client: str, role: str, key: str) -> str:
    return f"{client} {role} {sha256(key.encode()).hexdigest()}\n"


@pytest.fixture(scope="module")
def keyed(offline: Runtime, tmp_path_factory: pytest.TempPathFactory) -> Litestar:
    """An application that shows metrics without a database, with a key of every role."""
    keys = tmp_path_factory.mktemp("metrics") / "keys"
    keys.write_text("".join(_line("a", role, role) for role in ("agent", "analyst", "operator")))
    return without_database(offline, settings=replace(offline.settings, keys_file=keys))


@pytest.mark.parametrize(
    ("peer", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("::1", {}, 200),
        ("192.0.2.7", {}, 401),
        ("192.0.2.7", {"Authorization": "Bearer nobody"}, 401),
        ("192.0.2.7", {"Authorization": "Bearer agent"}, 403),
        ("192.0.2.7", {"Authorization": "Bearer analyst"}, 403),
        ("192.0.2.7", {"Authorization": "Bearer operator"}, 200),
        ("127.0.0.1", {"X-Forwarded-For": "192.0.2.7"}, 401),
        ("127.0.0.1", {"Forwarded": "for=192.0.2.7"}, 401),
        ("127.0.0.1", {"Origin": "http://evil.example"}, 401),
        ("127.0.0.1", {"Host": "evil.example"}, 401),
        ("127.0.0.1", {"Host": "127.0.0.1:8000"}, 200),
        ("127.0.0.1", {"X-Forwarded-For": "x", "Authorization": "Bearer operator"}, 200),
    ],
)
async def test_who_may_read_them(
    peer: str, headers: dict[str, str], status: int, keyed: Any
) -> None:
    transport = httpx.ASGITransport(app=keyed, client=(peer, 4711))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        answer = await http.get("/metrics", headers=headers)
    assert answer.status_code == status


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Host": "evil.example"}])
async def test_without_keys_a_page_from_elsewhere_may_not_read_them(
    headers: dict[str, str], refusing: httpx.AsyncClient
) -> None:
    for path in ("/metrics", "/schema", "/schema/openapi.json"):
        answer = await refusing.get(path, headers=headers)
        assert answer.status_code == 403, path


async def test_with_keys_the_description_is_for_everybody(keyed: Any, asking: Any) -> None:
    async with asking(keyed) as http:
        for path in ("/schema", "/schema/openapi.json"):
            assert (await http.get(path, headers={"Host": "memory.example"})).status_code == 200


async def test_no_counter_is_shown_with_its_time_of_creation(scraping: httpx.AsyncClient) -> None:
    for accept in ("text/plain", "application/openmetrics-text; version=1.0.0"):
        shown = (await scraping.get("/metrics", headers={"Accept": accept})).text
        assert "graphmem_http_requests_total" in shown
        assert "_created" not in shown
