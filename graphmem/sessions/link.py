"""Links between sessions: to those summarized alike, and to those that mention the same rare things.

They are written with a session's summary, in its transaction; those before go to the version before, so
that other times than now see them.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import asdict

from graphmem.embedding import Vector
from graphmem.graph.driver import Transaction
from graphmem.graph.installation import Calibration
from graphmem.graph.query import Query, RowsWritten
from graphmem.retrieval.relevance import meaning
from graphmem.sessions.types import Basis

MOST_LINKS = 5
"""To how many others a session is linked for one reason."""

LEAST_ALIKE = 0.5
"""How alike two summaries must be, from meaning nothing (0) to meaning the same (1)."""

LOOKED_AT = 16
"""How many summaries are looked at."""

MOST_SESSIONS = 9
"""An entity that is in more other sessions than these says nothing of any of them."""

MOST_MENTIONS = 500
"""An entity that more memories mention is looked at no further."""

LEAST_SHARED = 0.25
"""How much two sessions must share: one thing that but one more session mentions, or several."""

ENTITIES_NAMED = 8
"""How many of the entities that two sessions share a link names, the rarest first."""


class Near(Struct, frozen=True):
    """Another session, and how near its summary lies."""

    session_id: str
    cosine: float


class Shared(Struct, frozen=True):
    """An entity of a session, and the other sessions that mention it."""

    name: str
    sessions: list[str]


class SessionLink(Struct, frozen=True):
    """Another session that one is linked to, why, and how strongly, 0–1."""

    id: str
    basis: Basis
    score: float
    entities: list[str] | None = None


NEAREST_SESSIONS = Query("sessions/nearest_sessions", Near)
SHARED_ENTITIES = Query("sessions/shared_entities", Shared)
LINK_SESSIONS = Query("sessions/link_sessions", RowsWritten, writes=True)


async def link_session(
    transaction: Transaction,
    session_id: str,
    summary_id: str,
    embedding: Vector,
    *,
    client_id: str,
    now: datetime,
    calibration: Calibration,
) -> None:
    """Link a session, with its new summary and the embedding of that, to the client's others."""
    near = await transaction.rows(
        NEAREST_SESSIONS,
        client_id=client_id,
        session_id=session_id,
        embedding=embedding,
        limit=LOOKED_AT,
    )
    shared = await transaction.rows(
        SHARED_ENTITIES,
        client_id=client_id,
        session_id=session_id,
        most_mentions=MOST_MENTIONS,
        most_sessions=MOST_SESSIONS,
    )
    links = [*alike(near, calibration), *sharing(shared)]
    await transaction.rows(
        LINK_SESSIONS,
        client_id=client_id,
        session_id=session_id,
        summary_id=summary_id,
        ids=sorted({session_id, *(link.id for link in links)}),
        rows=[asdict(link) for link in links],
        now=now,
    )


def alike(near: Iterable[Near], calibration: Calibration) -> list[SessionLink]:
    """Return links to the sessions whose summaries are alike enough, the most alike first."""
    links = [
        SessionLink(one.session_id, "similarity", round(meaning(one.cosine, calibration), 4))
        for one in near
    ]
    return _best([link for link in links if link.score >= LEAST_ALIKE])


def sharing(shared: Sequence[Shared]) -> list[SessionLink]:
    """Return links to the sessions that share enough entities, those that share most first.

    An entity that n other sessions mention weighs 1 / 2n; together they score 1 - Π (1 - weight).
    """
    by_session: dict[str, list[Shared]] = defaultdict(list)
    for one in sorted(shared, key=lambda one: (len(one.sessions), one.name)):
        for session_id in one.sessions:
            by_session[session_id].append(one)
    links = [
        SessionLink(
            session_id,
            "entities",
            round(1 - math.prod(1 - 1 / (2 * len(one.sessions)) for one in common), 4),
            [one.name for one in common[:ENTITIES_NAMED]],
        )
        for session_id, common in by_session.items()
    ]
    return _best([link for link in links if link.score >= LEAST_SHARED])


def _best(links: Iterable[SessionLink]) -> list[SessionLink]:
    return sorted(links, key=lambda link: (-link.score, link.id))[:MOST_LINKS]
