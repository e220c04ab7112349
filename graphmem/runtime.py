"""A running graphmem: what it opens, keeps alive and closes again."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from msgspec import Struct

from graphmem.config import Settings
from graphmem.embedding import Embedder, load_model
from graphmem.errors import GraphmemError
from graphmem.graph.driver import Graph, connect
from graphmem.graph.installation import Installation, agree
from graphmem.graph.schema import migrate
from graphmem.model.progress import Progress, silent
from graphmem.retrieval.vocabulary import Vocabulary
from graphmem.server.private import PrivateServer, private_server
from graphmem.tokens import TokenCounter

WATCH_SECONDS = 1.0
"""How often the private server is looked at."""

log = logging.getLogger(__name__)


class Runtime(Struct, frozen=True):
    """The collaborators that the use cases share."""

    settings: Settings
    graph: Graph
    embedder: Embedder
    tokens: TokenCounter
    vocabulary: Vocabulary


@asynccontextmanager
async def running(settings: Settings, progress: Progress = silent) -> AsyncIterator[Runtime]:
    """Start, or join, all that is needed, for the length of the block.

    Raises a `SetupError` whose sentence says what to do.
    """
    async with AsyncExitStack() as stack:
        graph = await stack.enter_async_context(database(settings, progress))
        progress("loading the embedding model")
        embedder = Embedder(await asyncio.to_thread(load_model, settings, progress))
        stack.push_async_callback(embedder.close)
        progress("loading the embedding model", 1, 1)
        tokens = TokenCounter()
        model = embedder.model
        await migrate(graph, dimensions=model.dimensions, progress=progress)
        await agree(graph, Installation(model.name, model.sha256, model.dimensions, tokens.name))
        yield Runtime(settings, graph, embedder, tokens, Vocabulary(graph))


@asynccontextmanager
async def database(settings: Settings, progress: Progress = silent) -> AsyncIterator[Graph]:
    """Connect to the Neo4j that the settings name, else to a private one that is kept alive."""
    async with AsyncExitStack() as stack:
        if settings.neo4j_uri:
            graph = await connect(
                settings.neo4j_uri,
                settings.neo4j_user,
                settings.neo4j_password,
                settings.neo4j_database,
            )
        else:
            server = await stack.enter_async_context(private_server(settings, progress))
            graph = await connect(server.uri, server.user, server.password, "neo4j")
            watch = asyncio.create_task(_watched(server, graph))
            stack.push_async_callback(_ended, watch)
        # The exit stack unwinds in reverse: the connection closes before the server is left.
        stack.push_async_callback(graph.close)
        yield graph


async def _watched(server: PrivateServer, graph: Graph) -> None:
    """Start the private server anew whenever it has died."""
    uri = server.uri
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        try:
            if await server.ensure():
                log.warning("the private Neo4j had died and was started anew")
            if server.uri != uri:
                uri = server.uri
                await graph.reconnect(uri, server.user, server.password)
        except GraphmemError as problem:
            log.error("the private Neo4j is down: %s", problem)


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
