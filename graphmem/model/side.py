"""The two sides of the embeddings: while one serves, the other may be made ready for another model."""

from msgspec import Struct


class Side(Struct, frozen=True):
    """A vector index, and the property of a memory that it is over."""

    index: str
    embedding: str


FIRST = Side("memory_embedding", "embedding")
SECOND = Side("memory_embedding_2", "embedding_2")
SIDES = (FIRST, SECOND)


def side_of(embedding: str) -> Side:
    """Return the side with this property."""
    return next(side for side in SIDES if side.embedding == embedding)


def other(side: Side) -> Side:
    """Return the side that stands in for this one."""
    return SECOND if side == FIRST else FIRST
