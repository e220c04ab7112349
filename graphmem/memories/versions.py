"""Versions: the one way in which a memory supersedes another, and the chain of a memory's versions.

Under a lock on the head of a chain the new version is written, joined to the head by `SUPERSEDES`, and the
head is ended. A head has no newer version, and a new version is new: chains are linear and acyclic by
construction, also under concurrent writes.
"""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.errors import InvalidInput, MemoryNotFound, NotHead
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.graph.scope import scope_word
from graphmem.memories.write import Draft, Prepared, write
from graphmem.model.times import END, Time, after, utc
from graphmem.model.vocabulary import LINK_TYPES, Kind, LinkType, stored_type


class VersionsAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for the versions of a memory."""

    known_as_of: (
        Annotated[
            Time,
            Meta(description="only versions that were recorded by then; RFC 3339, with a zone"),
        ]
        | None
    ) = None
    as_of: (
        Annotated[
            Time,
            Meta(description="only versions that had become valid by then; RFC 3339, with a zone"),
        ]
        | None
    ) = None


class Version(Struct, frozen=True, kw_only=True):
    """One version of a memory: its text, when it became valid, when it was written and why."""

    id: str
    version: int
    """Its number in its chain, from 1."""
    kind: Kind
    text: str
    valid_at: datetime
    """The beginning of its valid time: since when it is true."""
    created_at: datetime
    """The time when it was stored (recorded time), by the service's clock."""
    superseded_at: datetime | None = None
    """The time when a newer version was written; null for the head."""
    reason: str | None = None
    """The reason why it superseded the version before."""


class Versions(Struct, frozen=True, kw_only=True):
    """A chain, oldest first."""

    versions: list[Version]


class LockedHead(Struct, frozen=True):
    """A memory that is to be superseded, read under its lock."""

    id: str
    kind: str
    version: int
    created_at: datetime
    superseded_by: list[str]
    """The id of the next version; empty for the head."""
    newest: list[str]
    """The id of the newest version that was read; it may have been superseded since."""


LOCK_VERSION = Query("memories/lock_version", LockedHead, writes=True)
SUPERSEDE = Query("memories/supersede", RowsWritten, writes=True)
VERSIONS = Query("memories/versions", Versions)

KEPT_LINKS: tuple[LinkType, ...] = ("relates_to", "references", "refines")
"""The types of links that a new version has too. A changed text need not contradict what the old one did, and
has sources of its own."""


async def show_versions(memory_id: str, asked: VersionsAsked, context: Context) -> Versions:
    """Return the chain of a memory's versions that were known and valid at a time, oldest first.

    Raises `InvalidInput` for a time without a zone, `MemoryNotFound`, also for a memory of another client,
    and `Unavailable`.
    """
    known_as_of = utc(asked.known_as_of, "known_as_of") if asked.known_as_of else END
    rows = await context.graph.rows(
        VERSIONS,
        client_id=context.client_id,
        id=memory_id,
        known_as_of=known_as_of,
        as_of=utc(asked.as_of, "as_of") if asked.as_of else END,
        end=END,
    )
    if not rows:
        raise MemoryNotFound(memory_id)
    return rows[0]


async def supersede(
    transaction: Transaction,
    head_id: str,
    new: Prepared,
    *,
    client_id: str,
    now: datetime,
    reason: str | None = None,
) -> int:
    """Write a new version of a memory, with its links, and end the old one; return the version's number.

    A new version of a reference has all links, since it is a card of the same source.

    A chain's times only go forward: if the clock was set back, the version is recorded just after its head.
    Repeating it in another try of the same transaction changes nothing. Raises `MemoryNotFound`, `NotHead`
    when another version was written first, `InvalidInput` when the kinds differ.
    """
    rows = await transaction.rows(LOCK_VERSION, client_id=client_id, id=head_id)
    if not rows:
        raise MemoryNotFound(head_id)
    head = rows[0]
    version = head.version + 1
    if head.superseded_by == [new.draft.id]:
        return version
    if head.superseded_by:
        raise NotHead(head_id, head.newest[0])
    if head.kind != new.draft.kind:
        raise InvalidInput("kind", f"a {new.draft.kind} cannot supersede a {head.kind}")
    recorded = after(head.created_at, now)
    draft = replace(new.draft, own=new.draft.own | {"version": version})
    if recorded > now:
        draft = _recorded(draft, recorded, now)
    await write(transaction, [replace(new, draft=draft)], client_id=client_id)
    await transaction.rows(
        SUPERSEDE,
        client_id=client_id,
        id=new.draft.id,
        head_id=head.id,
        active_word=scope_word(client_id, "active"),
        reason=reason,
        now=recorded,
        types=list(map(stored_type, LINK_TYPES if head.kind == "reference" else KEPT_LINKS)),
    )
    return version


def _recorded(draft: Draft, recorded: datetime, now: datetime) -> Draft:
    """Return a memory as it is recorded at another time than now; a given valid time stays."""
    valid_at = recorded if draft.valid_at == now else draft.valid_at
    return replace(draft, created_at=recorded, valid_at=valid_at)
