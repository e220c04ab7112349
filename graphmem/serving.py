"""The embedding models of a process: the one that searches use, and a second one during a change.

The stored installation decides, not the settings of a process: during a change of the model a process
checks its progress every few seconds, loads the other model beside its own, and exchanges the two at the
switch.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from graphmem.config import Settings
from graphmem.embedding import Embedder, Model, discard, load_model
from graphmem.embedding_api import UrlAway, expected_api_model
from graphmem.errors import GraphmemError, ModelMismatch, Unavailable
from graphmem.graph.driver import Graph
from graphmem.graph.installation import (
    Calibration,
    EmbeddingModel,
    Installation,
    agree,
    installation,
)
from graphmem.graph.schema import Migrated, migrate
from graphmem.model.progress import Progress, silent
from graphmem.model.vocabulary import Side, other
from graphmem.observing.logs import Failing, traced
from graphmem.observing.metrics import REEMBEDDED
from graphmem.retrieval.relevance import calibrate, calibrate_languages
from graphmem.tokens import TOKENIZER

LOOK_SECONDS = 2.0
"""The interval at which a process checks for a change of the installation's model."""

LOAD_AGAIN_SECONDS = 30.0
"""The pause before a model that failed to load is loaded again."""

Load = Callable[[Settings, Progress], Model]

log = logging.getLogger(__name__)


class Serving(Struct, frozen=True):
    """The parts that searches use: all for one model, and exchanged together."""

    graph: Graph
    embedder: Embedder
    calibration: Calibration


class Opened(Struct, frozen=True):
    """A database whose schema is up to date and whose models match the settings."""

    graph: Graph
    installation: Installation
    schema: Migrated


async def open_graph(graph: Graph, ours: EmbeddingModel, progress: Progress = silent) -> Opened:
    """Bring the database up to date, on the current side, and compare its model with ours.

    Raises `SchemaError`, `ModelMismatch`, `Unavailable`.
    """
    migrated = await migrate(graph, dimensions=ours.dimensions, progress=progress)
    agreed = await agree(
        graph,
        Installation(ours.name, ours.sha256, ours.dimensions, TOKENIZER, ours.source),
    )
    return Opened(graph.on(agreed.side), agreed, migrated)


def described(model: Model, settings: Settings) -> EmbeddingModel:
    """Return the description of a model, with its source if its name does not tell it."""
    source = settings.embedding_model if model.name.startswith(("folder/", "url/")) else None
    return EmbeddingModel(model.name, model.sha256, model.dimensions, source)


