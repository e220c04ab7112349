"""Opening a conversation, and deleting it with everything in it."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from msgspec import Struct

from graphmem.accesses import forget_reads
from graphmem.conversations.types import Conversation, Deleted
from graphmem.errors import ConversationNotFound
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.memories.delete import Gone, delete_unmentioned
from graphmem.model.times import BEGINNING


class Rest(Struct, frozen=True):
    """What went with a conversation itself."""

    sessions: int
    memories: int
    entities: list[str]


OPEN_CONVERSATION = Query("conversations/open_conversation", Conversation, writes=True)
DELETE_CONVERSATION = Query("conversations/delete_conversation", Rest, writes=True)
DELETE_CONVERSATION_MEMORIES = Query(
    "conversations/delete_conversation_memories", Gone, writes=True
)
DELETE_CONVERSATION_RECORDS = Query(
    "conversations/delete_conversation_records", RowsWritten, writes=True
)


async def open_conversation(
    conversation_id: str, title: str | None, *, client_id: str, now: datetime, graph: Graph
) -> Conversation:
    """Return the conversation with this id; `created` says whether it is new."""
    rows = await graph.write(
        lambda transaction: transaction.rows(
            OPEN_CONVERSATION, client_id=client_id, id=conversation_id, title=title, created_at=now
        )
    )
    return rows[0]


DELETED_AT_ONCE = 5_000
"""How many memories one transaction deletes: the transaction's memory is limited."""


async def delete_conversation(conversation_id: str, *, client_id: str, graph: Graph) -> Deleted:
    """Delete a conversation with everything in it; return how many sessions and memories there were.

    Its memories of every kind go first, some thousands a transaction, then its reviews and jobs, the
    conversation with its sessions and their summaries last: an interrupted deletion is finished by
    asking again. Entities that nothing else mentions go with them, and so do records of reads of no
    conversation that showed nothing else. Raises `ConversationNotFound`.
    """
    asked = {"client_id": client_id, "id": conversation_id}

    async def some_memories(transaction: Transaction) -> int:
        rows = await transaction.rows(DELETE_CONVERSATION_MEMORIES, limit=DELETED_AT_ONCE, **asked)
        await delete_unmentioned(transaction, rows[0].entities, client_id=client_id)
        return rows[0].memories

    async def some_records(transaction: Transaction) -> int:
        rows = await transaction.rows(DELETE_CONVERSATION_RECORDS, limit=DELETED_AT_ONCE, **asked)
        return rows[0].written

    async def the_rest(transaction: Transaction) -> list[Rest]:
        rows = await transaction.rows(DELETE_CONVERSATION, **asked)
        if rows:
            await delete_unmentioned(transaction, rows[0].entities, client_id=client_id)
        return rows

    memories = await _all(some_memories, graph)
    await _all(some_records, graph)
    rows = await graph.write(the_rest)
    if not rows:
        raise ConversationNotFound(conversation_id)
    await forget_reads(client_id=client_id, before=BEGINNING, graph=graph)
    return Deleted(conversations=1, sessions=rows[0].sessions, memories=memories + rows[0].memories)


async def _all(delete_some: Callable[[Transaction], Awaitable[int]], graph: Graph) -> int:
    """Delete some at a time until there are no more; return how many there were."""
    total = 0
    while (gone := await graph.write(delete_some)) == DELETED_AT_ONCE:
        total += gone
    return total + gone
