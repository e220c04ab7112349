"""A LlamaIndex memory keeps its messages, and gives a turn what it should know."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    MessageRole,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory
from sqlalchemy.ext.asyncio import create_async_engine

from graphmem.adapters.llamaindex import HEADING, GraphmemBlock, GraphmemMemory, latest
from graphmem.adapters.memory import AnyMemory, Spoken
from graphmem.client import Graphmem
from graphmem.errors import InvalidInput
from graphmem.tokens import TokenCounter
from tests.graphmem.adapters.conftest import awaited

TALK = [
    ChatMessage(role="system", content="You are the harbour master."),
    ChatMessage(role="user", blocks=[TextBlock(text="When is"), TextBlock(text="high tide?")]),
    ChatMessage(
        role="assistant",
        blocks=[ToolCallBlock(tool_call_id="c", tool_name="tide", tool_kwargs={"at": "Brest"})],
        additional_kwargs={"tool_calls": [{"id": "c"}]},
    ),
    ChatMessage(role="tool", content="06:12", additional_kwargs={"tool_call_id": "c"}),
    ChatMessage(role="assistant", content="At 06:12."),
    ChatMessage(role="user", blocks=[ImageBlock(image=b"aGVsbG8=", image_mimetype="image/png")]),
]


async def test_a_memory_keeps_its_messages_in_every_form_of_memory(given: AnyMemory) -> None:
    memory = GraphmemMemory.from_defaults(memory=given, conversation_id="chat", max_tokens=0)

    def use() -> None:
        assert memory.get_all() == memory.get() == []
        memory.put(TALK[0])
        memory.put_messages(TALK[1:3])
        memory.set(TALK[:4])
        assert memory.get_all() == TALK[:4]

    async def use_awaited() -> None:
        await memory.aput(TALK[4])
        await memory.aput_messages(TALK[5:])
        assert await memory.aget_all() == TALK
        assert await memory.aget() == TALK[1:]
        await memory.aset(TALK[2:])
        assert await memory.aget_all() == TALK[2:]
        await memory.areset()
        assert await memory.aget_all() == []

    await asyncio.to_thread(use)
    await awaited(use_awaited, given)
    await asyncio.to_thread(memory.reset)


async def test_set_appends_what_is_new_and_keeps_what_is_there(memory: Graphmem) -> None:
    chat = GraphmemMemory(memory=memory, conversation_id="chat")
    await chat.aput_messages(TALK[:2])
    before = [one.id for one in (await memory.messages("chat")).messages]
    await chat.aset(TALK[:4])

    after = [one.id for one in (await memory.messages("chat")).messages]
    assert after[:2] == before
    assert len(after) == 4


async def test_a_turn_gets_what_other_conversations_said_but_nothing_twice(
    memory: Graphmem,
) -> None:
    await GraphmemMemory(memory=memory, conversation_id="old").aput_messages(
        [ChatMessage(role="user", content="Our ferry is called Kestrel.")]
    )
    chat = GraphmemMemory(memory=memory, conversation_id="new")
    await chat.aput(ChatMessage(role="user", content="What is the name of our ferry?"))

    context, question = await chat.aget()

    assert context.role == MessageRole.SYSTEM
    heading, line = (context.content or "").splitlines()
    assert heading == HEADING
    assert line.endswith("user: Our ferry is called Kestrel.")
    assert question.content == "What is the name of our ferry?"
    [asked, _] = await chat.aget(input="Which ferry?")
    assert "Kestrel" in (asked.content or "")
    narrow = GraphmemMemory(memory=memory, conversation_id="new", max_tokens=12)
    assert len(await narrow.aget()) == 1
    facts = GraphmemMemory(memory=memory, conversation_id="new", kinds=["fact"])
    assert len(await facts.aget()) == 1
    for field in ("history_tokens", "max_tokens"):
        wrong: dict[str, Any] = {field: -1}
        with pytest.raises(InvalidInput, match=f"{field}: expected a whole number >= "):
            await GraphmemMemory(memory=memory, conversation_id="new", **wrong).aget()


def test_a_turn_begins_with_a_message_of_the_user_and_the_last_is_whole() -> None:
    tokens = TokenCounter()
    talk = [
        Spoken(role="user", text="one", value={}),
        Spoken(role="assistant", text="two", value={}),
        Spoken(role="user", text="three", value={}),
        Spoken(role="tool", text="four four four", value={}),
        Spoken(role="assistant", text="five", value={}),
    ]
    assert latest(talk, 100, tokens) == talk
    assert latest(talk, 6, tokens) == talk[2:]
    assert latest(talk, 5, tokens) == talk[2:]
    assert latest(talk, 1, tokens) == talk[2:]
    assert latest(talk[1:2], 1, tokens) == talk[1:2]
    assert latest([], 1, tokens) == []


async def test_a_chat_engine_remembers_the_chat_before(memory: Graphmem) -> None:
    async def chat(text: str) -> str:
        chat_memory = GraphmemMemory(memory=memory, conversation_id="chat")
        engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=chat_memory)
        return str(await engine.achat(text))

    await chat("Our ferry is called Kestrel.")
    # The mock answers with all messages that it got.
    assert "Kestrel" in await chat("And its name?")


def repeat(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
    """Answer with all that a model would be given."""
    return ChatMessage(role="assistant", content=" ".join(one.content or "" for one in messages))


# LlamaIndex itself looks at every attribute of an agent, pydantic's old ones too.
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
async def test_an_agent_gets_what_was_said_to_the_one_before(memory: Graphmem) -> None:
    async def run(text: str, conversation_id: str) -> str:
        chat = GraphmemMemory(memory=memory, conversation_id=conversation_id)
        agent = FunctionAgent(llm=MockFunctionCallingLLM(response_generator=repeat))
        return str(await agent.run(text, memory=chat))

    await run("Our ferry is called Kestrel.", "one")
    assert "Kestrel" in await run("What is our ferry called?", "two")


async def test_a_message_that_is_too_long_for_a_question_costs_no_turn(memory: Graphmem) -> None:
    pasted = ChatMessage(role="user", content=f"{'a line of a log ' * 3_000} What is the ferry?")
    chat = GraphmemMemory(memory=memory, conversation_id="chat")
    await memory.remember_fact("The ferry is Kestrel.")
    await chat.aput(pasted)
    [context, said] = await chat.aget()
    assert "Kestrel" in str(context.content)
    assert said == pasted
    assert "Kestrel" in await GraphmemBlock(memory=memory).aget([pasted])


async def test_a_session_may_have_any_id(memory: Graphmem) -> None:
    said = ChatMessage(role="user", content="Kestrel.", additional_kwargs={"session_id": "a b@c"})
    await GraphmemBlock(memory=memory).aput([said])
    [one] = (await memory.conversations()).conversations
    assert one.id.startswith("a-b-c:")


async def test_what_cannot_be_used_is_named(memory: Graphmem) -> None:
    with pytest.raises(InvalidInput, match="conversation_id: does not have the form"):
        GraphmemMemory(memory=memory, conversation_id="a b")
    chat = GraphmemMemory(memory=memory, conversation_id="chat")
    with pytest.raises(InvalidInput, match="memory: cannot be waited for in its own event loop"):
        chat.get_all()


async def test_a_block_remembers_what_leaves_the_memory_and_gives_it_to_the_next_chat(
    given: AnyMemory,
) -> None:
    engines = [create_async_engine("sqlite+aiosqlite:///:memory:") for _ in range(2)]

    def short_memory(session_id: str) -> Memory:
        return Memory.from_defaults(
            session_id=session_id,
            async_engine=engines.pop(),
            memory_blocks=[GraphmemBlock(memory=given)],
            token_limit=60,
            token_flush_size=1,
            chat_history_token_ratio=0.5,
        )

    stored: list[ChatMessage] = []
    shown: list[ChatMessage] = []

    async def talk() -> None:
        started = list(engines)
        first, second = short_memory("one"), short_memory("two")
        await first.aput_messages(
            [
                ChatMessage(role="user", content="Our ferry is called Kestrel."),
                ChatMessage(role="assistant", content="Noted: the ferry's name is Kestrel."),
                ChatMessage(role="user", content=" ".join(["And now something else."] * 8)),
            ]
        )
        await second.aput(ChatMessage(role="user", content="What is the name of our ferry?"))
        stored.extend(await GraphmemMemory(memory=given, conversation_id="one").aget_all())
        shown.extend(await second.aget())
        for engine in started:
            await engine.dispose()

    await awaited(talk, given)

    assert stored[0] == ChatMessage(role="user", content="Our ferry is called Kestrel.")
    system, question = shown
    assert "<graphmem>" in (system.content or "")
    assert "user: Our ferry is called Kestrel." in (system.content or "")
    assert question.content == "What is the name of our ferry?"


async def test_a_block_stays_within_its_tokens_and_gives_up_the_least_relevant_first(
    memory: Graphmem,
) -> None:
    block = GraphmemBlock(memory=memory, conversation_id="log", max_tokens=40)
    assert await block.aget([ChatMessage(role="user", content="Which ferry?")]) == ""
    assert await block.aget([]) == ""
    said = [ChatMessage(role="user", content=f"Ferry number {n} is blue.") for n in range(9)]
    await block.aput(said)
    text = await block.aget([ChatMessage(role="user", content="Which ferry is number 4?")])
    tokens = TokenCounter()

    lines = text.splitlines()
    assert "Ferry number 4 is blue." in lines[0]
    assert 1 < len(lines) < len(said)
    assert tokens.count(text) <= 40
    assert await block.atruncate(text, 1) == "\n".join(lines[:-1])
    assert await block.atruncate(text, 1_000) is None
    assert len(await GraphmemMemory(memory=memory, conversation_id="log").aget_all()) == 9


async def test_a_block_names_what_it_cannot_use(memory: Graphmem) -> None:
    with pytest.raises(InvalidInput, match="conversation_id: does not have the form"):
        GraphmemBlock(memory=memory, conversation_id="a b")
    with pytest.raises(InvalidInput, match="memory: is str"):
        GraphmemBlock(memory="nothing")
