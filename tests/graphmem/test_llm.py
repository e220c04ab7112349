"""The language model's client: one deadline around everything, and a reason for every failure."""

import logging
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from graphmem import config
from graphmem.errors import ModelFailed
from graphmem.llm import LanguageModel, language_model, object_in
from tests.stub_llm import Misbehaviour, StubModel, stub_model


@pytest_asyncio.fixture
async def stub() -> AsyncIterator[StubModel]:
    async with stub_model() as started:
        yield started


@pytest_asyncio.fixture
async def model(stub: StubModel) -> AsyncIterator[LanguageModel]:
    model = LanguageModel(stub.url, "small", "key-1")
    yield model
    await model.close()


async def test_it_asks_as_the_api_wants_and_returns_what_is_said(
    stub: StubModel, model: LanguageModel
) -> None:
    stub.answer = "It was the clock."
    assert await model.reply("Why?", instructions="Be brief.", seconds=5) == "It was the clock."
    [asked] = stub.asked
    assert asked["model"] == "small"
    assert asked["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Why?"},
    ]
    assert stub.keys == ["Bearer key-1"]


@pytest.mark.parametrize(
    ("misbehaviour", "reason"),
    [
        ("hang", "timeout"),
        ("drip", "timeout"),
        ("garbage", "too_large"),
        ("status", "refused"),
        ("nonsense", "not_understood"),
        ("half", "not_understood"),
        ("empty", "empty"),
    ],
)
async def test_a_server_that_misbehaves_costs_no_more_than_the_deadline(
    misbehaviour: Misbehaviour, reason: str, stub: StubModel, model: LanguageModel
) -> None:
    stub.misbehaviour = misbehaviour
    began = time.monotonic()
    with pytest.raises(ModelFailed) as failed:
        await model.reply("sesame-4711", seconds=1.0 if reason == "timeout" else 10.0)
    assert failed.value.reason == reason
    assert "sesame" not in str(failed.value)
    assert time.monotonic() - began < 20


async def test_nobody_there_is_unreachable() -> None:
    model = LanguageModel("http://127.0.0.1:9/v1", "small")
    with pytest.raises(ModelFailed, match="unreachable"):
        await model.reply("x", seconds=3)
    await model.close()


async def test_it_is_off_until_it_is_set_and_half_of_it_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:  # S4.32 S4.33
    assert language_model(config.load({})) is None
    assert not [one for one in caplog.records if one.name == "graphmem.llm"]
    for given, missing in (
        ({"GRAPHMEM_LLM_URL": "http://localhost/v1"}, "GRAPHMEM_LLM_MODEL"),
        ({"GRAPHMEM_LLM_MODEL": "small"}, "GRAPHMEM_LLM_URL"),
    ):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "graphmem.llm"):
            assert language_model(config.load(given)) is None
        assert [missing in one.getMessage() for one in caplog.records] == [True]
    both = {"GRAPHMEM_LLM_URL": "http://localhost/v1", "GRAPHMEM_LLM_MODEL": "small"}
    model = language_model(config.load(both))
    assert model is not None
    assert model.name == "small"
    await model.close()


def test_an_object_is_read_bare_or_fenced() -> None:
    assert object_in('{"a": 1}') == object_in('Here:\n```json\n{"a": 1}\n```') == {"a": 1}
    for reply in ("", "no", '{"a": ', "[" * 100_000):
        with pytest.raises(ModelFailed, match="not_understood"):
            object_in(reply)
