"""Remembering what was said: a batch of messages becomes nodes, in order, in one transaction."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from graphmem.conversations.types import NewMessage, Remembered, StoredSession
from graphmem.embedding import Embedder
from graphmem.errors import ConversationNotFound
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.jobs.outbox import Due, postpone_all
from graphmem.memories.write import Draft, Prepared, prepare, write
from graphmem.model.text import checked_text
from graphmem.model.times import utc
from graphmem.model.vocabulary import MESSAGE_BYTES
from graphmem.tokens import TokenCounter

SEGMENT = "segment"
"""The kind of job that makes episodes of a conversation that has become idle."""

SUMMARIZE_SESSIONS = "summarize"
"""The kind of job that summarizes the sessions of a conversation that are idle or have much that is new."""

IDLE = timedelta(minutes=30)
"""After how long without a new message a conversation or a session is idle, by the wall clock."""

MANY_NEW = 20
"""With how many new messages a session is summarized before it is idle."""


class KnownMessage(Struct, frozen=True):
    """A message that is there already, by the caller's id."""

    external_id: str
    id: str


class Known(Struct, frozen=True):
    """Which messages of a batch are there already."""

    known: list[KnownMessage]


class ConversationState(Struct, frozen=True):
    """What the one writer of a conversation must know, read under its lock."""

    next_position: int
    sessions: list[StoredSession]
    known: list[KnownMessage]
    written: list[str]


class Placed(Struct, frozen=True):
    """A batch with its places in the conversation: what is to be written."""

    memories: list[Prepared]
    links: list[dict[str, Any]]
    sessions: list[dict[str, Any]]
    next_position: int
    many_new: bool = False
    """Whether a session has as many new messages that it is to be summarized."""


KNOWN_MESSAGES = Query("conversations/known_messages", Known)
LOCK_CONVERSATION = Query("conversations/lock_conversation", ConversationState, writes=True)
KEEP_SESSIONS = Query("conversations/keep_sessions", RowsWritten, writes=True)
LINK_MESSAGES = Query("conversations/link_messages", RowsWritten, writes=True)


class Incoming(Struct, frozen=True):
    """A batch that is ready to be appended: nothing of it needs the database or the model any more."""

    ids: list[str]
    """One for each message, in the batch's order; the same `external_id` has the same."""
    external_ids: list[str | None]
    messages: list[NewMessage]
    """Those that were not there when the batch was read, each once."""
    prepared: list[Prepared]
    session_ids: dict[str, str]
    job_id: str
    summary_job_id: str


async def remember(
    messages: Sequence[NewMessage],
    *,
    client_id: str,
    conversation_id: str,
    now: datetime,
    new_id: Callable[[], str],
    graph: Graph,
    embedder: Embedder,
    tokens: TokenCounter,
) -> Remembered:
    """Append messages to a conversation, all or none; return their ids in order.

    A message whose `external_id` the conversation has already changes nothing and gives that
    message's id. Raises `InvalidInput` that names the field, `ConversationNotFound`, `Unavailable`.
    """
    batch = await incoming(
        messages,
        client_id=client_id,
        conversation_id=conversation_id,
        now=now,
        new_id=new_id,
        graph=graph,
        embedder=embedder,
        tokens=tokens,
    )
    ids = batch.ids
    if batch.prepared:
        ids = await graph.write(
            lambda transaction: append(
                transaction, batch, client_id=client_id, conversation_id=conversation_id, now=now
            )
        )
    truncated = {memory.draft.id for memory in batch.prepared if memory.embedding.truncated}
    return Remembered(
        ids=ids, embedding_truncated=[id for id in dict.fromkeys(ids) if id in truncated]
    )


async def incoming(
    messages: Sequence[NewMessage],
    *,
    client_id: str,
    conversation_id: str,
    now: datetime,
    new_id: Callable[[], str],
    graph: Graph,
    embedder: Embedder,
    tokens: TokenCounter,
) -> Incoming:
    """Check a batch, give its messages their ids, and embed those that are not there yet."""
    checked = [_checked(message, place, now) for place, message in enumerate(messages)]
    external_ids = sorted({message.external_id for message in checked if message.external_id})
    found = await graph.rows(
        KNOWN_MESSAGES, client_id=client_id, id=conversation_id, external_ids=external_ids
    )
    if not found:
        raise ConversationNotFound(conversation_id)
    ids = _ids(checked, found[0].known, new_id)
    known = {message.id for message in found[0].known}
    new: dict[str, NewMessage] = {}
    for id, message in zip(ids, checked, strict=True):
        if id not in known:
            # The same external_id again within a batch changes nothing: the first one is written.
            new.setdefault(id, message)
    drafts = [_draft(id, message, client_id, conversation_id, now) for id, message in new.items()]
    return Incoming(
        ids=ids,
        external_ids=[message.external_id for message in checked],
        messages=list(new.values()),
        prepared=await prepare(drafts, embedder=embedder, tokens=tokens),
        session_ids={name: new_id() for name in {message.session_id for message in new.values()}},
        job_id=new_id(),
        summary_job_id=new_id(),
    )


