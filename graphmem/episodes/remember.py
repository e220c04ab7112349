"""Remembering episodes: runs of messages with a title, a summary and how surprising they are."""

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.conversations.remember import LOCK_CONVERSATION, Incoming, append, incoming
from graphmem.embedding import Embedder
from graphmem.episodes.types import (
    EPISODE_MESSAGES,
    SUMMARY_BYTES,
    KeptEpisode,
    MessageRange,
    NewEpisode,
)
from graphmem.errors import (
    ConversationNotFound,
    InvalidInput,
    MemoryNotFound,
    SessionNotFound,
)
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.llm import LanguageModel
from graphmem.memories.write import Draft, Prepared, prepare, write
from graphmem.model.text import checked_text
from graphmem.model.times import utc
from graphmem.prompts.telling import Said, Told, told
from graphmem.retrieval.decay import born
from graphmem.text.extraction import surprise
from graphmem.tokens import TokenCounter


class Nearest(Struct, frozen=True):
    """How near the nearest of what came before lies; none where nothing did."""

    cosine: float | None


class InRange(Struct, frozen=True):
    """The messages of a session from an idx to an idx, and where the session ends."""

    next_idx: int
    ids: list[str]


class SameEpisode(Struct, frozen=True):
    """An episode that is there already."""

    id: str
    title: str
    summary: str
    surprise: float
    start_at: datetime
    end_at: datetime
    embedding_truncated: bool


class Source(Struct, frozen=True):
    """What an episode is made of; `batch` are messages that are remembered with it."""

    said: list[Said]
    batch: Incoming | None = None


MESSAGES_BY_ID = Query("episodes/messages_by_id", Said)
MESSAGES_IN_RANGE = Query("episodes/messages_in_range", InRange)
NEAREST_EPISODE = Query("episodes/nearest_episode", Nearest)
SAME_EPISODE = Query("episodes/same_episode", SameEpisode)
JOIN_EPISODE = Query("episodes/join_episode", RowsWritten, writes=True)


async def remember_episode(
    new: NewEpisode,
    *,
    client_id: str,
    now: datetime,
    new_id: Callable[[], str],
    graph: Graph,
    embedder: Embedder,
    tokens: TokenCounter,
    llm: LanguageModel | None = None,
) -> KeptEpisode:
    """Remember a run of messages as an episode, with the messages where they are new; all or nothing.

    Where one with exactly these messages is there, of which all that is said holds, it is that one.
    Raises `InvalidInput`, `ConversationNotFound`, `SessionNotFound`, `MemoryNotFound` for a message that
    the conversation does not have, `Unavailable`.
    """
    new = _checked(new)
    source = await _source(
        new,
        client_id=client_id, now=now, new_id=new_id, graph=graph, embedder=embedder, tokens=tokens,
    )  # fmt: skip
    start_at, end_at = _times(new, source.said)
    memory = await composed(
        await _told(new, source.said, embedder, llm),
        id=new_id(),
        client_id=client_id,
        conversation_id=new.conversation_id,
        start_at=start_at,
        end_at=end_at,
        surprising=new.surprise,
        now=now,
        graph=graph,
        embedder=embedder,
        tokens=tokens,
    )
    ids = list(dict.fromkeys(one.id for one in source.said))

    async def work(transaction: Transaction) -> KeptEpisode:
        written = await _lock(transaction, new.conversation_id, memory.draft.id, client_id)
        present = ids
        if source.batch is not None:
            present = await append(
                transaction,
                source.batch,
                client_id=client_id, conversation_id=new.conversation_id, now=now,
            )  # fmt: skip
        present = list(dict.fromkeys(present))
        said = await _said(transaction, present, new.conversation_id, client_id)
        if not written:
            if same := await _same(transaction, new, memory, present, client_id):
                return same
            await put(transaction, _in_session(memory, said), present, client_id=client_id)
        return kept(memory, present)

    return await graph.write(work)


