"""Remembering episodes: runs of messages with a title, a summary and a surprise."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.context import Context
from graphmem.conversations.remember import (
    PreparedBatch,
    append_batch,
    lock_conversation,
    prepare_batch,
)
from graphmem.episodes.types import (
    EPISODE_MESSAGES,
    SUMMARY_BYTES,
    KeptEpisode,
    MessageRange,
    NewEpisode,
)
from graphmem.errors import InvalidInput, MemoryNotFound, SessionNotFound
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.memories.write import Draft, Prepared, prepare, write
from graphmem.model.annotations import stored_annotations
from graphmem.model.times import happened
from graphmem.model.validation import checked_text
from graphmem.prompts.rendering import SHOWN_CHARACTERS, Description, Utterance, describe
from graphmem.retrieval.decay import born
from graphmem.text.extraction import surprise


class NearestEpisode(Struct, frozen=True):
    """The cosine of the nearest earlier episode; None if there is no earlier one."""

    cosine: float | None


class MessagesInRange(Struct, frozen=True):
    """The messages of a session in a range of `idx`, and the session's next `idx`."""

    next_idx: int
    ids: list[str]


class SameEpisode(Struct, frozen=True):
    """An existing episode with the same messages."""

    id: str
    title: str
    summary: str
    surprise: float
    start_at: datetime
    end_at: datetime
    embedding_truncated: bool


class EpisodeMessages(Struct, frozen=True):
    """The messages of a new episode; `batch` holds those that are new too."""

    utterances: list[Utterance]
    batch: PreparedBatch | None = None


MESSAGES_BY_ID = Query("episodes/messages_by_id", Utterance)
MESSAGES_IN_RANGE = Query("episodes/messages_in_range", MessagesInRange)
NEAREST_EPISODE = Query("episodes/nearest_episode", NearestEpisode)
SAME_EPISODE = Query("episodes/same_episode", SameEpisode)
JOIN_EPISODE = Query("episodes/join_episode", RowsWritten, writes=True)


async def remember_episode(new: NewEpisode, context: Context) -> KeptEpisode:
    """Remember a run of messages as an episode, together with those that are new; all or nothing.

    An existing episode with exactly these messages and the same given fields is returned instead; its
    annotations stay.

    Raises `InvalidInput`, `TooLarge`, `ConversationNotFound`, `SessionNotFound`, `MemoryNotFound` for a
    message that is not in the conversation, `Unavailable`.
    """
    now = context.now()
    new, noted = _checked(new, now), stored_annotations(new, "", now)
    messages = await _find_messages(new, context, now)
    start_at, end_at = _times(new, messages.utterances, now)
    memory = await compose_episode(
        await _describe(new, messages.utterances, context),
        conversation_id=new.conversation_id,
        start_at=start_at,
        end_at=end_at,
        given_surprise=new.surprise,
        now=now,
        context=context,
    )
    memory = replace(memory, draft=replace(memory.draft, own=memory.draft.own | noted))
    return await context.graph.write(
        lambda transaction: _keep(transaction, new, messages, memory, context.client_id)
    )


async def _keep(
    transaction: Transaction,
    new: NewEpisode,
    messages: EpisodeMessages,
    memory: Prepared,
    client_id: str,
) -> KeptEpisode:
    """Write an episode under its conversation's lock, unless it exists."""
    # An earlier try of this transaction wrote it, and its answer was lost.
    state = await lock_conversation(
        transaction, new.conversation_id, client_id=client_id, ids=[memory.draft.id]
    )
    ids = [one.id for one in messages.utterances]
    if messages.batch is not None:
        ids = await append_batch(transaction, messages.batch)
    ids = list(dict.fromkeys(ids))
    utterances = await _find_utterances(transaction, ids, new.conversation_id, client_id)
    if not state.written:
        if same := await _find_same(transaction, new, memory, ids, client_id):
            return same
        await write_episode(transaction, _in_session(memory, utterances), ids, client_id=client_id)
    return _kept(memory, ids)


