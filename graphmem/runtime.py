"""A running graphmem: starting its parts, keeping them alive, and closing them."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial

from msgspec import Struct, field

from graphmem.accesses import Recorder
from graphmem.artifacts.fetch import MEGABYTE
from graphmem.clients import LimitsOfClients
from graphmem.config import Settings
from graphmem.context import Context
from graphmem.embedding import Embedder, load_model
from graphmem.errors import DiskFull, GraphmemError, StoreDamaged, StoreUnreadable
from graphmem.forgetting.expiry import Expiries
from graphmem.graph.driver import Graph, connect
from graphmem.graph.inspection import Pulse
from graphmem.graph.installation import Calibration
from graphmem.graph.statements import LostStatements, Statements
from graphmem.hypotheses.ask import TurnFindings, new_turns
from graphmem.jobs.afterwards import Afterwards
from graphmem.llm import LanguageModel, language_model
from graphmem.model.progress import Progress, silent
from graphmem.observing.metrics import DISK_FREE, NEO4J_RESTARTS
from graphmem.retrieval.reranking import Reranker, load_reranker
from graphmem.retrieval.understanding import Vocabulary
from graphmem.server import folder
from graphmem.server.private import PrivateServer, always, private_server
from graphmem.serving import Load, Models, Serving
from graphmem.single_flight import SingleFlight
from graphmem.tokens import TokenCounter

WATCH_SECONDS, MOST_PAUSE_SECONDS = 1.0, 8.0
"""The interval at which the private server is checked, and the longest one while it cannot be started."""

log = logging.getLogger(__name__)


class Runtime(Struct):
    """The dependencies that the use cases share.

    `graph`, `embedder` and `calibration` belong to one embedding model, and are exchanged together when the
    installation changes it: a use case reads all three at one moment, and keeps them to its end.
    """

    settings: Settings
    graph: Graph
    embedder: Embedder
    tokens: TokenCounter
    vocabulary: Vocabulary
    calibration: Calibration
    afterwards: Afterwards = field(default_factory=Afterwards)
    statements: Statements = field(default_factory=Statements)
    llm: LanguageModel | None = None
    turns: SingleFlight[TurnFindings] = field(default_factory=new_turns)
    reranker: Reranker | None = None
    recorder: Recorder | None = None
    """None if reads are not recorded."""
    limits: LimitsOfClients = field(default_factory=LimitsOfClients)

    def context(
        self, client_id: str, permitted: Iterable[str] = (), *, in_background: bool = False
    ) -> Context:
        """Return the context of a use case for one client, as of now, and the others that it may read.

        The limits of the client hold for what it asks for, not for what is done in the background.
        """
        limits = None if in_background else self.limits.of_writes(client_id)
        return Context(
            client_id=client_id,
            permitted=tuple(one for one in dict.fromkeys(permitted) if one != client_id),
            graph=self.graph.held_to(limits) if limits else self.graph,
            embedder=self.embedder,
            tokens=self.tokens,
            vocabulary=self.vocabulary,
            calibration=self.calibration,
            afterwards=self.afterwards,
            statements=self.statements,
            reranker=self.reranker,
            llm=self.llm,
            turns=self.turns,
            recorder=self.recorder,
        )


@asynccontextmanager
async def running(
    settings: Settings, progress: Progress = silent, *, load: Load | None = None
) -> AsyncIterator[Runtime]:
    """Start or join all parts, for the length of the block.

    Raises a `SetupError` whose sentence names the remedy.
    """
    limits = LimitsOfClients(settings)
    async with AsyncExitStack() as stack:
        graph = await stack.enter_async_context(database(settings, progress))
        graph.settle_before_reads(Expiries(graph).settle)
        models = Models(settings, load or load_model)
        serving = await models.start(graph, progress)
        stack.push_async_callback(serving.embedder.close)
        afterwards = await stack.enter_async_context(Afterwards())
        llm = language_model(settings)
        if llm is not None:
            stack.push_async_callback(llm.close)
        runtime = Runtime(
            settings,
            serving.graph,
            serving.embedder,
            TokenCounter(),
            Vocabulary(graph),
            serving.calibration,
            afterwards,
            Statements(settings.cypher_at_once),
            llm,
            new_turns(settings.turn_cache_mb << 20),
            limits=limits,
        )
        if (encoder := await asyncio.to_thread(load_reranker, settings)) is not None:
            runtime.reranker = Reranker(encoder)
            stack.push_async_callback(runtime.reranker.close)
        if settings.record == "on":
            days = settings.keep_accesses_days
            runtime.recorder = Recorder(graph, kept=timedelta(days=days) if days else None)
            stack.push_async_callback(runtime.recorder.end)
        watch = asyncio.create_task(models.watch(serving, partial(_exchange, runtime)))
        stack.push_async_callback(_end, watch)
        yield runtime


def _exchange(runtime: Runtime, serving: Serving) -> None:
    runtime.graph = serving.graph
    runtime.embedder = serving.embedder
    runtime.calibration = serving.calibration


@asynccontextmanager
async def database(settings: Settings, progress: Progress = silent) -> AsyncIterator[Graph]:
    """Connect to the Neo4j of the settings, else to a private one that is kept alive."""
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
            watch = asyncio.create_task(Watch(server, graph, settings).run())
            stack.push_async_callback(_end, watch)
        # The exit stack unwinds in reverse: the connection closes before the server is left.
        stack.push_async_callback(graph.close)
        yield graph


class Watch:
    """Keeps the private server running, and writes away from a full disk."""

    def __init__(self, server: PrivateServer, graph: Graph, settings: Settings) -> None:
        self._server = server
        self._graph = graph
        self._settings = settings
        self._uri = server.uri
        self._pulse = Pulse()
        self._statements = LostStatements()
        self._is_full = False
        self._pause = WATCH_SECONDS

    async def run(self) -> None:
        """Look every second, and less often while the server cannot be started; until cancelled."""
        while True:
            await asyncio.sleep(self._pause)
            try:
                self._look_at_disk()
                await self._look_at_server()
                self._pause = WATCH_SECONDS
                self._graph.report_damage(None)
            except (GraphmemError, OSError) as problem:
                log.error("the private Neo4j is down: %s", problem)
                self._pause = min(2 * self._pause, MOST_PAUSE_SECONDS)
                if isinstance(problem, StoreUnreadable):
                    self._graph.report_damage(StoreDamaged("Neo4j cannot open it"))

    def _look_at_disk(self) -> None:
        """Refuse writes while less than the margin is free, and until a tenth more is."""
        free = folder.free_bytes(self._settings.data_dir)
        DISK_FREE.set(free)
        margin = self._settings.disk_margin_mb
        needed = margin + margin // 10 if self._is_full else margin
        is_full = free // MEGABYTE < needed
        full = DiskFull(free // MEGABYTE, needed) if is_full else None
        self._graph.refuse_writes(full)
        if is_full != self._is_full:
            said = full or "the disk has room again: writes are admitted"
            log.warning("%s (%s)", said, self._settings.data_dir)
            self._is_full = is_full

    async def _look_at_server(self) -> None:
        """Restart the server if it has died, does not answer, or cannot end a statement."""
        if await self._server.ensure():
            NEO4J_RESTARTS.labels("died").inc()
            log.warning("the private Neo4j had died and was started anew")
        elif found := await self._statements.find(self._graph):
            reason = f"{len(found)} statements that were cut off do not end"
            await self._restart(reason, "statement")
        elif (lost := await self._pulse.lost(self._graph)) and self._has_room_to_start:
            await self._restart(lost, "lost", partial(self._pulse.is_lost, self._graph))
        if self._server.uri != self._uri:
            self._uri = self._server.uri
            await self._graph.reconnect(self._uri, self._server.user, self._server.password)

    @property
    def _has_room_to_start(self) -> bool:
        return folder.free_bytes(self._settings.data_dir) >= folder.BYTES_NEEDED

    async def _restart(
        self, reason: str, label: str, is_needed: Callable[[], Awaitable[bool]] = always
    ) -> None:
        log.warning("the private Neo4j is to be restarted: %s", reason)
        if await self._server.restart(is_needed):
            NEO4J_RESTARTS.labels(label).inc()


async def _end(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
