"""A question as the indexes are asked: its vector, its words, and what each word weighs."""

import asyncio
import logging
from collections.abc import Mapping

from msgspec import Struct

from graphmem.embedding import Embedder, Vector
from graphmem.errors import Unavailable
from graphmem.observing.metrics import DEGRADED
from graphmem.retrieval.vocabulary import Vocabulary
from graphmem.text.words import terms, weights

NO_VECTOR = "no_vector"
"""The embedding model failed, so that only words were searched."""

log = logging.getLogger(__name__)


class Understood(Struct, frozen=True):
    """A question's vector, none where the model failed or nobody asked for it, and its words."""

    text: str
    embedding: Vector | None
    words: list[str]
    weight: Mapping[str, float]
    degraded: list[str]


async def understood(
    query: str,
    *,
    client_id: str,
    embedder: Embedder,
    vocabulary: Vocabulary,
    by_meaning: bool = True,
    by_words: bool = True,
) -> Understood:
    """Return a question made ready, once for all legs.

    When the embedding model fails its words stand alone, and `degraded` says so.
    """
    words = terms(query) if by_words else []
    (embedding, degraded), shares = await asyncio.gather(
        _embedded(query if by_meaning else None, embedder), vocabulary.shares(client_id)
    )
    return Understood(query, embedding, words, weights(words, shares), degraded)


async def _embedded(query: str | None, embedder: Embedder) -> tuple[Vector | None, list[str]]:
    if query is None:
        return None, []
    try:
        return await embedder.query(query), []
    except Unavailable as problem:
        log.warning("a question goes on without the vector leg: %s", problem)
        DEGRADED.labels(NO_VECTOR).inc()
        return None, [NO_VECTOR]
