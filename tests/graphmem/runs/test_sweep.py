"""Ends: of a run with all below it, of what is overdue, and by the job that looks for that."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from graphmem.background import WORK
from graphmem.client import Graphmem
from graphmem.errors import BudgetExhausted, RunTimeout
from graphmem.runs import performing
from graphmem.runs.performing import RunOperation, reserve
from graphmem.runs.session import RunSession
from graphmem.runs.starting import SWEEP_RUNS
from graphmem.runs.sweep import sweep
from tests.budgeted import below, check, check_stored, fill

SWEEPS = """CYPHER 25
MATCH (job:Job {client_id: $client_id, kind: 'sweep_runs'}) RETURN job.run_at AS run_at
"""
OVERDUE = "CYPHER 25 MATCH (run:Run) WHERE run.id IN $ids SET run.deadline = $now"
HOLDS = "CYPHER 25 MATCH (hold:Hold {client_id: $client_id}) RETURN count(hold) AS holds"


async def run_of(memory: Graphmem, tokens: int = 1_000, time_ms: int = 600_000) -> RunSession:
    budget = {"max_tokens": tokens, "max_time_ms": time_ms, "max_retries": 4}
    return await memory.run(agent_type="lead", episode_id="ep", budget=budget)


async def held(run: RunSession, memory: Graphmem, tokens: int, now: datetime) -> None:
    """Hold tokens as an operation does that then crashes."""
    operation = RunOperation(
        run_id=run.id,
        operation="retrieve",
        operation_id="crashed",
        parameters={},
        access_id="crashed",
        tokens=tokens,
    )
    await reserve(operation, 0, now, memory.client_id, memory.runtime.graph.change)


async def test_an_end_ends_what_is_below_first_and_everything_comes_back(memory: Graphmem) -> None:
    await fill(memory)
    run = await run_of(memory)
    one = await run.subcall(agent_type="a", budget_fraction=0.5)
    two = await one.subcall(agent_type="b", budget_fraction=0.5)
    other = await run.subcall(agent_type="c", budget_fraction=0.5)
    used = [(await each.retrieve("pricing", max_tokens=60)).tokens_used for each in (run, one, two)]
    await held(two, memory, 20, datetime.now(UTC))
    result = await run.end("success")
    assert result.total_tokens_used == sum(used)
    tree = await run.tree()
    check(tree)
    assert tree.remaining == 1_000 - sum(used)
    assert {each.status for each in below(tree)} == {"completed"}
    assert all(each.operations["end"] == 1 for each in below(tree))
    assert (await memory.runs().show(one.id)).budget.tokens_used == used[1] + used[2]
    assert (await memory.runs().show(other.id)).outcome == "success"
    await check_stored(memory)
    holds = await memory.runtime.graph.execute(HOLDS, client_id=memory.client_id)
    assert holds[0]["holds"] == 0


async def test_ends_at_once_from_above_and_below_give_everything_back_once(
    memory: Graphmem,
) -> None:
    run = await run_of(memory)
    children = [await run.subcall(agent_type="a", budget_fraction=0.3) for _ in range(4)]
    grown = [await child.subcall(agent_type="b", budget_fraction=0.5) for child in children]
    ends = [each.end("success") for each in (*children, *grown, *children)]
    await asyncio.gather(*ends, run.end("failure"), run.end("failure"))
    tree = await run.tree()
    check(tree)
    assert (tree.remaining, tree.given, tree.outcome) == (1_000, 0, "failure")
    assert all(each.operations["end"] == 1 for each in below(tree))


# S3.25 S3.30
async def test_a_child_s_time_ends_no_later_than_its_parent_s(memory: Graphmem) -> None:
    run = await run_of(memory, time_ms=600_000)
    child = await run.subcall(agent_type="a", budget_fraction=0.5)
    whole = await run.subcall(
        agent_type="b", budget_fraction=0.1, fixed_budget={"max_time_ms": 3_600_000}
    )
    shown = {each.id: await memory.runs().show(each.id) for each in (run, child, whole)}
    assert shown[whole.id].deadline == shown[run.id].deadline
    assert 240_000 < shown[child.id].limits.max_time_ms <= 300_000


async def test_what_an_overdue_child_left_comes_back_when_it_is_needed(memory: Graphmem) -> None:
    await fill(memory)
    run = await run_of(memory)
    child = await run.subcall(agent_type="a", budget_fraction=0.9)
    with pytest.raises(BudgetExhausted):
        await run.retrieve("pricing", max_tokens=900)
    await memory.runtime.graph.execute(OVERDUE, ids=[child.id], now=datetime.now(UTC))
    result = await run.retrieve("pricing", max_tokens=900)
    assert result.spans
    with pytest.raises(RunTimeout):
        await child.retrieve("pricing", max_tokens=1)
    assert (child.status, child.outcome) == ("timeout", "timeout")
    tree = await run.tree()
    check(tree)
    assert (tree.given, tree.children[0].returned) == (0, 900)


@pytest.mark.parametrize("look", ["show", "tree", "write"])
async def test_an_overdue_child_s_tokens_are_shown_as_back_at_once(
    memory: Graphmem, look: str
) -> None:
    await fill(memory, 1)
    run = await run_of(memory)
    child = await run.subcall(agent_type="a", budget_fraction=0.5)
    below = await child.subcall(agent_type="b", budget_fraction=0.5)
    assert (await memory.runs().show(run.id)).budget.remaining_tokens == 500
    late = datetime.now(UTC)
    await memory.runtime.graph.execute(OVERDUE, ids=[child.id, below.id], now=late)

    if look == "tree":
        tree = await run.tree()
        check(tree)
        assert (tree.given, tree.remaining) == (0, 1_000)
        assert [one.status for one in (tree, tree.children[0])] == ["active", "timeout"]
    elif look == "show":
        assert (await memory.runs().show(run.id)).budget.remaining_tokens == 1_000  # S3.30
    else:
        wrote = await run.write(type="log", content="The lamp is lit.")
        assert wrote.budget is not None
        assert wrote.budget.remaining_tokens == 1_000
    assert (await memory.runs().show(child.id)).status == "timeout"
    await check_stored(memory)


async def test_a_sweep_ends_what_is_overdue_and_removes_what_has_expired(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await run_of(memory)
    child = await run.subcall(agent_type="a", budget_fraction=0.5)
    lasting = await run_of(memory)
    monkeypatch.setattr(performing, "HOLD", timedelta(milliseconds=1))
    await held(lasting, memory, 500, datetime.now(UTC))
    await memory.runtime.graph.execute(OVERDUE, ids=[run.id, child.id], now=datetime.now(UTC))
    await sweep(now=datetime.now(UTC), graph=memory.runtime.graph)
    rows: dict[str, Any] = {row["id"]: row for row in await check_stored(memory)}
    assert [rows[each.id]["status"] for each in (run, child, lasting)] == [
        *("timeout", "timeout"),
        "active",
    ]
    holds = await memory.runtime.graph.execute(HOLDS, client_id=memory.client_id)
    assert holds[0]["holds"] == 0
    tree = await run.tree()
    check(tree)
    assert (tree.given, tree.remaining) == (0, 1_000)
    assert tree.operations == {"start": 1, "subcall": 1, "end": 1}


async def test_a_job_looks_for_what_is_overdue_soon_after_it_is(memory: Graphmem) -> None:
    await run_of(memory, time_ms=60_000)
    await run_of(memory, time_ms=60_001)
    rows = await memory.runtime.graph.execute(SWEEPS, client_id=memory.client_id)
    assert len(rows) in {1, 2}, "one a minute"
    due = max(row["run_at"].to_native() for row in rows)
    assert timedelta(seconds=55) < due - datetime.now(UTC) <= timedelta(seconds=121)
    assert SWEEP_RUNS in WORK
