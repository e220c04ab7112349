"""What has changed in the demo's story: a chain of versions, what was true when, and a turn that knows it."""

from datetime import UTC, datetime

from msgspec import Struct

from graphmem.cli.story_records import Ids
from graphmem.hypotheses.types import Turn
from graphmem.service import Graphmem
from graphmem.versions.types import Version

CHANGED = "fact:harbour-54"
QUESTION = "What does the Harbour plan cost?"
DATES = (datetime(2026, 4, 1, tzinfo=UTC), datetime(2026, 7, 15, tzinfo=UTC))
TURN_TOKENS = 200


class Then(Struct, frozen=True, kw_only=True):
    """What answered the question as of a date."""

    as_of: datetime
    text: str


class Changed(Struct, frozen=True, kw_only=True):
    """A fact's chain, the answers to one question on two dates, and what a turn is told now."""

    query: str
    versions: list[Version]
    then: list[Then]
    turn: Turn


async def change(memory: Graphmem, ids: Ids) -> Changed:
    """Follow what the story's plan has cost."""
    then = []
    for date in DATES:
        found = await memory.search(QUESTION, source_types=["fact"], max_results=1, as_of=date)
        then.append(Then(as_of=date, text=found.items[0].snippet or ""))
    return Changed(
        query=QUESTION,
        versions=(await memory.versions(ids[CHANGED])).versions,
        then=then,
        turn=await memory.hyde_retrieve(
            f"demo-{memory.client_id}",
            window=[f"user: {QUESTION}"],
            on_failure="window",
            top_k=2,
            hop_depth=0,
            injection_tokens=TURN_TOKENS,
        ),
    )
