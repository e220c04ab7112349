"""Links: what a caller says of two memories."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from graphmem.model.vocabulary import Byte, Kind, LinkType

LINKS_AT_ONCE = 500
"""How many links one call may bring."""

GivenLinkType = Literal[
    "relates_to", "references", "refines", "contradicts", "derived_from", "related_to"
]
MemoryId = Annotated[str, Meta(min_length=1, max_length=256)]


class NewLink(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A link to make; `related_to` means `relates_to`, and only `references` takes a byte range."""

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
    """A link as one of its memories sees it.

    `relates_to` holds both ways: its direction only says which end was named first. `score` and `basis`
    stand where graphmem found the link, `created_at` where that is known.
    """

    id: str
    direction: Literal["out", "in"]
    type: LinkType
    other_id: str
    other_kind: Kind
    score: float | None = None
    basis: str | None = None
    start_byte: int | None = None
    end_byte: int | None = None
    created_at: datetime | None = None


class LinksAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which links of a memory are to be listed."""

    type: GivenLinkType | None = None
    kind: Kind | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    cursor: str | None = None


class Links(Struct, frozen=True, kw_only=True):
    """Some links of a memory, newest first, and where the list goes on."""

    links: list[LinkShown]
    cursor: str | None
