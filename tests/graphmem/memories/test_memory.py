"""Looking at one memory on a real Neo4j."""

from datetime import UTC, datetime

import pytest

from graphmem.client import Graphmem
from graphmem.errors import MemoryNotFound
from graphmem.memories.types import Memory

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


async def test_every_kind_shows_its_own_fields_and_null_for_the_others(memory: Graphmem):
    metadata = {"path": "docs/prices.md", "pages": [1, 2]}
    reference = await memory.add_reference(
        type="offer", target_id="o", label="Offer", description="Two for one", metadata=metadata
    )
    plan = await memory.add_summary(
        type="plan",
        target_id="p",
        plan_type="rollout",
        total_nodes=4,
        completed_nodes=1,
        pending_nodes=2,
        failed_nodes=1,
        key_milestones=["Ingest"],
        current_phase="one",
        last_activity_at=SAID_AT,
    )
    span = await memory.register_span(
        source_type="offer",
        source_id="o",
        start_byte=5,
        end_byte=16,
        content="Two for one",
        metadata={"importance": 0.9, "recency": 3.0, "tags": ["spring"]},
    )
    shown = [await memory.memory(one.id) for one in (reference, plan, span)]
    assert [one.kind for one in shown] == ["reference", "summary", "span"]
    assert [one.metadata for one in shown] == [metadata, None, None]
    assert [one.label for one in shown] == ["Offer", None, None]
    assert [one.key_milestones for one in shown] == [None, ["Ingest"], None]
    assert [one.failed_nodes for one in shown] == [None, 1, None]
    assert [one.last_activity_at for one in shown] == [None, SAID_AT, None]
    assert [one.start_byte for one in shown] == [None, None, 5]
    assert [one.tags for one in shown] == [None, None, ["spring"]]
    assert [one.version for one in shown] == [1, 1, None]
    assert shown[2].sha256 == span.hash
    assert {(one.idx, one.role, one.title, one.keywords) for one in shown} == {(None,) * 4}
