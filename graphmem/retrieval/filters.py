"""Which memories a search may find, in the two forms that the two indexes understand."""

from collections.abc import Set
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from graphmem.graph.scope import SCOPED, Property, scope_word
from graphmem.model.times import BEGINNING, END
from graphmem.retrieval.holding import Holding

LAST_TEXT = "\U0010ffff"
"""No text of ours sorts behind it."""


class Filters(Struct, frozen=True, kw_only=True):
    """What a memory must be to be found; a set holds the values of which it must have one.

    Without a time only what holds now is found: neither superseded nor invalidated. `since` is
    inclusive, `until` exclusive, both of `occurred_at`; `as_of` asks for what was true then,
    `known_as_of` for what was known then, `include_superseded` for what has ended too.
    """

    kind: Set[str] | None = None
    conversation_id: Set[str] | None = None
    session_id: Set[str] | None = None
    source_type: Set[str] | None = None
    source_id: Set[str] | None = None
    category: Set[str] | None = None
    scope: Set[str] | None = None
    since: datetime = BEGINNING
    until: datetime = END
    as_of: datetime | None = None
    known_as_of: datetime | None = None
    include_superseded: bool = False

    def values(self, name: Property) -> Set[str] | None:
        """Return the values that a property may have; None is any. No filter asks for '', which is none."""
        values: Set[str] | None = getattr(self, name)
        return values if values is None else values - {""}

    @property
    def holding(self) -> Holding:
        """At which times a memory must hold."""
        return Holding(
            as_of=self.as_of,
            known_as_of=self.known_as_of,
            include_superseded=self.include_superseded,
        )

    @property
    def only_active(self) -> bool:
        """Whether only what holds now is found."""
        return self.holding.only_active

    @property
    def impossible(self) -> bool:
        """Whether no memory can pass: an empty set, or times the wrong way round."""
        return self.since >= self.until or any(
            self.values(name) is not None and not self.values(name) for name in SCOPED
        )

    @property
    def shape(self) -> frozenset[str]:
        """The names of what is asked for, beside the client and being active."""
        plain = Filters()
        return frozenset(
            name for name in self.__struct_fields__ if getattr(self, name) != getattr(plain, name)
        )


def scope_groups(filters: Filters, client_id: str) -> list[list[str]]:
    """Return the groups of scope words that a memory must carry one word each of."""
    groups = [[scope_word(client_id, "client")]]
    if filters.only_active:
        groups.append([scope_word(client_id, "active")])
    for name in SCOPED:
        values = filters.values(name)
        # Longer lists stay outside Lucene, which refuses more than 1,024 clauses.
        if values is not None and len(values) <= 64:
            groups.append([scope_word(client_id, name, value) for value in sorted(values)])
    return groups


def ranges(filters: Filters) -> dict[str, str]:
    """Return the ranges of texts that hold what passes, for the vector index.

    Where a set has several values its range holds more than they are, and `conditions` decide. The
    index orders texts by code point, as Python does; Cypher does not, so its own comparisons of
    texts are equalities.
    """
    parameters: dict[str, str] = {}
    for name in SCOPED:
        values = filters.values(name)
        parameters[f"{name}_from"] = min(values) if values else ""
        parameters[f"{name}_to"] = max(values) if values else LAST_TEXT
    return parameters


def conditions(filters: Filters) -> dict[str, Any]:
    """Return what decides: lists of the texts that pass, empty where all do, and the times."""
    lists = {f"{name}_in": sorted(filters.values(name) or ()) for name in SCOPED}
    times = {"since": filters.since, "until": filters.until}
    return lists | times | filters.holding.conditions


assert set(SCOPED) <= set(msgspec.structs.asdict(Filters())), "every scoped property is a filter"
