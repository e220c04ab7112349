"""Looking at summaries: a page of them, or one."""

from graphmem.errors import MemoryNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.pages import cursor, page, position
from graphmem.model.times import BEGINNING, utc
from graphmem.summaries.types import Summaries, SummariesAsked, Summary

SUMMARIES = Query("summaries/summaries", Summary)
SUMMARY = Query("summaries/summary", Summary)


async def summaries(asked: SummariesAsked, *, client_id: str, graph: Graph) -> Summaries:
    """Return a client's summaries, newest activity first, without versions that were superseded.

    Raises `InvalidInput`.
    """
    before, before_id = position(asked.cursor)
    rows = await graph.rows(
        SUMMARIES,
        client_id=client_id,
        types=[f"{asked.type}_summary"] if asked.type else [],
        since=utc(asked.since, "since") if asked.since else BEGINNING,
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: cursor(row.occurred_at, row.id))
    return Summaries(summaries=shown, cursor=after)


async def summary(summary_id: str, *, client_id: str, graph: Graph) -> Summary:
    """Return one version of a summary. Raises `MemoryNotFound`, for another client's too."""
    rows = await graph.rows(SUMMARY, client_id=client_id, id=summary_id)
    if not rows:
        raise MemoryNotFound(summary_id)
    return rows[0]
