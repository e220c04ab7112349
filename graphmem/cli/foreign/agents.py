"""What agents and other memories keep: Claude Code, Codex, mem0, Graphiti and Zep, Letta."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from graphmem.cli.foreign.chats import HIDDEN, NO_TEXT, REASONED
from graphmem.cli.foreign.records import (
    Begins,
    Event,
    ForeignMessage,
    NoMessage,
    as_list,
    as_object,
    as_text,
    converted,
)
from graphmem.cli.hook import project, said_in

NOT_SAID = "line that is nothing said"
TOOLS = "call or result of a tool"

CODEX_LINES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
CODEX_NOISE = (
    "<environment_context>",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "<permissions",
    "<turn_aborted>",
    "# AGENTS.md instructions",
)
"""The beginnings of what Codex writes in the name of its user."""


def is_claude_code(record: Any) -> bool:
    """Return whether a record is a line of a transcript of Claude Code."""
    return (
        isinstance(record, dict)
        and record.get("type") in ("user", "assistant")
        and isinstance(record.get("message"), dict)
        and bool({"sessionId", "uuid"} & record.keys())
    )


def claude_code(records: Iterable[Any], name: str) -> Iterator[Event]:
    """Yield what was said in a transcript of Claude Code, as its hook remembers it."""
    conversation, session = "", ""
    for record in records:
        one = next(said_in([record], name), None)
        if one is None:
            yield NoMessage(NOT_SAID)
            continue
        # The folder that the session began in, as the hook is told it.
        conversation = conversation or project(str(record.get("cwd") or name))
        if one["session_id"] != session:
            session = one["session_id"]
            yield Begins(conversation, session=session)
        id, at = one["external_id"], one["occurred_at"]
        yield ForeignMessage(role=one["role"], content=one["content"], id=id, at=at)


def is_codex(record: Any) -> bool:
    """Return whether a record is a line of a transcript of Codex."""
    return (
        isinstance(record, dict)
        and record.get("type") in CODEX_LINES
        and isinstance(record.get("payload"), dict)
    )


def codex(records: Iterable[Any], name: str) -> Iterator[Event]:
    """Yield what user and assistant said in a transcript of Codex."""
    begun = False
    for record in records:
        payload = record.get("payload") if is_codex(record) else None
        if payload and record["type"] == "session_meta" and not begun:
            yield Begins(
                project(str(payload.get("cwd") or name)), session=as_text(payload.get("id"))
            )
            begun = True
        elif payload and record["type"] == "response_item":
            yield _codex_message(payload, record.get("timestamp"))
        else:
            yield NoMessage(NOT_SAID)


def _codex_message(payload: dict[str, Any], at: Any) -> Event:
    if payload.get("type") != "message":
        return NoMessage(TOOLS)
    parts = [part for part in as_list(payload.get("content")) if isinstance(part, dict)]
    text = "\n".join(str(part["text"]) for part in parts if part.get("text")).strip()
    if payload.get("role") not in ("user", "assistant") or text.startswith(CODEX_NOISE):
        return NoMessage(HIDDEN)
    return ForeignMessage(role=payload["role"], content=text, at=at) if text else NoMessage(NO_TEXT)


class Mem0Memory(Struct, frozen=True):
    """A memory of mem0; `hash` is that of its text."""

    id: str
    memory: str
    hash: str | None = None
    role: str | None = None
    actor_id: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    created_at: str | None = None


def is_mem0(record: Any) -> bool:
    """Return whether a record is a memory of mem0."""
    return isinstance(record, dict) and {"id", "memory"} <= record.keys()


def mem0(records: Iterable[Any], name: str) -> Iterator[Event]:
    """Yield the memories of mem0, those of each user as a conversation.

    A changed text is another message: its id has the hash of the text.
    """
    for number, record in enumerate(_inside(records, "results"), start=1):
        found = converted(record, Mem0Memory)
        if isinstance(found, NoMessage):
            yield NoMessage(f"memory {number} {found.reason}")
            continue
        text = found.hash or hashlib.sha256(found.memory.encode()).hexdigest()
        yield Begins(f"mem0:{found.user_id or found.agent_id or name}", session=found.run_id)
        yield ForeignMessage(
            # What was noted of a user is said by the one who noted it.
            role=found.role or "assistant",
            content=found.memory,
            id=f"{found.id}:{text[:16]}",
            at=found.created_at,
            name=found.actor_id,
        )


class GraphitiEpisode(Struct, frozen=True):
    """An episode of Graphiti or Zep; Zep says who spoke, Graphiti's messages begin with it."""

    uuid: str
    content: str
    name: str | None = None
    group_id: str | None = None
    source: str | None = None
    source_description: str | None = None
    valid_at: str | None = None
    created_at: str | None = None
    role: str | None = None
    role_type: str | None = None
    role_name: str | None = None
    reference_time: str | None = None
    thread_uuid: str | None = None
    thread_id: str | None = None
    session_id: str | None = None

    @property
    def speaker(self) -> tuple[str | None, str | None]:
        """The role and the name: `role` and `role_name` in Zep 4, `role_type` and `role` before."""
        if self.role_type is None and self.role in ROLES_OF_ZEP:
            return self.role, self.role_name
        return self.role_type, self.role


ROLES_OF_ZEP = {"system", "assistant", "user", "function", "tool"}

SPEAKER = re.compile(
    r"(?P<name>[^:\n()]*)\((?P<kind>user|assistant|system|tool|function)\):"
    r"|(?P<role>user|human|assistant|ai|system|tool):",
    re.IGNORECASE,
)


