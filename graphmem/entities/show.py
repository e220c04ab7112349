"""Showing the names that a client's memories mention, in the order of their normal forms."""

from graphmem.context import Context
from graphmem.entities.types import Entities, EntitiesAsked, EntityShown
from graphmem.errors import InvalidInput
from graphmem.graph.query import Query
from graphmem.model.pages import listing, page
from graphmem.model.text import checked_text
from graphmem.text.entities import normalized

LAST = "\U0010ffff"
"""The last of all characters: every name with a prefix sorts before the prefix followed by it."""

ENTITIES = Query("entities/entities", EntityShown)


async def show_entities(asked: EntitiesAsked, context: Context) -> Entities:
    """Return a page of entities, those whose names begin with `asked.name`.

    Raises `InvalidInput`, `Unavailable`.
    """
    beginning = _beginning(asked.name)
    listed = listing(asked)
    # The first normal form after the last that was shown.
    start = f"{listed.opened(asked.cursor)}\0" if asked.cursor is not None else ""
    rows = await context.graph.rows(
        ENTITIES,
        client_id=context.client_id,
        **{"from": max(beginning, start)},
        below=beginning + LAST,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: listed.sealed(row.normalized))
    return Entities(entities=shown, cursor=after)


def _beginning(name: str | None) -> str:
    """Return the normal form of a prefix of names. Raises `InvalidInput`."""
    if name is None:
        return ""
    if form := normalized(checked_text(name, "name", most_bytes=1_024)):
        return form
    raise InvalidInput("name", "is the beginning of no name: it needs a letter or a digit")
