"""The way of S5 through the demo's story: a session that answers, more of it, and a theme over sessions."""

import time
from typing import Any

from msgspec import Struct

from graphmem.contextual.types import ContextualResult, MoreTurns
from graphmem.service import Graphmem

QUESTION = "What was that auth bug?"
THEME = "I've been struggling with auth a lot, haven't I?"
PATTERN = "recurring_themes"
HITS = 2
PROMPT_TOKENS = 400
MORE_TOKENS = 100


class Recollected(Struct, frozen=True, kw_only=True):
    """What was found, what came before and after it in its session, and the theme that it belongs to."""

    query: str
    found: ContextualResult
    earlier: MoreTurns
    later: MoreTurns
    theme_query: str
    theme: dict[str, Any]
    """The row of the pattern: the sessions on the theme by time, and a summary of what they said."""
    milliseconds: float


async def recollect(memory: Graphmem, conversation_id: str) -> Recollected:
    """Find a session and what was said in it, ask for more of it, and spot the theme.

    Raises `Unavailable`.
    """
    began = time.perf_counter()
    found = await memory.search_contextual(
        QUESTION,
        conversation_id=conversation_id,
        top_sessions=1,
        top_k=HITS,
        # As S5 draws it: by the summaries, then inside.
        narrowing="hard",
        max_tokens=PROMPT_TOKENS,
    )
    asked = {
        "session_id": found.contexts[0].session_id,
        "shown": [turn.id for turn in found.contexts[0].messages],
        "max_tokens": MORE_TOKENS,
    }
    earlier = await memory.expand_context(**asked, direction="earlier")
    later = await memory.expand_context(**asked, direction="later")
    answer = await memory.pattern(PATTERN, {"question": THEME, "conversation_id": conversation_id})
    return Recollected(
        query=QUESTION,
        found=found,
        earlier=earlier,
        later=later,
        theme_query=THEME,
        theme=answer.rows[0],
        milliseconds=round(1000 * (time.perf_counter() - began), 1),
    )
