"""A running graphmem: what its settings open."""

import pytest
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.config import Settings
from graphmem.runtime import running


@pytest.mark.parametrize(("record", "kept"), [("on", 1), ("off", 0)])
async def test_reads_are_recorded_unless_it_is_off(
    record: str, kept: int, memory: Graphmem, neo4j_settings: Settings
) -> None:
    async with running(replace(neo4j_settings, record=record)) as started:
        await Graphmem(started, memory.client_id).recall("Where is the ferry?")
    rows = await memory.runtime.graph.execute(
        "MATCH (read:Access {client_id: $client}) RETURN count(read) AS reads",
        client=memory.client_id,
    )
    assert rows[0]["reads"] == kept
