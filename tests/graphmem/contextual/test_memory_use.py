"""What contextual retrieval keeps in the process: nothing of a session, however many are asked."""

import gc
import tracemalloc

from graphmem.client import Graphmem

SESSIONS, MESSAGES = 10, 30
# With one long word, which is much to hold and little to embed.
SAID = (
    "We looked at the auth bug again, in the token validation of the login, for the {place}. time. "
    + "x" * 2_000
)


async def asked(memory: Graphmem, name: str) -> int:
    """Search in one session and tell more of it; return how much memory is held afterwards."""
    found = await memory.search_contextual(
        "What was that auth bug?", conversation_id=name, top_k=20
    )
    [context] = found.contexts
    more = await memory.expand_context(
        session_id=context.session_id, direction="later", max_tokens=100_000
    )
    assert len(more.messages) > 10
    assert memory.runtime.recorder is not None
    await memory.runtime.recorder.settle()
    del found, context, more
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def test_a_session_that_was_asked_is_not_kept_in_the_process(
    memory: Graphmem, bulk_data: None
) -> None:
    # S5.38
    names = [f"c{number}" for number in range(SESSIONS)]
    for name in names:
        await memory.open_conversation(name)
        said = [
            {"session_id": "s", "role": "user", "content": SAID.format(place=place)}
            for place in range(MESSAGES)
        ]
        await memory.remember(name, said)
    tracemalloc.start()
    try:
        for name in names[:3]:
            await asked(memory, name)
        held = [await asked(memory, name) for name in names]
    finally:
        tracemalloc.stop()
    # What was told of nine sessions would be more than twice that, what was found four times.
    # What the process holds besides (connections, records on their way) differs by a third of it.
    assert held[-1] - held[0] < 256_000, held
