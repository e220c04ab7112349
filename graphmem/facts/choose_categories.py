"""Choosing which categories a client's facts may have."""

from collections.abc import Sequence

from graphmem.errors import InvalidInput
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query, RowsWritten

KEEP_CATEGORIES = Query("facts/keep_categories", RowsWritten, writes=True)


async def keep_categories(
    categories: Sequence[str], *, client_id: str, graph: Graph
) -> tuple[str, ...]:
    """Set a client's categories; facts that are there keep theirs. Raises `InvalidInput`."""
    twice = next((one for place, one in enumerate(categories) if one in categories[:place]), None)
    if twice is not None:
        raise InvalidInput("categories", f"{twice!r} stands twice; send each once")
    await graph.write(
        lambda transaction: transaction.rows(
            KEEP_CATEGORIES, client_id=client_id, categories=list(categories)
        )
    )
    return tuple(categories)
