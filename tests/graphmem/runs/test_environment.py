"""Runs in Python: an environment, a block for a run, what the block's end says of it."""

import asyncio
import logging
from typing import Any

import msgspec
import pytest

import graphmem
from graphmem.client import Graphmem
from graphmem.errors import (
    BudgetExhausted,
    InvalidInput,
    RunEnded,
    RunNotFound,
    RunTimeout,
    TooManyRuns,
)
from graphmem.runs.retrieve import unit_vector
from graphmem.runs.types import AccessEntry
from tests.budgeted import fill

AGENT: dict[str, Any] = {"agent_type": "copy-agent", "episode_id": "ep-123"}


# S3.1 S3.36
async def test_an_environment_has_its_own_default_budget_limit_and_listener(
    memory: Graphmem,
) -> None:
    await fill(memory, 2)
    told: list[AccessEntry] = []
    environment = memory.runs(
        default_budget={"max_tokens": 500, "max_time_ms": 30_000, "max_retries": 1},
        on_access=told.append,
        max_concurrent_sessions=2,
    )
    assert environment.client_id == memory.client_id
    run = await environment.run(**AGENT)
    assert (run.budget.remaining_tokens, run.budget.remaining_retries) == (500, 1)
    result = await run.retrieve("pricing", max_tokens=100)
    await run.peek("span-0")
    await run.write(type="log", content="The harbour light is red.")
    child = await run.subcall(agent_type="qa", budget_fraction=0.5)
    with pytest.raises(TooManyRuns):
        await environment.run(**AGENT)
    with pytest.raises(BudgetExhausted):
        await run.retrieve("pricing", max_tokens=100_000)
    await run.end("success")
    own = [one for one in told if one.session_id == run.id]
    assert [one.operation for one in own] == [
        *("start", "retrieve", "peek", "write", "subcall", "retrieve", "end")
    ]
    assert [one.tokens_consumed for one in own] == [0, result.tokens_used, 0, 0, 0, 0, 0]
    assert [bool(one.error) for one in own] == [False] * 5 + [True, False]
    assert own[4].params["child_session_id"] == child.id
    assert [one.operation for one in told if one.session_id == child.id] == ["start"]
    assert all(one.duration_ms > 0 and one.timestamp.tzinfo for one in told)
    assert not [one for one in told if "pricing" in str(one) or "harbour" in str(one)]


async def test_a_listener_that_fails_fails_nothing(
    memory: Graphmem, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(entry: AccessEntry) -> None:
        raise RuntimeError("sesame")

    with caplog.at_level(logging.WARNING):
        async with memory.run(**AGENT, on_access=broken) as run:
            before = run.status
    assert (before, run.status) == ("active", "completed")
    assert "on_access failed: RuntimeError" in caplog.text
    assert "sesame" not in caplog.text


# S3.12
async def test_a_block_ends_its_run_as_it_ended_itself(memory: Graphmem) -> None:
    async with memory.run(**AGENT) as run:
        async with run.subcall(agent_type="qa", budget_fraction=0.5) as child:
            assert child.parent_session_id == run.id
        assert (child.status, child.outcome) == ("completed", "success")
    assert (run.status, run.outcome) == ("completed", "success")
    outcomes = []
    for problem in (KeyError("x"), BudgetExhausted(2, 1), RunTimeout("x")):
        with pytest.raises(type(problem)):
            async with memory.run(**AGENT) as run:
                raise problem
        outcomes.append((run.status, run.outcome))
    assert outcomes == [
        ("failed", "failure"),
        ("failed", "budget_exhausted"),
        ("timeout", "timeout"),
    ]


async def test_a_block_leaves_a_run_alone_that_was_ended_inside(memory: Graphmem) -> None:
    async with memory.run(**AGENT) as run:
        result = await run.end("failure")
    assert (run.outcome, result.outcome) == ("failure", "failure")
    with pytest.raises(RunEnded):
        await run.retrieve("pricing", max_tokens=1)


# S3.4
async def test_the_times_of_a_budget_go_on(memory: Graphmem) -> None:
    run = await memory.run(**AGENT, budget={"max_time_ms": 5_000})
    before = run.budget
    await asyncio.sleep(0.05)
    after = run.budget
    assert after.elapsed_time_ms >= before.elapsed_time_ms + 50
    assert after.remaining_time_ms <= before.remaining_time_ms - 50
    await run.end("success")
    ended = run.budget
    await asyncio.sleep(0.02)
    assert run.budget == ended


# S3.11
async def test_a_run_is_found_by_its_client_alone(memory: Graphmem, rival: Graphmem) -> None:
    run = await memory.run(**AGENT)
    found = await memory.runs().find(run.id)
    assert found is not None
    assert (found.id, found.agent_type, found.episode_id) == (run.id, "copy-agent", "ep-123")
    assert (found.depth, found.started_at) == (0, run.started_at)
    assert await rival.runs().find(run.id) is None
    assert await memory.runs().find("session-unknown") is None
    with pytest.raises(RunNotFound):
        await rival.runs().tree(run.id)


# S3.43
async def test_many_runs_at_once_keep_apart(memory: Graphmem, rival: Graphmem) -> None:
    await fill(memory, 4)
    await fill(rival, 4)
    runs = await asyncio.gather(
        *(client.run(**AGENT) for client in (memory, rival) for _ in range(4))
    )
    results = await asyncio.gather(*(run.retrieve("pricing", max_tokens=60) for run in runs))
    for run, result in zip(runs, results, strict=True):
        tree = await run.tree()
        assert tree.spent == result.tokens_used > 0
        assert tree.operations == {"start": 1, "retrieve": 1}


@pytest.mark.parametrize("wrong", ["half \ud800", " ", ""])
async def test_a_name_is_a_text(wrong: str, memory: Graphmem) -> None:
    with pytest.raises(InvalidInput) as refused:
        await memory.run(agent_type="a", episode_id=wrong)
    assert refused.value.field == "episode_id"
    run = await memory.run(**AGENT)
    with pytest.raises(InvalidInput) as refused:
        await run.peek(wrong)
    assert refused.value.field == "span_id"


def test_a_vector_of_any_length_becomes_one_of_length_1() -> None:
    assert unit_vector([3.0, 4.0], 2) == pytest.approx([0.6, 0.8])
    assert unit_vector([3e300, 4e300], 2) == pytest.approx([0.6, 0.8])
    assert unit_vector([3e-310, 4e-310], 2) == pytest.approx([0.6, 0.8])
    for wrong in ([1.0], [0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]):
        with pytest.raises(InvalidInput, match="query"):
            unit_vector(wrong, 2)


# S3.46 S3.50
@pytest.mark.parametrize("name", ["Span", "SpanRef", "RetrievalBudget", "BudgetState"])
def test_the_shapes_are_exported_with_their_schemas(name: str) -> None:
    assert name in dir(graphmem)
    shape = getattr(graphmem, name)
    _, components = msgspec.json.schema_components([shape])
    assert components[name]["type"] == "object"
    assert components[name]["required"] or name == "RetrievalBudget"


async def test_operations_at_once_are_all_counted(memory: Graphmem) -> None:
    run = await memory.run(**AGENT)
    await asyncio.gather(*(run.write(type="log", content=f"Entry {n}.") for n in range(16)))
    assert (await run.tree()).operations["write"] == 16
    assert (await run.end("success")).write_count == 16