class Models:
    """Loads the models, and follows the installation's change from one to another."""

    def __init__(
        self, settings: Settings, load: Load = load_model, *, beside: Embedder | None = None
    ) -> None:
        """Load models with `load`; they share the threads of the embedder `beside` them, if there is one."""
        self._settings = settings
        self._load = load
        self._beside = beside
        self._failed: EmbeddingModel | None = None
        self._again_at = 0.0

    async def start(self, graph: Graph, progress: Progress = silent) -> Serving:
        """Load the installation's model, or the first one of a new installation, and prepare the database.

        The caller closes the embedder. The installation's own model may be behind a URL that does not answer:
        until it does, questions are answered by words. Raises a `SetupError` whose sentence names the remedy.
        """
        progress("loading the embedding model")
        stored = await installation(graph)
        model = await self._load_even_away(
            self._settings, stored.model if stored else None, progress
        )
        progress("loading the embedding model", 1, 1)
        ours = described(model, self._settings)
        found = await open_graph(graph, ours, progress)
        if not found.installation.model.is_like(ours):
            log.warning(
                "GRAPHMEM_EMBEDDING_MODEL names %s; the installation has, for now, %s",
                ours.name,
                found.installation.embedding_model,
            )
            await asyncio.to_thread(discard, model)
            model = await self._load_checked(found.installation.model, may_be_away=True)
        side = found.installation.side
        embedder = self._beside.running(model, side) if self._beside else Embedder(model, side)
        try:
            scale = await calibrate(found.graph, embedder)
            with suppress(Unavailable):  # Then `follow` does it, once the model answers.
                scale = await calibrate_languages(scale, found.graph, embedder)
            return Serving(found.graph, embedder, scale)
        except BaseException:
            if self._beside is None:
                await embedder.close()
            raise

    async def watch(self, serving: Serving, exchange: Callable[[Serving], None]) -> None:
        """Follow the installation until cancelled; call `exchange` when its model has changed.

        A failure is logged once, until the next success.
        """
        failing = Failing()
        while True:
            try:
                found = await self.follow(serving)
                failing.works()
                if found is not serving:
                    if found.embedder is not serving.embedder:
                        name = found.embedder.model.name
                        log.info("questions are asked with %s from now on", name)
                    serving = found
                    exchange(serving)
            except Unavailable as problem:
                log.debug("the installation's model is looked at later: %s", problem)
            except GraphmemError as problem:
                log.log(
                    failing.level(str(problem), logging.ERROR),
                    "this process cannot follow the change of the embedding model: %s",
                    problem,
                )
            except Exception as problem:
                log.error("the installation's model could not be looked at: %s", traced(problem))
            await asyncio.sleep(LOOK_SECONDS)

    async def follow(self, serving: Serving) -> Serving:
        """Return the parts that searches use now; load the models that a change needs."""
        stored = await installation(serving.graph.impatient())
        if stored is None:
            return serving
        _tell(stored)
        if not _is(serving.embedder, stored.model, stored.side):
            serving = await self._switch(serving, stored)
        elif not serving.calibration.knowledge:
            # Not at the switch: until then questions need the former model's index, which is deleted soon.
            graph, embedder = serving.graph, serving.embedder
            scale = await calibrate_languages(serving.calibration, graph, embedder)
            serving = Serving(graph, embedder, scale)
        await self._keep_beside(serving.embedder, stored)
        return serving

    async def _switch(self, serving: Serving, stored: Installation) -> Serving:
        """Return the other model instead of this one; requests under way still use this one."""
        old, embedder = serving.embedder, serving.embedder.beside
        if embedder is None or not _is(embedder, stored.model, stored.side):
            embedder = old.running(await self._load_again(stored.model), stored.side)
        graph = serving.graph.on(stored.side)
        # A write under way with the old model may be asked for a vector of the new one.
        old.beside, embedder.beside = embedder, old
        return Serving(graph, embedder, await calibrate(graph, embedder))

    async def _keep_beside(self, embedder: Embedder, stored: Installation) -> None:
        """Keep the other model beside this one exactly while writes need both."""
        wanted, side, beside = stored.beside, other(stored.side), embedder.beside
        if wanted is None:
            embedder.beside = None
        elif beside is None or not _is(beside, wanted, side):
            embedder.beside = embedder.running(await self._load_again(wanted), side)

    async def _load_again(self, wanted: EmbeddingModel) -> Model:
        """Load a model that the installation names; a failed one is not loaded again at once.

        Raises `SettingError`, `ModelMismatch`, and `Unavailable` during that pause.
        """
        if self._failed == wanted and time.monotonic() < self._again_at:
            raise Unavailable(f"the model {wanted.name!r} could not be loaded a moment ago")
        try:
            model = await self._load_checked(wanted)
        except Exception:
            self._failed, self._again_at = wanted, time.monotonic() + LOAD_AGAIN_SECONDS
            raise
        return model

    async def _load_checked(self, wanted: EmbeddingModel, *, may_be_away: bool = False) -> Model:
        settings = replace(self._settings, embedding_model=wanted.setting)
        model = await self._load_even_away(settings, wanted if may_be_away else None, silent)
        if not described(model, settings).is_like(wanted):
            await asyncio.to_thread(discard, model)
            raise ModelMismatch(
                f"the installation's embedding model {wanted.name!r} is another one on this machine "
                f"(sha256 {model.sha256[:12]}… instead of {wanted.sha256[:12]}…): bring its files here"
            )
        return model

    async def _load_even_away(
        self, settings: Settings, known: EmbeddingModel | None, progress: Progress
    ) -> Model:
        """Load a model; the one that is `known`, behind a URL that does not answer, as it is known."""
        try:
            return await asyncio.to_thread(self._load, settings, progress)
        except UrlAway as problem:
            url = settings.embedding_model
            if known is None or url is None or url != known.source:
                raise
            log.warning("%s; until it answers, questions are answered by words", problem)
            return expected_api_model(url, settings.embedding_key, known.dimensions)


def _is(embedder: Embedder, model: EmbeddingModel, side: Side) -> bool:
    """Tell whether an embedder runs this model on this side."""
    return embedder.key == model.key and embedder.side == side


def _tell(stored: Installation) -> None:
    """Update the metrics of the change's progress; without a change they are 0."""
    change = stored.change
    under_way = change is not None and change.state in ("announced", "embedding")
    REEMBEDDED.labels("done").set(change.done if change and under_way else 0)
    REEMBEDDED.labels("left").set(max(0, change.total - change.done) if change and under_way else 0)
