"""The story's run, played on a real Neo4j: what it asks is found, and its budget carries it to the end."""

import pytest

from examples.tour import play
from graphmem.cli.story import StoryLoader
from graphmem.client import Graphmem
from tests.seed.conftest import Read

pytestmark = pytest.mark.usefixtures("whole_story")


async def test_the_run_can_be_played_to_its_end(memory: Graphmem, records: Read) -> None:
    await StoryLoader(memory).load_references()
    tree = await play(memory)

    runs = {record["agent_type"]: record for record in records("runs.jsonl")}
    assert runs[tree.agent_type]["parent"] is None
    assert [child.agent_type for child in tree.children] == [
        record["agent_type"] for record in runs.values() if record["parent"]
    ]
    for run in (tree, *tree.children):
        assert run.outcome == runs[run.agent_type]["outcome"]
        assert run.spent + run.held + run.given + run.remaining == run.max_tokens
        assert run.spent > 0
        steps = [step["operation"] for step in runs[run.agent_type]["steps"]]
        assert run.operations == {name: steps.count(name) for name in steps} | {
            "start": 1,
            "end": 1,
        }


async def test_played_again_nothing_is_done_or_charged_twice(memory: Graphmem) -> None:
    await StoryLoader(memory).load_references()
    once = await play(memory)

    assert await play(memory) == once
    [written] = (await memory.search("*", source_types=["thread_summary"])).items
    assert written.kind in {"reference", "span"}


async def test_what_a_child_wrote_is_found_by_others(memory: Graphmem, records: Read) -> None:
    await StoryLoader(memory).load_references()
    child = next(record for record in records("runs.jsonl") if record["key"] == "price-history")
    [text] = [step["content"] for step in child["steps"] if step["operation"] == "write"]
    async with memory.run(agent_type="writer", episode_id="e") as run:
        await run.write(type="log", content=text)
    async with memory.run(agent_type="reader", episode_id="e") as run:
        found = await run.retrieve(text.split(";")[0], max_tokens=1_000)
    assert text in [span.content for span in found.spans]
