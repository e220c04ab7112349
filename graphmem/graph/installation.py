"""The one installation in a database: which embedding model and tokenizer its memories were made with."""

from msgspec import Struct

from graphmem.errors import ModelMismatch
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query


class Installation(Struct, frozen=True):
    """What every process on one database must agree on."""

    embedding_model: str
    embedding_sha256: str
    dimensions: int
    tokenizer: str


KEEP_INSTALLATION = Query("graph/keep_installation", Installation, writes=True)


async def agree(graph: Graph, ours: Installation) -> None:
    """Store what this process uses, or raise `ModelMismatch` when the database holds something else."""
    stored = (
        await graph.write(
            lambda transaction: transaction.rows(
                KEEP_INSTALLATION,
                embedding_model=ours.embedding_model,
                embedding_sha256=ours.embedding_sha256,
                dimensions=ours.dimensions,
                tokenizer=ours.tokenizer,
            )
        )
    )[0]
    require_same(stored, ours)


def require_same(stored: Installation, ours: Installation) -> None:
    """Raise `ModelMismatch` when the database holds something else than this process uses."""
    if stored.tokenizer != ours.tokenizer:
        raise ModelMismatch(
            f"the memories in this database were counted with {stored.tokenizer!r}, "
            f"this graphmem counts with {ours.tokenizer!r}: use the version that wrote them"
        )
    if stored != ours:
        raise ModelMismatch(
            f"the memories in this database were embedded with {stored.embedding_model!r} "
            f"(sha256 {stored.embedding_sha256[:12]}…, {stored.dimensions} dimensions), not with "
            f"{ours.embedding_model!r} (sha256 {ours.embedding_sha256[:12]}…, {ours.dimensions}): "
            "set GRAPHMEM_EMBEDDING_MODEL to the former or use another database or data folder"
        )
