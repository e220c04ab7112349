"""`graphmem mcp`: the memory as a tool of an agent's program, over stdin and stdout."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from graphmem.cli.clients import client_option
from graphmem.cli.options import RUNNING, Command, settings_options
from graphmem.config import Settings
from graphmem.errors import GraphmemError, SetupError
from graphmem.observing.logs import traced

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from graphmem.service import Graphmem

log = logging.getLogger(__name__)

EPILOG = """\b
An agent's program starts it and talks MCP with it; what goes wrong is said on stderr. It answers at once,
and a first search waits until Neo4j and the embedding model are there. It ends when stdin does.

\b
Examples:
  graphmem mcp
  graphmem mcp --client demo
  {"mcpServers": {"memory": {"command": "graphmem", "args": ["mcp"]}}}    in the program's configuration
"""


@click.command(name="mcp", cls=Command, epilog=EPILOG)
@client_option
@settings_options("record", *RUNNING)
def mcp(client_id: str, settings: Settings) -> None:
    """Serve the tool search_contextual to an agent over stdin and stdout (MCP)."""
    from graphmem.cli.running import run

    if find_spec("mcp") is None:
        raise SetupError("graphmem mcp needs the MCP SDK: pip install 'graphmem[mcp]'")
    run(_served(settings, client_id))


async def _served(settings: Settings, client_id: str) -> None:
    from graphmem_api import stdio
    from graphmem_api.tools import tools

    async with Opening(lambda: _memory(settings, client_id)) as opening:
        await stdio.serve(tools(opening.memory))


@asynccontextmanager
async def _memory(settings: Settings, client_id: str) -> "AsyncIterator[Graphmem]":
    from graphmem.cli.progress import shown
    from graphmem.runtime import running
    from graphmem.service import Graphmem

    with shown(transient=True) as progress:
        async with running(settings, progress) as runtime:
            yield Graphmem(runtime, client_id)


class Opening:
    """A graphmem that opens while its caller already talks; where that failed the next who asks tries again.

    A program that starts this waits some seconds for its first answer; a first start may fetch for minutes.
    """

    def __init__(self, opened: Callable[[], "AbstractAsyncContextManager[Graphmem]"]) -> None:
        """Begin with nothing open."""
        self._opened = opened

    async def __aenter__(self) -> "Opening":
        """Begin to open it."""
        self._begin()
        return self

    async def __aexit__(self, *problem: object) -> None:
        """Close it, or give up opening it."""
        self._keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._keeper

    async def memory(self) -> "Graphmem":
        """Wait until it is open, and return it. Raises what keeps it from being opened."""
        if self._keeper.done():
            self._begin()
        # Whoever gives up waiting leaves it to the others.
        return await asyncio.shield(self._ready)

    def _begin(self) -> None:
        self._ready: asyncio.Future[Graphmem] = asyncio.get_running_loop().create_future()
        self._keeper = asyncio.create_task(self._kept(self._ready))

    async def _kept(self, ready: "asyncio.Future[Graphmem]") -> None:
        try:
            async with self._opened() as memory:
                ready.set_result(memory)
                await asyncio.Event().wait()
        except Exception as problem:
            if ready.done():
                raise
            said = problem if isinstance(problem, GraphmemError) else traced(problem)
            log.error("graphmem is not there: %s", said)
            ready.set_exception(problem)
            # It is said, though nobody may ask.
            ready.exception()
        finally:
            ready.cancel()
