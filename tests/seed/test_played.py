"""The story's run, played on a real Neo4j: what it asks is found, and its budget carries it to the end."""

from graphmem.cli.story_records import load_references


async def play(run, record, runs, memory, played):
    """Do a run's steps in their order, its children's within them, and end it."""
    for step in record["steps"]:
        given = {name: value for name, value in step.items() if name != "operation"}
        match step["operation"]:
            case "retrieve":
                found = await run.retrieve(**given)
                assert found.spans, step["query"]
                assert 0 < found.tokens_used <= step["max_tokens"]
            case "peek":
                spans = await memory.search(
                    "*", source_types=["span"], source_ids=[step["reference"]]
                )
                peeked = await run.peek(spans.items[0].id)
                assert peeked.span.source_id == step["reference"]
            case "write":
                written = await run.write(**given)
                assert written.spans
            case "subcall":
                child = runs[step["run"]]
                called = await run.subcall(
                    agent_type=child["agent_type"], budget_fraction=child["budget_fraction"]
                )
                await play(called, child, runs, memory, played)
    played[record["key"]] = await run.end(record["outcome"])


async def test_the_run_can_be_played_to_its_end(memory, records):
    await load_references(memory)
    runs = {record["key"]: record for record in records("runs.jsonl")}
    [root] = [record for record in runs.values() if record["parent"] is None]
    played = {}
    run = await memory.run(
        agent_type=root["agent_type"], episode_id=root["episode_id"], budget=root["budget"]
    )
    await play(run, root, runs, memory, played)
    assert {key: result.outcome for key, result in played.items()} == {
        record["key"]: record["outcome"] for record in runs.values()
    }
    tree = await run.tree()
    assert [child.agent_type for child in tree.children] == [
        record["agent_type"] for record in runs.values() if record["parent"] == root["key"]
    ]
    assert played[root["key"]].total_tokens_used <= root["budget"]["max_tokens"]


async def test_what_a_child_wrote_is_found_by_others(memory, records):
    await load_references(memory)
    child = next(record for record in records("runs.jsonl") if record["key"] == "price-history")
    [text] = [step["content"] for step in child["steps"] if step["operation"] == "write"]
    async with memory.run(agent_type="writer", episode_id="e") as run:
        await run.write(type="log", content=text)
    async with memory.run(agent_type="reader", episode_id="e") as run:
        found = await run.retrieve(text.split(";")[0], max_tokens=1_000)
    assert text in [span.content for span in found.spans]
