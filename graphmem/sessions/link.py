"""Links between sessions: to those with a similar summary, and to those that mention the same rare entities.

They are written with a session's summary, in its transaction. The links before it move to the summary's
version before, where questions about an earlier time find them.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import asdict

from graphmem.context import Context
from graphmem.graph.driver import Transaction
from graphmem.graph.installation import Calibration
from graphmem.graph.query import Query, RowsWritten
from graphmem.memories.write import Prepared
from graphmem.retrieval.relevance import meaning
from graphmem.sessions.related import Basis

MOST_LINKS = 5
"""The most sessions that one is linked to for one reason."""

LEAST_ALIKE = 0.5
"""The least similarity of two summaries, from unrelated (0) to the same meaning (1)."""

LOOKED_AT = 16
"""The number of nearest summaries that are compared."""

MOST_SESSIONS = 9
"""An entity that more other sessions mention is no reason for a link."""

MOST_MENTIONS = 500
"""An entity that more memories mention is ignored."""

LEAST_SHARED = 0.25
"""The least score for shared entities: that of one that two other sessions mention."""

ENTITIES_NAMED = 8
"""The most shared entities that a link names, the rarest first."""


class NearSession(Struct, frozen=True):
    """Another session, and the cosine of its summary."""

    session_id: str
    cosine: float


class SharedEntity(Struct, frozen=True):
    """An entity of a session, and the other sessions that mention it."""

    name: str
    sessions: list[str]


class SessionLink(Struct, frozen=True):
    """Another session that one is linked to, the reason, and the strength, 0–1."""

    id: str
    basis: Basis
    score: float
    entities: list[str] | None = None


NEAREST_SESSIONS = Query("sessions/nearest_sessions", NearSession)
SHARED_ENTITIES = Query("sessions/shared_entities", SharedEntity)
LINK_SESSIONS = Query("sessions/link_sessions", RowsWritten, writes=True)


async def link_session(
    transaction: Transaction,
    session_id: str,
    summary: Prepared,
    context: Context,
    *,
    now: datetime,
) -> None:
    """Link a session, by its new summary, to the client's other sessions."""
    near = await transaction.rows(
        NEAREST_SESSIONS,
        client_id=context.client_id,
        session_id=session_id,
        embedding=summary.embedding.vector,
        limit=LOOKED_AT,
    )
    shared = await transaction.rows(
        SHARED_ENTITIES,
        client_id=context.client_id,
        session_id=session_id,
        most_mentions=MOST_MENTIONS,
        most_sessions=MOST_SESSIONS,
    )
    links = [*alike(near, context.calibration), *sharing(shared)]
    await transaction.rows(
        LINK_SESSIONS,
        client_id=context.client_id,
        session_id=session_id,
        summary_id=summary.draft.id,
        ids=sorted({session_id, *(link.id for link in links)}),
        rows=[asdict(link) for link in links],
        now=now,
    )


def alike(near: Iterable[NearSession], calibration: Calibration) -> list[SessionLink]:
    """Return links to the sessions with the most similar summaries, the most similar first."""
    links = [
        SessionLink(one.session_id, "similarity", round(meaning(one.cosine, calibration), 4))
        for one in near
    ]
    return _best([link for link in links if link.score >= LEAST_ALIKE])


def sharing(shared: Sequence[SharedEntity]) -> list[SessionLink]:
    """Return links to the sessions that share enough entities, the strongest first.

    An entity that n other sessions mention weighs 1 / 2n; together they score 1 - Π (1 - weight).
    """
    by_session: dict[str, list[SharedEntity]] = defaultdict(list)
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
