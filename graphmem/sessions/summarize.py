"""Summarizing sessions: on request, and automatically when they are idle or have many new messages."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from msgspec import Struct

from graphmem.context import Context
from graphmem.conversations.remember import IDLE, MANY_NEW
from graphmem.embedding import Vector
from graphmem.errors import ConversationNotFound, InvalidInput, SessionNotFound
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.prompts.rendering import Utterance
from graphmem.sessions.digest import Digest, digest_session
from graphmem.sessions.whole_sessions import embed_whole_session
from graphmem.summaries.summary import prepare_summary, show_summary, write_summary
from graphmem.summaries.types import NewSessionSummary, Summary

Made = TypeVar("Made")

MOST_MESSAGES = 400
"""The most messages of a session that are read, evenly spread."""

SEEN_CHARACTERS = 4_000
"""The most characters of a message that are read."""


class CurrentSummary(Struct, frozen=True):
    """The current version of a session's summary."""

    id: str
    text: str
    key_points: list[str] | None = None
    topics: list[str] | None = None


class SessionState(Struct, frozen=True):
    """A session, the part of it that a caller summarized, and its current summary, if there is one."""

    next_idx: int
    given_idx: int
    """The first idx that a caller's own summary does not cover."""
    taken_back: int
    summaries: list[CurrentSummary]


class GrownSession(Struct, frozen=True):
    """A session with new messages since its summary, and their number."""

    id: str
    new: int
    last_active_at: datetime


class GrownSessions(Struct, frozen=True):
    """The sessions of a conversation that have new messages since their summary."""

    sessions: list[GrownSession]


class Overtaken(Exception):
    """The session, or a memory of it, was deleted meanwhile, or its caller summarized it."""


SESSION_STANDING = Query("sessions/session_standing", SessionState)
SESSION_MESSAGES = Query("sessions/session_messages", Utterance)
UNSUMMARIZED_SESSIONS = Query("sessions/unsummarized_sessions", GrownSessions)
MARK_SUMMARIZED = Query("sessions/mark_summarized", RowsWritten, writes=True)


class CoveredSession(Struct, frozen=True):
    """What is noted of a summarized session: its state when it was read, and its vector as a whole."""

    id: str
    state: SessionState
    whole: Vector
    model: str
    """The key of the embedding model."""

    async def mark(self, transaction: Transaction, client_id: str) -> None:
        """Note it at the session. Raises `Overtaken`."""
        rows = await transaction.rows(
            MARK_SUMMARIZED,
            client_id=client_id,
            session_id=self.id,
            idx=self.state.next_idx,
            whole=self.whole,
            model=self.model,
            taken_back=self.state.taken_back,
            given_idx=self.state.given_idx,
        )
        if not rows[0].written:
            raise Overtaken


async def summarize_session(session_id: str, context: Context) -> Summary:
    """Summarize a session by its own id, and link it to others; return the summary.

    An unchanged summary makes no new version. Raises `SessionNotFound`, `InvalidInput` when the session
    has no messages, `Unavailable`.
    """

    async def summarize(state: SessionState) -> str:
        return await _summarize(session_id, state, context, context.now())

    return await show_summary(await _with_state(session_id, summarize, context), context)


async def summarize_grown(conversation_id: str, context: Context) -> datetime | None:
    """Summarize a conversation's sessions that are idle or have many new messages.

    A summary of its caller stands until the session has new messages. Returns when the next of the others
    will be idle, None when there are none. Raises `ConversationNotFound`, `Unavailable`.
    """
    now = context.now()
    rows = await context.graph.rows(
        UNSUMMARIZED_SESSIONS, client_id=context.client_id, id=conversation_id
    )
    if not rows:
        raise ConversationNotFound(conversation_id)
    left: list[datetime] = []
    for session in rows[0].sessions:
        idle_at = session.last_active_at + IDLE
        if session.new >= MANY_NEW or idle_at <= now:
            await _summarize_if_there(session.id, context, now)
        else:
            left.append(idle_at)
    return min(left, default=None)


