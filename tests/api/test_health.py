"""Alive without asking anybody; ready only while the database answers."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import neo4j
import pytest_asyncio
from graphmem_api.app import create_app
from msgspec.structs import replace

from graphmem import config
from graphmem.graph.driver import Graph
from graphmem.retrieval.reranking import Reranker, load_reranker
from graphmem.runtime import Runtime
from tests.cross_encoder import make_cross_encoder

READY = {"status": "ready", "reranker": None, "places": None}


@pytest_asyncio.fixture
async def without_database(offline: Runtime, unused_tcp_port: int) -> AsyncIterator[Runtime]:
    """A graphmem whose database is gone."""
    driver = neo4j.AsyncGraphDatabase.driver(f"bolt://127.0.0.1:{unused_tcp_port}")
    yield replace(offline, graph=Graph(driver, "neo4j", retry_seconds=0))
    await driver.close()


async def test_alive_and_ready(http: httpx.AsyncClient) -> None:  # B7
    assert (await http.get("/health/live")).json() == {"status": "live"}
    assert (await http.get("/health/ready")).json() == READY


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
