"""neo4j-agent-memory: its short-term memory, messages in conversations, found by their vectors."""

from collections.abc import Sequence

from neo4j_agent_memory import MemoryClient, MemorySettings
from neo4j_agent_memory.config.settings import (
    EmbeddingConfig,
    ExtractionConfig,
    ExtractorType,
    Neo4jConfig,
)
from pydantic import SecretStr

from bench.peers.serve import Hit, Message, Vectors

CANDIDATES = 400
"""The limit that is asked for, of which the first hits are taken. The filter acts after the index."""


class Embedding:
    """The vectors that all use."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self.dimensions = vectors.dimensions

    async def embed(self, text: str) -> list[float]:
        """Return a text's vector."""
        return self._vectors.of([text])[0]

    async def embed_batch(self, texts: list[str]) -> list[list[float]]:
        """Return the texts' vectors."""
        return self._vectors.of(texts)


class Peer:
    """A client without extraction."""

    distribution = "neo4j-agent-memory"

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    async def open(self, folder: str, neo4j: dict[str, str]) -> None:
        """Connect, which makes the indexes."""
        settings = MemorySettings(
            neo4j=Neo4jConfig(
                uri=neo4j["uri"], username=neo4j["user"], password=SecretStr(neo4j["password"])
            ),
            embedding=EmbeddingConfig(dimensions=self._vectors.dimensions),
            extraction=ExtractionConfig(extractor_type=ExtractorType.NONE),
        )
        self._client = MemoryClient(settings, embedder=Embedding(self._vectors))
        await self._client.connect()

    async def add(self, tenant: str, messages: Sequence[Message], invented: bool) -> None:
        """Store a batch for each session."""
        by_session: dict[str, list[dict[str, object]]] = {}
        for message in messages:
            by_session.setdefault(f"{tenant}/{message['session']}", []).append(
                {
                    "role": message["role"],
                    "content": message["text"],
                    "timestamp": message["occurred_at"],
                    "metadata": {"tenant": tenant, "message": message["id"]},
                }
            )
        for session, some in by_session.items():
            await self._client.short_term.add_messages_batch(
                session, some, batch_size=500, user_identifier=tenant
            )

    async def search(self, tenant: str, query: str, limit: int) -> list[Hit]:
        """Ask without a threshold, for more than is wanted."""
        found = await self._client.short_term.search_messages(
            query,
            limit=max(limit, CANDIDATES),
            threshold=0.0,
            metadata_filters={"tenant": tenant},
        )
        return [(message.metadata["message"], message.content) for message in found[:limit]]

    async def close(self) -> None:
        """Disconnect."""
        await self._client.close()
