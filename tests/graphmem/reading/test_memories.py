"""Looking at one memory on a real Neo4j."""

from datetime import UTC, datetime

import pytest

from graphmem.errors import MemoryNotFound
from graphmem.model.memory import Memory
from graphmem.service import Graphmem

SAID_AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


@pytest.fixture
async def kept(memory: Graphmem) -> str:
    """The id of a message with everything that one can have."""
    await memory.open_conversation("c")
    new = {
        "session_id": "s",
        "role": "tool",
        "name": "clock",
        "content": "It is half past nine.",
        "external_id": "x",
        "importance": 0.25,
        "occurred_at": SAID_AT,
    }
    return (await memory.remember("c", [new])).ids[0]


async def test_a_message_shows_what_it_has_and_null_for_what_it_has_not(
    memory: Graphmem, kept: str
):
    shown = await memory.memory(kept)

    assert shown == Memory(
        id=kept,
        kind="message",
        text="It is half past nine.",
        token_count=6,
        importance=0.25,
        active=True,
        source_type="message",
        source_id=shown.session_id,
        conversation_id="c",
        session_id=shown.session_id,
        session_external_id="s",
        external_id="x",
        occurred_at=SAID_AT,
        valid_at=SAID_AT,
        created_at=shown.created_at,
        idx=0,
        position=0,
        role="tool",
        name="clock",
    )
    assert shown.session_id


async def test_another_client_s_is_as_unknown_as_none(memory: Graphmem, rival: Graphmem, kept: str):
    for id in (kept, "nothing", "", "x" * 5000, "\0"):
        with pytest.raises(MemoryNotFound) as raised:
            await rival.memory(id)
        assert str(raised.value) == f"no memory {id!r}"
