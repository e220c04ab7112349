"""The demo's budgeted run: an agent and two it calls, each within its part of the budget."""

import contextlib
from collections.abc import Mapping
from typing import Any

from graphmem.cli.story_records import records
from graphmem.errors import RunEnded, RunTimeout
from graphmem.runs.types import TreeRun
from graphmem.service import Graphmem
from graphmem.service.run import RunSession

Record = Mapping[str, Any]


async def play(memory: Graphmem) -> TreeRun:
    """Do what the story's run did, once for a client, and return the tree of its budgets.

    Every step has an `operation_id`: told again, nothing is done or charged twice.
    """
    runs = {record["key"]: record for record in records("runs.jsonl")}
    [root] = [record for record in runs.values() if record["parent"] is None]
    run = await memory.run(
        agent_type=root["agent_type"],
        episode_id=root["episode_id"],
        budget=root["budget"],
        operation_id=root["key"],
    )
    if (await run.refresh()).status == "active":
        # One that was interrupted long ago has no time left: it is shown as it is.
        with contextlib.suppress(RunTimeout, RunEnded):
            await _perform(memory, run, root, runs)
    return await run.tree()


async def _perform(
    memory: Graphmem, run: RunSession, record: Record, runs: Mapping[str, Record]
) -> None:
    for place, step in enumerate(record["steps"]):
        given = {name: value for name, value in step.items() if name != "operation"}
        operation_id = f"{record['key']}-{place}"
        match step["operation"]:
            case "retrieve":
                await run.retrieve(**given, operation_id=operation_id)
            case "peek":
                spans = await memory.search(
                    "*", source_types=["span"], source_ids=[step["reference"]]
                )
                await run.peek(spans.items[0].id, operation_id=operation_id)
            case "write":
                await run.write(**given, operation_id=operation_id)
            case "subcall":
                called = runs[step["run"]]
                child = await run.subcall(
                    agent_type=called["agent_type"],
                    budget_fraction=called["budget_fraction"],
                    operation_id=operation_id,
                )
                await _perform(memory, child, called, runs)
    await run.end(record["outcome"])
