"""What the demo's story is asked besides: what an analyst of its use will want to see."""

from graphmem.cli.story_records import records
from graphmem.service import Graphmem


async def ask(memory: Graphmem) -> None:
    """Search for what is shown each time and never used, and for what nobody knows."""
    for record in records("asked.jsonl"):
        question = {name: value for name, value in record.items() if name != "times"}
        for _ in range(record["times"]):
            await memory.search(**question)
