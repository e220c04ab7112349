"""Shared by the tests of the adapters: the memory of the test's client in each of its forms."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio
import uvicorn
from anyio.from_thread import BlockingPortal
from graphmem_api.app import create_app

import graphmem
from graphmem.adapters.memory import AnyMemory
from graphmem.blocking.generated import BlockingGraphmem
from graphmem.client import Graphmem
from graphmem.runtime import Runtime

FORMS = ["embedded", "service", "blocking", "blocking service"]


@pytest_asyncio.fixture(scope="session")
async def address(runtime: Runtime) -> AsyncIterator[str]:
    """The address of the service, on a port of its own."""
    listening = socket.create_server(("127.0.0.1", 0))
    app = create_app(runtime)
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    await serving


@pytest_asyncio.fixture
async def portal() -> AsyncIterator[BlockingPortal]:
    """A way into this event loop; a task holds it, since a fixture ends in another one."""
    started: asyncio.Future[BlockingPortal] = asyncio.Future()

    async def hold() -> None:
        async with BlockingPortal() as portal:
            started.set_result(portal)
            await portal.sleep_until_stopped()

    holding = asyncio.create_task(hold())
    portal = await started
    yield portal
    await portal.stop()
    await holding


@pytest_asyncio.fixture(params=FORMS)
async def given(
    request: pytest.FixtureRequest, memory: Graphmem, address: str, portal: BlockingPortal
) -> AsyncIterator[AnyMemory]:
    """The memory of the test's client in one of the forms that a caller may have."""
    client_id = memory.client_id
    if request.param == "embedded":
        yield memory
    elif request.param == "blocking":
        yield BlockingGraphmem(memory, portal)
    elif request.param == "service":
        async with graphmem.AsyncClient(address, client_id=client_id) as client:
            yield client
    else:
        blocking = graphmem.Client(address, client_id=client_id)
        yield blocking
        await asyncio.to_thread(blocking.close)


async def awaited(call: Callable[[], Awaitable[None]], given: AnyMemory) -> None:
    """Await a call: of a memory that has a thread of its own, in an event loop of another thread."""

    async def called() -> None:
        await call()

    if isinstance(given, BlockingGraphmem):
        await asyncio.to_thread(asyncio.run, called())
    else:
        await called()
