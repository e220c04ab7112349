"""What contextual search compares and keeps, counted on a small store of its own."""

import pytest

from bench.contextual import Told, compared, named, tell, vectors
from graphmem.client import Graphmem

SESSIONS, EACH = 120, 8


@pytest.fixture
async def told(memory: Graphmem, bulk_data: None) -> Told:
    made = Told(each=EACH)
    await tell(memory, made, range(SESSIONS))
    for number, id in (await named(memory)).items():
        text = " ".join(made.theme(number))
        await memory.add_summary(type="session", target_id=id, text=f"They spoke of {text}.")
    return made


async def test_hard_narrowing_compares_the_summaries_and_three_sessions_messages(
    memory: Graphmem, told: Told
) -> None:
    # S5.29 S5.30 S5.32
    counted = await compared(memory, told, SESSIONS, questions=3)
    assert counted["messages"] == 3 * EACH
    assert counted["summaries"] == SESSIONS
    assert counted["together"] == counted["sessions + 3 · messages a session"]
    assert counted["all messages"] >= 5 * counted["together"]
    kept = await vectors(memory)
    assert kept["vectors"] == {"message": SESSIONS * EACH, "summary": SESSIONS}
    assert kept["vectors a memory"] == 1