async def _find_same(
    transaction: Transaction,
    new: NewEpisode,
    memory: Prepared,
    message_ids: list[str],
    client_id: str,
) -> KeptEpisode | None:
    """Return the episode that this one repeats, under its conversation's lock."""
    rows = await transaction.rows(
        SAME_EPISODE,
        client_id=client_id,
        conversation_id=new.conversation_id,
        message_ids=message_ids,
        title=new.title or "",
        summary=new.summary or "",
        surprise=-1.0 if new.surprise is None else new.surprise,
        start_at=memory.draft.own["start_at"],
        end_at=memory.draft.own["end_at"],
        timed=new.start_at is not None or new.end_at is not None,
    )
    if not rows:
        return None
    return KeptEpisode(
        **asdict(rows[0]),
        conversation_id=new.conversation_id,
        message_ids=message_ids,
        action="repeated",
    )


async def compose_episode(
    about: Description,
    *,
    conversation_id: str,
    session_id: str = "",
    start_at: datetime,
    end_at: datetime,
    given_surprise: float | None = None,
    now: datetime,
    context: Context,
) -> Prepared:
    """Return an episode ready to be written; its surprise, 0–1, is measured unless it is given.

    Raises `Unavailable`.
    """
    draft = Draft(
        id=context.new_id(),
        client_id=context.client_id,
        kind="episode",
        text=about.summary,
        search_text=about.summary,
        embedded_text=f"{about.title}\n{about.summary}",
        source_type="episode",
        conversation_id=conversation_id,
        session_id=session_id,
        occurred_at=end_at,
        valid_at=end_at,
        created_at=now,
    )
    [memory] = await prepare([draft], embedder=context.embedder, tokens=context.tokens)
    surprising = given_surprise
    if surprising is None:
        surprising = await _measure_surprise(memory, context)
    own = {
        "title": about.title,
        "start_at": start_at,
        "end_at": end_at,
        "surprise": surprising,
        **asdict(born(surprising, end_at)),
    }
    return replace(memory, draft=replace(draft, own=own))


async def _measure_surprise(memory: Prepared, context: Context) -> float:
    """Return the distance, 0–1, of an episode from the nearest earlier one of its conversation."""
    [nearest] = await context.graph.rows(
        NEAREST_EPISODE,
        client_id=context.client_id,
        conversation_id=memory.draft.conversation_id,
        before=memory.draft.occurred_at,
        embedding=memory.embedding.vector,
    )
    return surprise(nearest.cosine)


async def write_episode(
    transaction: Transaction, memory: Prepared, message_ids: Sequence[str], *, client_id: str
) -> None:
    """Write a new episode and join it to its messages, under its conversation's lock."""
    await write(transaction, [memory], client_id=client_id)
    await transaction.rows(
        JOIN_EPISODE,
        client_id=client_id,
        conversation_id=memory.draft.conversation_id,
        id=memory.draft.id,
        end_at=memory.draft.occurred_at,
        message_ids=list(message_ids),
    )


def _kept(memory: Prepared, message_ids: list[str]) -> KeptEpisode:
    draft = memory.draft
    return KeptEpisode(
        id=draft.id,
        conversation_id=draft.conversation_id,
        title=draft.own["title"],
        summary=draft.text,
        surprise=draft.own["surprise"],
        start_at=draft.own["start_at"],
        end_at=draft.own["end_at"],
        message_ids=message_ids,
        embedding_truncated=memory.embedding.truncated,
    )


def _checked(new: NewEpisode, now: datetime) -> NewEpisode:
    given = [
        name for name in ("messages", "message_ids", "range") if getattr(new, name) is not None
    ]
    if len(given) != 1:
        raise InvalidInput(
            given[1] if given else "messages",
            "send exactly one of messages, message_ids and range",
        )
    if new.title is not None:
        checked_text(new.title, "title", most_bytes=1024)
    if new.summary is not None:
        checked_text(new.summary, "summary", most_bytes=SUMMARY_BYTES)
    return replace(
        new,
        start_at=happened(new.start_at, "start_at", now) if new.start_at else None,
        end_at=happened(new.end_at, "end_at", now) if new.end_at else None,
    )


