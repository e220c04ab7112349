"""Remembering messages: batches of conversations become nodes, in order, in one transaction."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.conversations.conversation import OPEN_CONVERSATIONS
from graphmem.conversations.forms import PlainMessage, plain
from graphmem.conversations.types import Batch, NewMessage, Remembered, StoredSession, Title
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

OPENED_AGAIN = 3
"""How often a conversation that is deleted while messages arrive is opened anew for them, with `create`."""

MANY_NEW = 20
"""A session with this many new messages is summarized before it is idle."""


class _Opened(Struct, frozen=True):
    """A conversation that may be opened; a struct, so that an error names the field."""

    conversation_id: Id
    title: Title | None = None


class KnownMessage(Struct, frozen=True):
    """A message that exists already, with the caller's id of it."""

    external_id: str
    id: str


class KnownMessages(Struct, frozen=True):
    """The messages of a batch that its conversation has already, and the conversation's title."""

    conversation_id: str
    title: str | None
    known: list[KnownMessage]


class ConversationState(Struct, frozen=True):
    """The state of a conversation that its one writer needs, read under its lock."""

    conversation_id: str
    next_position: int
    sessions: list[StoredSession]
    known: list[KnownMessage]
    written: list[str]


class BatchPlacement(Struct, frozen=True):
    """The rows of a batch: its messages with their places in the conversation."""

    conversation_id: str
    memories: list[Prepared]
    links: list[dict[str, Any]]
    sessions: list[dict[str, Any]]
    next_position: int
    many_new: bool = False
    """Whether a session has `MANY_NEW` messages since its last summary."""

    @property
    def row(self) -> dict[str, Any]:
        """The row of `keep_sessions`."""
        return {
            "id": self.conversation_id,
            "next_position": self.next_position,
            "sessions": self.sessions,
        }


KNOWN_MESSAGES = Query("conversations/known_messages", KnownMessages)
LOCK_CONVERSATIONS = Query("conversations/lock_conversations", ConversationState, writes=True)
KEEP_SESSIONS = Query("conversations/keep_sessions", RowsWritten, writes=True)
LINK_MESSAGES = Query("conversations/link_messages", RowsWritten, writes=True)


class NewBatch(Struct, frozen=True, kw_only=True):
    """Messages to append to a conversation; with `create` there need not be such a conversation yet."""

    conversation_id: str
    messages: Sequence[NewMessage]
    create: bool = False
    title: str | None = None
    """The new title of the conversation; None leaves it."""


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
    """Whether the conversation is opened, or gets another title, with the batch."""
    is_first: bool = False
    """Whether there was no such conversation when the batch was read."""
    title: str | None = None


async def remember_messages(conversation_id: str, batch: Batch, context: Context) -> Remembered:
    """Append 1–1,000 messages to a conversation, all or none; return their ids in order.

    The messages are searchable on return. A message with an `external_id` that the conversation already has
    changes nothing and returns the existing id. With `create` a missing conversation is opened in the same
    transaction. Raises `InvalidInput` that names the field, `TooLarge`, `ConversationNotFound`,
    `Unavailable`.
    """
    again = OPENED_AGAIN if batch.create else 0
    while True:
        prepared = await prepare_batch(
            conversation_id, batch.messages, context, now=context.now(), create=batch.create
        )
        try:
            return (await remember_prepared([prepared], context))[0]
        except ConversationNotFound:
            # It was deleted since it was looked up.
            if not again:
                raise
            again -= 1


async def remember_prepared(batches: Sequence[PreparedBatch], context: Context) -> list[Remembered]:
    """Append batches to their conversations in one transaction; return the ids of each, in order.

    Raises `ConversationNotFound`, `Unavailable`.
    """
    ids = {batch.conversation_id: batch.ids for batch in batches}
    if changing := [batch for batch in batches if batch.memories or batch.opens]:
        appended = await context.graph.write(partial(append_batches, batches=changing))
        names = [batch.conversation_id for batch in changing]
        ids |= dict(zip(names, appended, strict=True))
    return [_remembered(batch, ids[batch.conversation_id]) for batch in batches]


