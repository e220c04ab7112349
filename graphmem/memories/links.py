"""Links between two memories that a client declares: writing them, listing them, deleting them."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from graphmem.context import Context
from graphmem.errors import InvalidInput, LinkNotFound, MemoryNotFound, NotHead
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.memories.memory import lock_memory
from graphmem.model.pages import GivenCursor, PageSize, listing, page
from graphmem.model.times import BEGINNING
from graphmem.model.validation import checked_text
from graphmem.model.vocabulary import (
    KINDS,
    LINK_TYPES,
    Byte,
    GivenLinkType,
    Kind,
    LinkType,
    stored_type,
)

LINKS_AT_ONCE = 500
"""The maximum number of links in one call."""

MemoryId = Annotated[str, Meta(min_length=1, max_length=256)]


class NewLink(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A link to make or to delete; `related_to` means `relates_to`; only `references` takes a byte range."""

    from_id: MemoryId = field(name="from")
    to_id: MemoryId = field(name="to")
    type: GivenLinkType
    start_byte: Byte | None = None
    end_byte: Annotated[int, Meta(ge=1, le=2**53)] | None = None


NewLinks = Annotated[list[NewLink], Meta(min_length=1, max_length=LINKS_AT_ONCE)]
"""Links that are made together or not at all."""


class Link(Struct, frozen=True, kw_only=True):
    """A link between two memories; `created` says whether it is new."""

    from_id: str = field(name="from")
    to_id: str = field(name="to")
    type: LinkType
    start_byte: int | None = None
    end_byte: int | None = None
    created: bool = False


class LinkShown(Struct, frozen=True, kw_only=True):
    """A link from the point of view of one of its memories.

    `relates_to` holds both ways: its direction only says which end was named first. `score` and `basis`
    are set on links that graphmem found; `created_at` where the time is known.
    """

    id: str
    direction: Literal["out", "in"]
    """`out` if the link leaves the memory that was asked for."""
    type: LinkType
    other_id: str
    other_kind: Kind
    other_active: bool
    """Whether that memory holds now: neither superseded nor ended."""
    score: float | None = None
    """The strength that graphmem found, 0–1."""
    basis: str | None = None
    start_byte: int | None = None
    end_byte: int | None = None
    created_at: datetime | None = None


class LinksAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a page of the links of a memory."""

    type: Annotated[GivenLinkType, Meta(description="of this type only")] | None = None
    kind: Annotated[Kind, Meta(description="to memories of this kind only")] | None = None
    include_superseded: Annotated[
        bool, Meta(description="whether to show links to superseded and ended memories too")
    ] = False
    limit: PageSize = 50
    cursor: GivenCursor | None = None


class Links(Struct, frozen=True, kw_only=True):
    """A page of the links of a memory, newest first, and the cursor of the next page."""

    links: list[LinkShown]
    cursor: str | None


class LinkWritten(Struct, frozen=True):
    """Whether a link is new, by its place among the requested links."""

    place: int
    created: bool


class LockedEnd(Struct, frozen=True):
    """A memory that is to be linked, read under its lock."""

    id: str
    newest: list[str]
    """The id of its newest version; empty for the head of a chain."""


class PlacedLink(Struct, frozen=True):
    """A link, and its place in the list: its time and a key that breaks ties."""

    link: LinkShown
    at: datetime
    key: str


class StoredLinks(Struct, frozen=True):
    """A page of links of one memory."""

    links: list[PlacedLink]


LOCK_ENDS = Query("memories/lock_ends", LockedEnd, writes=True)
LINK = Query("memories/link", LinkWritten, writes=True)
LINK_BYTES = Query("memories/link_bytes", LinkWritten, writes=True)
RELATE = Query("memories/relate", LinkWritten, writes=True)
LINKS = Query("memories/links", StoredLinks)
UNLINK = Query("memories/unlink", RowsWritten, writes=True)


async def link_memories(new: Sequence[NewLink], context: Context) -> list[Link]:
    """Link memories, all or none; an existing link is not changed.

    Raises `InvalidInput` that names the field, `MemoryNotFound`, `NotHead` for a new link with a superseded
    memory, `Unavailable`.
    """
    now = context.now()
    links = [
        _checked_link(one, f"[{place}]." if len(new) > 1 else "") for place, one in enumerate(new)
    ]
    created = await context.graph.write(
        lambda transaction: _write(transaction, links, client_id=context.client_id, now=now)
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


async def unlink_memories(gone: NewLink, context: Context) -> None:
    """Delete a link, also between other versions of its memories; `relates_to` from either end.

    Without a byte range the link without one is deleted. Raises `InvalidInput`, `LinkNotFound`, also for
    memories of another client, and `Unavailable`.
    """
    link = _checked_link(gone, "")

    async def unlink(transaction: Transaction) -> int:
        for id in sorted((link.from_id, link.to_id)):
            # A version that is being written copies the link.
            await lock_memory(transaction, id, client_id=context.client_id)
        [deleted] = await transaction.rows(
            UNLINK,
            client_id=context.client_id,
            from_id=link.from_id,
            to_id=link.to_id,
            type=stored_type(link.type),
            start_byte=-1 if link.start_byte is None else link.start_byte,
            end_byte=-1 if link.end_byte is None else link.end_byte,
        )
        return deleted.written

    if not await context.graph.delete(unlink):
        raise LinkNotFound(link.from_id, link.to_id, link.type)


async def show_links(memory_id: str, asked: LinksAsked, context: Context) -> Links:
    """Return a page of the links of a memory in both directions, newest first.

    By default those to memories that hold now: a link to a memory leads to each of its versions.
    Raises `InvalidInput`, `MemoryNotFound`, also for a memory of another client, and `Unavailable`.
    """
    listed = listing(asked, memory_id)
    before, before_id = listed.position(asked.cursor)
    rows = await context.graph.rows(
        LINKS,
        client_id=context.client_id,
        id=memory_id,
        types=_edge_types(asked),
        kinds=[asked.kind] if asked.kind else list(KINDS),
        ended=asked.include_superseded,
        beginning=BEGINNING,
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    if not rows:
        raise MemoryNotFound(memory_id)
    shown, after = page(rows[0].links, asked.limit, lambda one: listed.cursor(one.at, one.key))
    return Links(links=[one.link for one in shown], cursor=after)


async def _write(
    transaction: Transaction, links: Sequence[Link], *, client_id: str, now: datetime
) -> dict[int, bool]:
    """Write links; return whether they are new, by their places."""
    ids = list(dict.fromkeys(id for one in links for id in (one.from_id, one.to_id)))
    rows = await transaction.rows(LOCK_ENDS, client_id=client_id, ids=ids)
    newest = {row.id: row.newest for row in rows}
    for id in ids:
        if id not in newest:
            raise MemoryNotFound(id)
    created: dict[int, bool] = {}
    for query, wanted in ((RELATE, _relates), (LINK_BYTES, _with_bytes), (LINK, _plain)):
        found = _rows(links, wanted)
        if found:
            for row in await transaction.rows(query, client_id=client_id, rows=found, now=now):
                created[row.place] = row.created or created.get(row.place, False)
    for place, is_new in sorted(created.items()):
        for id in (links[place].from_id, links[place].to_id):
            # A caller who asks again, because an answer was lost, may name versions that are old by now.
            if is_new and newest[id]:
                raise NotHead(id, newest[id][0])
    return created


def _rows(links: Sequence[Link], wanted: Callable[[Link], bool]) -> list[dict[str, Any]]:
    return [
        {
            "place": place,
            "from_id": one.from_id,
            "to_id": one.to_id,
            "type": stored_type(one.type),
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


def _edge_types(asked: LinksAsked) -> list[str]:
    """Return the types of the requested edges."""
    return [stored_type(name) for name in ([asked.type] if asked.type else LINK_TYPES)]


def _checked_link(new: NewLink, place: str) -> Link:
    """Return a link with its stored type. Raises `InvalidInput`."""
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
