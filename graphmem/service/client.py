"""A running graphmem as one client sees it: all parts of the API in one object."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from graphmem import config
from graphmem.model.progress import Progress, silent
from graphmem.runtime import running
from graphmem.service.bound import DEFAULT_CLIENT
from graphmem.service.contexts import Contexts
from graphmem.service.contextual import Contextual
from graphmem.service.conversations import Conversations
from graphmem.service.cypher import Exploring
from graphmem.service.entities import Naming
from graphmem.service.episodes import Episodes
from graphmem.service.facts import Facts
from graphmem.service.graph import Analysing
from graphmem.service.hyde import Hypotheses
from graphmem.service.jobs import BackgroundWork
from graphmem.service.links import Linking
from graphmem.service.memories import Memories
from graphmem.service.patterns import Spotting
from graphmem.service.recall import Recall
from graphmem.service.references import Catalogue
from graphmem.service.retrieve_memory import RetrieveMemory
from graphmem.service.retriever import Retrieving
from graphmem.service.reviews import Reviewing
from graphmem.service.runs import Runs
from graphmem.service.search import Search
from graphmem.service.spans import Spans
from graphmem.service.summaries import Digests
from graphmem.service.versions import Chains


class Graphmem(
    Conversations,
    Facts,
    Episodes,
    Memories,
    Chains,
    Contexts,
    Contextual,
    Retrieving,
    Recall,
    Hypotheses,
    Search,
    BackgroundWork,
    RetrieveMemory,
    Reviewing,
    Catalogue,
    Digests,
    Spans,
    Linking,
    Naming,
    Runs,
    Spotting,
    Exploring,
    Analysing,
):
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