def _remembered(batch: PreparedBatch, ids: list[str]) -> Remembered:
    truncated = {memory.draft.id for memory in batch.memories if memory.embedding.truncated}
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
    """Prepare one batch as `prepare_batches` does."""
    batch = NewBatch(conversation_id=conversation_id, messages=messages, create=create)
    return (await prepare_batches([batch], context, now=now))[0]


async def prepare_batches(
    batches: Sequence[NewBatch], context: Context, *, now: datetime
) -> list[PreparedBatch]:
    """Check batches of different conversations, give their messages ids, and embed those that are new.

    Raises `InvalidInput`, `TooLarge`, `ConversationNotFound`, `Unavailable`.
    """
    checked = [_checked(batch, now) for batch in batches]
    found = await context.graph.rows(
        KNOWN_MESSAGES,
        client_id=context.client_id,
        conversations=[
            {"id": batch.conversation_id, "external_ids": _external_ids(given)}
            for batch, given in zip(batches, checked, strict=True)
        ],
    )
    known = {one.conversation_id: one for one in found}
    for batch in batches:
        if not batch.create and batch.conversation_id not in known:
            raise ConversationNotFound(batch.conversation_id)
    begun = [
        _begun(batch, given, known.get(batch.conversation_id), context, now)
        for batch, given in zip(batches, checked, strict=True)
    ]
    drafts = [draft for _, some in begun for draft in some]
    memories = iter(await prepare_within_limits(drafts, context))
    return [replace(batch, memories=list(islice(memories, len(some)))) for batch, some in begun]


def _checked(batch: NewBatch, now: datetime) -> list[PlainMessage]:
    """Return the messages of a batch as they are stored. Raises `InvalidInput`, `TooLarge`."""
    if batch.create:
        validated({"conversation_id": batch.conversation_id, "title": batch.title}, _Opened)
    return [
        plain(message, now, place=f"messages[{place}].")
        for place, message in enumerate(batch.messages)
    ]


def _begun(
    batch: NewBatch,
    given: list[PlainMessage],
    known: KnownMessages | None,
    context: Context,
    now: datetime,
) -> tuple[PreparedBatch, list[Draft]]:
    """Return a batch without its memories, and their drafts; `known` is None without a conversation."""
    new_id = context.new_id
    messages = known.known if known else []
    ids = _ids(given, messages, new_id)
    written = {message.id for message in messages}
    new: dict[str, PlainMessage] = {}
    drafts: list[Draft] = []
    for place, (id, message) in enumerate(zip(ids, given, strict=True)):
        # A repeated external_id within a batch is ignored: the first message is written.
        if id not in written and id not in new:
            new[id] = message
            field = f"messages[{place}]."
            drafts.append(_draft(id, message, context.client_id, batch.conversation_id, now, field))
    prepared = PreparedBatch(
        client_id=context.client_id,
        conversation_id=batch.conversation_id,
        arrived_at=now,
        ids=ids,
        given=given,
        messages=list(new.values()),
        memories=[],
        session_ids={name: new_id() for name in {message.session_id for message in new.values()}},
        segment_job_id=new_id(),
        summary_job_id=new_id(),
        opens=known is None or batch.title not in {None, known.title},
        is_first=known is None,
        title=batch.title,
    )
    return prepared, drafts


def _external_ids(messages: Sequence[PlainMessage]) -> list[str]:
    return sorted({message.external_id for message in messages if message.external_id})


async def append_batch(transaction: Transaction, batch: PreparedBatch) -> list[str]:
    """Append one batch as `append_batches` does."""
    return (await append_batches(transaction, [batch]))[0]


