"""Opening a conversation, and deleting it with everything in it."""

from datetime import datetime

from graphmem.errors import ConversationNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.conversation import Conversation, Deleted

OPEN_CONVERSATION = Query("writing/open_conversation", Conversation, writes=True)
DELETE_CONVERSATION = Query("writing/delete_conversation", Deleted, writes=True)
DELETE_CONVERSATION_MEMORIES = Query("writing/delete_conversation_memories", Deleted, writes=True)


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
    """Delete a conversation with its sessions and memories; return how many there were.

    Memories go first, some thousands a transaction, the conversation last: an interrupted deletion
    is finished by asking again. Raises `ConversationNotFound`.
    """
    memories = 0
    while True:
        gone = await graph.write(
            lambda transaction: transaction.rows(
                DELETE_CONVERSATION_MEMORIES,
                client_id=client_id,
                id=conversation_id,
                limit=DELETED_AT_ONCE,
            )
        )
        memories += gone[0].memories
        if gone[0].memories < DELETED_AT_ONCE:
            break
    rows = await graph.write(
        lambda transaction: transaction.rows(
            DELETE_CONVERSATION, client_id=client_id, id=conversation_id
        )
    )
    if not rows:
        raise ConversationNotFound(conversation_id)
    return Deleted(conversations=1, sessions=rows[0].sessions, memories=memories + rows[0].memories)
