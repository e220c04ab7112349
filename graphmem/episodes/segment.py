"""Segmenting a conversation: messages that no episode holds become episodes, session by session.

Each episode is written in a transaction of its own, together with up to where its session was looked at.
So it can be begun anew at any time, by several at once: no message is lost, and none is in two episodes.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from graphmem.conversations.remember import IDLE, LOCK_CONVERSATION
from graphmem.conversations.work import ConversationWork
from graphmem.episodes.consolidate import CONSOLIDATE
from graphmem.episodes.remember import MESSAGES_BY_ID, composed, put
from graphmem.episodes.types import Segmented
from graphmem.errors import ConversationNotFound
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.jobs.outbox import postpone
from graphmem.memories.write import Prepared
from graphmem.prompts.telling import told
from graphmem.text.segmenting import BAND, Run, Turn, runs

AT_ONCE = 200
"""How many messages are looked at together; far more than a run can hold."""

ENOUGH_EPISODES = 3
ENOUGH_SURPRISE = 0.85
"""From how many episodes, or how surprising a one, on it is worth making facts of them."""


class OpenSession(Struct, frozen=True):
    """A session with messages that were not looked at yet."""

    id: str
    segmented_idx: int
    last_active_at: datetime


class OpenSessions(Struct, frozen=True):
    """The sessions of a conversation with messages that were not looked at yet."""

    sessions: list[OpenSession]


class SoFar(Struct, frozen=True):
    """How far a session was segmented, read under its conversation's lock."""

    segmented_idx: int
    free: list[str]
    written: bool


class Unconsolidated(Struct, frozen=True):
    """The episodes of a conversation that no facts were made of."""

    episodes: int
    surprise: float


class Written(Struct, frozen=True):
    """An episode that was made of a run."""

    id: str
    messages: int
    by_model: bool


class Overtaken(Exception):
    """Someone else has segmented the session further meanwhile, or has taken one of its messages."""


UNSEGMENTED_SESSIONS = Query("episodes/unsegmented_sessions", OpenSessions)
UNSEGMENTED_MESSAGES = Query("episodes/unsegmented_messages", Turn)
SEGMENTED_SO_FAR = Query("episodes/segmented_so_far", SoFar)
MOVE_SEGMENTATION = Query("episodes/move_segmentation", RowsWritten, writes=True)
UNCONSOLIDATED = Query("episodes/unconsolidated", Unconsolidated)


async def segment(work: ConversationWork, *, leave_growing: bool = False) -> Segmented:
    """Make episodes of a conversation's messages that no episode holds, and say what was made.

    With `leave_growing` the last run of a session is left for later, unless the session is idle: what
    comes next may belong to it. Raises `ConversationNotFound`, `Unavailable`.
    """
    written: list[Written] = []
    left = 0
    while True:
        try:
            for session in await _open_sessions(work):
                closing = not leave_growing or session.last_active_at <= work.now - IDLE
                left += await _segment_session(work, session, closing, written)
            break
        except Overtaken:
            # Whoever came first has moved on: what is left is looked at anew.
            left = 0
    await _ask_for_facts(work)
    return Segmented(
        episodes=[one.id for one in written],
        messages=sum(one.messages for one in written),
        left=left,
        by_model=sum(one.by_model for one in written),
    )


async def _open_sessions(work: ConversationWork) -> list[OpenSession]:
    rows = await work.graph.rows(
        UNSEGMENTED_SESSIONS, client_id=work.client_id, id=work.conversation_id
    )
    if not rows:
        raise ConversationNotFound(work.conversation_id)
    return rows[0].sessions


async def _segment_session(
    work: ConversationWork, session: OpenSession, closing: bool, written: list[Written]
) -> int:
    """Segment one session, adding to what was written; return how many messages were left."""
    begin = session.segmented_idx
    while True:
        turns = await work.graph.rows(
            UNSEGMENTED_MESSAGES,
            client_id=work.client_id,
            session_id=session.id,
            from_idx=begin,
            band=BAND,
            limit=AT_ONCE,
        )
        found = runs(turns)
        ends_here = len(turns) < AT_ONCE
        # The last of the messages looked at may go on in those that were not, or are still to come.
        open_end = (
            found[-1:] if not (ends_here and closing) and _may_go_on(found, ends_here) else []
        )
        for run in found[: len(found) - len(open_end)]:
            written += await _write(work, session.id, begin, run)
            begin = run.until
        if ends_here:
            return sum(len(run.turns) for run in open_end)


