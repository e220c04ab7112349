"""Remembering messages: a batch becomes nodes, in order, in one transaction."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.conversations.conversation import OPEN_CONVERSATION
from graphmem.conversations.forms import PlainMessage, plain
from graphmem.conversations.types import Batch, NewMessage, Remembered, StoredSession
from graphmem.errors import ConversationNotFound
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.jobs.outbox import Due, postpone_all
from graphmem.memories.write import Draft, Prepared, prepare_within_limits, write
from graphmem.model.annotations import stored_annotations
from graphmem.model.validation import validated
from graphmem.model.vocabulary import Id

SEGMENT = "segment"
"""The kind of job that segments an idle conversation into episodes."""

SUMMARIZE_SESSIONS = "summarize"
"""The kind of job that summarizes the sessions of a conversation that are idle or have many new messages."""

IDLE = timedelta(minutes=30)
"""A conversation or a session is idle after this time without a new message, by the wall clock."""

MANY_NEW = 20
"""A session with this many new messages is summarized before it is idle."""


class _Named(Struct, frozen=True):
    """The id of a conversation that may be opened; a struct, so that an error names the field."""

    conversation_id: Id


class KnownMessage(Struct, frozen=True):
    """A message that exists already, with the caller's id of it."""

    external_id: str
    id: str


class KnownMessages(Struct, frozen=True):
    """The messages of a batch that exist already."""

    known: list[KnownMessage]


class ConversationState(Struct, frozen=True):
    """The state of a conversation that its one writer needs, read under its lock."""

    next_position: int
    sessions: list[StoredSession]
    known: list[KnownMessage]
    written: list[str]


class BatchPlacement(Struct, frozen=True):
    """The rows of a batch: its messages with their places in the conversation."""

    memories: list[Prepared]
    links: list[dict[str, Any]]
    sessions: list[dict[str, Any]]
    next_position: int
    many_new: bool = False
    """Whether a session has `MANY_NEW` messages since its last summary."""


KNOWN_MESSAGES = Query("conversations/known_messages", KnownMessages)
LOCK_CONVERSATION = Query("conversations/lock_conversation", ConversationState, writes=True)
KEEP_SESSIONS = Query("conversations/keep_sessions", RowsWritten, writes=True)
LINK_MESSAGES = Query("conversations/link_messages", RowsWritten, writes=True)


class PreparedBatch(Struct, frozen=True, kw_only=True):
    """A batch that can be appended in one transaction: checked, embedded, with all ids made."""

    client_id: str
    conversation_id: str
    arrived_at: datetime
    ids: list[str]
    """One id for each message, in the batch's order; messages with the same `external_id` share one."""
    given: list[PlainMessage]
    """All messages, in the batch's order."""
    messages: list[PlainMessage]
    """The messages that did not exist when the batch was read, each once."""
    memories: list[Prepared]
    session_ids: dict[str, str]
    segment_job_id: str
    summary_job_id: str
    opens: bool = False
    """Whether the conversation is opened with the batch."""


async def remember_messages(conversation_id: str, batch: Batch, context: Context) -> Remembered:
    """Append 1–1,000 messages to a conversation, all or none; return their ids in order.

    The messages are searchable on return. A message with an `external_id` that the conversation already has
    changes nothing and returns the existing id. With `create` a missing conversation is opened in the same
    transaction. Raises `InvalidInput` that names the field, `TooLarge`, `ConversationNotFound`,
    `Unavailable`.
    """
    prepared = await prepare_batch(
        conversation_id, batch.messages, context, now=context.now(), create=batch.create
    )
    ids = prepared.ids
    if prepared.memories:
        ids = await context.graph.write(lambda transaction: append_batch(transaction, prepared))
    truncated = {memory.draft.id for memory in prepared.memories if memory.embedding.truncated}
    return Remembered(
        ids=ids, embedding_truncated=[id for id in dict.fromkeys(ids) if id in truncated]
    )


async def prepare_batch(
    conversation_id: str,
    messages: Sequence[NewMessage],
    context: Context,
    *,
    now: datetime,
    create: bool = False,
) -> PreparedBatch:
    """Check a batch, give its messages their ids, and embed those that do not exist yet.

    With `create` there need not be such a conversation yet.

    Raises `InvalidInput`, `TooLarge`, `ConversationNotFound`, `Unavailable`.
    """
    client_id, new_id = context.client_id, context.new_id
    if create:
        conversation_id = validated({"conversation_id": conversation_id}, _Named).conversation_id
    checked = [
        plain(message, now, place=f"messages[{place}].") for place, message in enumerate(messages)
    ]
    external_ids = sorted({message.external_id for message in checked if message.external_id})
    found = await context.graph.rows(
        KNOWN_MESSAGES, client_id=client_id, id=conversation_id, external_ids=external_ids
    )
    if not found and not create:
        raise ConversationNotFound(conversation_id)
    known_messages = found[0].known if found else []
    ids = _ids(checked, known_messages, new_id)
    known = {message.id for message in known_messages}
    new: dict[str, PlainMessage] = {}
    drafts: list[Draft] = []
    for place, (id, message) in enumerate(zip(ids, checked, strict=True)):
        # A repeated external_id within a batch is ignored: the first message is written.
        if id not in known and id not in new:
            new[id] = message
            field = f"messages[{place}]."
            drafts.append(_draft(id, message, client_id, conversation_id, now, field))
    return PreparedBatch(
        client_id=client_id,
        conversation_id=conversation_id,
        arrived_at=now,
        ids=ids,
        given=checked,
        messages=list(new.values()),
        memories=await prepare_within_limits(drafts, context),
        session_ids={name: new_id() for name in {message.session_id for message in new.values()}},
        segment_job_id=new_id(),
        summary_job_id=new_id(),
        opens=not found,
    )


