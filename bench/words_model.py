"""An embedding model of a few lines, for benchmarks at scale: a vector for each word, summed.

Texts that share rare words lie near each other; no model takes part. It is as cheap as it looks, so that
hundreds of thousands of memories can be written the way the product writes them.
"""

import hashlib
import re
from functools import lru_cache

import numpy as np

from graphmem.embedding import Vector

DIMENSIONS = 384
COMMON = 1.2
"""What all vectors have in common, as those of real models do: unrelated texts lie near a cosine of .6."""

_WORD = re.compile(r"\w+")


class WordsModel:
    """A model whose vectors are the sums of random vectors, one for each word."""

    name = "bench/words"
    sha256 = hashlib.sha256(b"bench/words").hexdigest()
    dimensions = DIMENSIONS

    def embed(self, texts: list[str]) -> list[Vector]:
        """Return the texts' unit vectors."""
        return [self._vector(text) for text in texts]

    def truncates(self, text: str) -> bool:
        """It reads everything."""
        return False

    def _vector(self, text: str) -> Vector:
        words = set(_WORD.findall(text.lower()))
        own = np.sum([_direction(word) for word in words], axis=0) if words else 0.0
        length = np.linalg.norm(own)
        vector = COMMON * _direction("") + (own / length if length else 0.0)
        unit: Vector = (vector / np.linalg.norm(vector)).tolist()
        return unit


@lru_cache(100_000)
def _direction(word: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8])
    direction: np.ndarray = np.random.default_rng(seed).normal(size=DIMENSIONS)
    unit: np.ndarray = direction / np.linalg.norm(direction)
    return unit
