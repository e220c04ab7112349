"""Looking at a memory's links."""

from datetime import datetime
from typing import get_args

from msgspec import Struct

from graphmem.errors import MemoryNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.links.types import Links, LinksAsked, LinkShown
from graphmem.model.pages import cursor, page, position
from graphmem.model.times import BEGINNING
from graphmem.model.vocabulary import KINDS, LinkType


class Placed(Struct, frozen=True):
    """A link, and where it stands in the list."""

    link: LinkShown
    at: datetime
    key: str


class Found(Struct, frozen=True):
    """Some links of one memory."""

    links: list[Placed]


LINKS = Query("links/links", Found)


async def links(memory_id: str, asked: LinksAsked, *, client_id: str, graph: Graph) -> Links:
    """Return a memory's links of either direction, newest first.

    Raises `InvalidInput`, `MemoryNotFound`, for another client's too.
    """
    before, before_id = position(asked.cursor)
    rows = await graph.rows(
        LINKS,
        client_id=client_id,
        id=memory_id,
        types=_types(asked),
        kinds=[asked.kind] if asked.kind else list(KINDS),
        beginning=BEGINNING,
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    if not rows:
        raise MemoryNotFound(memory_id)
    shown, after = page(rows[0].links, asked.limit, lambda one: cursor(one.at, one.key))
    return Links(links=[one.link for one in shown], cursor=after)


def _types(asked: LinksAsked) -> list[str]:
    """Return the edges that are asked for."""
    if asked.type is None:
        return [name.upper() for name in get_args(LinkType)]
    return ["RELATES_TO" if asked.type == "related_to" else asked.type.upper()]
