"""Conversations: opening one, changing it, adding to it, deleting it."""

from typing import Annotated

from litestar import Response, Router, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg, PathParameter

from graphmem.context import Context
from graphmem.conversations import conversation as use_case
from graphmem.conversations.remember import remember_messages
from graphmem.conversations.show import show_conversations, show_messages, show_sessions
from graphmem.conversations.types import (
    Batch,
    ChangedConversation,
    Conversation,
    Conversations,
    ConversationsAsked,
    Deleted,
    Messages,
    MessagesAsked,
    NewConversation,
    Remembered,
    Sessions,
    SessionsAsked,
)
from graphmem_api.problems import failures
from graphmem_api.queries import query

ConversationId = Annotated[str, PathParameter(description="the conversation's id")]

NEW = Example(
    summary="A conversation with an id of the caller's",
    value={
        "id": "550e8400-e29b-41d4-a716-446655440001",
        "title": "Atlas and Beacon",
        "tags": ["atlas"],
    },
)
CHANGED = Example(
    summary="Another title, and other tags",
    value={"title": "Atlas", "tags": ["atlas", "beacon"]},
)
BATCH = Example(
    summary="Two messages of one session",
    value={
        "messages": [
            {
                "session_id": "2026-03-02-morning",
                "role": "user",
                "name": "Mara",
                "content": "The login fails with AUTH-401 again.",
                "occurred_at": "2026-03-02T09:30:00Z",
                "external_id": "chat-1041",
            },
            {
                "session_id": "2026-03-02-morning",
                "role": "assistant",
                "content": "Last time it was the clock of the token server.",
            },
        ]
    },
)

FRAMEWORK = Example(
    summary="The first messages of a conversation, as a framework has them",
    value={
        "create": True,
        "messages": [
            {"role": "human", "content": [{"type": "text", "text": "When does the ferry leave?"}]},
            {
                "role": "ai",
                "content": None,
                "tool_calls": [
                    {"function": {"name": "timetable", "arguments": '{"line": "Leeward"}'}}
                ],
                "occurred_at": 1772443800,
            },
        ],
    },
)


@post(
    "/",
    summary="Open a conversation",
    response_description="The new conversation",
    responses={
        200: ResponseSpec(Conversation, generate_examples=False, description="It existed already"),
        **failures(413, 415),
    },
)
async def open_conversation(
    data: Annotated[NewConversation, BodyKwarg(examples=[NEW])], context: NamedDependency[Context]
) -> Response[Conversation]:
    """Open a conversation: 201, or 200 if one with this id exists; the given fields of that one change."""
    conversation = await use_case.open_conversation(data, context)
    return Response(conversation, status_code=201 if conversation.created else 200)


@patch(
    "/{conversation_id:str}",
    summary="Change a conversation",
    response_description="The conversation as it is now",
    responses=failures(404, 413, 415),
)
async def change_conversation(
    conversation_id: ConversationId,
    data: Annotated[ChangedConversation, BodyKwarg(examples=[CHANGED])],
    context: NamedDependency[Context],
) -> Conversation:
    """Change the title, the metadata and the tags of a conversation; omitted fields stay."""
    return await use_case.change_conversation(conversation_id, data, context)


@post(
    "/{conversation_id:str}/messages",
    summary="Remember messages",
    response_description="The messages are stored and searchable",
    responses=failures(404, 413, 415),
)
async def remember(
    conversation_id: ConversationId,
    data: Annotated[Batch, BodyKwarg(examples=[BATCH, FRAMEWORK])],
    context: NamedDependency[Context],
) -> Remembered:
    """Append 1–1,000 messages, all or none; they are searchable once this answers.

    A message whose `external_id` the conversation already has changes nothing; its id is returned. With
    `create` a missing conversation is opened, and no request for that is needed before.
    """
    return await remember_messages(conversation_id, data, context)


@delete(
    "/{conversation_id:str}",
    summary="Delete a conversation",
    status_code=200,
    response_description="The numbers of deleted nodes",
    responses=failures(404, 409),
)
async def delete_conversation(
    conversation_id: ConversationId, context: NamedDependency[Context]
) -> Deleted:
    """Delete a conversation with all its contents, and return their number.

    Versions that its memories have in other conversations stay; the newest that is left holds again.
    409 under a legal hold.
    """
    return await use_case.delete_conversation(conversation_id, context)


@get(
    "/",
    summary="List conversations",
    response_description="A page of conversations",
    responses=failures(),
    **query(ConversationsAsked, {"tags": list}),
)
async def list_conversations(
    context: NamedDependency[Context], asked: NamedDependency[ConversationsAsked]
) -> Conversations:
    """List the client's conversations, the latest first; `cursor` is null on the last page."""
    return await show_conversations(asked, context)


@get(
    "/{conversation_id:str}/sessions",
    summary="List a conversation's sessions",
    response_description="A page of sessions",
    responses=failures(404),
    **query(SessionsAsked),
)
async def list_sessions(
    conversation_id: ConversationId,
    context: NamedDependency[Context],
    asked: NamedDependency[SessionsAsked],
) -> Sessions:
    """List a conversation's sessions, the latest first; `cursor` is null on the last page."""
    return await show_sessions(conversation_id, asked, context)


@get(
    "/{conversation_id:str}/messages",
    summary="List messages",
    response_description="A page of messages with their whole texts",
    responses=failures(404),
    **query(MessagesAsked, {"tags": list}),
)
async def list_messages(
    conversation_id: ConversationId,
    context: NamedDependency[Context],
    asked: NamedDependency[MessagesAsked],
) -> Messages:
    """List the messages of a conversation, or of one of its sessions, with their whole texts.

    They come in the order in which they were added, with `order=newest` in the reverse one, whatever their
    times say. A message that exists all the time is on exactly one page, also if others are written or
    deleted meanwhile.
    """
    return await show_messages(conversation_id, asked, context)


conversations = Router(
    "/conversations",
    route_handlers=[
        open_conversation,
        change_conversation,
        list_conversations,
        remember,
        list_sessions,
        list_messages,
        delete_conversation,
    ],
    tags=["conversations"],
)
