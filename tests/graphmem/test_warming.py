"""What is asked before readiness: the store's own memories, without a trace."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from graphmem import warming
from graphmem.accesses import Recorder
from graphmem.client import Graphmem
from graphmem.context import Context
from graphmem.errors import Unavailable
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.recall.types import Question
from graphmem.runtime import Runtime
from graphmem.warming import NOBODY_S, SAMPLED_QUESTIONS, SampledQuestion, warm


async def test_the_sample_is_of_the_next_client_and_no_larger_than_it_is_to_be(
    memory: Graphmem,
) -> None:
    for colour in ("red", "green"):
        await memory.remember_fact(f"The harbour light is {colour}.")
    before = memory.client_id[:-1]

    async def sampled(after: str, limit: int) -> list[SampledQuestion]:
        rows = await memory.runtime.graph.rows(SAMPLED_QUESTIONS, after=after, limit=limit)
        return [row for row in rows if row.client_id == memory.client_id]

    assert {one.text for one in await sampled(before, 10_000)} == {
        "The harbour light is red.",
        "The harbour light is green.",
    }
    assert len(await sampled(before, 1)) <= 1
    assert await sampled(memory.client_id, 10_000) == []


async def test_each_sampled_client_is_asked_for_its_own_and_no_read_is_recorded(
    runtime: Runtime, memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.remember_fact("The harbour light is red.")
    asked: list[tuple[str, str, str]] = []

    def noting(name: str) -> Any:
        real = getattr(warming, name)

        async def ask(question: Any, context: Context) -> Any:
            assert context.recorder is None
            asked.append((name, context.client_id, question.query))
            return await real(question, context)

        return ask

    for name in ("recall", "search", "search_contextual"):
        monkeypatch.setattr(warming, name, noting(name))
    sample = [SampledQuestion(memory.client_id, text) for text in ("The harbour light", " ")]
    real = Graph.rows

    async def rows(graph: Graph, query: Query[Any], **parameters: Any) -> list[Any]:
        if query is SAMPLED_QUESTIONS:
            return [] if parameters["after"] else sample
        return await real(graph, query, **parameters)

    monkeypatch.setattr(Graph, "rows", rows)
    recorder = Recorder(runtime.graph, kept=None)
    written: list[tuple[str, int]] = []
    change = Graph.change

    async def changed(graph: Graph, query: Query[Any], **parameters: Any) -> list[Any]:
        rows = await change(graph, query, **parameters)
        if parameters.get("client_id") == "":
            written.append((query.name, rows[0].written))
        return rows

    monkeypatch.setattr(Graph, "change", changed)
    await warm(replace(runtime, recorder=recorder))
    await recorder.end()

    # Recording is planned too, with nothing to record.
    assert written == [("accesses/record_reads", 0), ("accesses/forget_reads", 0)]

    own = [(name, question) for name, client, question in asked if client == memory.client_id]
    assert own == [
        (name, question)
        for question in ("The harbour light", NOBODY_S.text)
        for name in ("recall", "search", "search_contextual")
    ]
    assert {client for _, client, _ in asked} == {memory.client_id, ""}


async def test_a_store_that_does_not_answer_only_delays_the_start(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(question: Question, context: Context) -> Any:
        raise Unavailable("the database is restarting")

    monkeypatch.setattr(warming, "recall", fail)
    caplog.set_level("INFO", logger="graphmem.warming")
    await warm(runtime)
    assert "the first answers may take longer: Unavailable" in caplog.text


async def test_warming_ends_after_the_time_that_the_start_may_take_for_it(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def hang(question: Question, context: Context) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(warming, "recall", hang)
    caplog.set_level("INFO", logger="graphmem.warming")
    brief = replace(runtime, settings=replace(runtime.settings, warm_seconds=1))
    await asyncio.wait_for(warm(brief), 300)
    assert "warming ended after 1 s; the next answers may take longer" in caplog.text
