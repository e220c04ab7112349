"""Text to vectors: a local model or one behind a URL, questions before passages, never on the event loop."""

import asyncio
import copy
import difflib
import itertools
import math
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import mul
from pathlib import Path
from typing import Any, Protocol, TypeVar

import httpx
import msgspec
from msgspec import Struct

from graphmem.artifacts.maven import sha256_of
from graphmem.artifacts.model import BUNDLED, bundled_model
from graphmem.config import Settings
from graphmem.embedding_api import ApiModel, is_url, load_api_model, url_and_name
from graphmem.errors import SettingError, Unavailable
from graphmem.model.progress import Progress
from graphmem.model.vocabulary import FIRST, Side
from graphmem.observing.metrics import EMBEDDING_SECONDS
from graphmem.observing.spans import span

# From 1.29 on onnxruntime writes down and sends how it is used, unless this is set before it begins.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

Result = TypeVar("Result")
Vector = list[float]

BUNDLED_DIMENSIONS = 384

BATCH_TEXTS = 8
BATCH_CHARACTERS = 1_000
"""The characters of one batch of passages, padding included: a question, or another caller's short message,
waits for one batch at most. Larger batches take as long for each text."""

SEEN_CHARACTERS = 20_000
"""The characters of a text that the model receives; far more than its window of 512 tokens holds."""

LOAD_SECONDS = 30.0
POLL_SECONDS = 0.1
"""The time that a write waits for its process to load a model, and the interval of its checks."""

QUESTION, PASSAGES, AGAIN, LAST = range(4)
PURPOSES = ("question", "passages", "again")
"""The kinds of embedding work, most urgent first; embedding again, for another model, is the last."""

LOCAL, QUESTIONS_LANE, PASSAGES_LANE = "embedder", "embedding-questions", "embedding-passages"

URL_BATCHES = 8
"""The size of the batches that go to a URL, in those of a local model."""

URL_THREADS = 4
"""The questions, and the batches of passages, that a model behind a URL is asked at once."""

NEEDED_FILES = (
    "model.onnx",
    "tokenizer.json",
    "tokenizer_config.json",
    "config.json",
    "special_tokens_map.json",
)
"""The files of a model's folder."""

HUB_SECONDS = 5.0


class Embedding(Struct, frozen=True):
    """A passage's unit vector, and whether the model saw only the beginning of the passage."""

    vector: Vector
    truncated: bool


class Model(Protocol):
    """A loaded model: it turns texts into vectors, in the calling thread."""

    name: str
    sha256: str
    dimensions: int

    def embed(self, texts: list[str]) -> list[Vector]:
        """Return the texts' unit vectors."""
        ...

    def truncates(self, text: str) -> bool:
        """Tell whether a text is longer than the model's window."""
        ...


