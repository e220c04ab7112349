"""mem0 without inference: its default store, Qdrant, in process, with its keyword search switched on."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ["MEM0_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = tempfile.mkdtemp(prefix="mem0-")

from fastembed import SparseTextEmbedding
from mem0 import Memory

from bench.peers.serve import Hit, Message, Vectors

# Lucene's. mem0's encoder would fetch a list of its own from a hub: that model is nothing but the list.
STOP_WORDS = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they
this to was will with
"""


class Embedding:
    """The vectors that all use."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return a text's vector."""
        return self._vectors.of([text])[0]


class Peer:
    """A `Memory` whose models are not asked for anything."""

    distribution = "mem0ai"

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def open(self, folder: str, neo4j: dict[str, str] | None) -> None:
        """Open a store below the folder."""
        place = Path(folder)
        store = {
            "collection_name": "memories",
            "embedding_model_dims": self._vectors.dimensions,
            "path": str(place / "qdrant"),
            "on_disk": True,
        }
        unused = {"provider": "openai", "config": {"api_key": "unused"}}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "llm": unused,
                "embedder": unused,
                "history_db_path": str(place / "history.db"),
            }
        )
        words: Any = SparseTextEmbedding(
            "Qdrant/bm25", specific_model_path=str(place), stopwords=set(STOP_WORDS.split())
        )
        self._memory.embedding_model = Embedding(self._vectors)
        self._memory.vector_store._bm25_encoder = words  # the place of the encoder it loads

    def add(self, tenant: str, messages: Sequence[Message], invented: bool) -> None:
        """Store each as it is; `add` has the metadata of all its messages in common."""
        for message in messages:
            said = {"role": message["role"], "content": message["text"]}
            self._memory.add(
                [said], user_id=tenant, infer=False, metadata={"message": message["id"]}
            )

    def search(self, tenant: str, query: str, limit: int) -> list[Hit]:
        """Ask without a threshold."""
        found = self._memory.search(query, top_k=limit, filters={"user_id": tenant}, threshold=0.0)
        return [(item["metadata"]["message"], item["memory"]) for item in found["results"]]

    def close(self) -> None:
        """Close the store."""
        self._memory.close()