async def append(
    transaction: Transaction,
    batch: Incoming,
    *,
    client_id: str,
    conversation_id: str,
    now: datetime,
) -> list[str]:
    """Append a batch under the conversation's lock; return the ids of its messages in their order."""
    winners, many_new = await _append(
        transaction,
        batch.prepared,
        batch.messages,
        client_id=client_id,
        conversation_id=conversation_id,
        session_ids=batch.session_ids,
    )
    # Idle is a conversation that nothing was written to for a while: each write begins the wait anew. Its
    # sessions become idle one by one: what waits for the first of them is not put off.
    segmenting = Due(
        id=batch.job_id,
        kind=SEGMENT,
        key=conversation_id,
        run_at=now + IDLE,
        conversation_id=conversation_id,
    )
    summarizing = Due(
        id=batch.summary_job_id,
        kind=SUMMARIZE_SESSIONS,
        key=conversation_id,
        run_at=now if many_new else now + IDLE,
        conversation_id=conversation_id,
        earliest=True,
    )
    await postpone_all(transaction, [segmenting, summarizing], client_id=client_id, now=now)
    return [
        winners.get(external_id or "", id)
        for id, external_id in zip(batch.ids, batch.external_ids, strict=True)
    ]


async def _append(
    transaction: Transaction,
    prepared: Sequence[Prepared],
    messages: Sequence[NewMessage],
    *,
    client_id: str,
    conversation_id: str,
    session_ids: dict[str, str],
) -> tuple[dict[str, str], bool]:
    """Write what is not there yet, under the conversation's lock.

    Returns what was there, by its id, and whether a session has much that is new.
    """
    states = await transaction.rows(
        LOCK_CONVERSATION,
        client_id=client_id,
        id=conversation_id,
        session_names=sorted(session_ids),
        external_ids=sorted({one.external_id for one in messages if one.external_id}),
        ids=[memory.draft.id for memory in prepared],
    )
    if not states:
        raise ConversationNotFound(conversation_id)
    placed = place(prepared, messages, states[0], session_ids)
    if placed.memories:
        await transaction.rows(
            KEEP_SESSIONS,
            client_id=client_id,
            conversation_id=conversation_id,
            sessions=placed.sessions,
            next_position=placed.next_position,
        )
        await write(transaction, placed.memories, client_id=client_id)
        await transaction.rows(LINK_MESSAGES, client_id=client_id, rows=placed.links)
    return {message.external_id: message.id for message in states[0].known}, placed.many_new


def place(
    prepared: Sequence[Prepared],
    messages: Sequence[NewMessage],
    state: ConversationState,
    session_ids: dict[str, str],
) -> Placed:
    """Give each message that is not there yet its session, `idx`, position and predecessor."""
    there = set(state.written)
    taken = {message.external_id for message in state.known}
    sessions = {session.external_id: session for session in state.sessions}
    position = state.next_position
    memories, links = [], []
    touched: dict[str, dict[str, Any]] = {}
    many_new = False
    for memory, message in zip(prepared, messages, strict=True):
        draft = memory.draft
        if draft.id in there or message.external_id in taken:
            continue
        session = sessions.get(message.session_id) or StoredSession(
            external_id=message.session_id, id=session_ids[message.session_id], next_idx=0
        )
        own = draft.own | {"idx": session.next_idx, "position": position}
        draft = replace(draft, session_id=session.id, source_id=session.id, own=own)
        memories.append(replace(memory, draft=draft))
        links.append(
            {"id": draft.id, "session_id": session.id, "previous_id": session.last_message_id}
        )
        position += 1
        session = replace(session, next_idx=session.next_idx + 1, last_message_id=draft.id)
        sessions[session.external_id] = session
        many_new = many_new or session.next_idx - session.summarized_idx >= MANY_NEW
        row = touched.setdefault(session.id, {"started_at": draft.occurred_at})
        row |= {
            "id": session.id,
            "external_id": session.external_id,
            "next_idx": session.next_idx,
            "last_active_at": draft.created_at,
        }
    return Placed(memories, links, list(touched.values()), position, many_new)


def _checked(message: NewMessage, place: int, now: datetime) -> NewMessage:
    field = f"messages[{place}]"
    checked_text(message.content, f"{field}.content", most_bytes=MESSAGE_BYTES)
    for name in ("session_id", "name", "external_id"):
        if getattr(message, name) is not None:
            checked_text(getattr(message, name), f"{field}.{name}", most_bytes=1024)
    occurred_at = utc(message.occurred_at, f"{field}.occurred_at") if message.occurred_at else now
    return replace(message, occurred_at=occurred_at)


def _ids(
    messages: Sequence[NewMessage], known: Sequence[KnownMessage], new_id: Callable[[], str]
) -> list[str]:
    """Return an id for each message; the same `external_id` has the same id."""
    by_external = {message.external_id: message.id for message in known}
    return [
        by_external.setdefault(message.external_id, new_id()) if message.external_id else new_id()
        for message in messages
    ]


def _draft(
    id: str, message: NewMessage, client_id: str, conversation_id: str, now: datetime
) -> Draft:
    assert message.occurred_at is not None, "checked messages have a time"
    return Draft(
        id=id,
        client_id=client_id,
        kind="message",
        text=message.content,
        search_text=message.content,
        embedded_text=f"{message.name}: {message.content}" if message.name else message.content,
        source_type="message",
        conversation_id=conversation_id,
        importance=message.importance,
        external_id=message.external_id,
        occurred_at=message.occurred_at,
        valid_at=message.occurred_at,
        created_at=now,
        own={"role": message.role, "name": message.name},
    )
