"""Alive without asking anybody; ready only while the database answers and has its indexes."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import neo4j
import pytest
import pytest_asyncio
from graphmem_api.app import create_app
from msgspec.structs import replace

from graphmem import config
from graphmem.graph.driver import Graph
from graphmem.graph.schema import (
    IndexState,
    creations,
    migrate,
    schema_files,
    searched_indexes,
)
from graphmem.model.progress import silent
from graphmem.model.vocabulary import FIRST, SECOND
from graphmem.retrieval.reranking import Reranker, load_reranker
from graphmem.runtime import Runtime
from tests.cross_encoder import make_cross_encoder
from tests.scripted import ScriptedGraph

READY = {"status": "ready", "reranker": None, "places": None}


@pytest_asyncio.fixture
async def without_database(offline: Runtime, unused_tcp_port: int) -> AsyncIterator[Runtime]:
    """A graphmem whose database is gone."""
    driver = neo4j.AsyncGraphDatabase.driver(f"bolt://127.0.0.1:{unused_tcp_port}")
    yield replace(offline, graph=Graph(driver, "neo4j", retry_seconds=0))
    await driver.close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may need more than two seconds."""
    monkeypatch.setattr("graphmem_api.health.DEADLINE_SECONDS", 60.0)


@pytest.mark.usefixtures("patient")
async def test_alive_and_ready(http: httpx.AsyncClient) -> None:  # B7
    assert (await http.get("/health/live")).json() == {"status": "live"}
    assert (await http.get("/health/ready")).json() == READY


@pytest.mark.usefixtures("patient")
async def test_a_load_balancer_may_ask_without_a_body(
    http: httpx.AsyncClient, without_database: Runtime, asking: Any
) -> None:
    for path in ("/health/live", "/health/ready"):
        answer = await http.head(path)
        assert (answer.status_code, answer.content) == (200, b"")
    async with asking(create_app(without_database)) as away:
        assert (await away.head("/health/live")).status_code == 200
        assert (await away.head("/health/ready")).status_code == 503


@pytest.mark.usefixtures("patient")
async def test_readiness_names_the_reranker(runtime: Runtime, asking: Any, tmp_path: Path) -> None:
    encoder = load_reranker(config.load({}, reranker=str(make_cross_encoder(tmp_path / "mine"))))
    assert encoder is not None
    reranker = Reranker(encoder)

    async with asking(create_app(replace(runtime, reranker=reranker))) as http:
        answer = await http.get("/health/ready")
    await reranker.close()

    assert answer.json()["reranker"] == {"name": "folder/mine", "sha256": encoder.sha256}


async def test_without_the_database_it_lives_but_is_not_ready(
    without_database: Runtime, asking: Any
) -> None:  # B7
    async with asking(create_app(without_database)) as http:
        assert (await http.get("/health/live")).status_code == 200
        for path, method in (("/health/ready", "GET"), ("/api/v0/memories/any", "GET")):
            answer = await http.request(method, path)
            assert answer.status_code == 503
            assert answer.headers["content-type"] == "application/problem+json"
            assert int(answer.headers["retry-after"]) > 0
            assert answer.json()["code"] == "unavailable"


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("name", ["memory_text", "passage_embedding"])
async def test_without_an_index_of_searches_it_is_not_ready_until_that_is_there_again(
    http: httpx.AsyncClient, runtime: Runtime, name: str
) -> None:
    made = await http.post("/api/v0/conversations", json={})
    long = {"role": "user", "content": "It rains. " * 150}
    path = f"/api/v0/conversations/{made.json()['id']}/messages"
    assert (await http.post(path, json={"messages": [long]})).status_code == 201
    await runtime.graph.execute(f"DROP INDEX {name}")
    try:
        answer = await http.get("/health/ready")
        question = await http.post("/api/v0/recall", json={"query": "Who?"})
    finally:
        await migrate(runtime.graph, dimensions=384, progress=silent)

    assert (answer.status_code, question.status_code) == (503, 503)
    assert f"the index {name} is missing: `graphmem migrate` creates it" in answer.json()["detail"]
    assert (await http.get("/health/ready")).json() == READY
    assert (await http.post("/api/v0/recall", json={"query": "Who?"})).status_code == 200


@pytest.mark.usefixtures("patient")
async def test_without_another_index_it_is_slow_and_ready(
    http: httpx.AsyncClient, runtime: Runtime
) -> None:
    await runtime.graph.execute("DROP INDEX entity_short")
    try:
        assert (await http.get("/health/ready")).status_code == 200
    finally:
        await migrate(runtime.graph, dimensions=384, progress=silent)


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("POPULATING", "the index memory_text is still being filled"),
        ("FAILED", "the index memory_text is failed: `graphmem doctor`"),
    ],
)
async def test_an_index_that_is_not_online_is_not_ready(
    offline: Runtime, asking: Any, state: str, told: str
) -> None:
    states = {one.name: "ONLINE" for one in creations(schema_files())} | {"memory_text": state}
    rows = [IndexState(name, of) for name, of in states.items()]
    graph = ScriptedGraph({"graph/index_states": rows})

    async with asking(create_app(replace(offline, graph=graph))) as http:
        answer = await http.get("/health/ready")

    assert answer.status_code == 503
    assert told in answer.json()["detail"]


def test_the_indexes_of_searches_are_those_of_the_side() -> None:
    texts = {"memory_text", "passage_text"}
    assert set(searched_indexes(FIRST)) == texts | {FIRST.index, FIRST.passage_index}
    assert set(searched_indexes(SECOND)) == texts | {SECOND.index, SECOND.passage_index}


async def test_a_database_that_hangs_is_not_waited_for(offline: Runtime, asking: Any) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    driver = neo4j.AsyncGraphDatabase.driver(f"bolt://127.0.0.1:{port}")
    hanging = replace(offline, graph=Graph(driver, "neo4j"))
    try:
        async with asking(create_app(hanging)) as http:
            started = time.monotonic()
            answer = await http.get("/health/ready")
            assert answer.status_code == 503
            assert time.monotonic() - started < 20
    finally:
        await driver.close()
        server.close()
        await server.wait_closed()
