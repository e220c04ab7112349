"""Looking at what operators have asked in Cypher, and how it ended."""

from graphmem.exploring.types import Audit, AuditAsked, AuditEntry
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.pages import cursor, page, position

AUDIT = Query("exploring/audit", AuditEntry)


async def audit(asked: AuditAsked, *, graph: Graph) -> Audit:
    """Return entries of all clients, newest first; the cursor goes on where they end.

    Raises `InvalidInput`, `Unavailable`.
    """
    before, before_id = position(asked.cursor)
    rows = await graph.rows(
        AUDIT,
        asked=asked.client_id or "",
        outcome=asked.outcome or "",
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: cursor(row.at, row.id))
    return Audit(entries=shown, cursor=after)