async def append_batches(
    transaction: Transaction, batches: Sequence[PreparedBatch]
) -> list[list[str]]:
    """Append batches under the locks of their conversations; return the ids of each one's messages, in order.

    All are of one client, each is of another conversation. Raises `ConversationNotFound`.
    """
    await _open_missing(transaction, batches)
    states = await _lock_conversations(
        transaction,
        {
            batch.conversation_id: {
                "session_names": sorted(batch.session_ids),
                "external_ids": _external_ids(batch.messages),
                "ids": [memory.draft.id for memory in batch.memories],
            }
            for batch in batches
        },
        client_id=batches[0].client_id,
    )
    placed = [
        place(batch.memories, batch.messages, states[batch.conversation_id], batch.session_ids)
        for batch in batches
    ]
    await _write_placed(
        transaction, [one for one in placed if one.memories], client_id=batches[0].client_id
    )
    await _postpone_jobs(transaction, batches, placed)
    return [_winning_ids(batch, states[batch.conversation_id]) for batch in batches]


async def _open_missing(transaction: Transaction, batches: Sequence[PreparedBatch]) -> None:
    opened: list[dict[str, Any]] = [
        {"id": batch.conversation_id, "title": batch.title, "metadata": None, "tags": []}
        for batch in sorted(batches, key=lambda batch: batch.conversation_id)
        if batch.opens
    ]
    if opened:
        await transaction.rows(
            OPEN_CONVERSATIONS,
            client_id=batches[0].client_id,
            conversations=opened,
            created_at=batches[0].arrived_at,
        )


def _winning_ids(batch: PreparedBatch, state: ConversationState) -> list[str]:
    """Return the ids of a batch's messages; another writer may have written some before."""
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
    ids: Sequence[str] = (),
) -> ConversationState:
    """Lock a conversation for its one writer; return its state, and which of these ids are written.

    Raises `ConversationNotFound`.
    """
    asked = {"session_names": [], "external_ids": [], "ids": list(ids)}
    states = await _lock_conversations(transaction, {conversation_id: asked}, client_id=client_id)
    return states[conversation_id]


async def _lock_conversations(
    transaction: Transaction, asked: Mapping[str, dict[str, Any]], *, client_id: str
) -> dict[str, ConversationState]:
    """Lock conversations; return the requested parts of their states. Raises `ConversationNotFound`."""
    # In one order, so that two writers of the same conversations do not deadlock.
    rows = [{"id": id} | asked[id] for id in sorted(asked)]
    found = await transaction.rows(LOCK_CONVERSATIONS, client_id=client_id, conversations=rows)
    states = {state.conversation_id: state for state in found}
    for id in asked:
        if id not in states:
            raise ConversationNotFound(id)
    return states


async def _write_placed(
    transaction: Transaction, placed: Sequence[BatchPlacement], *, client_id: str
) -> None:
    if not placed:
        return
    await transaction.rows(
        KEEP_SESSIONS, client_id=client_id, conversations=[one.row for one in placed]
    )
    memories = [memory for one in placed for memory in one.memories]
    await write(transaction, memories, client_id=client_id)
    links = [link for one in placed for link in one.links]
    await transaction.rows(LINK_MESSAGES, client_id=client_id, rows=links)


async def _postpone_jobs(
    transaction: Transaction, batches: Sequence[PreparedBatch], placed: Sequence[BatchPlacement]
) -> None:
    """Queue the jobs for the time when the conversations are idle.

    Each write postpones segmenting. The summary job is not postponed: it is due when the first session is
    idle.
    """
    due = [
        job
        for batch, one in zip(batches, placed, strict=True)
        for job in _jobs(batch, many_new=one.many_new)
    ]
    now = batches[0].arrived_at
    await postpone_all(transaction, due, client_id=batches[0].client_id, now=now)


def _jobs(batch: PreparedBatch, *, many_new: bool) -> tuple[Due, Due]:
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
    return segmenting, summarizing


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
    return BatchPlacement(
        state.conversation_id, memories, links, list(touched.values()), position, many_new
    )


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
