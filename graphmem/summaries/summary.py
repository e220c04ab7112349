"""Summaries: adding one, and showing a page of them, one version, or the text of one for a prompt."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.context import Context
from graphmem.errors import InvalidInput, MemoryNotFound, NotHead
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.memories.versions import supersede
from graphmem.memories.write import Draft, Prepared, prepare, write
from graphmem.model.pages import listing, page
from graphmem.model.times import BEGINNING, utc
from graphmem.model.validation import checked_text
from graphmem.sessions.link import link_session
from graphmem.summaries.types import (
    POINT_BYTES,
    SUMMARY_BYTES,
    NewPlanSummary,
    NewSummary,
    NewThreadSummary,
    Summaries,
    SummariesAsked,
    Summary,
)

SUMMARIES = Query("summaries/summaries", Summary)
SUMMARY = Query("summaries/summary", Summary)


async def show_summaries(asked: SummariesAsked, context: Context) -> Summaries:
    """Return a client's summaries, most recently active first, without superseded versions.

    Raises `InvalidInput`, `Unavailable`.
    """
    listed = listing(asked)
    before, before_id = listed.position(asked.cursor)
    rows = await context.graph.rows(
        SUMMARIES,
        client_id=context.client_id,
        types=[f"{asked.type}_summary"] if asked.type else [],
        since=utc(asked.since, "since") if asked.since else BEGINNING,
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: listed.cursor(row.occurred_at, row.id))
    return Summaries(summaries=shown, cursor=after)


async def show_summary(summary_id: str, context: Context) -> Summary:
    """Return one version of a summary.

    Raises `MemoryNotFound`, also for a summary of another client, and `Unavailable`.
    """
    rows = await context.graph.rows(SUMMARY, client_id=context.client_id, id=summary_id)
    if not rows:
        raise MemoryNotFound(summary_id)
    return rows[0]


def prompt_text(summary: Summary) -> str:
    """Return a summary as text for a prompt: a line of facts, then a line for each point.

    The summary of a session is its plain text. Line breaks inside a field become spaces, so that no field can
    imitate a line.
    """
    if summary.type == "thread":
        return _lines(_thread(summary), summary.key_points or [])
    if summary.type == "plan":
        return _lines(_plan(summary), summary.key_milestones or [])
    return summary.text


def _thread(summary: Summary) -> str:
    assert summary.last_activity_at is not None, "a thread's summary has one"
    return (
        f"Thread on {summary.platform}: {_counted(summary.message_count, 'message')} by "
        f"{_counted(summary.participant_count, 'participant')}, sentiment {summary.sentiment}, "
        f"last active {summary.last_activity_at:%Y-%m-%d}."
    )


def _plan(summary: Summary) -> str:
    return (
        f"Plan {summary.plan_type}, phase {summary.current_phase}: {summary.completed_nodes} of "
        f"{summary.total_nodes} done, {summary.pending_nodes} pending, {summary.failed_nodes} failed."
    )


def _lines(first: str, points: Sequence[str]) -> str:
    return "\n".join(" ".join(line.split()) for line in (first, *(f"- {one}" for one in points)))


def _counted(number: int | None, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


COMMON = {"target_id", "importance", "text"}
"""The fields that every kind of memory has; the others belong to summaries only."""


class LockedTarget(Struct, frozen=True):
    """The session that a summary is about, and its conversation, both locked."""

    session_id: str
    conversation_id: str


class SummaryVersions(Struct, frozen=True):
    """The id of a summary's newest version, and the number of this one if it is already written."""

    head: list[str]
    written: list[int]


LOCK_TARGET = Query("summaries/lock_target", LockedTarget, writes=True)
SUMMARY_VERSIONS = Query("summaries/summary_versions", SummaryVersions)
SUMMARIZE = Query("summaries/summarize", RowsWritten, writes=True)


async def add_summary(new: NewSummary, context: Context) -> Summary:
    """Write a summary, or its next version if the target has one; return it.

    A summary of a session also links the session to the client's other sessions; no automatic one follows it
    before the session has new messages. Raises `InvalidInput`, `Unavailable`.
    """
    now = context.now()
    summary, prepared = await prepare_summary(new, context, id=context.new_id(), now=now)
    version = await context.graph.write(
        lambda transaction: write_summary(transaction, prepared, context, now=now, given=True)
    )
    return replace(summary, version=version)


