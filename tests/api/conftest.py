"""The HTTP application on the tests' running graphmem, called in the same event loop."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
import pytest
import pytest_asyncio
from graphmem_api.app import create_app
from litestar import Litestar
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from graphmem import config
from graphmem.client import Graphmem
from graphmem.embedding import Embedder
from graphmem.graph.installation import Calibration
from graphmem.observing.logs import TextFormatter, show_log
from graphmem.retrieval.understanding import Vocabulary
from graphmem.runtime import Runtime
from graphmem.tokens import TokenCounter
from tests.fake_models import FakeModel
from tests.scripted import ScriptedGraph

Asking = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@asynccontextmanager
async def client_of(app: Any, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    """Provide an HTTP client of an application."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost", headers=named, timeout=300
    ) as client:
        yield client


@pytest.fixture(scope="session")
def asking() -> Asking:
    """A function that returns an HTTP client of an application, with headers."""
    return client_of


@pytest.fixture(scope="session")
def app(runtime: Runtime) -> Litestar:
    """The application, with API keys off."""
    return create_app(runtime)


@pytest.fixture
def log_lines() -> Iterator[list[str]]:
    """The log lines at `debug`, with the loggers of other libraries at their lowest levels."""
    lines: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    root = logging.getLogger()
    known = [one for one in root.manager.loggerDict.values() if isinstance(one, logging.Logger)]
    apart = [root, *(one for one in known if not one.propagate)]
    kept = Kept()
    kept.setFormatter(TextFormatter())
    show_log("debug")
    root.setLevel(logging.DEBUG)
    for one in apart:
        one.addHandler(kept)
    yield lines
    for one in apart:
        one.removeHandler(kept)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The spans that have ended."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("graphmem.observing.spans.tracer", provider.get_tracer("graphmem"))
    return exporter


@pytest_asyncio.fixture
async def http(app: Litestar, memory: Graphmem) -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client for a graphmem client of this test's own."""
    async with client_of(app, x_client_id=memory.client_id) as client:
        yield client


@pytest_asyncio.fixture(scope="session")
async def offline() -> AsyncIterator[Runtime]:
    """A graphmem without a database: any query is an error, which HTTP answers with a 500."""
    graph = ScriptedGraph({})
    embedder = Embedder(FakeModel("fake-384-plain"))
    settings = config.load({}, record="off")
    calibration = Calibration(low=0.5, high=0.8)
    yield Runtime(settings, graph, embedder, TokenCounter(), Vocabulary(graph), calibration)
    await embedder.close()


@pytest.fixture(scope="session")
def offline_app(offline: Runtime) -> Litestar:
    """The application without a database, with API keys off."""
    return create_app(offline)


@pytest_asyncio.fixture(scope="session")
async def refusing(offline_app: Litestar) -> AsyncIterator[httpx.AsyncClient]:
    """HTTP of an application without a database: any query is a 500, so a refusal comes before it."""
    async with client_of(offline_app, x_client_id="refused") as client:
        yield client


@pytest_asyncio.fixture
async def rival_http(app: Litestar, rival: Graphmem) -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client for another graphmem client."""
    async with client_of(app, x_client_id=rival.client_id) as client:
        yield client


@pytest_asyncio.fixture
async def conversation(http: httpx.AsyncClient) -> str:
    """The path of a new conversation."""
    made = await http.post("/api/v0/conversations", json={})
    return f"/api/v0/conversations/{made.json()['id']}"
