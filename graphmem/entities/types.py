"""Entities: the names that memories mention, and their aliases."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from graphmem.model.pages import GivenCursor, PageSize
from graphmem.model.vocabulary import AliasRule

EntityName = Annotated[str, Meta(min_length=1, max_length=200)]
"""A name as it is written; case, a leading article and a possessive ending do not matter."""


class NewAlias(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An alias to make: both names then find the memories that mention either."""

    alias: EntityName
    canonical: EntityName


class UndoneAlias(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An alias to undo."""

    alias: EntityName


class Alias(Struct, frozen=True, kw_only=True):
    """A name that means another, its rule and its time; `created` says whether it is new."""

    alias: str
    canonical: str
    rule: AliasRule
    created_at: datetime
    created: bool = False


class AliasShown(Struct, frozen=True, kw_only=True):
    """An alias of the entity that lists it; `mentions` counts the memories that use this name."""

    name: str
    rule: AliasRule
    created_at: datetime
    mentions: int


class AliasOf(Struct, frozen=True, kw_only=True):
    """The canonical name of an alias."""

    name: str
    rule: AliasRule
    created_at: datetime


class EntityShown(Struct, frozen=True, kw_only=True):
    """A name that memories mention: its number of memories, its canonical name and its aliases."""

    name: str
    normalized: str
    mentions: int
    alias_of: AliasOf | None = None
    aliases: list[AliasShown] = []


class EntitiesAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a page of entities whose names begin with `name`."""

    name: (
        Annotated[EntityName, Meta(description="the beginning of their names, in any case")] | None
    ) = None
    limit: PageSize = 50
    cursor: GivenCursor | None = None


class Entities(Struct, frozen=True, kw_only=True):
    """A page of entities in the order of their normal forms, and the cursor of the next page."""

    entities: list[EntityShown]
    cursor: str | None


class AliasesFound(Struct, frozen=True, kw_only=True):
    """The number of new names, and of the aliases that were made and dropped."""

    names: int
    made: int
    dropped: int
