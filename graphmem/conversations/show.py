"""Listing conversations, their sessions and their messages."""

import asyncio

from msgspec import Struct
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.conversations.types import (
    Conversations,
    ConversationsAsked,
    ListedConversation,
    ListedSession,
    Messages,
    MessagesAsked,
    Sessions,
    SessionsAsked,
)
from graphmem.errors import ConversationNotFound
from graphmem.graph.query import Query
from graphmem.memories.memory import NO_BOUNDS, StoredMemory, listed_memory
from graphmem.model.annotations import decoded
from graphmem.model.pages import PAGE_CHARACTERS, Listing, foreign, listing, page
from graphmem.model.times import period
from graphmem.retrieval.filters import passing

LAST_PLACE = 2**62
"""A place after every message."""


class Total(Struct, frozen=True):
    """The number of all rows of a list."""

    total: int


class SessionsFound(Struct, frozen=True):
    """Some of a conversation's sessions, and the number of all."""

    total: int
    sessions: list[ListedSession]


class MessagesCounted(Struct, frozen=True):
    """The number of the messages of a list, and the id of its session, if there is such a session."""

    session_id: str | None
    total: int


class StoredListedConversation(Struct, frozen=True):
    """A conversation of a list, and its metadata as the stored JSON text."""

    conversation: ListedConversation
    metadata: str | None


CONVERSATIONS = Query("conversations/conversations", StoredListedConversation)
COUNT_CONVERSATIONS = Query("conversations/count_conversations", Total)
SESSIONS = Query("conversations/sessions", SessionsFound)
COUNT_MESSAGES = Query("conversations/count_messages", MessagesCounted)
MESSAGES_AFTER = Query("conversations/messages_after", StoredMemory)
MESSAGES_BEFORE = Query("conversations/messages_before", StoredMemory)
SESSION_MESSAGES_AFTER = Query("conversations/session_messages_after", StoredMemory)
SESSION_MESSAGES_BEFORE = Query("conversations/session_messages_before", StoredMemory)

OF_CONVERSATION = {"oldest": MESSAGES_AFTER, "newest": MESSAGES_BEFORE}
OF_SESSION = {"oldest": SESSION_MESSAGES_AFTER, "newest": SESSION_MESSAGES_BEFORE}


async def show_conversations(asked: ConversationsAsked, context: Context) -> Conversations:
    """Return a page of a client's conversations, the latest first. Raises `InvalidInput`, `Unavailable`."""
    listed = listing(asked)
    before, before_id = listed.position(asked.cursor)
    client_id, graph = context.client_id, context.graph
    rows, counted = await asyncio.gather(
        graph.rows(
            CONVERSATIONS,
            client_id=client_id,
            before=before,
            before_id=before_id,
            tags=passing(asked.tags),
            limit=asked.limit + 1,
        ),
        graph.rows(COUNT_CONVERSATIONS, client_id=client_id, tags=passing(asked.tags)),
    )
    conversations = [replace(row.conversation, metadata=decoded(row.metadata)) for row in rows]
    shown, after = page(
        conversations, asked.limit, lambda row: listed.cursor(row.created_at, row.id)
    )
    return Conversations(conversations=shown, total=counted[0].total, cursor=after)


async def show_sessions(conversation_id: str, asked: SessionsAsked, context: Context) -> Sessions:
    """Return a page of a conversation's sessions, the latest first.

    Raises `ConversationNotFound`, `InvalidInput`, `Unavailable`.
    """
    listed = listing(asked, conversation_id)
    before, before_id = listed.position(asked.cursor)
    rows = await context.graph.rows(
        SESSIONS,
        client_id=context.client_id,
        id=conversation_id,
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    if not rows:
        raise ConversationNotFound(conversation_id)
    shown, after = page(
        rows[0].sessions, asked.limit, lambda row: listed.cursor(row.started_at, row.id)
    )
    return Sessions(sessions=shown, total=rows[0].total, cursor=after)


async def show_messages(conversation_id: str, asked: MessagesAsked, context: Context) -> Messages:
    """Return a page of a conversation's messages, or of one of its sessions', with their whole texts.

    A session that the conversation does not have gives an empty list. Raises `ConversationNotFound`,
    `InvalidInput`, `Unavailable`.
    """
    listed = listing(asked, conversation_id)
    place = _place(listed, asked)
    since, until = period(asked.since, asked.until)
    client_id, graph = context.client_id, context.graph
    counted = await graph.rows(
        COUNT_MESSAGES,
        client_id=client_id,
        id=conversation_id,
        session=asked.session_id,
        since=since,
        until=until,
        timed=bool(asked.since or asked.until),
        tags=passing(asked.tags),
    )
    if not counted:
        raise ConversationNotFound(conversation_id)
    [found] = counted
    if not found.total:
        return Messages(messages=[], total=0, cursor=None)
    query = (OF_SESSION if asked.session_id else OF_CONVERSATION)[asked.order]
    of = (
        {"session_id": found.session_id}
        if asked.session_id
        else {"conversation_id": conversation_id}
    )
    rows = await graph.rows(
        query,
        client_id=client_id,
        since=since,
        until=until,
        tags=passing(asked.tags),
        place=place,
        limit=asked.limit + 1,
        page_characters=PAGE_CHARACTERS,
        **of,
        **NO_BOUNDS,
    )
    messages = [listed_memory(row) for row in rows]
    shown, after = page(
        messages,
        asked.limit,
        lambda row: listed.sealed(str(row.idx if asked.session_id else row.position)),
        characters=sum(len(one.text) for one in messages),
    )
    return Messages(messages=shown, total=found.total, cursor=after)


def _place(listed: Listing, asked: MessagesAsked) -> int:
    """Return the place of the last message of the previous page, or that before the first page.

    Raises `InvalidInput` for a foreign cursor, also for one with a number that no message can have.
    """
    if asked.cursor is None:
        return -1 if asked.order == "oldest" else LAST_PLACE
    place = listed.opened(asked.cursor)
    # The length first: Python refuses to read thousands of digits.
    if not (place.isdecimal() and len(place) <= len(str(LAST_PLACE)) and int(place) <= LAST_PLACE):
        raise foreign()
    return int(place)
