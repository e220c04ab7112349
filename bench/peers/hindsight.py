"""Hindsight without a language model (`none`): each message is kept as it is, in a bank for each tenant."""

import os

os.environ |= {
    "HINDSIGHT_API_LLM_PROVIDER": "none",
    "HINDSIGHT_API_RERANKER_PROVIDER": "rrf",
    # A message is one memory, as it is elsewhere.
    "HINDSIGHT_API_RETAIN_CHUNK_SIZE": "100000",
    # Links between like texts lower its recall@10 where no model ranks again: no question follows them.
    "HINDSIGHT_API_GRAPH_SEED_MIN_SIMILARITY": "0.99",
    "HINDSIGHT_API_LOG_LEVEL": "warning",
}

import json
import shutil
import subprocess
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pg0
from hindsight_api import MemoryEngine, RequestContext
from hindsight_api.engine.cross_encoder import RRFPassthroughCrossEncoder
from hindsight_api.engine.embeddings import Embeddings
from hindsight_api.engine.memory_engine import Budget
from hindsight_api.engine.task_backend import SyncTaskBackend

from bench.peers.serve import Hit, Message, Vectors

TOKENS = 200_000


class Embedding(Embeddings):
    """The vectors that all use, of the text with the date that Hindsight adds to it."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self.invented = False

    @property
    def provider_name(self) -> str:
        """The name that it logs."""
        return "bench"

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._vectors.dimensions

    async def initialize(self) -> None:
        """Do nothing."""

    async def encode(self, texts: list[str]) -> list[list[float]]:
        """Return the texts' vectors; an invented text's is that without the date."""
        if self.invented:
            texts = [text.rpartition(" (happened in ")[0] or text for text in texts]
        return self._vectors.of(texts)


class Postgres:
    """The PostgreSQL that pg0 brings, which does not run as root."""

    def __init__(self, folder: Path) -> None:
        self._user = "nobody" if os.geteuid() == 0 else None
        self._program = folder / "pg0"
        self._environment = os.environ | {"HOME": str(folder)}
        shutil.copy(Path(pg0.__file__).parent / "bin" / "pg0", self._program)
        for place in (folder.parent, folder):
            place.chmod(0o777)

    def start(self) -> str:
        """Start it, and return its address."""
        self._run("start")
        return str(json.loads(self._run("info", "-o", "json"))["uri"])

    def stop(self) -> None:
        """Stop it."""
        self._run("stop")

    def _run(self, *arguments: str) -> str:
        # Its server keeps what it inherits open: a pipe would never end.
        output = self._program.with_name("output")
        with output.open("w") as writable:
            subprocess.run(  # noqa: S603  # a program of the environment
                [self._program, *arguments, "--name", "bench"],
                stdin=subprocess.DEVNULL,
                stdout=writable,
                stderr=subprocess.STDOUT,
                env=self._environment,
                cwd=self._program.parent,
                user=self._user,
                check=True,
            )
        return output.read_text()


class Peer:
    """Its engine, in process."""

    distribution = "hindsight-api-slim"

    def __init__(self, vectors: Vectors) -> None:
        self._embeddings = Embedding(vectors)
        self._asked = RequestContext(internal=True)

    async def open(self, folder: str, neo4j: dict[str, str] | None) -> None:
        """Start PostgreSQL and the engine, which makes the tables."""
        self._postgres = Postgres(Path(folder))
        self._engine = MemoryEngine(
            db_url=self._postgres.start(),
            memory_llm_provider="none",
            embeddings=self._embeddings,
            cross_encoder=RRFPassthroughCrossEncoder(),
            task_backend=SyncTaskBackend(),
        )
        await self._engine.initialize()

    async def add(self, tenant: str, messages: Sequence[Message], invented: bool) -> None:
        """Retain a batch, each message with its time."""
        self._embeddings.invented = invented
        contents = [
            {
                "content": message["text"],
                "event_date": datetime.fromisoformat(message["occurred_at"]),
                "document_id": f"{message['session']}/{message['id']}",
            }
            for message in messages
        ]
        await self._engine.retain_batch_async(tenant, contents, request_context=self._asked)

    async def search(self, tenant: str, query: str, limit: int) -> list[Hit]:
        """Recall with its middle budget."""
        found = await self._engine.recall_async(
            tenant,
            query,
            budget=Budget.MID,
            max_tokens=TOKENS,
            fact_type=["world"],
            request_context=self._asked,
        )
        # Not every fact comes back with its metadata, but with its document.
        return [
            (str(fact.document_id).rpartition("/")[2], fact.text) for fact in found.results[:limit]
        ]

    async def close(self) -> None:
        """Stop both."""
        await self._engine.close()
        self._postgres.stop()
