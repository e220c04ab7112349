"""Reranking: a cross-encoder reads the question together with each of the first memories; off by default.

Its word is one more signal of the default ranking. It reads few memories, of each a few sentences, and an
answer waits for it for a limited time: without its word, the answer is that of the ranking, and says so.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from graphmem.artifacts.maven import sha256_of
from graphmem.config import OFF, Settings
from graphmem.embedding import Lane, ModelSetting
from graphmem.errors import Unavailable
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.vocabulary import Lack
from graphmem.observing.metrics import DEGRADED, RERANKING_SECONDS
from graphmem.observing.spans import span
from graphmem.retrieval.finding import SearchedText
from graphmem.retrieval.fusion import best_first, min_max
from graphmem.retrieval.ranking import Ranked

RERANKER = "reranker"
"""The name of the signal."""

WEIGHT = 0.3
"""The weight of the signal: it decides among memories with like scores."""

PAIRS = 20
"""The maximum number of memories of a question that are read."""

BATCH = 4
"""The pairs that are read at once: those of a question that waits no more are not begun."""

DEADLINE_SECONDS = 2.0
"""The time that an answer waits, other questions' pairs included."""

PAIR_TOKENS = 256
"""The tokens of the model for a question and a text: about 200 for the text."""

QUESTION_CHARACTERS, TEXT_CHARACTERS = 500, 1_500
"""The characters of a question and of a text that are tokenized at all."""

NO_RERANKER: Lack = "no_reranker"
"""The reranker failed or was too slow, and the order is that of the other signals."""

SETTING = ModelSetting("GRAPHMEM_RERANKER", f"mend it, or set it to {OFF}")
NOT_COMMERCIAL = "cc-by-nc"
"""The licences that forbid commercial use begin so."""

READ_TEXTS = Query("retrieval/read_texts", SearchedText)

Fetch = Callable[[Mapping[str, int | None]], Awaitable[list[SearchedText]]]

log = logging.getLogger(__name__)


class CrossEncoder(Protocol):
    """A loaded model that scores, in the calling thread, texts as answers to a question."""

    name: str
    sha256: str

    def scores(self, question: str, texts: list[str]) -> list[float]:
        """Return a score for each text, a higher one for a better answer."""
        ...


class FastembedCrossEncoder:
    """A cross-encoder that fastembed runs on onnxruntime."""

    def __init__(self, name: str, encoder: Any, sha256: str) -> None:
        self.name = name
        self.sha256 = sha256
        self._encoder = encoder
        tokenizer = encoder.model.tokenizer
        window = (tokenizer.truncation or {}).get("max_length", PAIR_TOKENS)
        tokenizer.enable_truncation(max_length=min(window, PAIR_TOKENS))
        self.scores("warm", ["warm"])

    def scores(self, question: str, texts: list[str]) -> list[float]:
        """Return the scores of the texts. Raises `ValueError` if one is no finite number."""
        found = list(self._encoder.rerank(question, texts, batch_size=len(texts)))
        if len(found) != len(texts) or not all(map(math.isfinite, found)):
            raise ValueError("a score is missing or not finite")
        return found


class Reranker:
    """Runs a cross-encoder in its own thread; callers take turns batch by batch."""

    def __init__(self, model: CrossEncoder, seconds: float = DEADLINE_SECONDS) -> None:
        self.model = model
        self._seconds = seconds
        self._lane = Lane(RERANKER)

    async def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the scores of the texts, in their order. Raises `Unavailable`, also after the deadline."""
        asked = question[:QUESTION_CHARACTERS]
        seen = [text[:TEXT_CHARACTERS] for text in texts]
        batches = [
            self._lane.run(
                0,
                lambda some=seen[start : start + BATCH]: self._read(asked, some),  # type: ignore[misc]
                piece,
                failure="the reranker failed",
            )
            for piece, start in enumerate(range(0, len(seen), BATCH))
        ]
        try:
            async with asyncio.timeout(self._seconds):
                found = await asyncio.gather(*batches)
        except TimeoutError as problem:
            raise Unavailable(f"the reranker took longer than {self._seconds:g} s") from problem
        finally:
            for batch in batches:
                batch.cancel()
        return [score for some in found for score in some]

    async def close(self) -> None:
        """Finish the accepted work, then end the thread."""
        await asyncio.to_thread(self._lane.close)

    def _read(self, question: str, texts: list[str]) -> list[float]:
        with RERANKING_SECONDS.time():
            return self.model.scores(question, texts)


class Reranked(Struct, frozen=True):
    """A ranking with the reranker's signal, or without it and with the reason."""

    ranking: list[Ranked]
    degraded: list[Lack] = []


