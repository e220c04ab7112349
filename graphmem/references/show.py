"""Showing references: a page of them, or one."""

from graphmem.context import Context
from graphmem.errors import MemoryNotFound
from graphmem.graph.query import Query
from graphmem.model.pages import listing, page
from graphmem.model.times import BEGINNING, utc
from graphmem.references.types import Reference, References, ReferencesAsked, StoredReference

REFERENCES = Query("references/references", StoredReference)
REFERENCE = Query("references/reference", StoredReference)


async def show_references(asked: ReferencesAsked, context: Context) -> References:
    """Return a page of a client's references, newest first, without superseded versions.

    Raises `InvalidInput`, `Unavailable`.
    """
    listed = listing(asked)
    before, before_id = listed.position(asked.cursor)
    rows = await context.graph.rows(
        REFERENCES,
        client_id=context.client_id,
        types=[asked.type] if asked.type else [],
        since=utc(asked.since, "since") if asked.since else BEGINNING,
        tags=asked.tags or [],
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: listed.cursor(row.occurred_at, row.id))
    return References(references=[row.shown for row in shown], cursor=after)


async def show_reference(reference_id: str, context: Context) -> Reference:
    """Return one version of a reference.

    Raises `MemoryNotFound`, also for a reference of another client, and `Unavailable`.
    """
    rows = await context.graph.rows(REFERENCE, client_id=context.client_id, id=reference_id)
    if not rows:
        raise MemoryNotFound(reference_id)
    return rows[0].shown
