"""LangChain: a retriever of memories, and the history of a chat."""

import json
from collections.abc import Sequence
from typing import Any

from graphmem.adapters.memory import AnyMemory, History, MemoryAccess, Spoken, question
from graphmem.client import Graphmem
from graphmem.errors import ExtraMissing
from graphmem.model.validation import digested_id
from graphmem.model.vocabulary import LABEL_CHARACTERS, GivenRole, Kind
from graphmem.recall.types import Item

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        HumanMessage,
        SystemMessage,
        message_to_dict,
        messages_from_dict,
    )
    from langchain_core.retrievers import BaseRetriever
    from pydantic import Field, PrivateAttr
except ImportError as problem:
    raise ExtraMissing("langchain", "LangChain") from problem

FRAMEWORK = "langchain"


class GraphmemRetriever(BaseRetriever):
    """A LangChain retriever of the memories that answer a question, best first.

    A document is a memory: its text, its id, and as metadata where it is from and how relevant it is. Raises
    `InvalidInput` if `memory` is none, and when it is asked, if another argument is out of range.
    """

    memory: Any = Field(exclude=True, repr=False)
    """What `graphmem.open` gives, or a client of a service, with or without `await`."""
    max_tokens: int = 2_048
    """The greatest length of all documents together."""
    limit: int | None = None
    """The greatest number of documents."""
    conversation_id: str | None = None
    """Only memories of this conversation."""
    kinds: list[Kind] | None = None
    """Only memories of these kinds."""
    wanted_tags: list[str] | None = None
    """Only memories that have all of these tags; LangChain's `tags` are those of its runs."""
    min_relevance: float | None = None
    """Only memories at least so relevant, 0–1."""

    _access: MemoryAccess = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Prepare the way to the memory."""
        super().model_post_init(context)
        self._access = MemoryAccess(self.memory)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self._access.wait(lambda memory: self._recall(query, memory))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return await self._access.ask(lambda memory: self._recall(query, memory))

    async def _recall(self, query: str, memory: Graphmem) -> list[Document]:
        recalled = await memory.recall(
            question(query),
            conversation_id=self.conversation_id,
            kinds=self.kinds,
            tags=self.wanted_tags,
            limit=self.limit,
            max_tokens=self.max_tokens,
            min_relevance=self.min_relevance,
        )
        return [_document(item) for item in recalled.items]


def _document(item: Item) -> Document:
    known = {
        "kind": item.kind,
        "client_id": item.client_id,
        "relevance": item.relevance,
        "score": item.score,
        "role": item.role,
        "name": item.name,
        "occurred_at": item.occurred_at.isoformat(),
        "conversation_id": item.conversation_id,
        "session_id": item.session_external_id,
        "tags": item.tags,
    }
    return Document(
        id=item.id,
        page_content=item.text,
        metadata={name: value for name, value in known.items() if value not in (None, [])},
    )


class GraphmemChatMessageHistory(BaseChatMessageHistory):
    """The history of a chat as a conversation of graphmem, word for word, with calls of tools.

    Whatever was said in it is also found by `recall`.
    """

    def __init__(self, memory: AnyMemory, conversation_id: str) -> None:
        """Keep a chat's history in a conversation, which opens with its first message.

        Args:
            memory: what `graphmem.open` gives, or a client of a service, with or without `await`.
            conversation_id: 1–128 letters, digits and `. _ : -`.

        Raises:
            InvalidInput: `memory` is none, or the id is not one.
        """
        super().__init__()
        self._history = History(memory, conversation_id, FRAMEWORK)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # it is declared as an attribute
        """The messages in their order. Raises `Unavailable`."""
        return list(map(_message, self._history.access.wait(self._history.items)))

    async def aget_messages(self) -> list[BaseMessage]:
        """Return the messages in their order. Raises `Unavailable`."""
        return list(map(_message, await self._history.access.ask(self._history.items)))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages. Raises `InvalidInput`, `TooLarge`, `Unavailable`."""
        new = [_spoken(message) for message in messages]
        self._history.access.wait(lambda memory: self._history.add(new, memory))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages. Raises `InvalidInput`, `TooLarge`, `Unavailable`."""
        new = [_spoken(message) for message in messages]
        await self._history.access.ask(lambda memory: self._history.add(new, memory))

    def clear(self) -> None:
        """Delete the conversation, with all that is in it. Raises `LegalHold`, `Unavailable`."""
        self._history.access.wait(self._history.clear)

    async def aclear(self) -> None:
        """Delete the conversation, with all that is in it. Raises `LegalHold`, `Unavailable`."""
        await self._history.access.ask(self._history.clear)


def new_messages(
    messages: Sequence[BaseMessage], *, session_id: str | None = None
) -> list[dict[str, Any]]:
    """Return messages to remember, without those that have no text; a repeated one changes nothing."""
    spoken = ((message, _spoken(message)) for message in messages)
    return [
        {
            "session_id": session_id,
            "role": one.role,
            "name": one.name,
            "content": one.text,
            "external_id": _external_id(message.id),
        }
        for message, one in spoken
        if one.text.strip()
    ]


def _external_id(given: str | None) -> str | None:
    """Return the id of a message, which may be of any length in LangChain."""
    if given is None or len(given) <= LABEL_CHARACTERS:
        return given or None
    return digested_id(given, given, 32)


ROLES: dict[str, GivenRole] = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
}


def _spoken(message: BaseMessage) -> Spoken:
    value = message_to_dict(message)
    calls = getattr(message, "tool_calls", None) or []
    called = (f"{call['name']}({json.dumps(call['args'], ensure_ascii=False)})" for call in calls)
    return Spoken(
        role=ROLES.get(message.type.removesuffix("MessageChunk").lower(), "user"),
        text="\n".join(text for text in (str(message.text), *called) if text),
        value=value,
        name=message.name,
    )


def _message(item: Spoken) -> BaseMessage:
    if item.value:
        return messages_from_dict([item.value])[0]
    if item.role == "assistant":
        return AIMessage(content=item.text, name=item.name)
    if item.role == "system":
        return SystemMessage(content=item.text, name=item.name)
    return HumanMessage(content=item.text, name=item.name)