class Lane:
    """Threads that do work, the most urgent first; of the same urgency, callers take turns piece by piece."""

    def __init__(self, name: str, threads: int = 1) -> None:
        self._order = itertools.count()
        self._rounds: dict[int, int] = {}
        self._work: queue.PriorityQueue[tuple[int, int, int, Callable[[], None]]] = (
            queue.PriorityQueue()
        )
        self._threads = [
            threading.Thread(target=self._run, name=name, daemon=True) for _ in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, priority: int, work: Callable[[], None], piece: int = 0) -> None:
        """Accept one piece of a caller's work, which it numbers from 0: the first is done in this round."""
        turn = self._rounds.get(priority, 0) + piece
        self._work.put((priority, turn, next(self._order), work))

    def run(
        self, priority: int, work: Callable[[], Result], piece: int = 0, *, failure: str
    ) -> "asyncio.Future[Result]":
        """Have work done for a caller in an event loop; its errors become `Unavailable` with this sentence.

        Work whose future is cancelled before it begins is not done.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def settle(action: Callable[[Any], None], value: Any) -> None:
            if not future.done():
                action(value)

        def do() -> None:
            if future.cancelled():
                return
            try:
                result = work()
            except Unavailable as problem:
                loop.call_soon_threadsafe(settle, future.set_exception, problem)
            except Exception as problem:
                error = Unavailable(f"{failure} ({type(problem).__name__})")
                error.__cause__ = problem
                loop.call_soon_threadsafe(settle, future.set_exception, error)
            else:
                loop.call_soon_threadsafe(settle, future.set_result, result)

        self.submit(priority, do, piece)
        return future

    def waiting(self) -> int:
        """Return the number of pieces of work that wait."""
        return self._work.qsize()

    def close(self) -> None:
        """Finish the accepted work, then end the threads."""
        for _ in self._threads:
            self.submit(LAST, lambda: None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while True:
            priority, turn, _, work = self._work.get()
            if priority == LAST:
                return
            self._rounds[priority] = max(turn, self._rounds.get(priority, 0))
            work()


class Embedder:
    """Runs a model in its own thread; questions overtake waiting passages.

    A model behind a URL has other threads, some for questions and some for passages: one that hangs holds up
    neither another model nor the other kind of work. The vectors of an embedder are those of one side. While
    the installation changes its model another embedder is `beside` it, for the other side; written texts are
    embedded by both.
    """

    def __init__(self, model: Model, side: Side = FIRST) -> None:
        self.model = model
        self.side = side
        self.beside: Embedder | None = None
        # Shared with the embedders beside this one, and so is the end.
        self._lanes = {LOCAL: Lane(LOCAL)}
        self._models = [model]
        self._closed = threading.Event()

    @property
    def key(self) -> str:
        """The name and hash that distinguish the model's vectors from those of others."""
        return f"{self.model.name}@{self.model.sha256}"

    def running(self, model: Model, side: Side) -> "Embedder":
        """Return an embedder for another model; local ones share a thread, so questions overtake passages."""
        another = copy.copy(self)
        another.model, another.side, another.beside = model, side, None
        self._models.append(model)
        return another

    async def query(self, text: str, *, patient: bool = False) -> Vector:
        """Return the unit vector of a question. Raises `Unavailable` when the model fails."""
        return (await self.queries([text], patient=patient))[0]

    async def queries(self, texts: Sequence[str], *, patient: bool = False) -> list[Vector]:
        """Return the unit vectors of a few questions, embedded together. Raises `Unavailable`.

        With `patient` nobody waits for them: a model behind a URL gets the time of passages.
        """
        seen = [text[:SEEN_CHARACTERS] for text in texts]
        model = self.model
        embed = model.embed
        if isinstance(model, ApiModel) and not patient:
            embed = model.embed_question
        with span("embed question", {"graphmem.texts": len(seen)}):
            return await self._submit(QUESTION, lambda: embed(seen))

    async def passages(self, texts: Sequence[str], *, priority: int = PASSAGES) -> list[Embedding]:
        """Return the passages' embeddings, in their order. Raises `Unavailable`."""
        results: list[Embedding | None] = [None] * len(texts)
        times = URL_BATCHES if isinstance(self.model, ApiModel) else 1
        batches = [
            (batch, self._submit(priority, partial(self._embedded, texts, batch), piece))
            for piece, batch in enumerate(batched(texts, times))
        ]
        with span("embed passages", {"graphmem.texts": len(texts)}):
            embedded = await asyncio.gather(*(work for _, work in batches))
        for (batch, _), embeddings in zip(batches, embedded, strict=True):
            for place, embedding in zip(batch, embeddings, strict=True):
                results[place] = embedding
        return [embedding for embedding in results if embedding is not None]

    def waiting(self) -> int:
        """Return the number of waiting questions and batches of passages."""
        return sum(lane.waiting() for lane in self._lanes.values())

    async def close(self) -> None:
        """Finish the accepted work, then stop the threads, those of the models beside this one too."""
        self._closed.set()
        for lane in self._lanes.values():
            await asyncio.to_thread(lane.close)
        for model in self._models:
            await asyncio.to_thread(discard, model)

    def _lane(self, priority: int) -> Lane:
        if not isinstance(self.model, ApiModel):
            return self._lanes[LOCAL]
        name = QUESTIONS_LANE if priority == QUESTION else PASSAGES_LANE
        if name not in self._lanes:
            self._lanes[name] = Lane(name, URL_THREADS)
        return self._lanes[name]

    def _embedded(self, texts: Sequence[str], batch: list[int]) -> list[Embedding]:
        passages = [texts[place][:SEEN_CHARACTERS] for place in batch]
        return [
            Embedding(vector, self.model.truncates(passage))
            for vector, passage in zip(self.model.embed(passages), passages, strict=True)
        ]

    def _submit(
        self, priority: int, work: Callable[[], Result], piece: int = 0
    ) -> "asyncio.Future[Result]":
        if self._closed.is_set():
            raise Unavailable("the embedder is closed")

        def timed() -> Result:
            with EMBEDDING_SECONDS.labels(PURPOSES[priority]).time():
                return work()

        lane = self._lane(priority)
        return lane.run(priority, timed, piece, failure="the embedding model failed")


