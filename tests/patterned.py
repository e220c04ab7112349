"""A client's memory in which every pattern of the catalogue finds something, and the parameters for it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from graphmem.client import Graphmem
from tests.planted import plant

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

SAID = {
    "atlas-1": ["Project Beacon and Lyra Voss met in the harbour office."],
    "atlas-2": ["Again Project Beacon was discussed with Lyra Voss, this time about money."],
    "joint": ["Lyra Voss flies to Osaka next month."],
    "osaka": ["The hotel in Osaka has a roof garden."],
    "tired-1": ["I could not fall asleep until four in the morning."],
    "tired-2": ["Another sleepless night, I lay awake for hours."],
    "tired-3": ["My insomnia is back, three hours of sleep."],
}
"""The messages of each session, a week apart."""

QUESTION = "Where did we put the spare keys of the boat house?"
"""A question without an answer in the memory."""

ASKED: dict[str, dict[str, Any]] = {
    "recurring_themes": {"question": "insomnia"},
    "themes_rising_and_fading": {"until": "2026-02-23T00:00:00Z", "days": 28, "least": 2},
    "entities_across_sessions": {},
    "decisions_reversed": {},
    "open_contradictions": {},
    "bridges": {},
    "shown_and_never_used": {"kind": "fact"},
    "knowledge_gaps": {},
    "timeline": {"name": "project beacon"},
    "duplicates": {"cosine": 0.9},
}
"""Parameters with which each pattern finds something there."""


async def live(memory: Graphmem, conversation_id: str = "life") -> dict[str, str]:
    """Write a client's history; return the ids of its facts by their names here."""
    await memory.open_conversation(conversation_id)
    await memory.remember(
        conversation_id,
        [
            {
                "session_id": session,
                "role": "user",
                "content": content,
                "occurred_at": START + timedelta(weeks=week),
            }
            for week, (session, contents) in enumerate(SAID.items())
            for content in contents
        ],
    )
    ids = await facts(memory, conversation_id)
    await memory.link(ids["tea"], ids["coffee"], "contradicts")
    for _ in range(3):
        await memory.search("orders database backup", source_types=["fact"])
    await memory.search(QUESTION, source_types=["fact"])
    assert memory.runtime.recorder is not None
    await memory.runtime.recorder.settle()
    return ids


async def facts(memory: Graphmem, conversation_id: str) -> dict[str, str]:
    """Remember facts: one superseded twice, two that contradict each other, two with the same statement."""
    about: Any = {"category": "architectural_decision", "conversation_id": conversation_id}
    first = await memory.remember_fact("Orders are kept in Postgres", **about)
    second = await memory.supersede_fact(
        first.id, "Orders are kept in SQLite", reason="one file is easier to back up"
    )
    third = await memory.supersede_fact(
        second.id, "Orders are kept in Postgres after all", reason="two writers at once"
    )
    tea = await memory.remember_fact("Mara drinks only tea", category="preference")
    coffee = await memory.remember_fact("Mara drinks coffee every day", category="preference")
    twins = await plant(
        memory,
        {"kind": "fact", "text": "The bakery closes at six", "category": "user_fact", "version": 1},
        {
            "kind": "fact",
            "text": "the bakery closes at six ",
            "category": "user_fact",
            "version": 1,
        },
    )
    return {
        "first": first.id,
        "second": second.id,
        "third": third.id,
        "tea": tea.id,
        "coffee": coffee.id,
        "twin": twins[0],
        "other_twin": twins[1],
    }
