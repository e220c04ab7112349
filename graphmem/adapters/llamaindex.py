"""LlamaIndex: a memory with a chat's history and what is recalled for it, and a block of its own memory."""

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Self

from graphmem.adapters.memory import Count, History, MemoryAccess, Spoken, conversation_of, question
from graphmem.client import Graphmem
from graphmem.errors import ExtraMissing
from graphmem.model.validation import validated
from graphmem.model.vocabulary import GivenRole, Kind
from graphmem.prompts.rendering import one_line
from graphmem.recall.types import Item
from graphmem.tokens import TokenCounter

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.memory import BaseMemory, BaseMemoryBlock
    from pydantic import Field, PrivateAttr
except ImportError as problem:
    raise ExtraMissing("llamaindex", "LlamaIndex") from problem

FRAMEWORK = "llamaindex"

RECENT = 200
"""The greatest number of messages of the history that one turn gets."""

HEADING = "What is remembered from earlier conversations:"


class GraphmemMemory(BaseMemory):
    """A LlamaIndex memory: `agent.run(text, memory=GraphmemMemory(memory=memory, conversation_id="chat"))`.

    A turn gets the latest messages of its conversation, and before them, in a system message, the memories of
    all conversations that answer the last message of the user. Raises `InvalidInput` if `memory` is none, or
    the id is not one; when it is asked, if another argument is out of range.
    """

    memory: Any = Field(exclude=True, repr=False)
    """What `graphmem.open` gives, or a client of a service, with or without `await`."""
    conversation_id: str
    """The conversation of this chat: 1–128 letters, digits and `. _ : -`."""
    history_tokens: int = 3_000
    """The greatest length of the history that a turn gets; its last turn is always whole."""
    max_tokens: int = 1_000
    """The greatest length of what is recalled; 0 for nothing."""
    kinds: list[Kind] | None = None
    """Recall only memories of these kinds."""
    tags: list[str] | None = None
    """Recall only memories that have all of these tags."""
    min_relevance: float | None = None
    """Recall only memories at least so relevant, 0–1."""

    _history: History = PrivateAttr()
    _tokens: TokenCounter = PrivateAttr(default_factory=TokenCounter)

    def model_post_init(self, context: Any, /) -> None:
        """Prepare the way to the memory."""
        super().model_post_init(context)
        self._history = History(self.memory, self.conversation_id, FRAMEWORK)

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class."""
        return "GraphmemMemory"

    @classmethod
    def from_defaults(cls, **kwargs: object) -> Self:
        """Return a memory; the arguments are the fields."""
        return cls.model_validate(kwargs)

    def get(self, input: str | None = None, **kwargs: object) -> list[ChatMessage]:
        """Return what a turn gets; `input` is the question if it is not the user's last message yet."""
        return self._history.access.wait(lambda memory: self._turn(input, memory))

    async def aget(self, input: str | None = None, **kwargs: object) -> list[ChatMessage]:
        """Return what a turn gets; see `get`."""
        return await self._history.access.ask(lambda memory: self._turn(input, memory))

    def get_all(self) -> list[ChatMessage]:
        """Return the whole history, without what is recalled."""
        return list(map(_message, self._history.access.wait(self._history.items)))

    async def aget_all(self) -> list[ChatMessage]:
        """Return the whole history, without what is recalled."""
        return list(map(_message, await self._history.access.ask(self._history.items)))

    def put(self, message: ChatMessage) -> None:
        """Append a message. Raises `InvalidInput`, `TooLarge`, `Unavailable`."""
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        """Append a message. Raises `InvalidInput`, `TooLarge`, `Unavailable`."""
        await self.aput_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Append messages. Raises `InvalidInput`, `TooLarge`, `Unavailable`."""
        new = list(map(_spoken, messages))
        self._history.access.wait(lambda memory: self._history.add(new, memory))

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Append messages. Raises `InvalidInput`, `TooLarge`, `Unavailable`."""
        new = list(map(_spoken, messages))
        await self._history.access.ask(lambda memory: self._history.add(new, memory))

    def set(self, messages: list[ChatMessage]) -> None:
        """Let these messages be the history: append the new ones, or if others differ, replace all."""
        new = list(map(_spoken, messages))
        self._history.access.wait(lambda memory: self._replace(new, memory))

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Let these messages be the history; see `set`."""
        new = list(map(_spoken, messages))
        await self._history.access.ask(lambda memory: self._replace(new, memory))

    def reset(self) -> None:
        """Delete the conversation, with all that is in it. Raises `LegalHold`, `Unavailable`."""
        self._history.access.wait(self._history.clear)

    async def areset(self) -> None:
        """Delete the conversation, with all that is in it. Raises `LegalHold`, `Unavailable`."""
        await self._history.access.ask(self._history.clear)

    async def _replace(self, new: Sequence[Spoken], memory: Graphmem) -> None:
        present = [item.value for item in await self._history.items(memory)]
        if [item.value for item in new[: len(present)]] != present:
            await self._history.clear(memory)
            present = []
        await self._history.add(new[len(present) :], memory)

    async def _turn(self, input: str | None, memory: Graphmem) -> list[ChatMessage]:
        most = validated(self.history_tokens, Count, "history_tokens")
        history = await self._history.items(memory, limit=RECENT)
        shown = latest(history, most, self._tokens)
        asked = (item.text for item in reversed(history) if item.role == "user")
        wanted = input or next(asked, "")
        if not wanted.strip() or not self.max_tokens:
            return list(map(_message, shown))
        recalled = await memory.recall(
            question(wanted),
            kinds=self.kinds,
            tags=self.tags,
            max_tokens=self.max_tokens,
            min_relevance=self.min_relevance,
        )
        known = {item.id for item in shown}
        items = [item for item in recalled.items if item.id not in known]
        text = remembered(items, self.max_tokens, self._tokens)
        context = [ChatMessage(role=MessageRole.SYSTEM, content=text)] if text else []
        return [*context, *map(_message, shown)]


class GraphmemBlock(BaseMemoryBlock[str]):
    """A block of LlamaIndex's memory: `Memory.from_defaults(memory_blocks=[GraphmemBlock(memory=memory)])`.

    `Memory` keeps the latest messages of a chat; those that leave it are remembered here, and a turn gets
    the memories of all conversations that answer the last message of the user. Raises `InvalidInput` if
    `memory` is none; when it is used, if another argument is out of range.
    """

    memory: Any = Field(exclude=True, repr=False)
    """What `graphmem.open` gives, or a client of a service, with or without `await`."""
    name: str = "graphmem"
    """The name of the block: that of the element of the prompt in which the memories stand."""
    conversation_id: str = "llamaindex"
    """The conversation of messages without a session; others are in that of their `Memory.session_id`.

    Where an id may not have its characters, they are replaced by `-`, and a digest follows.
    """
    max_tokens: int = 1_000
    """The greatest length of what is recalled."""
    kinds: list[Kind] | None = None
    """Recall only memories of these kinds."""
    tags: list[str] | None = None
    """Recall only memories that have all of these tags."""
    min_relevance: float | None = None
    """Recall only memories at least so relevant, 0–1."""

    _access: MemoryAccess = PrivateAttr()
    _tokens: TokenCounter = PrivateAttr(default_factory=TokenCounter)

    def model_post_init(self, context: Any, /) -> None:
        """Prepare the way to the memory."""
        super().model_post_init(context)
        self._access = MemoryAccess(self.memory)
        History(self.memory, self.conversation_id, FRAMEWORK)

    async def _aget(self, messages: list[ChatMessage] | None = None, **kwargs: object) -> str:
        asked = (one.content or "" for one in reversed(messages or []) if one.role == "user")
        wanted = next(asked, "")
        if not wanted.strip():
            return ""
        recalled = await self._access.ask(
            lambda memory: memory.recall(
                question(wanted),
                kinds=self.kinds,
                tags=self.tags,
                max_tokens=self.max_tokens,
                min_relevance=self.min_relevance,
            )
        )
        return remembered(recalled.items, self.max_tokens, self._tokens, heading="")

    async def _aput(self, messages: list[ChatMessage]) -> None:
        sessions: dict[str, list[Spoken]] = {}
        for message in messages:
            kept = dict(message.additional_kwargs)
            session = conversation_of(str(kept.pop("session_id", None) or self.conversation_id))
            spoken = _spoken(message.model_copy(update={"additional_kwargs": kept}))
            sessions.setdefault(session, []).append(spoken)
        for session, items in sessions.items():
            history = History(self.memory, session, FRAMEWORK)
            await self._access.ask(partial(history.add, items))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the text without its last memories, the least relevant; None if none is left."""
        lines = content.splitlines(keepends=True)
        most = self._tokens.count(content) - tokens_to_truncate
        while lines and self._tokens.count("".join(lines)) > most:
            lines.pop()
        return "".join(lines).rstrip() or None


