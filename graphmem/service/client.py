"""A running graphmem as one client sees it: all parts of the API in one object."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from graphmem import config
from graphmem.model.progress import Progress, silent
from graphmem.runtime import running
from graphmem.service.bound import DEFAULT_CLIENT
from graphmem.service.conversations import Conversations
from graphmem.service.jobs import BackgroundWork
from graphmem.service.memories import Memories
from graphmem.service.recall import Recall


class Graphmem(Conversations, Memories, Recall, BackgroundWork):
    """A running graphmem, as one client sees it."""

    def for_client(self, client_id: str) -> "Graphmem":
        """Return the same graphmem as another client sees it. Raises `InvalidInput`."""
        return Graphmem(self.runtime, client_id)


@asynccontextmanager
async def open(
    *, client_id: str = DEFAULT_CLIENT, progress: Progress = silent, **settings: Any
) -> AsyncIterator[Graphmem]:
    """Have a graphmem running for the length of the block.

    The settings are the fields of `graphmem.config.Settings`; what is not given comes from the
    environment. Without `neo4j_uri` a private Neo4j is started, or joined. Raises `SetupError`.
    """
    async with running(config.load(**settings), progress) as runtime:
        yield Graphmem(runtime, client_id)