def is_episode(record: Any) -> bool:
    """Return whether a record is an episode of Graphiti or Zep."""
    return (
        isinstance(record, dict)
        and {"uuid", "content"} <= record.keys()
        and bool({"source", "valid_at", "source_description"} & record.keys())
    )


def graphiti(records: Iterable[Any], name: str) -> Iterator[Event]:
    """Yield the episodes of Graphiti or Zep, those of each group or thread as a conversation."""
    for number, record in enumerate(_inside(records, "episodes"), start=1):
        found = converted(record, GraphitiEpisode)
        if isinstance(found, NoMessage):
            yield NoMessage(f"episode {number} {found.reason}")
            continue
        thread = found.thread_uuid or found.thread_id or found.session_id or found.group_id
        yield Begins(thread or name)
        yield _episode_message(found)


def _episode_message(episode: GraphitiEpisode) -> Event:
    if not episode.content.strip():
        return NoMessage(NO_TEXT)
    role, name = episode.speaker
    spoken = SPEAKER.match(episode.content) if episode.source == "message" else None
    if spoken and not role:
        role, name = (spoken["kind"] or spoken["role"]).lower(), (spoken["name"] or "").strip()
    return ForeignMessage(
        # A text or a document was given by the user.
        role=role or "user",
        content=episode.content,
        id=episode.uuid,
        at=episode.valid_at or episode.reference_time or episode.created_at,
        name=name or None,
    )


class LettaMessage(Struct, frozen=True):
    """A message of a Letta agent; the first form of the file had `text`."""

    role: str
    content: list[dict[str, Any]] | str | None = None
    text: str | None = None
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    created_at: str | None = None


class LettaBlock(Struct, frozen=True):
    """A block of a Letta agent's core memory."""

    label: str
    value: str
    id: str | None = None
    created_at: str | None = None


class LettaAgent(Struct, frozen=True):
    """An agent of Letta; its blocks are in it, or beside it by their ids."""

    messages: list[LettaMessage]
    name: str | None = None
    core_memory: list[LettaBlock] = []
    block_ids: list[str] = []


def is_letta(record: Any) -> bool:
    """Return whether a record is an agent file of Letta, of either form."""
    if not isinstance(record, dict):
        return False
    return ("agent_type" in record and "messages" in record) or {
        "agents",
        "blocks",
    } <= record.keys()


def letta(records: Iterable[Any], name: str) -> Iterator[Event]:
    """Yield what was said to and by Letta's agents, and the blocks of their core memory."""
    for record in map(as_object, records):
        listed = record.get("agents") if "agents" in record else [record]
        blocks = [converted(one, LettaBlock) for one in as_list(record.get("blocks"))]
        known = {one.id: one for one in blocks if isinstance(one, LettaBlock)}
        for agent in as_list(listed):
            found = converted(agent, LettaAgent)
            if isinstance(found, NoMessage):
                yield NoMessage(f"agent {found.reason}")
            else:
                yield from _agent(found, known, name)


def _agent(agent: LettaAgent, blocks: dict[str | None, LettaBlock], name: str) -> Iterator[Event]:
    conversation = f"letta:{agent.name or name}"
    yield Begins(conversation)
    for message in agent.messages:
        yield from _letta_message(message)
    known = [blocks[id] for id in agent.block_ids if id in blocks]
    for block in [*agent.core_memory, *known]:
        if block.value.strip():
            yield Begins(conversation, session=f"core memory: {block.label}", at=block.created_at)
            yield ForeignMessage(role="system", content=block.value.strip(), name=block.label)


def _letta_message(message: LettaMessage) -> Iterator[Event]:
    if message.role not in {"user", "assistant"}:
        yield NoMessage(TOOLS if message.role == "tool" else "system prompt")
        return
    called = [_letta_call(call, message.created_at) for call in message.tool_calls or ()]
    yield from called
    text = message.text or _letta_text(message.content)
    packed = _json_object(text) if message.role == "user" else None
    if packed is not None and packed.get("type", "user_message") != "user_message":
        yield NoMessage("event of the program")
        return
    if packed is not None and isinstance(packed.get("message"), str):
        text = packed["message"]
    if text and any(isinstance(call, ForeignMessage) for call in called):
        # An agent that speaks by a tool thinks in its text.
        yield NoMessage(REASONED)
    elif text:
        yield ForeignMessage(
            role=message.role, content=text, at=message.created_at, name=message.name
        )
    elif not called:
        yield NoMessage(NO_TEXT)


def _letta_call(call: dict[str, Any], at: Any) -> Event:
    """Return what an agent said: to do so it calls a tool."""
    function = as_object(call.get("function"))
    given = _json_object(function.get("arguments")) or {}
    if function.get("name") != "send_message" or not given.get("message"):
        return NoMessage(TOOLS)
    return ForeignMessage(role="assistant", content=str(given["message"]), at=at)


def _letta_text(content: list[dict[str, Any]] | str | None) -> str:
    if isinstance(content, str):
        return content
    texts = [part.get("text") for part in content or () if part.get("type") == "text"]
    return "\n".join(str(text) for text in texts if text)


def _json_object(text: Any) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (TypeError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _inside(records: Iterable[Any], key: str) -> Iterator[Any]:
    """Yield the records, and instead of one that holds a list of them its items."""
    for record in records:
        listed = record.get(key) if isinstance(record, dict) else None
        yield from listed if isinstance(listed, list) else [record]