async def prepare_summary(
    new: NewSummary, context: Context, *, id: str, now: datetime
) -> tuple[Summary, Prepared]:
    """Return a summary in both forms: for the caller, and with its embedding for `write_summary`.

    Raises `InvalidInput`, `Unavailable`.
    """
    summary = _summary(_checked(new), id, now)
    draft = _draft(summary, new, context.client_id)
    [prepared] = await prepare([draft], embedder=context.embedder, tokens=context.tokens)
    summary = replace(
        summary,
        token_count=prepared.token_count,
        embedding_truncated=prepared.embedding.truncated,
    )
    return summary, prepared


async def write_summary(
    transaction: Transaction,
    new: Prepared,
    context: Context,
    *,
    now: datetime,
    given: bool = False,
) -> int:
    """Write a summary after the newest version of its target; return its number.

    A session's summary is joined to the session, and the session is linked to others. `given` says that its
    caller wrote it.
    """
    client_id = context.client_id
    targets = await transaction.rows(
        LOCK_TARGET, client_id=client_id, session_id=new.draft.source_id
    )
    for target in targets:
        new = replace(
            new,
            draft=replace(
                new.draft,
                session_id=target.session_id,
                conversation_id=target.conversation_id,
            ),
        )
    version = await _write_version(transaction, new, client_id=client_id, now=now)
    of_session = new.draft.source_type == "session_summary"
    for target in targets:
        await transaction.rows(
            SUMMARIZE,
            client_id=client_id,
            id=new.draft.id,
            session_id=target.session_id,
            given=given and of_session,
        )
        if of_session:
            await link_session(transaction, target.session_id, new, context, now=now)
    return version


async def _write_version(
    transaction: Transaction, new: Prepared, *, client_id: str, now: datetime
) -> int:
    while True:
        [known] = await transaction.rows(
            SUMMARY_VERSIONS,
            client_id=client_id,
            source_type=new.draft.source_type,
            source_id=new.draft.source_id,
            id=new.draft.id,
        )
        if known.written:
            return known.written[0]
        if not known.head:
            # A concurrent writer of a first version violates the constraint, and tries again.
            await write(transaction, [new], client_id=client_id)
            return 1
        try:
            return await supersede(transaction, known.head[0], new, client_id=client_id, now=now)
        except NotHead:
            # Another version was written while this waited for the lock: this one follows it.
            continue


def _checked(new: NewSummary) -> NewSummary:
    for field, text, most_bytes in _texts(new):
        checked_text(text, field, most_bytes=most_bytes)
    if isinstance(new, NewPlanSummary):
        counted = new.completed_nodes + new.pending_nodes + new.failed_nodes
        if counted > new.total_nodes:
            raise InvalidInput(
                "total_nodes",
                f"is {new.total_nodes}, less than completed, pending and failed nodes together "
                f"({counted})",
            )
    if new.last_activity_at is None:
        return new
    return replace(new, last_activity_at=utc(new.last_activity_at, "last_activity_at"))


def _texts(new: NewSummary) -> Iterator[tuple[str, str, int]]:
    """Yield the texts of a summary: the field, the text, the maximum number of bytes."""
    for field, value in asdict(new).items():
        if isinstance(value, str):
            yield field, value, SUMMARY_BYTES if field == "text" else 1_024
        elif isinstance(value, list):
            for place, text in enumerate(value):
                yield f"{field}[{place}]", text, POINT_BYTES


def _summary(new: NewSummary, id: str, now: datetime) -> Summary:
    given = {"text": ""} | asdict(new)
    occurred_at = new.last_activity_at or now
    summary = Summary(
        id=id,
        type=new.type,
        token_count=0,
        version=1,
        occurred_at=occurred_at,
        created_at=now,
        **given,
    )
    return replace(summary, text=prompt_text(summary))


def _draft(summary: Summary, new: NewSummary, client_id: str) -> Draft:
    search_text = _search_text(new)
    own = {name: value for name, value in asdict(new).items() if name not in COMMON}
    return Draft(
        id=summary.id,
        client_id=client_id,
        kind="summary",
        text=summary.text,
        search_text=search_text,
        embedded_text=search_text,
        source_type=f"{summary.type}_summary",
        source_id=summary.target_id,
        importance=summary.importance,
        occurred_at=summary.occurred_at,
        valid_at=summary.occurred_at,
        created_at=summary.created_at,
        own=own | {"version": summary.version},
    )


def _search_text(new: NewSummary) -> str:
    """Return the searched text of a summary."""
    if isinstance(new, NewThreadSummary):
        return "\n".join((new.platform, *new.key_points, new.sentiment))
    if isinstance(new, NewPlanSummary):
        return "\n".join((new.plan_type, new.current_phase, *new.key_milestones))
    return "\n".join((new.text, *(new.key_points or [])))
