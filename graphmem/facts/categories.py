"""Which categories a client's facts may have."""

from msgspec import Struct

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.vocabulary import CATEGORIES as DEFAULT_CATEGORIES


class Chosen(Struct, frozen=True):
    """The categories that a client has chosen."""

    categories: list[str]


CATEGORIES = Query("facts/categories", Chosen)


async def categories(client_id: str, graph: Graph) -> tuple[str, ...]:
    """Return the categories that a client's facts may have: its own, else the default fourteen."""
    rows = await graph.rows(CATEGORIES, client_id=client_id)
    return tuple(rows[0].categories) or DEFAULT_CATEGORIES