async def reranked(
    ranking: Sequence[Ranked],
    question: str,
    reranker: Reranker,
    fetch: Fetch,
) -> Reranked:
    """Return a ranking whose first memories a cross-encoder has read; as it is if that fails.

    Of a long memory it reads the best passage; `fetch` is `fetch_texts` for each client that is read. Raises
    `Unavailable` if the database fails.
    """
    first = list(ranking[:PAIRS])
    if len(first) < 2:
        return Reranked(list(ranking))
    with span("rerank", {"graphmem.texts": len(first)}):
        texts = await _texts(first, fetch)
        try:
            scores = await reranker.scores(question, texts)
        except Unavailable as problem:
            log.warning("an answer goes on without the reranker: %s", problem)
            DEGRADED.labels(NO_RERANKER).inc()
            return Reranked(list(ranking), [NO_RERANKER])
    return Reranked(with_signal(ranking, dict(zip((one.id for one in first), scores, strict=True))))


def with_signal(ranking: Sequence[Ranked], told: Mapping[str, float]) -> list[Ranked]:
    """Return a ranking with the reranker's signal, 0–1, added to the memories that it has read."""
    signal = min_max(told)
    signals = {**ranking[0].signals, RERANKER: signal}
    weights = {**ranking[0].weights, RERANKER: WEIGHT}
    scored = {
        one.id: replace(
            one,
            score=one.score + WEIGHT * signal.get(one.id, 0.0),
            signals=signals,
            weights=weights,
        )
        for one in ranking
    }
    order = best_first((one.candidate for one in ranking), lambda one: scored[one.id].score)
    return [scored[one.id] for one in order]


async def _texts(first: Sequence[Ranked], fetch: Fetch) -> list[str]:
    """Return the texts to read, with their speakers; of a long memory its best passage."""
    wanted = {
        one.id: passages[0].place if passages else None
        for one in first
        if (passages := one.candidate.passages) or not one.candidate.text
    }
    rows = await fetch(wanted) if wanted else []
    texts = {one.id: one.candidate.text for one in first} | {row.id: row.text for row in rows}
    return [
        f"{one.candidate.name}: {texts[one.id]}" if one.candidate.name else texts[one.id]
        for one in first
    ]


async def fetch_texts(
    places: Mapping[str, int | None], *, client_id: str, graph: Graph
) -> list[SearchedText]:
    """Return the texts to read of memories, by id with the place of a passage. Raises `Unavailable`."""
    wanted = [{"id": id, "place": place} for id, place in places.items()]
    return await graph.rows(READ_TEXTS, client_id=client_id, wanted=wanted, longest=TEXT_CHARACTERS)


def load_reranker(settings: Settings, *, fetch: bool = True) -> CrossEncoder | None:
    """Load the cross-encoder in the settings: a folder, or fastembed's name of it; None if it is off.

    Raises `SettingError`, also if the licence forbids commercial use, and without `fetch` if the model is not
    on this machine.
    """
    chosen = settings.reranker
    if chosen == OFF:
        return None
    named = SETTING.folder(chosen)
    with SETTING.loading(chosen):
        if named:
            return _from_folder(named, settings.embedding_threads)
        return _from_name(_known(chosen), settings, fetch)


def check_reranker(settings: Settings) -> None:
    """Raise `SettingError` for a cross-encoder that cannot be, as far as is known before it is loaded."""
    if is_fetched_by_name(settings):
        _known(settings.reranker)


def is_fetched_by_name(settings: Settings) -> bool:
    """Tell whether the cross-encoder is neither off nor in a folder. Raises `SettingError`."""
    return settings.reranker != OFF and SETTING.folder(settings.reranker) is None


def _known(chosen: str) -> str:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    licences = {one["model"]: one["license"] for one in TextCrossEncoder.list_supported_models()}
    name = SETTING.known(chosen, licences)
    if licences[name].startswith(NOT_COMMERCIAL):
        raise SETTING.wrong(
            f"the licence of {name!r} ({licences[name]}) forbids commercial use; name a folder with its "
            "files if yours allows it"
        )
    return name


def _from_folder(folder: Path, threads: int) -> FastembedCrossEncoder:
    from fastembed.common.model_description import ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    name, weights = f"folder/{folder.name}", folder / "model.onnx"
    if name not in {model["model"] for model in TextCrossEncoder.list_supported_models()}:
        TextCrossEncoder.add_custom_model(
            model=name, sources=ModelSource(url=folder.as_uri()), model_file=weights.name
        )
    encoder = TextCrossEncoder(name, specific_model_path=str(folder), threads=threads)
    return FastembedCrossEncoder(name, encoder, sha256_of(weights))


def _from_name(name: str, settings: Settings, fetch: bool) -> FastembedCrossEncoder:
    """Load one of fastembed's cross-encoders: from the cache, else fetched."""
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    cache, threads = str(settings.cache_dir / "fastembed"), settings.embedding_threads
    try:
        encoder = TextCrossEncoder(name, cache_dir=cache, threads=threads, local_files_only=True)
    except Exception as problem:
        if not fetch:
            raise SETTING.wrong(
                f"{name!r} is not in {cache}: the next start fetches it"
            ) from problem
        SETTING.require_hub(name, cache, f"set it to {OFF}")
        encoder = TextCrossEncoder(name, cache_dir=cache, threads=threads)
    inner: Any = encoder.model
    weights = Path(inner._model_dir) / inner.model_description.model_file
    return FastembedCrossEncoder(name, encoder, sha256_of(weights))
