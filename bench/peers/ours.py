"""graphmem itself, through its public API with its defaults, on the same vectors."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec.structs import replace

import graphmem
from bench.peers.serve import Hit, Message, Vectors
from graphmem.client import Graphmem
from graphmem.embedding import Embedder, Model, Vector

ALL_TOKENS = 200_000


class AtHand:
    """The bundled model, whose vectors are at hand or, those of passages, asked of the runner."""

    def __init__(self, model: Model, vectors: Vectors) -> None:
        self._model, self._vectors = model, vectors
        self.name, self.sha256, self.dimensions = model.name, model.sha256, model.dimensions

    def embed(self, texts: list[str]) -> list[Vector]:
        """Return the texts' vectors."""
        known = {text: vector for text in texts if (vector := self._vectors.known(text))}
        missing = [text for text in texts if text not in known]
        known |= zip(missing, self._vectors.of(missing), strict=True)
        return [known[text] for text in texts]

    def truncates(self, text: str) -> bool:
        """Tell whether a text is longer than the model's window."""
        return self._model.truncates(text)


class Peer:
    """A graphmem with a private Neo4j."""

    distribution = "graphmem"

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._stack = AsyncExitStack()

    async def open(self, folder: str, neo4j: dict[str, str] | None) -> None:
        """Start it with its Neo4j below the folder."""
        data = Path(folder) / "data"
        memory = await self._stack.enter_async_context(graphmem.open(data_dir=data))
        embedder = Embedder(AtHand(memory.runtime.embedder.model, self._vectors))
        self._stack.push_async_callback(embedder.close)
        self._memory = Graphmem(replace(memory.runtime, embedder=embedder))

    async def add(self, tenant: str, messages: Sequence[Message], invented: bool) -> None:
        """Remember a batch."""
        batch = [
            {
                "session_id": message["session"],
                "external_id": message["id"],
                **{key: message[key] for key in ("role", "name", "content", "occurred_at")},
            }
            for message in messages
        ]
        await self._memory.for_client(tenant).remember("said", batch, create=True)

    async def search(self, tenant: str, query: str, limit: int) -> list[Hit]:
        """Return the best memories, whatever their length."""
        memory = self._memory.for_client(tenant)
        found = await memory.recall(query, limit=limit, max_tokens=ALL_TOKENS)
        return [(item.external_id or item.id, item.text) for item in found.items]

    async def context(self, tenant: str, query: str, tokens: int) -> str:
        """Return the context within a budget."""
        found = await self._memory.for_client(tenant).recall(query, max_tokens=tokens)
        return found.context

    async def close(self) -> None:
        """Stop it."""
        await self._stack.aclose()