async def _same(
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


async def composed(
    about: Told,
    *,
    id: str,
    client_id: str,
    conversation_id: str,
    start_at: datetime,
    end_at: datetime,
    now: datetime,
    graph: Graph,
    embedder: Embedder,
    tokens: TokenCounter,
    surprising: float | None = None,
    session_id: str = "",
) -> Prepared:
    """Return an episode ready to be written; how surprising it is is measured, unless it is given."""
    draft = Draft(
        id=id,
        client_id=client_id,
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
    [memory] = await prepare([draft], embedder=embedder, tokens=tokens)
    if surprising is None:
        before = await graph.rows(
            NEAREST_EPISODE,
            client_id=client_id,
            conversation_id=conversation_id,
            before=end_at,
            embedding=memory.embedding.vector,
        )
        surprising = surprise(before[0].cosine)
    own = {
        "title": about.title,
        "start_at": start_at,
        "end_at": end_at,
        "surprise": surprising,
        **asdict(born(surprising, end_at)),
    }
    return replace(memory, draft=replace(draft, own=own))


async def put(
    transaction: Transaction, memory: Prepared, message_ids: Sequence[str], *, client_id: str
) -> None:
    """Write an episode that is not there yet, and join it, under its conversation's lock."""
    await write(transaction, [memory], client_id=client_id)
    await transaction.rows(
        JOIN_EPISODE,
        client_id=client_id,
        conversation_id=memory.draft.conversation_id,
        id=memory.draft.id,
        end_at=memory.draft.occurred_at,
        message_ids=list(message_ids),
    )


def kept(memory: Prepared, message_ids: list[str]) -> KeptEpisode:
    """Return an episode as it is shown to who has sent it."""
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


def _checked(new: NewEpisode) -> NewEpisode:
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
        start_at=utc(new.start_at, "start_at") if new.start_at else None,
        end_at=utc(new.end_at, "end_at") if new.end_at else None,
    )


def _times(new: NewEpisode, said: Sequence[Said]) -> tuple[datetime, datetime]:
    """Return when an episode began and ended: as given, else as its messages did."""
    times = [one.occurred_at for one in said]
    start_at = new.start_at or min(*times, new.end_at or times[0])
    end_at = new.end_at or max(*times, start_at)
    if start_at > end_at:
        raise InvalidInput("end_at", f"lies before start_at, {start_at.isoformat()}")
    return start_at, end_at


async def _source(
    new: NewEpisode,
    *,
    client_id: str,
    now: datetime,
    new_id: Callable[[], str],
    graph: Graph,
    embedder: Embedder,
    tokens: TokenCounter,
) -> Source:
    if new.messages is not None:
        batch = await incoming(
            new.messages,
            client_id=client_id,
            conversation_id=new.conversation_id,
            now=now,
            new_id=new_id,
            graph=graph,
            embedder=embedder,
            tokens=tokens,
        )
        said = [
            Said(
                id=id,
                session_id=one.session_id,
                role=one.role,
                name=one.name,
                text=one.content,
                occurred_at=utc(one.occurred_at, "occurred_at") if one.occurred_at else now,
            )
            for id, one in zip(batch.ids, new.messages, strict=True)
        ]
        return Source(said, batch)
    ids = new.message_ids
    if new.range is not None:
        ids = await _in_range(new.range, new.conversation_id, client_id, graph)
    ids = list(dict.fromkeys(ids or []))
    return Source(await _said(graph, ids, new.conversation_id, client_id))


async def _in_range(
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
        raise InvalidInput("range", f"holds more than {EPISODE_MESSAGES} messages; make several")
    return ids


async def _said(
    where: Graph | Transaction, ids: Sequence[str], conversation_id: str, client_id: str
) -> list[Said]:
    """Return messages by their ids. Raises `MemoryNotFound` when the conversation lacks one."""
    rows = await where.rows(
        MESSAGES_BY_ID, client_id=client_id, conversation_id=conversation_id, ids=list(ids)
    )
    there = {row.id for row in rows}
    for id in ids:
        if id not in there:
            raise MemoryNotFound(id)
    return rows


async def _told(
    new: NewEpisode, said: Sequence[Said], embedder: Embedder, llm: LanguageModel | None
) -> Told:
    """Return an episode's title and summary: as given, else told."""
    if new.title is not None and new.summary is not None:
        return Told(new.title, new.summary)
    found = await told(said, embedder=embedder, llm=llm)
    return Told(new.title or found.title, new.summary or found.summary, found.by_model)


async def _lock(
    transaction: Transaction, conversation_id: str, episode_id: str, client_id: str
) -> bool:
    """Lock a conversation; return whether the episode is there already, after a lost answer."""
    states = await transaction.rows(
        LOCK_CONVERSATION,
        client_id=client_id, id=conversation_id,
        session_names=[], external_ids=[], ids=[episode_id],
    )  # fmt: skip
    if not states:
        raise ConversationNotFound(conversation_id)
    return bool(states[0].written)


def _in_session(memory: Prepared, said: Sequence[Said]) -> Prepared:
    """Return an episode with its session, where it is of one alone."""
    sessions = {one.session_id for one in said}
    session_id = sessions.pop() if len(sessions) == 1 else ""
    return replace(memory, draft=replace(memory.draft, session_id=session_id))
