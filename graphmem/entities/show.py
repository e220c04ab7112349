"""Listing the names that a client's memories mention, in the order of their normal forms."""

from graphmem.entities.types import Entities, EntitiesAsked, EntityShown
from graphmem.errors import InvalidInput
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.pages import foreign, opened, page, sealed
from graphmem.model.text import checked_text
from graphmem.text.entities import normalized

LAST = "\U0010ffff"
"""The last of all letters: what begins with a text stands before that text followed by it."""

ENTITIES = Query("entities/entities", EntityShown)


async def entities(asked: EntitiesAsked, *, client_id: str, graph: Graph) -> Entities:
    """Return entities, those whose names begin as asked; the cursor goes on where they end.

    Raises `InvalidInput`, `Unavailable`.
    """
    beginning = _beginning(asked.name)
    start = _position(asked.cursor)
    rows = await graph.rows(
        ENTITIES,
        client_id=client_id,
        **{"from": max(beginning, start)},
        below=beginning + LAST,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: sealed(row.normalized))
    return Entities(entities=shown, cursor=after)


def _beginning(name: str | None) -> str:
    """Return what normal forms begin with, as names are written that begin so. Raises `InvalidInput`."""
    if name is None:
        return ""
    if form := normalized(checked_text(name, "name", most_bytes=1_024)):
        return form
    raise InvalidInput("name", "is the beginning of no name: it needs a letter or a digit")


def _position(given: str | None) -> str:
    """Return the first normal form after a cursor. Raises `InvalidInput` for what no list has given."""
    if given is None:
        return ""
    try:
        normal = opened(given)
    except ValueError as problem:
        raise foreign() from problem
    if not normal or sealed(normal) != given:
        raise foreign()
    return normal + "\0"
