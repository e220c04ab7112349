"""What sessions are about that have no summary yet: a vector of what was said in each, as of one text.

Vectors of single messages tell less: short ones say little without those around them.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from graphmem.embedding import Embedder
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query

TAKES = frozenset({"conversation_id", "since", "until", "newest"})
"""The parameters that say which sessions are looked at."""

MOST_SESSIONS = 64
"""How many are embedded, the newest; a session that is idle has a summary soon."""

CHARACTERS = 1_200
"""How much of each."""


class Unsummarized(Struct, frozen=True):
    """A session without a summary, and what was said in it."""

    id: str
    said: list[str]


SAID_IN_UNSUMMARIZED = Query("sessions/said_in_unsummarized", Unsummarized)


async def whole_sessions(
    chosen: Mapping[str, Any], *, client_id: str, seconds: float, graph: Graph, embedder: Embedder
) -> list[dict[str, Any]]:
    """Return the id and the vector of each, as a query takes them. Raises `TookTooLong`, `Unavailable`."""
    found = await graph.limited(
        SAID_IN_UNSUMMARIZED,
        seconds=seconds,
        most=MOST_SESSIONS,
        client_id=client_id,
        limit=MOST_SESSIONS,
        characters=CHARACTERS,
        **{name: chosen[name] for name in TAKES},
    )
    embeddings = await embedder.passages(["\n".join(one.said) for one in found])
    return [
        {"id": one.id, "vector": embedding.vector}
        for one, embedding in zip(found, embeddings, strict=True)
    ]
