"""Opening and changing a conversation, and deleting it with everything in it."""

from functools import partial
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from graphmem.accesses import READS_AT_ONCE, forget_reads
from graphmem.context import Context
from graphmem.conversations.types import (
    ChangedConversation,
    Conversation,
    Deleted,
    NewConversation,
)
from graphmem.errors import ConversationNotFound, InvalidInput
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.graph.scope import scope_word
from graphmem.memories.memory import (
    Gone,
    delete_in_batches,
    delete_unmentioned,
    erase_reads,
    refuse_on_hold,
)
from graphmem.memories.write import WrittenMemory
from graphmem.model.annotations import checked_tags, decoded, encoded
from graphmem.model.times import BEGINNING, END


class DeletedConversation(Struct, frozen=True):
    """The nodes that were deleted with the conversation itself, and the entities that they mentioned."""

    sessions: int
    memories: int
    entities: list[str]


class StoredConversation(Struct, frozen=True):
    """A conversation, and its metadata as the stored JSON text."""

    conversation: Conversation
    metadata: str | None

    @property
    def shown(self) -> Conversation:
        """The conversation as a caller sees it."""
        return replace(self.conversation, metadata=decoded(self.metadata))


OPEN_CONVERSATIONS = Query("conversations/open_conversations", StoredConversation, writes=True)
CHANGE_CONVERSATION = Query("conversations/change_conversation", StoredConversation, writes=True)
DELETE_CONVERSATION = Query("conversations/delete_conversation", DeletedConversation, writes=True)
PART_CHAINS = Query("conversations/part_chains", Gone, writes=True)
MEMORY_IDS = Query("conversations/memory_ids", WrittenMemory)
DELETE_CONVERSATION_MEMORIES = Query(
    "conversations/delete_conversation_memories", Gone, writes=True
)
DELETE_CONVERSATION_PASSAGES = Query(
    "conversations/delete_conversation_passages", RowsWritten, writes=True
)
DELETE_CONVERSATION_RECORDS = Query(
    "conversations/delete_conversation_records", RowsWritten, writes=True
)


async def open_conversation(new: NewConversation, context: Context) -> Conversation:
    """Return the conversation with this id; `created` is true when it is new.

    A missing id is generated. Raises `InvalidInput`, `TooLarge`, `Unavailable`.
    """
    row = {
        "id": new.id or context.new_id(),
        "title": new.title,
        "metadata": encoded(new.metadata, "metadata"),
        "tags": checked_tags(new.tags, "") or [],
    }
    now = context.now()
    rows = await context.graph.write(
        lambda transaction: transaction.rows(
            OPEN_CONVERSATIONS, client_id=context.client_id, conversations=[row], created_at=now
        )
    )
    return rows[0].shown


async def change_conversation(
    conversation_id: str, changed: ChangedConversation, context: Context
) -> Conversation:
    """Change the title and the annotations of a conversation; return it.

    Raises `InvalidInput`, `TooLarge`, `ConversationNotFound`, `Unavailable`.
    """
    rows = await context.graph.change(
        CHANGE_CONVERSATION,
        client_id=context.client_id,
        id=conversation_id,
        changes=_changes(changed),
    )
    if not rows:
        raise ConversationNotFound(conversation_id)
    return rows[0].shown


def _changes(changed: ChangedConversation) -> dict[str, Any]:
    """Return the changed properties as they are stored. Raises `InvalidInput`, `TooLarge`."""
    changes: dict[str, Any] = {}
    if changed.title is not UNSET:
        changes["title"] = changed.title
    if changed.metadata is not UNSET:
        changes["metadata"] = encoded(changed.metadata, "metadata")
    if changed.tags is not UNSET:
        changes["tags"] = checked_tags(changed.tags, "")
    if not changes:
        raise InvalidInput("body", "names nothing to change; send title, metadata or tags")
    return changes


DELETED_AT_ONCE = 5_000
"""The number of memories that one transaction deletes: the transaction's memory is limited."""


async def delete_conversation(conversation_id: str, context: Context) -> Deleted:
    """Delete a conversation with everything in it; return the numbers of its sessions and memories.

    Versions in other conversations are kept as one chain.

    Memories of every kind are deleted first, some thousands in each transaction, then reviews and jobs, and
    at last the conversation with its sessions and their summaries: a repeated call finishes an interrupted
    deletion. Also deleted are entities without other mentions, and records of reads that have no conversation
    and no other results. A legal hold that begins meanwhile stops the next transaction. Raises
    `ConversationNotFound`, `LegalHold`, `Unavailable`.
    """
    client_id, graph = context.client_id, context.graph
    asked = {"client_id": client_id, "id": conversation_id}

    async def delete_memories(ids: list[str], transaction: Transaction) -> int:
        await refuse_on_hold(transaction, client_id)
        parted = await _part_chains(transaction, conversation_id, client_id=client_id)
        rows = await transaction.rows(DELETE_CONVERSATION_MEMORIES, ids=ids, **asked)
        await delete_unmentioned(transaction, rows[0].entities, client_id=client_id)
        return parted + rows[0].memories

    async def delete_rest(transaction: Transaction) -> list[DeletedConversation]:
        await refuse_on_hold(transaction, client_id)
        parted = await _part_chains(transaction, conversation_id, client_id=client_id)
        rows = await transaction.rows(DELETE_CONVERSATION, **asked)
        if rows:
            await delete_unmentioned(transaction, rows[0].entities, client_id=client_id)
        return [replace(row, memories=parted + row.memories) for row in rows]

    await delete_in_batches(
        DELETE_CONVERSATION_PASSAGES,
        {"id": conversation_id},
        DELETED_AT_ONCE,
        client_id=client_id,
        graph=graph,
    )
    memories, left = 0, True
    while left:
        # Chosen before the transaction: were its answer lost, another try would delete and count other ones.
        some = await graph.rows(MEMORY_IDS, limit=DELETED_AT_ONCE, **asked)
        ids = [one.id for one in some]
        await erase_reads(ids, client_id=client_id, graph=graph)
        memories += await graph.delete(partial(delete_memories, ids))
        left = len(some) == DELETED_AT_ONCE
    await delete_in_batches(
        DELETE_CONVERSATION_RECORDS,
        {"id": conversation_id},
        READS_AT_ONCE,
        client_id=client_id,
        graph=graph,
    )
    rows = await graph.delete(delete_rest)
    if not rows:
        raise ConversationNotFound(conversation_id)
    await forget_reads(client_id=client_id, before=BEGINNING, graph=graph)
    return Deleted(conversations=1, sessions=rows[0].sessions, memories=memories + rows[0].memories)


async def _part_chains(transaction: Transaction, conversation_id: str, *, client_id: str) -> int:
    """Delete the versions in a conversation whose chains have versions elsewhere; return their number.

    It holds the conversation's lock, so that no such chain is there until the transaction ends.
    """
    [gone] = await transaction.rows(
        PART_CHAINS,
        client_id=client_id,
        id=conversation_id,
        active_word=scope_word(client_id, "active"),
        end=END,
    )
    await delete_unmentioned(transaction, gone.entities, client_id=client_id)
    return gone.memories
