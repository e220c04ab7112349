"""neo4j-graphrag: its hybrid retriever, which has no filter, on a pair of indexes for each tenant."""

import re
from collections.abc import Sequence

from neo4j import GraphDatabase
from neo4j_graphrag.embeddings.base import Embedder
from neo4j_graphrag.indexes import create_fulltext_index, create_vector_index, upsert_vectors
from neo4j_graphrag.retrievers import HybridRetriever
from neo4j_graphrag.types import HybridSearchRanker, RetrieverResultItem

from bench.peers.serve import Hit, Message, Vectors

ALPHA = 0.6
"""The share of the vectors in the score."""

CREATE = """
UNWIND $rows AS row
CREATE (message:$($label) {id: row.id, text: row.text})
RETURN elementId(message) AS id
"""
SPECIAL = re.compile(r"[+\-&|!(){}\[\]^\"~*?:\\/]|\b(?:AND|OR|NOT)\b")
"""The retriever passes a question on as a Lucene query."""


class Embedding(Embedder):
    """The vectors that all use."""

    def __init__(self, vectors: Vectors) -> None:
        super().__init__()
        self._vectors = vectors

    def embed_query(self, text: str) -> list[float]:
        """Return a text's vector."""
        return self._vectors.of([text])[0]


class Peer:
    """The retriever, and nodes written as its documentation says."""

    distribution = "neo4j-graphrag"

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._retrievers: dict[str, HybridRetriever] = {}

    def open(self, folder: str, neo4j: dict[str, str]) -> None:
        """Connect."""
        self._driver = GraphDatabase.driver(neo4j["uri"], auth=(neo4j["user"], neo4j["password"]))

    def add(self, tenant: str, messages: Sequence[Message], invented: bool) -> None:
        """Create the nodes, then set their vectors by `upsert_vectors`."""
        label = _label(tenant)
        if tenant not in self._retrievers:
            self._retrievers[tenant] = self._retriever(label)
        rows = [{"id": message["id"], "text": message["text"]} for message in messages]
        created, _, _ = self._driver.execute_query(CREATE, rows=rows, label=label)
        upsert_vectors(
            self._driver,
            [record["id"] for record in created],
            "embedding",
            self._vectors.of([message["text"] for message in messages]),
        )

    def search(self, tenant: str, query: str, limit: int) -> list[Hit]:
        """Ask the tenant's retriever."""
        found = self._retrievers[tenant].search(
            query_text=SPECIAL.sub(" ", query),
            query_vector=self._vectors.of([query])[0],
            top_k=limit,
            ranker=HybridSearchRanker.LINEAR,
            alpha=ALPHA,
        )
        return [(item.metadata["id"], item.content) for item in found.items]

    def close(self) -> None:
        """Disconnect."""
        self._driver.close()

    def _retriever(self, label: str) -> HybridRetriever:
        create_vector_index(self._driver, f"{label}_vector", label, "embedding", 384, "cosine")
        create_fulltext_index(self._driver, f"{label}_text", label, ["text"])
        self._driver.execute_query("CALL db.awaitIndexes(60)")
        return HybridRetriever(
            self._driver,
            f"{label}_vector",
            f"{label}_text",
            Embedding(self._vectors),
            return_properties=["id", "text"],
            result_formatter=lambda record: RetrieverResultItem(
                content=record["node"]["text"], metadata={"id": record["node"]["id"]}
            ),
        )


def _label(tenant: str) -> str:
    return "T_" + re.sub(r"\W", "_", tenant)
