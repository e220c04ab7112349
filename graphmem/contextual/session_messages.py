"""Search inside sessions: their own messages, by exact cosine and by their words; nothing else is read."""

from collections.abc import Mapping, Sequence

from msgspec.structs import asdict

from graphmem.embedding import Vector
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.retrieval.candidates import Candidate, candidates
from graphmem.retrieval.filters import Filters, scope_groups
from graphmem.retrieval.holding import NOW_ONLY, Holding
from graphmem.text.words import lucene_query

IN_SESSION = 500
"""How many messages of a session are compared further: those that lie nearest."""

CANDIDATES_IN_SESSIONS = Query("contextual/candidates_in_sessions", Candidate)


async def in_sessions(
    embedding: Vector | None,
    words: list[str],
    session_ids: Sequence[str],
    *,
    client_id: str,
    weight: Mapping[str, float] | None = None,
    holding: Holding = NOW_ONLY,
    graph: Graph,
) -> list[Candidate]:
    """Return the messages of some sessions that hold, each with its exact cosine, and its score by words.

    Without an embedding those that share words. Raises `Unavailable`.
    """
    inside = Filters(
        kind=frozenset({"message"}), session_id=frozenset(session_ids), **asdict(holding)
    )
    if embedding is None:
        return await candidates(
            None, words, inside, client_id=client_id, wanted=IN_SESSION, weight=weight, graph=graph
        )
    return await graph.rows(
        CANDIDATES_IN_SESSIONS,
        client_id=client_id,
        session_ids=list(session_ids),
        embedding=embedding,
        words=lucene_query(words, scope_groups(inside, client_id), weight),
        limit=IN_SESSION,
        **holding.of_messages,
    )
