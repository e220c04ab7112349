"""Summaries: each of the same target is the next version of the one before."""

from collections.abc import Callable, Iterator
from datetime import datetime

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.embedding import Embedder
from graphmem.errors import InvalidInput, NotHead
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.installation import Calibration
from graphmem.graph.query import Query, RowsWritten
from graphmem.memories.write import Draft, Prepared, prepare, write
from graphmem.model.text import checked_text
from graphmem.model.times import utc
from graphmem.sessions.link import link_session
from graphmem.summaries.prompt_text import prompt_text
from graphmem.summaries.types import (
    POINT_BYTES,
    SUMMARY_BYTES,
    NewPlanSummary,
    NewSummary,
    NewThreadSummary,
    Summary,
)
from graphmem.tokens import TokenCounter
from graphmem.versions.supersede import supersede

COMMON = {"target_id", "importance", "text"}
"""What every kind of memory has; the other fields are a summary's own."""


class Target(Struct, frozen=True):
    """The session that a summary is about, and its conversation, locked."""

    session_id: str
    conversation_id: str


class Versions(Struct, frozen=True):
    """What there is of a summary: the newest version's id, and the number of this one if written."""

    head: list[str]
    written: list[int]


class Summarizing(Struct, frozen=True):
    """Whose summary is written, when, and which cosines mean something."""

    client_id: str
    now: datetime
    calibration: Calibration


LOCK_TARGET = Query("summaries/lock_target", Target, writes=True)
SUMMARY_VERSIONS = Query("summaries/summary_versions", Versions)
SUMMARIZE = Query("summaries/summarize", RowsWritten, writes=True)


async def summarize(
    new: NewSummary,
    *,
    client_id: str,
    now: datetime,
    new_id: Callable[[], str],
    graph: Graph,
    embedder: Embedder,
    tokens: TokenCounter,
    calibration: Calibration,
) -> Summary:
    """Write a summary, as the next version where its target has one; return it.

    That of a session links it to the client's other sessions. Raises `InvalidInput` that names the field,
    `Unavailable`.
    """
    summary, prepared = await composed(
        new, id=new_id(), client_id=client_id, now=now, embedder=embedder, tokens=tokens
    )
    summarizing = Summarizing(client_id, now, calibration)
    version = await graph.write(lambda transaction: keep(transaction, prepared, summarizing))
    return replace(summary, version=version)


async def composed(
    new: NewSummary,
    *,
    id: str,
    client_id: str,
    now: datetime,
    embedder: Embedder,
    tokens: TokenCounter,
) -> tuple[Summary, Prepared]:
    """Return a summary, and the same ready to be written. Raises `InvalidInput`, `Unavailable`."""
    summary = _summary(_checked(new), id, now)
    draft = _draft(summary, new, client_id)
    [prepared] = await prepare([draft], embedder=embedder, tokens=tokens)
    summary = replace(
        summary,
        token_count=prepared.token_count,
        embedding_truncated=prepared.embedding.truncated,
    )
    return summary, prepared


async def keep(transaction: Transaction, new: Prepared, summarizing: Summarizing) -> int:
    """Write a summary behind the newest version there is; return its number.

    One that is about a session is joined to it, and the session to others.
    """
    client_id, now = summarizing.client_id, summarizing.now
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
    version = await _written(transaction, new, client_id=client_id, now=now)
    for target in targets:
        await transaction.rows(
            SUMMARIZE, client_id=client_id, id=new.draft.id, session_id=target.session_id
        )
        if new.draft.source_type == "session_summary":
            await link_session(
                transaction,
                target.session_id,
                new.draft.id,
                new.embedding.vector,
                client_id=client_id,
                now=now,
                calibration=summarizing.calibration,
            )
    return version


async def _written(
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
            # Whoever writes a first version at the same time is refused by the constraint, and
            # looks again.
            await write(transaction, [new], client_id=client_id)
            return 1
        try:
            return await supersede(transaction, known.head[0], new, client_id=client_id, now=now)
        except NotHead:
            # Another version came while this waited for the lock: it goes behind that one.
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
    """Yield the texts of a summary: the field, the text, the most bytes."""
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
    """Return what a summary is found by (S1)."""
    if isinstance(new, NewThreadSummary):
        return "\n".join((new.platform, *new.key_points, new.sentiment))
    if isinstance(new, NewPlanSummary):
        return "\n".join((new.plan_type, new.current_phase, *new.key_milestones))
    return "\n".join((new.text, *(new.key_points or [])))