def _may_go_on(found: Sequence[Run], ends_here: bool) -> bool:
    """Tell whether the last run may grow; one of many that is alone may not, or nothing would move."""
    return bool(found) and bool(found[-1].turns) and (ends_here or len(found) > 1)


async def _write(work: ConversationWork, session_id: str, begin: int, run: Run) -> list[Written]:
    """Write the episode that a run becomes, and note how far the session was looked at."""
    ids = [turn.id for turn in run.turns]
    memory, by_model = await _episode(work, session_id, run) if ids else (None, False)

    async def transact(transaction: Transaction) -> bool:
        so_far = await _locked(work, transaction, session_id, ids, memory)
        if memory is not None and so_far.written:
            return True
        if so_far.segmented_idx != begin or set(so_far.free) != set(ids):
            return False
        if memory is not None:
            await put(transaction, memory, ids, client_id=work.client_id)
        await transaction.rows(
            MOVE_SEGMENTATION, client_id=work.client_id, session_id=session_id, idx=run.until
        )
        return True

    if not await work.graph.write(transact):
        raise Overtaken
    return [Written(memory.draft.id, len(ids), by_model)] if memory is not None else []


async def _episode(work: ConversationWork, session_id: str, run: Run) -> tuple[Prepared, bool]:
    """Return the episode that a run becomes, ready to be written. Raises `Overtaken`."""
    said = await work.graph.rows(
        MESSAGES_BY_ID,
        client_id=work.client_id,
        conversation_id=work.conversation_id,
        ids=[turn.id for turn in run.turns],
    )
    if len(said) < len(run.turns):
        raise Overtaken
    about = await told(said, embedder=work.embedder, llm=work.llm)
    times = [turn.occurred_at for turn in run.turns]
    memory = await composed(
        about,
        id=work.new_id(),
        client_id=work.client_id,
        conversation_id=work.conversation_id,
        session_id=session_id,
        start_at=min(times),
        end_at=max(times),
        now=work.now,
        graph=work.graph,
        embedder=work.embedder,
        tokens=work.tokens,
    )
    return memory, about.by_model


async def _locked(
    work: ConversationWork,
    transaction: Transaction,
    session_id: str,
    ids: list[str],
    memory: Prepared | None,
) -> SoFar:
    """Lock the conversation, then read how far its session was segmented."""
    states = await transaction.rows(
        LOCK_CONVERSATION,
        client_id=work.client_id, id=work.conversation_id,
        session_names=[], external_ids=[], ids=[],
    )  # fmt: skip
    rows = await transaction.rows(
        SEGMENTED_SO_FAR,
        client_id=work.client_id,
        session_id=session_id,
        ids=ids,
        episode_id=memory.draft.id if memory is not None else "",
    )
    if not states or not rows:
        raise ConversationNotFound(work.conversation_id)
    return rows[0]


async def _ask_for_facts(work: ConversationWork) -> None:
    """Queue the making of facts when there is enough to make them of, and a model to do it."""
    if work.llm is None:
        return
    rows = await work.graph.rows(UNCONSOLIDATED, client_id=work.client_id, id=work.conversation_id)
    if rows[0].episodes < ENOUGH_EPISODES and rows[0].surprise < ENOUGH_SURPRISE:
        return
    job_id = work.new_id()
    await work.graph.write(
        lambda transaction: postpone(
            transaction,
            client_id=work.client_id,
            id=job_id,
            kind=CONSOLIDATE,
            key=work.conversation_id,
            payload={},
            now=work.now,
            run_at=work.now,
            conversation_id=work.conversation_id,
        )
    )