def discard(model: Model) -> None:
    """Close a model that no embedder runs."""
    if isinstance(model, ApiModel):
        model.close()


async def wait_for_embedder(model: str, embedder: Embedder | None) -> Embedder:
    """Wait until the embedder of a model runs beside the current one; return it. Raises `Unavailable`."""
    for _ in range(round(LOAD_SECONDS / POLL_SECONDS)):
        beside = embedder.beside if embedder else None
        if beside is not None and beside.key == model:
            return beside
        await asyncio.sleep(POLL_SECONDS)
    raise Unavailable(
        "the embedding model is being changed and this process has not loaded the other one yet: "
        "try again soon; `graphmem doctor` shows the progress of the change"
    )


def batched(texts: Sequence[str], times: int = 1) -> Iterator[list[int]]:
    """Yield the indexes of texts of similar length, in batches small enough to finish soon.

    `times` makes them larger, for a model to which each batch travels.
    """
    batch: list[int] = []
    for place in sorted(range(len(texts)), key=lambda place: len(texts[place])):
        longest = min(len(texts[place]), SEEN_CHARACTERS)
        is_full = len(batch) == times * BATCH_TEXTS
        if batch and (is_full or longest * (len(batch) + 1) > times * BATCH_CHARACTERS):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


class FastembedModel:
    """A model that fastembed runs on onnxruntime."""

    def __init__(self, name: str, text_embedding: Any, sha256: str) -> None:
        self.name = name
        self.sha256 = sha256
        self._embedding = text_embedding
        self._tokenizer = text_embedding.model.tokenizer
        self._window = (self._tokenizer.truncation or {}).get("max_length", 0)
        self.dimensions = len(self.embed(["warm"])[0])

    def embed(self, texts: list[str]) -> list[Vector]:
        """Return the texts' unit vectors."""
        vectors = self._embedding.embed(texts, batch_size=len(texts))
        return [_unit(vector.tolist()) for vector in vectors]

    def truncates(self, text: str) -> bool:
        """Tell whether a text is longer than the model's window."""
        # A token has at least one character, so most texts need no second tokenization.
        if not self._window or len(text) < self._window - 2:
            return False
        return bool(self._tokenizer.encode(text).overflowing)


class ModelSetting(Struct, frozen=True):
    """A setting that names a model: a folder, or a name that fastembed knows."""

    variable: str
    remedy: str

    def folder(self, chosen: str) -> Path | None:
        """Return the folder with a model's files that the setting names; None if it names no folder.

        Raises `SettingError` if there is no such folder, or if it lacks a file.
        """
        folder = Path(chosen).expanduser().absolute()
        if not folder.is_dir() and not chosen.startswith((".", "/", "~")):
            return None
        if not folder.is_dir():
            raise self.wrong(f"there is no folder {folder}")
        missing = [name for name in NEEDED_FILES if not (folder / name).is_file()]
        if missing:
            raise self.wrong(f"the folder {folder} lacks {', '.join(missing)}")
        return folder

    def known(self, chosen: str, supported: Iterable[str]) -> str:
        """Return a name as fastembed spells it. Raises `SettingError` with the names that are much alike."""
        names = {model.casefold(): model for model in supported}
        if chosen.casefold() in names:
            return names[chosen.casefold()]
        short = {name.rpartition("/")[2]: full for name, full in names.items()}
        found = difflib.get_close_matches(chosen.casefold().rpartition("/")[2], short, n=3)
        alike = f" (much alike: {', '.join(short[one] for one in found)})" if found else ""
        raise self.wrong(
            f"{chosen!r} is no folder, and fastembed knows no model of this name{alike}"
        )

    def require_hub(self, name: str, cache: str, others: str) -> None:
        """Raise `SettingError` if the hub cannot be reached: fastembed tries for 39 s before it says so."""
        from huggingface_hub import constants

        if not constants.HF_HUB_OFFLINE:
            try:
                httpx.head(constants.ENDPOINT, timeout=HUB_SECONDS)
                return
            except httpx.HTTPError:
                pass
        raise SettingError(
            self.variable,
            f"{name!r} is not in {cache}, and {constants.ENDPOINT}, from where it is fetched, cannot be "
            f"reached: connect, copy the model's folder here and name that, or {others}",
        )

    def wrong(self, sentence: str) -> SettingError:
        """Return the error that says what is wrong with the value, and what to do."""
        return SettingError(self.variable, f"{sentence}: {self.remedy}")

    @contextmanager
    def loading(self, chosen: str) -> Iterator[None]:
        """Raise `SettingError` for whatever goes wrong while a model is loaded."""
        from loguru import logger

        # Its own errors come before the sentence that says what to do.
        logger.disable("fastembed")
        try:
            yield
        except SettingError:
            raise
        except Exception as problem:
            raise self.wrong(f"{chosen!r} cannot be loaded ({type(problem).__name__})") from problem


