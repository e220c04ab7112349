"""A running graphmem: starting its parts, keeping them alive, and closing them."""

import asyncio
import contextlib
import contextvars
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any

from msgspec import Struct, field, structs

from graphmem.accesses import Recorder
from graphmem.artifacts.fetch import MEGABYTE
from graphmem.clients import ClientStore, LimitsOfClients
from graphmem.config import Settings, WatchedFile
from graphmem.context import Context
from graphmem.embedding import Embedder, Model, check_model, load_model
from graphmem.embedding_api import ApiModel
from graphmem.errors import (
    ClientMoves,
    DiskFull,
    GraphmemError,
    PlaceUnavailable,
    StoreDamaged,
    StoreUnreadable,
    Unavailable,
)
from graphmem.forgetting.expiry import Expiries
from graphmem.graph.driver import Graph, connect
from graphmem.graph.inspection import Pulse, unanswered
from graphmem.graph.installation import Calibration
from graphmem.graph.schema import unanswerable
from graphmem.graph.statements import LostStatements, Statements
from graphmem.hypotheses.ask import TurnFindings, new_turns
from graphmem.jobs.afterwards import Afterwards
from graphmem.llm import LanguageModel, language_model
from graphmem.model.progress import Progress, silent
from graphmem.observing.logs import traced
from graphmem.observing.metrics import DISK_FREE, Restart, count_restart
from graphmem.places import DEFAULT, Address, Placement, connected, places_file
from graphmem.retrieval.reranking import Reranker, check_reranker, load_reranker
from graphmem.retrieval.understanding import Vocabulary
from graphmem.server import folder
from graphmem.server.private import PrivateServer, always, private_server
from graphmem.serving import Load, Models, Serving
from graphmem.single_flight import SingleFlight
from graphmem.tokens import TokenCounter

WATCH_SECONDS, MOST_PAUSE_SECONDS = 1.0, 8.0
"""The interval at which the private server is checked, and the longest one while it cannot be started.

The first is that of the servers of places, too.
"""

PROBE_SECONDS = 10.0
"""The time in which the server of a place must answer: a busy one is slow, and not away."""

MISSES = 2
"""The questions in a row that the server of a place leaves unanswered before it counts as away."""

OPEN_SECONDS = 10.0
"""The time for which the start waits for the other places."""

OPEN_AGAIN_SECONDS = 5.0
"""The pause before a place that could not be opened is tried again."""

UNKNOWN = "the places file does not describe it"
NOT_OPENED = "it could not be opened; the service's log says why"

log = logging.getLogger(__name__)


def always_here(_: str) -> bool:
    """Tell that all clients are here."""
    return True


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
    places: "Places | None" = None
    """The other places of clients; None without a file of them, and for a place itself."""
    works_for: Callable[[str], bool] = always_here
    """Tells whether background work of a client is done here and now."""

    def context(
        self, client_id: str, permitted: Iterable[str] = (), *, in_background: bool = False
    ) -> Context:
        """Return the context of a use case for one client, as of now, and the others that it may read.

        The limits of the client hold for what it asks for, not for what is done in the background. Raises
        `PlaceUnavailable`.
        """
        here = self.context_here if self.places is None else self.places.context
        return here(client_id, permitted, in_background=in_background)

    def stores(self) -> list[ClientStore]:
        """Return the databases of all places, and which clients they hold. Raises `PlaceUnavailable`."""
        return (
            [ClientStore(self.graph, always_here)] if self.places is None else self.places.stores()
        )

    @property
    def everywhere(self) -> "list[Runtime]":
        """The running graphmems of all places, this one first; without those that are away."""
        return [self] if self.places is None else self.places.present

    def context_here(
        self, client_id: str, permitted: Iterable[str] = (), *, in_background: bool = False
    ) -> Context:
        """Return the context of a client whose place is this one."""
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
    """Start or join all parts, and those of the other places of the file, for the length of the block.

    Raises a `SetupError` whose sentence names the remedy.
    """
    file = places_file(settings.places_file) if settings.places_file else None
    # Before a database is started for them.
    if load is None:
        await asyncio.to_thread(check_model, settings)
    await asyncio.to_thread(check_reranker, settings)
    kept = SharedModels(load or load_model)
    async with running_here(settings, progress, load=kept if file else kept.load) as runtime:
        if file is None:
            yield runtime
            return
        runtime.places = Places(runtime, file, kept)
        try:
            await runtime.places.begin()
            yield runtime
        finally:
            await runtime.places.close()


