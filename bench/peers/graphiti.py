"""graphiti without a language model: messages as facts on edges, found by its hybrid search.

Its episodes, which a model reads, are found by words alone. Its search of facts has words and vectors, so
each message is the fact of an edge from its speaker to its session, written by graphiti's own bulk function.
"""

import os

os.environ["EMBEDDING_DIM"] = "384"
os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"
os.environ["OPENAI_API_KEY"] = "unused"

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from graphiti_core import Graphiti
from graphiti_core.cross_encoder.client import CrossEncoderClient
from graphiti_core.edges import EntityEdge
from graphiti_core.embedder.client import EmbedderClient
from graphiti_core.nodes import EntityNode
from graphiti_core.utils.bulk_utils import add_nodes_and_edges_bulk

from bench.peers.serve import Hit, Message, Vectors


class Embedding(EmbedderClient):
    """The vectors that all use."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    async def create(
        self, input_data: str | list[str] | Iterable[int] | Iterable[Iterable[int]]
    ) -> list[float]:
        """Return a text's vector."""
        [text] = [input_data] if isinstance(input_data, str) else list(input_data)
        return self._vectors.of([str(text)])[0]

    async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
        """Return the texts' vectors."""
        return self._vectors.of(input_data_list)


class NoReranker(CrossEncoderClient):
    """The search by reciprocal ranks asks none."""

    async def rank(self, query: str, passages: list[str]) -> list[tuple[str, float]]:
        """Raise: it is not asked."""
        raise NotImplementedError


class Peer:
    """Graphiti on Neo4j."""

    distribution = "graphiti-core"

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    async def open(self, folder: str, neo4j: dict[str, str]) -> None:
        """Connect, and make the indexes."""
        self._embedder = Embedding(self._vectors)
        self._graphiti = Graphiti(
            neo4j["uri"],
            neo4j["user"],
            neo4j["password"],
            embedder=self._embedder,
            cross_encoder=NoReranker(),
        )
        await self._graphiti.build_indices_and_constraints()

    async def add(self, tenant: str, messages: Sequence[Message], invented: bool) -> None:
        """Write the messages of a batch, their speakers and sessions, in one transaction."""
        group, now = _group(tenant), datetime.now(UTC)
        names = {_speaker(message) for message in messages} | {m["session"] for m in messages}
        nodes = [
            EntityNode(
                uuid=f"{group}/{name}", name=name, group_id=group, created_at=now, labels=["Entity"]
            )
            for name in sorted(names)
        ]
        vectors = self._vectors.of([message["text"] for message in messages])
        edges = [
            EntityEdge(
                uuid=f"{group}/{message['id']}",
                source_node_uuid=f"{group}/{_speaker(message)}",
                target_node_uuid=f"{group}/{message['session']}",
                name="SAID",
                fact=message["text"],
                fact_embedding=vector,
                group_id=group,
                created_at=now,
                valid_at=datetime.fromisoformat(message["occurred_at"]),
                attributes={"message": message["id"]},
            )
            for message, vector in zip(messages, vectors, strict=True)
        ]
        await add_nodes_and_edges_bulk(self._graphiti.driver, [], [], nodes, edges, self._embedder)

    async def search(self, tenant: str, query: str, limit: int) -> list[Hit]:
        """Ask by its hybrid search of facts: words and cosine, fused by reciprocal ranks."""
        found = await self._graphiti.search(query, group_ids=[_group(tenant)], num_results=limit)
        return [(edge.attributes["message"], edge.fact) for edge in found]

    async def close(self) -> None:
        """Disconnect."""
        await self._graphiti.close()


def _speaker(message: Message) -> str:
    return str(message["name"] or message["role"])


def _group(tenant: str) -> str:
    return tenant.replace(".", "-").replace(" ", "-")
