"""Looking at references: a page of them, or one."""

from graphmem.errors import MemoryNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.pages import cursor, page, position
from graphmem.model.times import BEGINNING, utc
from graphmem.references.types import Reference, References, ReferencesAsked, StoredReference

REFERENCES = Query("references/references", StoredReference)
REFERENCE = Query("references/reference", StoredReference)


async def references(asked: ReferencesAsked, *, client_id: str, graph: Graph) -> References:
    """Return a client's references, newest first, without versions that were superseded.

    Raises `InvalidInput`.
    """
    before, before_id = position(asked.cursor)
    rows = await graph.rows(
        REFERENCES,
        client_id=client_id,
        types=[asked.type] if asked.type else [],
        since=utc(asked.since, "since") if asked.since else BEGINNING,
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: cursor(row.occurred_at, row.id))
    return References(references=[row.shown for row in shown], cursor=after)


async def reference(reference_id: str, *, client_id: str, graph: Graph) -> Reference:
    """Return one version of a reference. Raises `MemoryNotFound`, for another client's too."""
    rows = await graph.rows(REFERENCE, client_id=client_id, id=reference_id)
    if not rows:
        raise MemoryNotFound(reference_id)
    return rows[0].shown
