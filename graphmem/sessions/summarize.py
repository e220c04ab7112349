"""Summarizing sessions: when asked, and by themselves when they are idle or have much that is new."""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from graphmem.conversations.remember import IDLE, MANY_NEW
from graphmem.embedding import Embedder
from graphmem.errors import ConversationNotFound, InvalidInput, SessionNotFound
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.installation import Calibration
from graphmem.graph.query import Query, RowsWritten
from graphmem.llm import LanguageModel
from graphmem.prompts.telling import Said
from graphmem.sessions.telling import Digest, session_told
from graphmem.summaries.add import Summarizing, composed, keep
from graphmem.summaries.types import NewSessionSummary
from graphmem.tokens import TokenCounter

MOST_MESSAGES = 400
"""How many messages of a session are looked at, evenly spread."""

SEEN_CHARACTERS = 4_000
"""How much of a message is looked at."""


class StandingSummary(Struct, frozen=True):
    """A session's summary as it stands."""

    id: str
    text: str
    key_points: list[str] | None = None
    topics: list[str] | None = None


class Standing(Struct, frozen=True):
    """A session, how far it was summarized, and the summary that holds, if there is one."""

    conversation_id: str
    next_idx: int
    summarized_idx: int
    summaries: list[StandingSummary]


class GrownSession(Struct, frozen=True):
    """A session to which messages came since it was summarized, and how many."""

    id: str
    new: int
    last_active_at: datetime


class GrownSessions(Struct, frozen=True):
    """The sessions of a conversation to which messages came since they were summarized."""

    sessions: list[GrownSession]


SESSION_STANDING = Query("sessions/session_standing", Standing)
SESSION_MESSAGES = Query("sessions/session_messages", Said)
UNSUMMARIZED_SESSIONS = Query("sessions/unsummarized_sessions", GrownSessions)
MARK_SUMMARIZED = Query("sessions/mark_summarized", RowsWritten, writes=True)


class SessionWork(Struct, frozen=True, kw_only=True):
    """A client and what summarizing its sessions takes."""

    client_id: str
    now: datetime
    new_id: Callable[[], str]
    graph: Graph
    embedder: Embedder
    tokens: TokenCounter
    calibration: Calibration
    llm: LanguageModel | None = None


async def summarize_session(session_id: str, work: SessionWork) -> str:
    """Summarize a session and link it to others; return the summary's id.

    What comes out as it stands already is no new version. Raises `SessionNotFound`, `InvalidInput` where
    the session holds no message, `Unavailable`.
    """
    rows = await work.graph.rows(SESSION_STANDING, client_id=work.client_id, session_id=session_id)
    if not rows:
        raise SessionNotFound(session_id)
    said = await work.graph.rows(
        SESSION_MESSAGES,
        client_id=work.client_id,
        session_id=session_id,
        most=MOST_MESSAGES,
        characters=SEEN_CHARACTERS,
    )
    if not said:
        raise InvalidInput("session_id", "the session holds no messages; remember some first")
    digest = await session_told(said, embedder=work.embedder, llm=work.llm)
    for standing in rows[0].summaries:
        if _says(standing, digest):
            await work.graph.write(
                lambda transaction: _mark(transaction, session_id, rows[0].next_idx, work)
            )
            return standing.id
    return await _written(session_id, digest, rows[0].next_idx, said, work)


async def summarize_grown(conversation_id: str, work: SessionWork) -> datetime | None:
    """Summarize a conversation's sessions that are idle or have much that is new.

    Returns when the next of those that are left will be idle. Raises `ConversationNotFound`, `Unavailable`.
    """
    rows = await work.graph.rows(
        UNSUMMARIZED_SESSIONS, client_id=work.client_id, id=conversation_id
    )
    if not rows:
        raise ConversationNotFound(conversation_id)
    left: list[datetime] = []
    for session in rows[0].sessions:
        idle_at = session.last_active_at + IDLE
        if session.new >= MANY_NEW or idle_at <= work.now:
            await _summarize_if_there(session.id, work)
        else:
            left.append(idle_at)
    return min(left, default=None)


async def _summarize_if_there(session_id: str, work: SessionWork) -> None:
    try:
        await summarize_session(session_id, work)
    except (SessionNotFound, InvalidInput):
        # It was deleted in between, or its messages were: then there is nothing to summarize.
        return


async def _written(
    session_id: str, digest: Digest, next_idx: int, said: list[Said], work: SessionWork
) -> str:
    new = NewSessionSummary(
        target_id=session_id,
        text=digest.text,
        key_points=digest.key_points or None,
        topics=digest.topics or None,
        last_activity_at=max(one.occurred_at for one in said),
    )
    summary, prepared = await composed(
        new,
        id=work.new_id(),
        client_id=work.client_id,
        now=work.now,
        embedder=work.embedder,
        tokens=work.tokens,
    )
    summarizing = Summarizing(work.client_id, work.now, work.calibration)

    async def transact(transaction: Transaction) -> None:
        # The conversation is locked first, by `keep`: then nobody deletes the session under this.
        await keep(transaction, prepared, summarizing)
        if not await _mark(transaction, session_id, next_idx, work):
            # Deleted meanwhile: raised in the transaction, so that the summary goes with it.
            raise SessionNotFound(session_id)

    await work.graph.write(transact)
    return summary.id


async def _mark(
    transaction: Transaction, session_id: str, next_idx: int, work: SessionWork
) -> bool:
    rows = await transaction.rows(
        MARK_SUMMARIZED, client_id=work.client_id, session_id=session_id, idx=next_idx
    )
    return bool(rows[0].written)


def _says(standing: StandingSummary, digest: Digest) -> bool:
    """Tell whether a summary says what is to be said."""
    return (standing.text, standing.key_points or [], standing.topics or []) == (
        digest.text,
        digest.key_points,
        digest.topics,
    )
