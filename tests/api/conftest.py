"""The application on the tests' running graphmem, asked in the same event loop."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx
import pytest
import pytest_asyncio
from litestar import Litestar

from api.app import create_app
from graphmem.runtime import Runtime
from graphmem.service import Graphmem

Asking = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@asynccontextmanager
async def client_of(app: Litestar, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    """Have an HTTP client of an application."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost", headers=named, timeout=120
    ) as client:
        yield client


@pytest.fixture(scope="session")
def asking() -> Asking:
    """What gives an HTTP client of an application, with headers."""
    return client_of


@pytest.fixture(scope="session")
def app(runtime: Runtime) -> Litestar:
    """The application, with keys off."""
    return create_app(runtime)


@pytest_asyncio.fixture
async def http(app: Litestar, memory: Graphmem) -> AsyncIterator[httpx.AsyncClient]:
    """HTTP as a client of this test's own."""
    async with client_of(app, x_client_id=memory.client_id) as client:
        yield client


@pytest_asyncio.fixture
async def rival_http(app: Litestar, rival: Graphmem) -> AsyncIterator[httpx.AsyncClient]:
    """HTTP as another client."""
    async with client_of(app, x_client_id=rival.client_id) as client:
        yield client


@pytest_asyncio.fixture
async def conversation(http: httpx.AsyncClient) -> str:
    """A new conversation's path."""
    made = await http.post("/api/v0/conversations", json={})
    return f"/api/v0/conversations/{made.json()['id']}"