EMBEDDING_MODEL = ModelSetting(
    "GRAPHMEM_EMBEDDING_MODEL", "mend it, or unset it to use the bundled model"
)


def load_model(settings: Settings, progress: Progress) -> Model:
    """Load the bundled model, or the one in the settings: a folder, a URL, or fastembed's name of it.

    Raises `FetchFailed` if the bundled one is not available, `SettingError` if the named one is not.
    """
    chosen = settings.embedding_model
    if chosen is None:
        folder = bundled_model(settings.cache_dir, progress, repository=settings.maven_repository)
        return _from_folder(folder, BUNDLED, settings.embedding_threads)
    if is_url(chosen):
        return load_api_model(chosen, settings.embedding_key)
    named = EMBEDDING_MODEL.folder(chosen)
    with EMBEDDING_MODEL.loading(chosen):
        if named:
            return _from_folder(named, f"folder/{named.name}", settings.embedding_threads)
        return _from_name(EMBEDDING_MODEL.known(chosen, _supported()), settings)


def has_files_of_its_own(settings: Settings) -> bool:
    """Tell whether the model of the settings is in a folder or at a URL, so that none of it is fetched."""
    chosen = settings.embedding_model
    return chosen is not None and (is_url(chosen) or EMBEDDING_MODEL.folder(chosen) is not None)


def check_model(settings: Settings) -> None:
    """Raise `SettingError` for a model that cannot be, as far as that is known before it is loaded."""
    chosen = settings.embedding_model
    if chosen is None:
        return
    if is_url(chosen):
        url_and_name(chosen)
    elif EMBEDDING_MODEL.folder(chosen) is None:
        EMBEDDING_MODEL.known(chosen, _supported())


def _supported() -> list[str]:
    from fastembed import TextEmbedding

    return [model["model"] for model in TextEmbedding.list_supported_models()]


def _from_folder(folder: Path, name: str, threads: int) -> FastembedModel:
    """Load a folder, with CLS pooling; the length of the vectors comes from its config if given there."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    weights = folder / "model.onnx"
    if name not in {model["model"] for model in TextEmbedding.list_supported_models()}:
        config = msgspec.json.decode((folder / "config.json").read_bytes())
        TextEmbedding.add_custom_model(
            model=name,
            dim=config.get("hidden_size", BUNDLED_DIMENSIONS),
            pooling=PoolingType.CLS,
            normalization=True,
            sources=ModelSource(url=folder.as_uri()),
            model_file=weights.name,
        )
    embedding = TextEmbedding(name, specific_model_path=str(folder), threads=threads)
    return FastembedModel(name, embedding, sha256_of(weights))


def _from_name(name: str, settings: Settings) -> FastembedModel:
    """Load one of fastembed's models: from the cache, since an unreachable hub costs 39 s, else fetched."""
    from fastembed import TextEmbedding

    cache = str(settings.cache_dir / "fastembed")
    try:
        embedding = TextEmbedding(
            name, cache_dir=cache, threads=settings.embedding_threads, local_files_only=True
        )
    except Exception:
        EMBEDDING_MODEL.require_hub(name, cache, "name the URL of an embedding server")
        embedding = TextEmbedding(name, cache_dir=cache, threads=settings.embedding_threads)
    inner: Any = embedding.model
    weights = Path(inner._model_dir) / inner.model_description.model_file
    return FastembedModel(name, embedding, sha256_of(weights))


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine, -1 to 1, of two unit vectors of one model."""
    return float(sum(map(mul, one, other)))


def _unit(vector: Vector) -> Vector:
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else vector
