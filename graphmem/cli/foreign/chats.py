"""The exports of ChatGPT and of Claude: whole conversations, of which one branch is the one that was kept."""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from graphmem.cli.foreign.records import (
    Begins,
    Event,
    ForeignMessage,
    NoMessage,
    as_list,
    converted,
)

OTHER_BRANCH = "message of another branch"
NO_TEXT = "message without text"
HIDDEN = "message that the program hides"
REASONED = "reasoning"

REASONING = {"thoughts", "reasoning_recap"}
CONTEXT = {"user_editable_context", "model_editable_context"}
"""The types of contents that ChatGPT puts in by itself: its user's instructions and its own notes."""


class ChatGPTAuthor(Struct, frozen=True):
    """Who wrote a message."""

    role: str
    name: str | None = None


class ChatGPTContent(Struct, frozen=True):
    """What a message of ChatGPT holds; which fields it has follows from its type."""

    content_type: str = "text"
    parts: list[Any] | None = None
    text: str | None = None
    result: str | None = None
    title: str | None = None
    url: str | None = None


class ChatGPTMessage(Struct, frozen=True):
    """A message of ChatGPT; `recipient` is the tool that it calls."""

    id: str
    author: ChatGPTAuthor
    content: ChatGPTContent
    create_time: float | None = None
    recipient: str | None = None
    metadata: dict[str, Any] | None = None


class Node(Struct, frozen=True):
    """A place in the tree of a conversation."""

    message: ChatGPTMessage | None = None
    parent: str | None = None


class ChatGPTConversation(Struct, frozen=True):
    """A conversation of ChatGPT: a tree, whose kept branch ends in `current_node`."""

    mapping: dict[str, Node]
    current_node: str | None = None
    conversation_id: str | None = None
    id: str | None = None
    title: str | None = None
    create_time: float | None = None


def chatgpt(records: Iterable[Any], name: str) -> Iterator[Event]:
    """Yield the active branch of each conversation of an export of ChatGPT."""
    for number, record in enumerate(records, start=1):
        found = converted(record, ChatGPTConversation)
        if isinstance(found, NoMessage):
            yield NoMessage(f"conversation {number} {found.reason}")
            continue
        id = found.conversation_id or found.id or f"{name}-{number}"
        yield Begins(id, found.title, at=found.create_time)
        branch = _branch(found)
        kept = {id for id in branch if found.mapping[id].message}
        for node_id, node in found.mapping.items():
            if node.message and node_id not in kept:
                yield NoMessage(OTHER_BRANCH)
        for node_id in branch:
            message = found.mapping[node_id].message
            if message:
                yield _chatgpt_message(message)


def _branch(conversation: ChatGPTConversation) -> list[str]:
    """Return the nodes from the root to the current one; a circle ends where it closes."""
    nodes, seen = conversation.mapping, dict[str, None]()
    id = conversation.current_node
    if id not in nodes:
        id = _latest_leaf(nodes)
    while id is not None and id in nodes and id not in seen:
        seen[id] = None
        id = nodes[id].parent
    return list(reversed(seen))


def _latest_leaf(nodes: dict[str, Node]) -> str | None:
    parents = {node.parent for node in nodes.values()}
    leaves = [id for id in nodes if id not in parents] or list(nodes)

    def time(id: str) -> float:
        message = nodes[id].message
        return (message.create_time if message else None) or 0.0

    return max(leaves, key=time, default=None)


def _chatgpt_message(message: ChatGPTMessage) -> Event:
    metadata, content = message.metadata or {}, message.content
    if content.content_type in REASONING:
        return NoMessage(REASONED)
    if content.content_type in CONTEXT or metadata.get("is_visually_hidden_from_conversation"):
        return NoMessage(HIDDEN)
    text = "\n".join(filter(None, [*_chatgpt_texts(content), *_attached(metadata)]))
    if not text:
        return NoMessage(NO_TEXT)
    if message.author.role == "assistant" and message.recipient not in {None, "all"}:
        text = f"{message.recipient}({text})"
    return ForeignMessage(
        role=message.author.role,
        content=text,
        id=message.id,
        at=message.create_time,
        name=message.author.name,
    )


def _chatgpt_texts(content: ChatGPTContent) -> Iterator[str | None]:
    yield from (content.title, content.text, content.result, content.url)
    for part in content.parts or ():
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            text = part.get("text")
            yield text if isinstance(text, str) else f"[{part.get('content_type', 'part')}]"


def _attached(metadata: dict[str, Any]) -> Iterator[str]:
    for one in as_list(metadata.get("attachments")):
        if isinstance(one, dict) and one.get("name"):
            yield f"[{one['name']}]"


class ClaudeAttachment(Struct, frozen=True):
    """A file that was attached to a message; its text, if Claude could read it."""

    file_name: str | None = None
    extracted_content: str | None = None


class ClaudeMessage(Struct, frozen=True):
    """A message of Claude; exports of 2024 have `text` only."""

    uuid: str
    sender: str
    text: str | None = None
    content: list[dict[str, Any]] | None = None
    created_at: str | None = None
    parent_message_uuid: str | None = None
    attachments: list[ClaudeAttachment] | None = None
    files: list[ClaudeAttachment] | None = None


class ClaudeConversation(Struct, frozen=True):
    """A conversation of Claude; with a `current_leaf_message_uuid` it holds other branches too."""

    uuid: str
    chat_messages: list[ClaudeMessage]
    name: str | None = None
    created_at: str | None = None
    current_leaf_message_uuid: str | None = None


def claude(records: Iterable[Any], name: str) -> Iterator[Event]:
    """Yield the conversations of an export of Claude."""
    for number, record in enumerate(records, start=1):
        found = converted(record, ClaudeConversation)
        if isinstance(found, NoMessage):
            yield NoMessage(f"conversation {number} {found.reason}")
            continue
        yield Begins(found.uuid, found.name, at=found.created_at)
        kept = _kept_uuids(found)
        for message in found.chat_messages:
            yield _claude_message(message) if message.uuid in kept else NoMessage(OTHER_BRANCH)


def _kept_uuids(conversation: ClaudeConversation) -> set[str]:
    by_uuid = {message.uuid: message for message in conversation.chat_messages}
    uuid = conversation.current_leaf_message_uuid
    if uuid not in by_uuid:
        return set(by_uuid)
    kept = set[str]()
    while uuid is not None and uuid in by_uuid and uuid not in kept:
        kept.add(uuid)
        uuid = by_uuid[uuid].parent_message_uuid
    return kept


def _claude_message(message: ClaudeMessage) -> Event:
    parts = [_without_name(part) for part in message.content or () if part.get("text") != ""]
    if not parts and message.text:
        parts = [{"type": "text", "text": message.text}]
    for one in (*(message.attachments or ()), *(message.files or ())):
        parts.append({"type": "text", "text": f"[{one.file_name or 'attachment'}]"})
        if one.extracted_content:
            parts.append({"type": "text", "text": one.extracted_content})
    if not parts:
        return NoMessage(NO_TEXT)
    return ForeignMessage(
        role=message.sender, content=parts, id=message.uuid, at=message.created_at
    )


def _without_name(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part; the result of a tool has its name, by which it would look like a call."""
    if part.get("type") != "tool_result":
        return part
    return {key: value for key, value in part.items() if key != "name"}
