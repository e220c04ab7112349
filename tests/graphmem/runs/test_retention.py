"""Retention of runs: whole trees, long after their end, with their operations, without what they wrote."""

from datetime import UTC, datetime
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.errors import RunNotFound, Unavailable
from graphmem.graph.driver import Graph
from graphmem.runs import sweep
from graphmem.runs.session import RunSession
from graphmem.runs.sweep import FORGET_OPERATIONS, FORGET_RUNS, OLD_ROOTS, forget_runs
from tests.budgeted import fill

LONG_AGO = datetime(1990, 1, 1, tzinfo=UTC)
"""So that no other test's runs are old."""

AGE = """CYPHER 25
MATCH (run:Run {client_id: $client_id}) WHERE run.id IN $ids
SET run.ended_at = datetime('1980-06-01T00:00:00Z')
"""
LEFT = """CYPHER 25
RETURN
  COUNT { (:Run {client_id: $client_id}) } AS runs,
  COUNT { (:Access {client_id: $client_id}) } AS operations,
  COUNT { (:Hold {client_id: $client_id}) } AS holds,
  COUNT { (:Memory {client_id: $client_id}) } AS memories
"""


async def left(memory: Graphmem) -> dict[str, Any]:
    [row] = await memory.runtime.graph.execute(LEFT, client_id=memory.client_id)
    return row


async def age(memory: Graphmem, *runs: RunSession) -> None:
    await memory.runtime.graph.execute(
        AGE, client_id=memory.client_id, ids=[run.id for run in runs]
    )


async def tree(memory: Graphmem) -> tuple[RunSession, RunSession, RunSession]:
    """A run, a child, a grandchild, each with operations."""
    budget = {"max_tokens": 2_000, "max_time_ms": 600_000, "max_retries": 2}
    root = await memory.run(agent_type="lead", episode_id="ep", budget=budget)
    child = await root.subcall(agent_type="a", budget_fraction=0.5)
    grandchild = await child.subcall(agent_type="b", budget_fraction=0.5)
    for run in (root, child, grandchild):
        await run.retrieve("pricing", max_tokens=60)
    await grandchild.write(type="summary", content="Prices rose by a third.")
    return root, child, grandchild


async def forget(memory: Graphmem) -> sweep.Forgotten:
    return await forget_runs(before=LONG_AGO, graph=memory.runtime.graph)


async def test_an_old_tree_goes_whole_and_what_it_wrote_stays(
    memory: Graphmem, rival: Graphmem
) -> None:
    await fill(memory)
    runs = await tree(memory)
    await runs[0].end("success")
    young = await memory.run(agent_type="lead", episode_id="young")
    await rival.run(agent_type="lead", episode_id="ep")
    before, others = await left(memory), await left(rival)
    await age(memory, *runs)

    forgotten = await forget(memory)

    assert forgotten.runs >= 3
    after = await left(memory)
    assert (after["runs"], after["operations"], after["holds"]) == (1, 1, 0)
    assert after["memories"] == before["memories"]
    assert await left(rival) == others
    for run in runs:
        with pytest.raises(RunNotFound):
            await memory.runs().show(run.id)
    assert (await memory.runs().show(young.id)).status == "active"
    assert (await memory.search("Prices rose")).items
    assert (await forget(memory)).runs == 0


async def test_nothing_active_goes_nor_what_it_belongs_to(memory: Graphmem) -> None:
    await fill(memory)
    root, child, grandchild = await tree(memory)
    await child.end("success")
    await age(memory, child, grandchild)
    standing = await left(memory)

    await forget(memory)
    assert await left(memory) == standing, "the root is active: its tree stays whole"

    # An end always ends what is below it; were it not so, the active one would keep its tree.
    await age(memory, root)
    await memory.runtime.graph.execute(
        "CYPHER 25 MATCH (run:Run {client_id: $client_id}) "
        "SET run.status = CASE run.id WHEN $active THEN 'active' ELSE 'completed' END",
        client_id=memory.client_id,
        active=grandchild.id,
    )
    await forget(memory)
    for query in (FORGET_OPERATIONS, FORGET_RUNS):
        rows = await memory.runtime.graph.change(
            query, client_id=memory.client_id, id=root.id, before=LONG_AGO, limit=10
        )
        assert rows[0].written == 0
    assert await left(memory) == standing
    # On a server that outlives the tests, a sweep would find the forged run, which has ended already.
    await memory.runtime.graph.execute(
        "CYPHER 25 MATCH (run:Run {client_id: $client_id}) SET run.status = 'completed'",
        client_id=memory.client_id,
    )
    await forget(memory)


async def test_what_was_cut_off_is_gone_on_with(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(memory)
    runs = await tree(memory)
    await runs[0].end("success")
    await age(memory, *runs)
    standing = await left(memory)
    monkeypatch.setattr(sweep, "RECORDS_AT_ONCE", 2)
    change, calls = Graph.change, []

    async def dies(self, query, **parameters):
        # The records of reads are written meanwhile.
        if query in (FORGET_OPERATIONS, FORGET_RUNS):
            calls.append(query.name)
        if len(calls) > 3:
            raise Unavailable("cut off")
        return await change(self, query, **parameters)

    with monkeypatch.context() as patch:
        patch.setattr(Graph, "change", dies)
        with pytest.raises(Unavailable):
            await forget(memory)
    partly = await left(memory)
    assert partly["operations"] == standing["operations"] - 6, "two a transaction"
    assert partly["runs"] == 3

    assert (await forget(memory)).runs >= 3
    after = await left(memory)
    assert (after["runs"], after["operations"], after["memories"]) == (0, 0, standing["memories"])


async def test_it_is_found_by_an_index(memory: Graphmem) -> None:
    async with memory.runtime.graph.driver.session() as session:
        summary = await (
            await session.run(
                f"EXPLAIN {OLD_ROOTS.text_on(memory.runtime.graph.side)}",
                before=LONG_AGO,
                limit=10,
            )
        ).consume()
    assert "run_ended" in str(summary.plan) or "Run(depth, ended_at)" in str(summary.plan)
