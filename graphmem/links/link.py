"""Links: what a caller says of two memories."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from graphmem.errors import InvalidInput, MemoryNotFound
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query
from graphmem.links.types import Link, NewLink
from graphmem.memories.missing import WRITTEN_MEMORIES
from graphmem.model.text import checked_text
from graphmem.model.vocabulary import LinkType


class Linked(Struct, frozen=True):
    """Whether a link is new, by its place among those asked for."""

    place: int
    created: bool


LINK = Query("links/link", Linked, writes=True)
LINK_BYTES = Query("links/link_bytes", Linked, writes=True)
RELATE = Query("links/relate", Linked, writes=True)


async def link(
    new: Sequence[NewLink], *, client_id: str, now: datetime, graph: Graph
) -> list[Link]:
    """Link memories, all or none; a link that is there already stays as it is.

    Raises `InvalidInput` that names the field, `MemoryNotFound`, `Unavailable`.
    """
    links = [_checked(one, f"[{place}]." if len(new) > 1 else "") for place, one in enumerate(new)]
    created = await graph.write(
        lambda transaction: _link(transaction, links, client_id=client_id, now=now)
    )
    return [
        Link(
            from_id=one.from_id,
            to_id=one.to_id,
            type=one.type,
            start_byte=one.start_byte,
            end_byte=one.end_byte,
            created=created[place],
        )
        for place, one in enumerate(links)
    ]


async def _link(
    transaction: Transaction, links: Sequence[Link], *, client_id: str, now: datetime
) -> dict[int, bool]:
    """Make links; return by their places whether they are new."""
    ids = list(dict.fromkeys(id for one in links for id in (one.from_id, one.to_id)))
    rows = await transaction.rows(WRITTEN_MEMORIES, client_id=client_id, ids=ids)
    there = {row.id for row in rows}
    for id in ids:
        if id not in there:
            raise MemoryNotFound(id)
    created: dict[int, bool] = {}
    for query, wanted in ((RELATE, _relates), (LINK_BYTES, _with_bytes), (LINK, _plain)):
        found = _rows(links, wanted)
        if found:
            for row in await transaction.rows(query, client_id=client_id, rows=found, now=now):
                created[row.place] = row.created or created.get(row.place, False)
    for place, one in enumerate(links):
        if place not in created:
            # It was deleted just now.
            raise MemoryNotFound(one.from_id)
    return created


def _rows(links: Sequence[Link], wanted: Callable[[Link], bool]) -> list[dict[str, Any]]:
    return [
        {
            "place": place,
            "from_id": one.from_id,
            "to_id": one.to_id,
            "type": one.type.upper(),
            "start_byte": one.start_byte,
            "end_byte": one.end_byte,
        }
        for place, one in enumerate(links)
        if wanted(one)
    ]


def _relates(link: Link) -> bool:
    return link.type == "relates_to"


def _with_bytes(link: Link) -> bool:
    return link.start_byte is not None


def _plain(link: Link) -> bool:
    return not _relates(link) and not _with_bytes(link)


def _checked(new: NewLink, place: str) -> Link:
    """Return a link with the type that it is stored as. Raises `InvalidInput`."""
    checked_text(new.from_id, f"{place}from", most_bytes=1_024)
    checked_text(new.to_id, f"{place}to", most_bytes=1_024)
    if new.from_id == new.to_id:
        raise InvalidInput(f"{place}to", "is the memory of `from`; a link joins two memories")
    kind: LinkType = "relates_to" if new.type == "related_to" else new.type
    given = (new.start_byte, new.end_byte)
    if given != (None, None):
        if kind != "references":
            raise InvalidInput(
                f"{place}start_byte", f"only links of the type references have bytes, not {kind}"
            )
        if new.start_byte is None or new.end_byte is None:
            missing = "start_byte" if new.start_byte is None else "end_byte"
            raise InvalidInput(f"{place}{missing}", "is missing; a byte range has both ends")
        if new.end_byte <= new.start_byte:
            raise InvalidInput(
                f"{place}end_byte", f"is {new.end_byte}, not beyond start_byte ({new.start_byte})"
            )
    return Link(
        from_id=new.from_id,
        to_id=new.to_id,
        type=kind,
        start_byte=new.start_byte,
        end_byte=new.end_byte,
    )
