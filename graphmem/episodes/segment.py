"""Segmenting a conversation: messages without an episode become episodes, session by session.

Each episode is written in its own transaction, together with the segmentation position of its session. So
segmenting may be repeated at any time and run concurrently: no message is lost, and none is in two episodes.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.conversations.remember import IDLE, lock_conversation
from graphmem.episodes.consolidate import CONSOLIDATE
from graphmem.episodes.remember import compose_episode, load_utterances, write_episode
from graphmem.episodes.types import Segmented
from graphmem.errors import ConversationNotFound
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.jobs.outbox import postpone
from graphmem.memories.write import Prepared
from graphmem.prompts.rendering import describe
from graphmem.reviews.review import run_reviews
from graphmem.text.segmenting import BAND, MessageRun, UnsegmentedMessage, runs

AT_ONCE = 200
"""The number of messages that are read together; far more than the longest run."""

ENOUGH_EPISODES = 3
ENOUGH_SURPRISE = 0.85
"""Consolidation starts at this number of episodes, or at this surprise of one episode."""


class OpenSession(Struct, frozen=True):
    """A session with messages that are not segmented yet."""

    id: str
    segmented_idx: int
    last_active_at: datetime


class OpenSessions(Struct, frozen=True):
    """The sessions of a conversation with messages that are not segmented yet."""

    sessions: list[OpenSession]


class SegmentationState(Struct, frozen=True):
    """The progress of segmenting a session, read under its conversation's lock."""

    segmented_idx: int
    free: list[str]
    written: bool


class ConsolidationBacklog(Struct, frozen=True):
    """The number of a conversation's open episodes, and the highest surprise among them."""

    episodes: int
    surprise: float


class PreparedRun(Struct, frozen=True, kw_only=True):
    """A run of a session, its range, and the episode that it becomes."""

    conversation_id: str
    session_id: str
    begin: int
    until: int
    message_ids: list[str]
    memory: Prepared | None
    """None if all its messages are in episodes already."""
    by_model: bool = False


class WrittenEpisode(Struct, frozen=True):
    """An episode that was made of a run."""

    id: str
    messages: int
    by_model: bool


class Overtaken(Exception):
    """Another process has segmented the session further, or one of its messages is no longer free."""


UNSEGMENTED_SESSIONS = Query("episodes/unsegmented_sessions", OpenSessions)
UNSEGMENTED_MESSAGES = Query("episodes/unsegmented_messages", UnsegmentedMessage)
SEGMENTATION_STATE = Query("episodes/segmentation_state", SegmentationState)
MOVE_SEGMENTATION = Query("episodes/move_segmentation", RowsWritten, writes=True)
CONSOLIDATION_BACKLOG = Query("episodes/consolidation_backlog", ConsolidationBacklog)


async def segment(
    conversation_id: str, context: Context, *, leave_growing: bool = False
) -> Segmented:
    """Segment the messages of a conversation without an episode, and rate its pending reviews.

    With `leave_growing` the last run of a session is left for later, unless the session is idle: the next
    message may belong to it. Raises `ConversationNotFound`, `Unavailable`.
    """
    now = context.now()
    segmented = await _make_episodes(conversation_id, context, now, leave_growing=leave_growing)
    await _queue_consolidation(conversation_id, context, now)
    return replace(segmented, reviews=await run_reviews(conversation_id, context))


async def _make_episodes(
    conversation_id: str, context: Context, now: datetime, *, leave_growing: bool
) -> Segmented:
    written: list[WrittenEpisode] = []
    left = 0
    while True:
        try:
            for session in await _find_open_sessions(conversation_id, context):
                closing = not leave_growing or session.last_active_at <= now - IDLE
                left += await _segment_session(
                    conversation_id, session, context, now, closing=closing, written=written
                )
            break
        except Overtaken:
            # The other process has made progress: the rest is read again.
            left = 0
    return Segmented(
        episodes=[one.id for one in written],
        messages=sum(one.messages for one in written),
        left=left,
        by_model=sum(one.by_model for one in written),
    )


async def _find_open_sessions(conversation_id: str, context: Context) -> list[OpenSession]:
    rows = await context.graph.rows(
        UNSEGMENTED_SESSIONS, client_id=context.client_id, id=conversation_id
    )
    if not rows:
        raise ConversationNotFound(conversation_id)
    return rows[0].sessions


