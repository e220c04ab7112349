"""A session keeps the items of runs, as the SDK's own sessions do."""

from typing import Any

import agents
import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, Session, SessionSettings, Usage
from agents.memory import SQLiteSession
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from graphmem.adapters.memory import AnyMemory
from graphmem.adapters.openai_agents import GraphmemSession
from graphmem.client import Graphmem
from graphmem.errors import InvalidInput
from tests.graphmem.adapters.conftest import awaited

ITEMS: list[Any] = [
    {"role": "user", "content": "When is high tide?"},
    {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "QUJD" * 2_000},
    {"type": "function_call", "call_id": "c", "name": "tide", "arguments": '{"at": "Brest"}'},
    {"type": "function_call_output", "call_id": "c", "output": "06:12 " * 1_000},
    {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "At 06:12.", "annotations": []}],
    },
    {
        "role": "user",
        "content": [{"type": "input_image", "image_url": "https://example.org/a.png"}],
    },
]


async def test_a_session_does_what_sqlite_sessions_do_in_every_form_of_memory(
    given: AnyMemory,
) -> None:
    ours, theirs = GraphmemSession(given, "s"), SQLiteSession("s")

    async def use() -> None:
        assert isinstance(ours, Session)
        assert await ours.pop_item() is None
        for session in (ours, theirs):
            await session.add_items(ITEMS[:2])
            await session.add_items([])
            await session.add_items(ITEMS[2:])
        for limit in (None, 1, 4, 100, 0):
            assert await ours.get_items(limit) == await theirs.get_items(limit)
        assert await ours.pop_item() == await theirs.pop_item() == ITEMS[-1]
        assert await ours.get_items() == await theirs.get_items() == ITEMS[:-1]
        await ours.clear_session()
        assert await ours.get_items() == []
        await ours.clear_session()

    await awaited(use, given)
    theirs.close()


async def test_items_are_remembered_as_what_they_say(memory: Graphmem) -> None:
    await GraphmemSession(memory, "s").add_items(ITEMS)

    said = [(one.role, one.text[:23]) for one in (await memory.messages("s")).messages]
    assert said == [
        ("user", "When is high tide?"),
        ("assistant", "[reasoning]\nQUJDQUJDQUJ"),
        ("assistant", 'tide({"at": "Brest"})'),
        ("tool", "06:12 06:12 06:12 06:12"[:23]),
        ("assistant", "At 06:12."),
        ("user", "[input_image]"),
    ]


async def test_an_item_with_any_role_is_kept(memory: Graphmem) -> None:
    session = GraphmemSession(memory, "s")
    strange: Any = {"role": ["x"], "content": "06:12"}
    await session.add_items([strange])

    assert await session.get_items() == [strange]
    [said] = (await memory.messages("s")).messages
    assert (said.role, said.text) == ("user", "06:12")


async def test_the_limit_of_the_settings_holds_unless_another_is_given(memory: Graphmem) -> None:
    session = GraphmemSession(memory, "s", session_settings=SessionSettings(limit=1))
    await memory.remember("s", [{"role": "tool", "content": "06:12"}], create=True)
    await session.add_items(ITEMS[:1])

    assert await session.get_items() == ITEMS[:1]
    assert await session.get_items(2) == [{"role": "user", "content": "06:12"}, *ITEMS[:1]]
    with pytest.raises(InvalidInput, match="limit: expected a whole number >= 0"):
        await session.get_items(-1)


class Parrot(agents.Model):
    """A model that repeats all that it was given."""

    async def get_response(
        self, system_instructions: Any, input: Any, *_: Any, **__: Any
    ) -> ModelResponse:
        said = " ".join(str(item["content"]) for item in input if item["role"] == "user")
        text = ResponseOutputText(text=said, type="output_text", annotations=[])
        message = ResponseOutputMessage(
            id="m", content=[text], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


async def test_an_agent_remembers_the_run_before(memory: Graphmem) -> None:
    agent = Agent(name="Parrot", model=Parrot())
    quiet = RunConfig(tracing_disabled=True)

    async def run(text: str) -> str:
        session = GraphmemSession(memory, "s")
        return str((await Runner.run(agent, text, session=session, run_config=quiet)).final_output)

    assert await run("Our ferry is called Kestrel.") == "Our ferry is called Kestrel."
    assert await run("And its name?") == "Our ferry is called Kestrel. And its name?"
    assert "Kestrel" in (await memory.recall("What is our ferry called?")).context


async def test_an_id_that_is_none_is_refused(memory: Graphmem) -> None:
    with pytest.raises(InvalidInput, match="conversation_id: does not have the form"):
        GraphmemSession(memory, "a b")
