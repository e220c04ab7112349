"""Entities: the names that a client's memories mention, and which of them mean the same."""

from typing import Any

from graphmem.entities import find_aliases as aliases
from graphmem.entities import show as entities
from graphmem.entities.types import (
    Alias,
    AliasesFound,
    Entities,
    EntitiesAsked,
    NewAlias,
    UndoneAlias,
)
from graphmem.model.validation import validated
from graphmem.service.bound import Bound, now


class Naming(Bound):
    """What a client can see of the names that its memories mention, and say of them."""

    async def entities(self, **asked: Any) -> Entities:
        """Return entities in the order of their names; what is asked are `EntitiesAsked`'s fields.

        Raises `InvalidInput`, `Unavailable`.
        """
        return await entities.entities(
            validated(asked, EntitiesAsked), client_id=self.client_id, graph=self.runtime.graph
        )

    async def add_alias(self, alias: str, canonical: str) -> Alias:
        """Say that one name means another, whatever the rules say.

        Raises `InvalidInput`, `EntityNotFound` for a name that no memory mentions, `Unavailable`.
        """
        return await aliases.join(
            validated({"alias": alias, "canonical": canonical}, NewAlias),
            client_id=self.client_id,
            now=now(),
            graph=self.runtime.graph,
        )

    async def undo_alias(self, alias: str) -> Alias:
        """Say that a name is no alias, so that no rule makes it one again; return what it was.

        Raises `InvalidInput`, `AliasNotFound`, `Unavailable`.
        """
        return await aliases.undo(
            validated({"alias": alias}, UndoneAlias),
            client_id=self.client_id,
            now=now(),
            graph=self.runtime.graph,
        )

    async def find_aliases(self) -> AliasesFound:
        """Find the aliases of new names, as the background work does. Raises `Unavailable`."""
        return await aliases.find_all_aliases(
            client_id=self.client_id, now=now(), graph=self.runtime.graph
        )