async def append_batch(transaction: Transaction, batch: PreparedBatch) -> list[str]:
    """Append a batch under the conversation's lock; return the ids of its messages in their order.

    Raises `ConversationNotFound`.
    """
    if batch.opens:
        await transaction.rows(
            OPEN_CONVERSATION,
            client_id=batch.client_id,
            id=batch.conversation_id,
            title=None,
            metadata=None,
            tags=[],
            created_at=batch.arrived_at,
        )
    state = await lock_conversation(
        transaction,
        batch.conversation_id,
        client_id=batch.client_id,
        session_names=sorted(batch.session_ids),
        external_ids=sorted({one.external_id for one in batch.messages if one.external_id}),
        ids=[memory.draft.id for memory in batch.memories],
    )
    placed = place(batch.memories, batch.messages, state, batch.session_ids)
    if placed.memories:
        await _write_placed(transaction, placed, batch)
    await _postpone_jobs(transaction, batch, many_new=placed.many_new)
    winners = {message.external_id: message.id for message in state.known}
    return [
        winners.get(message.external_id or "", id)
        for id, message in zip(batch.ids, batch.given, strict=True)
    ]


async def lock_conversation(
    transaction: Transaction,
    conversation_id: str,
    *,
    client_id: str,
    session_names: Sequence[str] = (),
    external_ids: Sequence[str] = (),
    ids: Sequence[str] = (),
) -> ConversationState:
    """Lock a conversation for its one writer; return the requested parts of its state.

    Raises `ConversationNotFound`.
    """
    states = await transaction.rows(
        LOCK_CONVERSATION,
        client_id=client_id,
        id=conversation_id,
        session_names=list(session_names),
        external_ids=list(external_ids),
        ids=list(ids),
    )
    if not states:
        raise ConversationNotFound(conversation_id)
    return states[0]


async def _write_placed(
    transaction: Transaction, placed: BatchPlacement, batch: PreparedBatch
) -> None:
    await transaction.rows(
        KEEP_SESSIONS,
        client_id=batch.client_id,
        conversation_id=batch.conversation_id,
        sessions=placed.sessions,
        next_position=placed.next_position,
    )
    await write(transaction, placed.memories, client_id=batch.client_id)
    await transaction.rows(LINK_MESSAGES, client_id=batch.client_id, rows=placed.links)


async def _postpone_jobs(transaction: Transaction, batch: PreparedBatch, *, many_new: bool) -> None:
    """Queue the jobs for the time when the conversation is idle.

    Each write postpones segmenting. The summary job is not postponed: it is due when the first session is
    idle.
    """
    now, conversation_id = batch.arrived_at, batch.conversation_id
    segmenting = Due(
        id=batch.segment_job_id,
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
    await postpone_all(transaction, [segmenting, summarizing], client_id=batch.client_id, now=now)


def place(
    prepared: Sequence[Prepared],
    messages: Sequence[PlainMessage],
    state: ConversationState,
    session_ids: dict[str, str],
) -> BatchPlacement:
    """Give each message that does not exist yet its session, `idx`, position and predecessor."""
    written = set(state.written)
    taken = {message.external_id for message in state.known}
    sessions = {session.external_id: session for session in state.sessions}
    position = state.next_position
    memories, links = [], []
    touched: dict[str, dict[str, Any]] = {}
    many_new = False
    for memory, message in zip(prepared, messages, strict=True):
        draft = memory.draft
        if draft.id in written or message.external_id in taken:
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
    return BatchPlacement(memories, links, list(touched.values()), position, many_new)


def _ids(
    messages: Sequence[PlainMessage], known: Sequence[KnownMessage], new_id: Callable[[], str]
) -> list[str]:
    """Return an id for each message; messages with the same `external_id` share one."""
    by_external = {message.external_id: message.id for message in known}
    return [
        by_external.setdefault(message.external_id, new_id()) if message.external_id else new_id()
        for message in messages
    ]


def _draft(
    id: str, message: PlainMessage, client_id: str, conversation_id: str, now: datetime, field: str
) -> Draft:
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
        own={"role": message.role, "name": message.name} | stored_annotations(message, field, now),
    )
