"""`graphmem mcp`: the memory as tools for an agent's program, over stdin and stdout."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from graphmem.cli.options import RUNNING, Command, client_option, settings_options
from graphmem.config import Settings
from graphmem.errors import GraphmemError, InvalidInput, SetupError
from graphmem.observing.logs import traced

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from graphmem_api.mcp.server import Offer

    from graphmem.client import Graphmem

log = logging.getLogger(__name__)

EPILOG = """\b
An agent's program starts it and talks MCP with it. Problems are reported on stderr. It answers at once;
the first call waits until Neo4j and the embedding model are ready. It ends when stdin ends. A running
`graphmem serve` offers the same at /mcp, with ?tools=, &read_only=true and &structured=true.

\b
Tools: recall, search_contextual, remember, remember_fact, supersede_fact, what_do_you_know, forget,
patterns and hyde_retrieve are the group `memory`; run_start, run_retrieve, run_peek, run_write,
run_subcall, run_show and run_end the group `runs`; `all` is both.

\b
Examples:
  graphmem mcp
  graphmem mcp --client demo --read-only
  graphmem mcp --tools recall,remember_fact
  {"mcpServers": {"memory": {"command": "graphmem", "args": ["mcp"]}}}    in the program's configuration
"""


def require_sdk(otherwise: str = "") -> None:
    """Raise `SetupError` if the SDK is not installed; the sentence ends with what to do `otherwise`."""
    if find_spec("mcp") is None:
        raise SetupError(f"graphmem mcp needs the MCP SDK: pip install 'graphmem[mcp]'{otherwise}")


@click.command(name="mcp", cls=Command, epilog=EPILOG)
@client_option
@click.option(
    "--tools",
    metavar="NAMES",
    default="memory",
    show_default=True,
    help="The tools and groups of tools to offer, separated by commas.",
)
@click.option("--read-only", is_flag=True, help="Offer only tools that change nothing.")
@click.option("--structured", is_flag=True, help="Answer as data too, not only as text.")
@settings_options("record", "reads", *RUNNING)
def mcp(
    *, client_id: str, tools: str, read_only: bool, structured: bool, settings: Settings
) -> None:
    """Serve the memory to an agent over stdin and stdout (MCP)."""
    from graphmem.cli.running import run

    require_sdk()
    from graphmem_api.mcp.server import offered

    try:
        offer = offered(tools, read_only=read_only, structured=structured)
    except InvalidInput as problem:
        raise click.BadParameter(str(problem), param_hint="--tools") from problem
    run(_serve(settings, client_id, offer))


async def _serve(settings: Settings, client_id: str, offer: "Offer") -> None:
    from graphmem_api.mcp import stdio
    from graphmem_api.mcp.server import Caller, server

    async with BackgroundOpening(lambda: _open(settings, client_id)) as opening:

        async def calling(context: Any) -> Caller:
            return Caller(await opening.memory(), offer)

        await stdio.serve(server(calling, lambda context: offer))


@asynccontextmanager
async def _open(settings: Settings, client_id: str) -> "AsyncIterator[Graphmem]":
    from graphmem.background import working
    from graphmem.cli.running import show_progress
    from graphmem.client import Graphmem
    from graphmem.hypotheses.ask import preparing_turns
    from graphmem.runtime import running

    with show_progress(transient=True) as progress:
        async with (
            running(settings, progress) as runtime,
            working(runtime),
            # A turn that is cut off begins to plan its queries anew each time.
            preparing_turns(runtime.context_here("", in_background=True)),
        ):
            yield Graphmem(runtime, client_id)


class BackgroundOpening:
    """A graphmem that opens in the background; after a failure the next request tries again.

    A program waits some seconds for the first answer of a tool, but a first start may download for minutes.
    """

    def __init__(self, opened: Callable[[], "AbstractAsyncContextManager[Graphmem]"]) -> None:
        """Begin with nothing open."""
        self._opened = opened

    async def __aenter__(self) -> "BackgroundOpening":
        """Begin to open the graphmem."""
        self._begin()
        return self

    async def __aexit__(self, *problem: object) -> None:
        """Close the graphmem, or give up opening it."""
        self._keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._keeper

    async def memory(self) -> "Graphmem":
        """Wait until the graphmem is open, and return it. Raises the error of a failed start."""
        if self._keeper.done():
            self._begin()
        # A cancelled request must not cancel the start for other requests.
        return await asyncio.shield(self._ready)

    def _begin(self) -> None:
        self._ready: asyncio.Future[Graphmem] = asyncio.get_running_loop().create_future()
        self._keeper = asyncio.create_task(self._keep(self._ready))

    async def _keep(self, ready: "asyncio.Future[Graphmem]") -> None:
        try:
            async with self._opened() as memory:
                ready.set_result(memory)
                await asyncio.Event().wait()
        except Exception as problem:
            if ready.done():
                raise
            said = problem if isinstance(problem, GraphmemError) else traced(problem)
            log.error("graphmem cannot be opened: %s", said)
            ready.set_exception(problem)
            # It is logged; without this, asyncio would complain that nobody retrieved it.
            ready.exception()
        finally:
            ready.cancel()