@asynccontextmanager
async def running_here(
    settings: Settings,
    progress: Progress = silent,
    *,
    load: Load,
    beside: Embedder | None = None,
) -> AsyncIterator[Runtime]:
    """Start or join the parts of one place; its models share the threads of the embedder `beside` them."""
    limits = LimitsOfClients(settings)
    async with AsyncExitStack() as stack:
        graph = await stack.enter_async_context(database(settings, progress))
        graph.settle_before_reads(Expiries(graph).settle)
        models = Models(settings, load, beside=beside)
        serving = await models.start(graph, progress)
        if beside is None:
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
        if beside is None and (encoder := await asyncio.to_thread(load_reranker, settings)):
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
                place=settings.place,
            )
        else:
            server = await stack.enter_async_context(private_server(settings, progress))
            graph = await connect(
                server.uri,
                server.user,
                server.password,
                "neo4j",
                remedy="it has just died: try again",
            )
            watch = asyncio.create_task(Watch(server, graph, settings).run())
            stack.push_async_callback(_end, watch)
        # The exit stack unwinds in reverse: the connection closes before the server is left.
        stack.push_async_callback(graph.close)
        yield graph


class SharedModels:
    """Loads models, each local one once for all places."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self._models: dict[str | None, Model] = {}
        self._lock = threading.Lock()

    def __call__(self, settings: Settings, progress: Progress) -> Model:
        """Return a model: for another place the one that is loaded already, unless it is behind a URL."""
        named = settings.embedding_model
        with self._lock:
            if named in self._models:
                return self._models[named]
            model = self.load(settings, progress)
            if not isinstance(model, ApiModel):
                self._models[named] = model
            return model


Act = Callable[[Runtime], Awaitable[None]]
"""Work with the running graphmem of a place."""


class Places:
    """The running graphmems of the other places of a file: each opens and fails apart from all others."""

    def __init__(self, root: Runtime, file: WatchedFile[Placement], load: Load) -> None:
        self.file = file
        self._root = root
        self._load = load
        self._opened: dict[tuple[str, Address], OpenPlace] = {}
        self._each: list[Act] = []
        self._home = OpenPlace(DEFAULT)
        self._home.runtime = root
        root.works_for = partial(self._works_for, DEFAULT)

    async def begin(self) -> None:
        """Open all places, and wait a moment for those that answer."""
        self._home.start(self._home.watch())
        opening = [self._place(name) for name in self.file.current().places]
        waits = [asyncio.ensure_future(one.tried.wait()) for one in opening if one]
        if waits:
            _, late = await asyncio.wait(waits, timeout=OPEN_SECONDS)
            for one in late:
                one.cancel()

    async def close(self) -> None:
        """Close all places but the first."""
        await asyncio.gather(self._home.end(), *(one.end() for one in self._opened.values()))

    async def at_each(self, act: Act) -> None:
        """Await `act` with every other place, now or once it is open."""
        self._each.append(act)
        for one in list(self._opened.values()):
            await one.act_once(act)

    def context(
        self, client_id: str, permitted: Iterable[str] = (), *, in_background: bool = False
    ) -> Context:
        """Return the context of a client at its place. Raises `PlaceUnavailable`.

        Of the others that it may read, only those of the same place: elsewhere they are unknown, or have left
        an old copy.
        """
        entry = self.file.current().of(client_id)
        here = [one for one in permitted if self._holds(entry.place, one)]
        context = self._runtime(entry.place).context_here(
            client_id, here, in_background=in_background
        )
        graph = context.graph.writing_if(partial(self._check_write, client_id, entry.place))
        if entry.writes == "off":
            return structs.replace(context, graph=graph, recorder=None)
        return structs.replace(context, graph=graph)

    def states(self) -> dict[str, str | None]:
        """Return the places, each with the reason for which it is away, or None."""
        known = {DEFAULT: self._home.problem}
        for name in self.file.current().places:
            place = self._place(name)
            known[name] = place.problem if place else UNKNOWN
        return known

    async def readiness(self, seconds: float) -> dict[str, str | None]:
        """Return the places, each with the reason for which questions cannot be answered there, or None.

        One that does not say so in time counts as one that cannot.
        """
        known = self.states()
        there = [name for name, problem in known.items() if problem is None]
        found = await asyncio.gather(*(self._unready(name, seconds) for name in there))
        return known | dict(zip(there, found, strict=True))

    async def _unready(self, name: str, seconds: float) -> str | None:
        try:
            async with asyncio.timeout(seconds):
                return await unanswerable(self._runtime(name).graph)
        except TimeoutError:
            return f"its database does not answer within {seconds:g} s"
        except Unavailable as problem:
            return str(problem)
        except Exception as problem:
            return f"its database does not answer ({type(problem).__name__})"

    @property
    def present(self) -> list[Runtime]:
        """The running graphmems of the places that answer, the first one first."""
        places = [self._home, *filter(None, map(self._place, self.file.current().places))]
        return [one.runtime for one in places if one.runtime and one.problem is None]

    def stores(self) -> list[ClientStore]:
        """Return the databases of all places, and which clients they hold. Raises `PlaceUnavailable`."""
        names = [DEFAULT, *self.file.current().places]
        return [ClientStore(self._runtime(one).graph, partial(self._holds, one)) for one in names]

    def _holds(self, place: str, client_id: str) -> bool:
        return self.file.current().of(client_id).place == place

    def _runtime(self, name: str) -> Runtime:
        place = self._place(name)
        if place is None:
            raise PlaceUnavailable(name, UNKNOWN)
        if place.runtime is None or place.problem is not None:
            raise PlaceUnavailable(name, place.problem or "it is being opened")
        return place.runtime

    def _place(self, name: str) -> "OpenPlace | None":
        """Return a place of the file, which is opened when it is first needed; None for an unknown one."""
        if name == DEFAULT:
            return self._home
        address = self.file.current().places.get(name)
        if address is None:
            return None
        place = self._opened.get((name, address))
        if place is None:
            place = self._opened[name, address] = OpenPlace(name)
            place.start(self._keep_open(place, address))
        return place

    async def _keep_open(self, place: "OpenPlace", address: Address) -> None:
        """Open a place, again and again until it answers, and watch it."""
        while True:
            try:
                settings = connected(self._root.settings, place.name, address)
                beside = self._root.embedder
                async with running_here(settings, load=self._load, beside=beside) as runtime:
                    runtime.works_for = partial(self._works_for, place.name)
                    runtime.turns, runtime.reranker = self._root.turns, self._root.reranker
                    place.runtime = runtime
                    for act in list(self._each):
                        await place.act_once(act)
                    place.tell(None)
                    place.tried.set()
                    await place.watch()
            except GraphmemError as problem:
                place.tell(NOT_OPENED, str(problem))
            except Exception as problem:
                place.tell(NOT_OPENED, traced(problem))
            place.runtime, place.acted = None, []
            place.tried.set()
            await asyncio.sleep(OPEN_AGAIN_SECONDS)

    def _check_write(self, client_id: str, place: str) -> None:
        """Raise an error if a client may not write, or has moved since its request began."""
        entry = self.file.current().of(client_id)
        if entry.writes == "off" or entry.place != place:
            raise ClientMoves(client_id)

    def _works_for(self, place: str, client_id: str) -> bool:
        entry = self.file.current().of(client_id)
        return entry.place == place and entry.writes == "on"


class OpenPlace:
    """One place: its running graphmem, and the reason for which it is away."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.runtime: Runtime | None = None
        self.problem: str | None = None
        self.acted: list[Act] = []
        self.tried = asyncio.Event()
        """Set once it was opened, or could not be."""
        self._told = ""
        self._task: asyncio.Task[None] | None = None

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Work in the background until the end, outside of any request."""
        context = contextvars.Context()
        self._task = asyncio.get_running_loop().create_task(work, name=self.name, context=context)

    async def act_once(self, act: Act) -> None:
        """Await `act` with the running graphmem, if there is one and it has not been done."""
        if self.runtime is not None and act not in self.acted:
            self.acted.append(act)
            await act(self.runtime)

    async def end(self) -> None:
        """End the work."""
        if self._task is not None:
            await _end(self._task)

    async def watch(self) -> None:
        """Look every second whether the database answers; while it does not, nobody waits for it."""
        misses = 0
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            if self.runtime is None:
                continue
            problem = await unanswered(self.runtime.graph, PROBE_SECONDS)
            misses = misses + 1 if problem else 0
            if problem is None or misses == MISSES:
                self.tell(problem)
                away = None if problem is None else PlaceUnavailable(self.name, problem)
                self.runtime.graph.give_up(away)

    def tell(self, problem: str | None, more: str = "") -> None:
        """Record the reason for which the place is away; log each change, with `more` for operators."""
        if problem is not None and (problem != self.problem or more != self._told):
            log.error("the place %s is away: %s", self.name, more or problem)
        elif problem is None and self.problem is not None:
            log.warning("the place %s is there again", self.name)
        self.problem, self._told = problem, more


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
                elif not self._settings.data_dir.is_dir():
                    self._graph.report_damage(StoreDamaged("its data folder is gone"))

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
            count_restart("died")
            log.warning("the private Neo4j had died and was started anew")
        elif self._server.uri != self._uri:
            log.info("another process has started the private Neo4j anew")
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
        self, reason: str, label: Restart, is_needed: Callable[[], Awaitable[bool]] = always
    ) -> None:
        log.warning("the private Neo4j is to be restarted: %s", reason)
        if await self._server.restart(is_needed):
            count_restart(label)


async def _end(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