def _times(
    new: NewEpisode, utterances: Sequence[Utterance], now: datetime
) -> tuple[datetime, datetime]:
    """Return the start and the end of an episode: the given times, else those of its messages."""
    times = [one.occurred_at for one in utterances]
    start_at = new.start_at or min(*times, new.end_at or times[0])
    end_at = new.end_at or max(*times, start_at)
    if start_at > end_at:
        raise InvalidInput("end_at", f"lies before start_at, {start_at.isoformat()}")
    # Messages written by an older version may be dated in the future.
    return start_at, happened(end_at, "end_at", now)


async def _find_messages(new: NewEpisode, context: Context, now: datetime) -> EpisodeMessages:
    if new.messages is not None:
        batch = await prepare_batch(new.conversation_id, new.messages, context, now=now)
        utterances = [
            Utterance(
                id=id,
                session_id=one.session_id,
                role=one.role,
                name=one.name,
                text=one.content,
                occurred_at=one.occurred_at,
            )
            for id, one in zip(batch.ids, batch.given, strict=True)
        ]
        return EpisodeMessages(utterances, batch)
    client_id, graph = context.client_id, context.graph
    ids = new.message_ids
    if new.range is not None:
        ids = await _find_range(new.range, new.conversation_id, client_id, graph)
    ids = list(dict.fromkeys(ids or []))
    return EpisodeMessages(await _find_utterances(graph, ids, new.conversation_id, client_id))


async def _find_range(
    wanted: MessageRange, conversation_id: str, client_id: str, graph: Graph
) -> list[str]:
    """Return the ids of a session's messages in a range."""
    rows = await graph.rows(
        MESSAGES_IN_RANGE,
        client_id=client_id,
        conversation_id=conversation_id,
        limit=EPISODE_MESSAGES + 1,
        **asdict(wanted),
    )
    if not rows:
        raise SessionNotFound(wanted.session_id)
    ids = rows[0].ids
    if not ids:
        raise InvalidInput(
            "range", f"holds no message; the session's messages go from 0 to {rows[0].next_idx - 1}"
        )
    if len(ids) > EPISODE_MESSAGES:
        raise InvalidInput(
            "range", f"holds more than {EPISODE_MESSAGES} messages; send several episodes"
        )
    return ids


async def load_utterances(
    where: Graph | Transaction, ids: Sequence[str], conversation_id: str, client_id: str
) -> list[Utterance]:
    """Return the beginnings of those of the messages that a conversation has, in their order."""
    return await where.rows(
        MESSAGES_BY_ID,
        client_id=client_id,
        conversation_id=conversation_id,
        ids=list(ids),
        characters=SHOWN_CHARACTERS,
    )


async def _find_utterances(
    where: Graph | Transaction, ids: Sequence[str], conversation_id: str, client_id: str
) -> list[Utterance]:
    """Return messages by their ids. Raises `MemoryNotFound` for a message of another conversation."""
    rows = await load_utterances(where, ids, conversation_id, client_id)
    found = {row.id for row in rows}
    for id in ids:
        if id not in found:
            raise MemoryNotFound(id)
    return rows


async def _describe(
    new: NewEpisode, utterances: Sequence[Utterance], context: Context
) -> Description:
    """Return the given title and summary of an episode, else generate them from its messages."""
    if new.title is not None and new.summary is not None:
        return Description(new.title, new.summary)
    found = await describe(utterances, embedder=context.embedder, llm=context.llm)
    return Description(new.title or found.title, new.summary or found.summary, found.by_model)


def _in_session(memory: Prepared, utterances: Sequence[Utterance]) -> Prepared:
    """Return an episode with its session, if all its messages are in one."""
    sessions = {one.session_id for one in utterances}
    session_id = sessions.pop() if len(sessions) == 1 else ""
    return replace(memory, draft=replace(memory.draft, session_id=session_id))
