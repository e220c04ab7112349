"""An embedding model that remembers what it has embedded, so that a benchmark can be run again soon."""

import sqlite3
from array import array
from hashlib import sha256
from pathlib import Path

from graphmem.embedding import Model, Vector


class CachedModel:
    """A model whose vectors are kept by the hash of model and text, in a file outside the repository."""

    def __init__(self, model: Model, folder: Path) -> None:
        self._model = model
        self.name, self.sha256, self.dimensions = model.name, model.sha256, model.dimensions
        folder.mkdir(parents=True, exist_ok=True)
        self._store = sqlite3.connect(folder / "embeddings.sqlite", check_same_thread=False)
        self._store.execute(
            "CREATE TABLE IF NOT EXISTS embedding (key BLOB PRIMARY KEY, vector BLOB)"
        )

    def embed(self, texts: list[str]) -> list[Vector]:
        """Return the texts' unit vectors, embedding only those that are new."""
        keys = [sha256(f"{self.sha256}\0{text}".encode()).digest() for text in texts]
        known = {key: vector for key in keys if (vector := self._read(key)) is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            for key, vector in zip(missing, self._model.embed(list(missing.values())), strict=True):
                known[key] = vector
                self._store.execute(
                    "INSERT OR IGNORE INTO embedding VALUES (?, ?)",
                    (key, array("f", vector).tobytes()),
                )
            self._store.commit()
        return [known[key] for key in keys]

    def truncates(self, text: str) -> bool:
        """Tell whether a text is longer than the model's window."""
        return self._model.truncates(text)

    def _read(self, key: bytes) -> Vector | None:
        row = self._store.execute("SELECT vector FROM embedding WHERE key = ?", (key,)).fetchone()
        return list(array("f", row[0])) if row else None
