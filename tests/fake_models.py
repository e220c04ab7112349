"""Minimal embedding models, for tests that change from one to another: hashed bags of words.

`fake-256-plain` and `fake-320-kin` differ in length and in knowledge: for a model of kin `vehicle` and `car`
are one word. `fake-…-slow` takes its time. All other names load the real model.
"""

import hashlib
import math
import re
import time

from graphmem.config import Settings
from graphmem.embedding import Model, Vector, load_model
from graphmem.errors import SettingError
from graphmem.model.progress import Progress
from graphmem.retrieval.knowledge import PAIRS

KIN = {"vehicle": "car"}
MEASURED = {text for pairs in PAIRS.values() for pair in pairs for text in pair}
SLOW_SECONDS = 0.15
WINDOW = 200
"""The number of characters that such a model sees."""


class FakeModel:
    """A model whose vectors count hashed words; `seen` lists the texts that it received, but for those that
    measure what languages it knows."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sha256 = hashlib.sha256(name.encode()).hexdigest()
        _, length, self._manner = name.split("-", 2)
        self.dimensions = int(length)
        self.seen: list[str] = []

    def embed(self, texts: list[str]) -> list[Vector]:
        """Return the texts' unit vectors."""
        if "slow" in self._manner:
            time.sleep(SLOW_SECONDS)
        self.seen += [text for text in texts if text not in MEASURED]
        return [self._vector(text[:WINDOW]) for text in texts]

    def truncates(self, text: str) -> bool:
        """Tell whether a text is longer than the window; one without `kin` says never."""
        return "kin" in self._manner and len(text) > WINDOW

    def _vector(self, text: str) -> Vector:
        # Never a vector of zeros, which Neo4j refuses.
        vector = [0.001] * self.dimensions
        for word in re.findall(r"\w+", text.lower()):
            meant = KIN.get(word, word) if "kin" in self._manner else word
            digest = hashlib.sha256(f"{self.name} {meant}".encode()).digest()
            # Several places for each word: with one, two words in the same place are the same word.
            for start in range(0, 16, 4):
                vector[int.from_bytes(digest[start : start + 4]) % self.dimensions] += 1.0
        length = math.sqrt(sum(value * value for value in vector))
        return [value / length for value in vector]


LOADED: dict[str, FakeModel] = {}
"""The fakes of this process by name: a second load returns the same model, so that `seen` is kept."""


def load(settings: Settings, progress: Progress) -> Model:
    """Load a model as `load_model` does, or a fake one; `missing` is not available."""
    name = settings.embedding_model
    if name is None or not name.startswith("fake-"):
        return load_model(settings, progress)
    if name.endswith("missing"):
        raise SettingError("GRAPHMEM_EMBEDDING_MODEL", f"{name!r} cannot be fetched: mend it")
    return LOADED.setdefault(name, FakeModel(name))
