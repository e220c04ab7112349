"""LangChain's messages come back as they were added, and a retriever returns memories as documents."""

import asyncio

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from graphmem.adapters.langchain import GraphmemChatMessageHistory, GraphmemRetriever
from graphmem.adapters.memory import AnyMemory
from graphmem.client import Graphmem
from graphmem.errors import InvalidInput
from tests.graphmem.adapters.conftest import awaited

TALK: list[BaseMessage] = [
    SystemMessage("You are the harbour master."),
    HumanMessage([{"type": "text", "text": "When is high tide?"}], name="Ada", id="h1"),
    AIMessage(
        "", tool_calls=[{"name": "tide", "args": {"at": "Brest"}, "id": "c", "type": "tool_call"}]
    ),
    ToolMessage("06:12", tool_call_id="c", artifact={"table": [1, 2]}),
    AIMessage("At 06:12.", response_metadata={"model": "m"}, usage_metadata=None),
    ChatMessage(role="pilot", content="Aye."),
    HumanMessage("Same again"),
    HumanMessage("Same again"),
]


async def test_a_history_keeps_its_messages_in_every_form_of_memory(given: AnyMemory) -> None:
    history = GraphmemChatMessageHistory(given, "chat")

    def use() -> None:
        assert history.messages == []
        history.add_messages(TALK[:2])
        history.add_message(TALK[2])
        assert history.messages == TALK[:3]

    async def use_awaited() -> None:
        await history.aadd_messages(TALK[3:])
        assert await history.aget_messages() == TALK
        await history.aclear()
        assert await history.aget_messages() == []
        await history.aclear()

    await asyncio.to_thread(use)
    await awaited(use_awaited, given)
    await asyncio.to_thread(history.add_user_message, "Hello again.")
    await asyncio.to_thread(history.clear)
    assert await asyncio.to_thread(lambda: history.messages) == []


async def test_what_was_said_is_a_memory_like_others_and_others_are_read(memory: Graphmem) -> None:
    history = GraphmemChatMessageHistory(memory, "chat")
    await history.aadd_messages(TALK[1:5])
    await memory.remember("chat", [{"role": "assistant", "content": "Mind the buoy."}])

    page = await memory.messages("chat")
    assert [(one.role, one.name, one.text) for one in page.messages] == [
        ("user", "Ada", "When is high tide?"),
        ("assistant", None, 'tide({"at": "Brest"})'),
        ("tool", None, "06:12"),
        ("assistant", None, "At 06:12."),
        ("assistant", None, "Mind the buoy."),
    ]
    assert (await history.aget_messages())[-1] == AIMessage("Mind the buoy.")
    assert await GraphmemChatMessageHistory(memory, "other").aget_messages() == []


async def test_a_retriever_returns_memories_with_where_they_are_from(given: AnyMemory) -> None:
    history = GraphmemChatMessageHistory(given, "fleet")
    await asyncio.to_thread(
        history.add_messages,
        [HumanMessage("Our ferry is called Kestrel."), AIMessage("The cat sleeps in the office.")],
    )
    retriever = GraphmemRetriever(memory=given, limit=1)

    def use() -> None:
        [found] = retriever.invoke("What is the name of the ferry?")
        assert found.page_content == "Our ferry is called Kestrel."
        assert found.id
        assert found.metadata["kind"] == "message"
        assert found.metadata["role"] == "user"
        assert found.metadata["conversation_id"] == "fleet"
        assert 0 < found.metadata["relevance"] <= 1

    async def use_awaited() -> None:
        [found] = await retriever.ainvoke("Where does the cat sleep?")
        assert found.page_content == "The cat sleeps in the office."

    await asyncio.to_thread(use)
    await awaited(use_awaited, given)


async def test_a_retriever_narrows_by_conversation_kind_tag_and_relevance(memory: Graphmem) -> None:
    told = {"role": "user", "content": "The ferry Kestrel sails at nine.", "tags": ["ferry"]}
    await memory.remember("a", [told], create=True)
    await memory.remember("b", [told | {"tags": []}], create=True)
    await memory.remember_fact("The ferry Kestrel has two decks.")

    async def found(**narrowed: object) -> list[str]:
        retriever = GraphmemRetriever(memory=memory, **narrowed)  # type: ignore[arg-type]
        documents = await retriever.ainvoke("What about the ferry Kestrel?")
        return [one.metadata.get("conversation_id") or one.metadata["kind"] for one in documents]

    assert set(await found()) == {"a", "b", "fact"}
    assert await found(conversation_id="b") == ["b"]
    assert await found(kinds=["fact"]) == ["fact"]
    assert await found(wanted_tags=["ferry"]) == ["a"]
    assert await found(min_relevance=1.0) == []
    retriever = GraphmemRetriever(memory=memory, kinds=["fact"])
    assert len(await retriever.ainvoke("a line of a log " * 3_000)) == 1


async def test_what_cannot_be_used_is_named(memory: Graphmem) -> None:
    with pytest.raises(InvalidInput, match="conversation_id: does not have the form"):
        GraphmemChatMessageHistory(memory, "two words")
    with pytest.raises(InvalidInput, match="memory: is NoneType; give what"):
        GraphmemRetriever(memory=None)
    with pytest.raises(InvalidInput, match="memory: cannot be waited for in its own event loop"):
        GraphmemRetriever(memory=memory).invoke("Who?")
    with pytest.raises(InvalidInput, match="max_tokens: "):
        await GraphmemRetriever(memory=memory, max_tokens=0).ainvoke("Who?")
