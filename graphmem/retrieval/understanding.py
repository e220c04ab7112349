"""A question prepared for the indexes: vector, words and weights; and a stopwatch for the stages."""

import asyncio
import logging
import time
from collections.abc import Mapping

from msgspec import Struct

from graphmem.embedding import Embedder, Vector
from graphmem.errors import Unavailable
from graphmem.observing.metrics import DEGRADED
from graphmem.retrieval.knowledge import KNOWN, Knowledge, knows
from graphmem.retrieval.vocabulary import Vocabulary
from graphmem.text.languages import language
from graphmem.text.words import terms, weights

NO_VECTOR = "no_vector"
"""The embedding model failed, and only words were searched."""

LANGUAGE = "language"
"""The embedding model does not know the language of the question: words lead."""

log = logging.getLogger(__name__)


class Understood(Struct, frozen=True):
    """A question with its words and its vector; None if the model failed or no vector was requested."""

    text: str
    embedding: Vector | None
    words: list[str]
    weight: Mapping[str, float]
    degraded: list[str]
    spoken: str | None = None
    """The code of its language, if the text tells it."""

    @property
    def lacks_vector(self) -> bool:
        """Whether the embedding model failed."""
        return NO_VECTOR in self.degraded


class Stopwatch:
    """Measures milliseconds between laps."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._laps: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        """End a stage."""
        now = time.perf_counter()
        self._laps[stage] = round((now - self._last) * 1000, 3)
        self._last = now

    def laps(self) -> dict[str, float]:
        """Return the milliseconds of each stage, and their total."""
        return self._laps | {"total": round((self._last - self._start) * 1000, 3)}


async def understand(
    query: str,
    *,
    client_id: str,
    embedder: Embedder,
    vocabulary: Vocabulary,
    knowledge: Knowledge,
    by_meaning: bool = True,
    by_words: bool = True,
) -> Understood:
    """Embed a question and weigh its words, once for all legs.

    If the embedding model fails only the words remain, and `degraded` contains `no_vector`; `language` if it
    does not know the question's language.
    """
    spoken = language(query)
    words = terms(query, spoken) if by_words else []
    (embedding, degraded), shares = await asyncio.gather(
        _embed(query if by_meaning else None, embedder), vocabulary.shares(client_id)
    )
    if embedding is not None and knows(knowledge, spoken) < KNOWN:
        DEGRADED.labels(LANGUAGE).inc()
        degraded = [*degraded, LANGUAGE]
    return Understood(query, embedding, words, weights(words, shares), degraded, spoken)


async def _embed(query: str | None, embedder: Embedder) -> tuple[Vector | None, list[str]]:
    if query is None:
        return None, []
    try:
        return await embedder.query(query), []
    except Unavailable as problem:
        log.warning("a question goes on without the vector leg: %s", problem)
        DEGRADED.labels(NO_VECTOR).inc()
        return None, [NO_VECTOR]