def remembered(
    items: Iterable[Item], most: int, tokens: TokenCounter, heading: str = HEADING
) -> str:
    """Return memories under a heading as a text of at most so many tokens; empty if there are none."""
    text = ""
    for item in items:
        speaker = one_line(item.name or item.role or item.kind)
        line = f"{item.occurred_at:%Y-%m-%d} {speaker}: {item.text}"
        longer = "\n".join(part for part in (text or heading, line) if part)
        if tokens.count(longer) <= most:
            text = longer
    return text


def latest(history: Sequence[Spoken], most: int, tokens: TokenCounter) -> Sequence[Spoken]:
    """Return the latest turns that fit into a number of tokens, at least the last one.

    A turn begins with a message of the user: an answer or a tool's result alone has no meaning.
    """
    start, total = len(history), 0
    for place in range(len(history) - 1, -1, -1):
        total += tokens.count(history[place].text)
        if total > most and start < len(history):
            break
        if history[place].role == "user":
            start = place
    return history[start:] if start < len(history) else history


ROLES: dict[MessageRole, GivenRole] = {
    MessageRole.USER: "user",
    MessageRole.SYSTEM: "system",
    MessageRole.DEVELOPER: "system",
    MessageRole.TOOL: "tool",
    MessageRole.FUNCTION: "tool",
}


def _spoken(message: ChatMessage) -> Spoken:
    calls = (block for block in message.blocks if block.block_type == "tool_call")
    called = (f"{call.tool_name}({_shown(call.tool_kwargs)})" for call in calls)
    return Spoken(
        role=ROLES.get(message.role, "assistant"),
        text="\n".join(text for text in (message.content, *called) if text),
        value=message.model_dump(mode="json"),
    )


def _shown(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _message(item: Spoken) -> ChatMessage:
    """Return a message as it was put; one that was not put here as a plain one."""
    if item.value:
        return ChatMessage.model_validate(item.value)
    return ChatMessage(role=MessageRole(item.role), content=item.text)
