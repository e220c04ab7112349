"""Versions: the one way in which a memory supersedes another.

Under a lock on the head of a chain the new version is written, joined to the head by `SUPERSEDES`, and
the head is ended. A head has no newer version, and a new version is new: chains are linear and acyclic
by construction, whoever writes at the same time.
"""

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from graphmem.errors import InvalidInput, MemoryNotFound, NotHead
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.graph.scope import scope_word
from graphmem.memories.write import Prepared, write


class Head(Struct, frozen=True):
    """A memory that is to be superseded, as it stands under its lock."""

    id: str
    kind: str
    version: int
    superseded_by: list[str]
    """What comes next in its chain; empty when it is the head."""
    newest: list[str]
    """The newest version that was seen; it may have been superseded since."""


LOCK_VERSION = Query("versions/lock_version", Head, writes=True)
SUPERSEDE = Query("versions/supersede", RowsWritten, writes=True)


async def supersede(
    transaction: Transaction,
    head_id: str,
    new: Prepared,
    *,
    client_id: str,
    now: datetime,
    reason: str | None = None,
) -> int:
    """Write a new version of a memory and end the old one; return the new version's number.

    Repeating it in another try of the same transaction changes nothing. Raises `MemoryNotFound`,
    `NotHead` when another version has come first, `InvalidInput` when the kinds differ.
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
    own = new.draft.own | {"version": version}
    await write(transaction, [replace(new, draft=replace(new.draft, own=own))], client_id=client_id)
    await transaction.rows(
        SUPERSEDE,
        client_id=client_id,
        id=new.draft.id,
        head_id=head.id,
        active_word=scope_word(client_id, "active"),
        reason=reason,
        now=now,
    )
    return version
