"""The two sides of the embeddings: while one is in use, the other may be prepared for another model."""

from msgspec import Struct


class Side(Struct, frozen=True):
    """Two vector indexes, of memories and of their passages, and the property that both index."""

    index: str
    embedding: str
    passage_index: str


FIRST = Side("memory_embedding", "embedding", "passage_embedding")
SECOND = Side("memory_embedding_2", "embedding_2", "passage_embedding_2")
SIDES = (FIRST, SECOND)

VECTORS = frozenset({*(side.embedding for side in SIDES), "whole_embedding"})
"""The properties that hold vectors: of memories, and of a session as a whole. Nobody is shown them."""


def side_of(embedding: str) -> Side:
    """Return the side with this property."""
    return next(side for side in SIDES if side.embedding == embedding)


def other(side: Side) -> Side:
    """Return the opposite side."""
    return SECOND if side == FIRST else FIRST
