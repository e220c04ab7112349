"""An agent of the OpenAI Agents SDK that goes on where the run before ended.

    python -m examples.openai_agents_session "Our ferry is called Kestrel."
    python -m examples.openai_agents_session "What is our ferry called?"

`Parrot` stands for a model: it repeats what it was given. Leave `model` out for OpenAI's.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

import graphmem
from graphmem.adapters.openai_agents import GraphmemSession


class Parrot(Model):
    """Stand for a model."""

    async def get_response(
        self, system_instructions: str | None, input: Any, *others: Any, **named: Any
    ) -> ModelResponse:
        """Return what the users said."""
        said = "\n".join(item["content"] for item in input if item["role"] == "user")
        text = ResponseOutputText(text=said, type="output_text", annotations=[])
        message = ResponseOutputMessage(
            id="1", content=[text], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *given: Any, **named: Any) -> AsyncIterator[Any]:
        """Raise `NotImplementedError`."""
        raise NotImplementedError


async def main(text: str) -> None:
    """Say one thing to the agent, and print the answer."""
    async with graphmem.open(client_id="openai-agents") as memory:
        agent = Agent(name="Parrot", model=Parrot())
        session = GraphmemSession(memory, "chat")
        offline = RunConfig(tracing_disabled=True)
        print((await Runner.run(agent, text, session=session, run_config=offline)).final_output)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