async def _summarize_if_there(session_id: str, context: Context, now: datetime) -> None:
    """Summarize a session, or note that its caller did."""

    async def summarize_unless_given(state: SessionState) -> None:
        # A caller may have deleted its summary since.
        if state.given_idx < state.next_idx or not state.summaries:
            await _summarize(session_id, state, context, now)
        else:
            covered = await _cover(session_id, state, context)
            await context.graph.write(
                lambda transaction: covered.mark(transaction, context.client_id)
            )

    try:
        await _with_state(session_id, summarize_unless_given, context)
    except (SessionNotFound, InvalidInput):
        # It was deleted meanwhile, or its messages were: there is nothing to summarize.
        return


async def _with_state(
    session_id: str, work: Callable[[SessionState], Awaitable[Made]], context: Context
) -> Made:
    """Do work on the state of a session, again where its caller summarized it meanwhile.

    Raises `SessionNotFound`, also where a memory of it was erased meanwhile: a job makes its summary anew.
    """
    state = await _state(session_id, context)
    while True:
        try:
            return await work(state)
        except Overtaken:
            before, state = state, await _state(session_id, context)
            if state.taken_back != before.taken_back:
                raise SessionNotFound(session_id) from None


async def _state(session_id: str, context: Context) -> SessionState:
    rows = await context.graph.rows(
        SESSION_STANDING, client_id=context.client_id, session_id=session_id
    )
    if not rows:
        raise SessionNotFound(session_id)
    return rows[0]


async def _cover(session_id: str, state: SessionState, context: Context) -> CoveredSession:
    whole = await embed_whole_session(session_id, context)
    return CoveredSession(session_id, state, whole, context.embedder.key)


async def _summarize(session_id: str, state: SessionState, context: Context, now: datetime) -> str:
    """Summarize a session; return the id of its summary, the current one if that says the same.

    Raises `InvalidInput`, `Overtaken`.
    """
    graph, client_id = context.graph, context.client_id
    said = await graph.rows(
        SESSION_MESSAGES,
        client_id=client_id,
        session_id=session_id,
        most=MOST_MESSAGES,
        characters=SEEN_CHARACTERS,
    )
    if not said:
        raise InvalidInput("session_id", "the session holds no messages; remember some first")
    digest = await digest_session(said, embedder=context.embedder, llm=context.llm)
    covered = await _cover(session_id, state, context)
    for current in state.summaries:
        if _says(current, digest):
            await graph.write(lambda transaction: covered.mark(transaction, client_id))
            return current.id
    last_activity_at = max(one.occurred_at for one in said)
    new = _new_summary(session_id, digest, last_activity_at)
    return await _write(new, covered, context, now)


def _new_summary(session_id: str, digest: Digest, last_activity_at: datetime) -> NewSessionSummary:
    return NewSessionSummary(
        target_id=session_id,
        text=digest.text,
        key_points=digest.key_points or None,
        topics=digest.topics or None,
        last_activity_at=last_activity_at,
    )


async def _write(
    new: NewSessionSummary, covered: CoveredSession, context: Context, now: datetime
) -> str:
    """Write a session's summary and the part of the session that it covers; return its id.

    Raises `Overtaken`.
    """
    summary, prepared = await prepare_summary(new, context, id=context.new_id(), now=now)

    async def work(transaction: Transaction) -> None:
        # `write_summary` locks the conversation first: from then on nobody deletes the session.
        await write_summary(transaction, prepared, context, now=now)
        # What it raises in the transaction takes the summary back.
        await covered.mark(transaction, context.client_id)

    await context.graph.write(work)
    return summary.id


def _says(summary: CurrentSummary, digest: Digest) -> bool:
    """Tell whether a summary says the same as a digest."""
    return (summary.text, summary.key_points or [], summary.topics or []) == (
        digest.text,
        digest.key_points,
        digest.topics,
    )