async def _segment_session(
    conversation_id: str,
    session: OpenSession,
    context: Context,
    now: datetime,
    *,
    closing: bool,
    written: list[WrittenEpisode],
) -> int:
    """Segment one session, adding its episodes to `written`; return the number of messages left."""
    begin = session.segmented_idx
    while True:
        turns = await context.graph.rows(
            UNSEGMENTED_MESSAGES,
            client_id=context.client_id,
            session_id=session.id,
            from_idx=begin,
            band=BAND,
            limit=AT_ONCE,
        )
        found = runs(turns)
        ends_here = len(turns) < AT_ONCE
        # The last run of the batch may continue in unread or future messages.
        open_end = (
            found[-1:] if not (ends_here and closing) and _may_go_on(found, ends_here) else []
        )
        for run in found[: len(found) - len(open_end)]:
            prepared = await _prepare(run, begin, session.id, conversation_id, context, now)
            written += await _write(prepared, context)
            begin = run.until
        if ends_here:
            return sum(len(run.turns) for run in open_end)


def _may_go_on(found: Sequence[MessageRun], ends_here: bool) -> bool:
    """Return whether the last run may grow; one that fills the whole read may not, to ensure progress."""
    return bool(found) and bool(found[-1].turns) and (ends_here or len(found) > 1)


async def _prepare(
    run: MessageRun,
    begin: int,
    session_id: str,
    conversation_id: str,
    context: Context,
    now: datetime,
) -> PreparedRun:
    """Compose the episode that a run becomes. Raises `Overtaken`."""
    ids = [turn.id for turn in run.turns]
    prepared = PreparedRun(
        conversation_id=conversation_id,
        session_id=session_id,
        begin=begin,
        until=run.until,
        message_ids=ids,
        memory=None,
    )
    if not ids:
        return prepared
    utterances = await load_utterances(context.graph, ids, conversation_id, context.client_id)
    if len(utterances) < len(ids):
        raise Overtaken
    about = await describe(utterances, embedder=context.embedder, llm=context.llm)
    times = [turn.occurred_at for turn in run.turns]
    memory = await compose_episode(
        about,
        conversation_id=conversation_id,
        session_id=session_id,
        start_at=min(times),
        end_at=max(times),
        now=now,
        context=context,
    )
    consolidated = [turn.consolidated_at for turn in run.turns if turn.consolidated_at]
    if len(consolidated) == len(run.turns):
        # Facts were made of all of it: none is made again that a caller has deleted since.
        own = memory.draft.own | {"consolidated_at": max(consolidated)}
        memory = replace(memory, draft=replace(memory.draft, own=own))
    return replace(prepared, memory=memory, by_model=about.by_model)


async def _write(run: PreparedRun, context: Context) -> list[WrittenEpisode]:
    """Write the episode of a run, and advance the segmentation position of its session.

    Raises `Overtaken`.
    """
    client_id, memory = context.client_id, run.memory

    async def write_run(transaction: Transaction) -> bool:
        state = await _lock(transaction, run, client_id)
        if memory is not None and state.written:
            return True
        if state.segmented_idx != run.begin or set(state.free) != set(run.message_ids):
            return False
        if memory is not None:
            await write_episode(transaction, memory, run.message_ids, client_id=client_id)
        await transaction.rows(
            MOVE_SEGMENTATION, client_id=client_id, session_id=run.session_id, idx=run.until
        )
        return True

    if not await context.graph.write(write_run):
        raise Overtaken
    if memory is None:
        return []
    return [WrittenEpisode(memory.draft.id, len(run.message_ids), run.by_model)]


async def _lock(transaction: Transaction, run: PreparedRun, client_id: str) -> SegmentationState:
    """Lock a run's conversation, then read the progress of segmenting its session."""
    await lock_conversation(transaction, run.conversation_id, client_id=client_id)
    rows = await transaction.rows(
        SEGMENTATION_STATE,
        client_id=client_id,
        session_id=run.session_id,
        ids=run.message_ids,
        episode_id=run.memory.draft.id if run.memory is not None else "",
    )
    if not rows:
        raise ConversationNotFound(run.conversation_id)
    return rows[0]


async def _queue_consolidation(conversation_id: str, context: Context, now: datetime) -> None:
    """Queue consolidation if there are enough episodes, and a language model."""
    if context.llm is None:
        return
    [backlog] = await context.graph.rows(
        CONSOLIDATION_BACKLOG, client_id=context.client_id, id=conversation_id
    )
    if backlog.episodes < ENOUGH_EPISODES and backlog.surprise < ENOUGH_SURPRISE:
        return
    job_id = context.new_id()
    await context.graph.write(
        lambda transaction: postpone(
            transaction,
            client_id=context.client_id,
            id=job_id,
            kind=CONSOLIDATE,
            key=conversation_id,
            payload={},
            now=now,
            run_at=now,
            conversation_id=conversation_id,
        )
    )
