"""Entities: the names that memories mention, and which of them mean the same."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from graphmem.model.vocabulary import AliasRule

EntityName = Annotated[str, Meta(min_length=1, max_length=200)]
"""A name as it is written; case, a leading article and a possessive ending make no difference."""


class NewAlias(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """That one name means another: memories that mention either are found over both."""

    alias: EntityName
    canonical: EntityName


class UndoneAlias(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A name that is to be no alias any more."""

    alias: EntityName


class Alias(Struct, frozen=True, kw_only=True):
    """A name that means another, since when, and by which rule; `created` says whether it is new."""

    alias: str
    canonical: str
    rule: AliasRule
    created_at: datetime
    created: bool = False


class AliasShown(Struct, frozen=True, kw_only=True):
    """A name that means the entity it stands with; `mentions` counts the memories that use this name."""

    name: str
    rule: AliasRule
    created_at: datetime
    mentions: int


class AliasOf(Struct, frozen=True, kw_only=True):
    """What a name is an alias of."""

    name: str
    rule: AliasRule
    created_at: datetime


class EntityShown(Struct, frozen=True, kw_only=True):
    """A name that memories mention: in how many, what it is an alias of, and what are aliases of it."""

    name: str
    normalized: str
    mentions: int
    alias_of: AliasOf | None = None
    aliases: list[AliasShown] = []


class EntitiesAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which entities are to be listed: those whose names begin so."""

    name: EntityName | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    cursor: str | None = None


class Entities(Struct, frozen=True, kw_only=True):
    """Some entities in the order of their normal forms, and where the list goes on."""

    entities: list[EntityShown]
    cursor: str | None


class AliasesFound(Struct, frozen=True, kw_only=True):
    """How many new names were looked at, how many aliases were made and how many dropped."""

    names: int
    made: int
    dropped: int
