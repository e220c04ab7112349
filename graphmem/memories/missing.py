"""What a repeated transaction has already written: after a lost answer it is not written again."""

from collections.abc import Sequence

from msgspec import Struct

from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query
from graphmem.memories.write import Prepared


class Written(Struct, frozen=True):
    """A memory that is there."""

    id: str


WRITTEN_MEMORIES = Query("memories/written_memories", Written)


async def missing(
    transaction: Transaction, memories: Sequence[Prepared], *, client_id: str
) -> list[Prepared]:
    """Return those of the memories that are not written yet, in their order."""
    ids = [memory.draft.id for memory in memories]
    rows = await transaction.rows(WRITTEN_MEMORIES, client_id=client_id, ids=ids)
    there = {row.id for row in rows}
    return [memory for memory in memories if memory.draft.id not in there]
