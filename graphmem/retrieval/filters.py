"""The filters of a search, in the forms of the indexes and the queries."""

from collections.abc import Iterable, Sequence, Set
from datetime import datetime
from typing import Any, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.graph.scope import ANY_TAG, SCOPED, Property, scope_word
from graphmem.model.times import BEGINNING, END, utc
from graphmem.model.vocabulary import CUT_KINDS, KIND_OF, KINDS, Kind, SourceType

LAST_TEXT = "\U0010ffff"
"""Sorts after every stored text."""

LATEST = END - datetime.resolution
"""The latest time that can be requested; a memory that was never valid begins after it."""

ANY = [""]
"""The values of a condition that everything passes; the empty value is never requested."""

MOST_SCOPE_WORDS = 64
"""Longer lists stay outside Lucene, which refuses more than 1,024 clauses."""


class Validity(Struct, frozen=True, kw_only=True):
    """The requested valid time (`as_of`) and transaction time (`known_as_of`); by default now.

    A version is valid on `as_of` as known at `known_as_of` if it was recorded and had begun by then, and by
    then no newer version of its chain had begun and no end was recorded. `include_superseded` also passes
    ended versions. The times in the indexes only pre-filter: the end of a version depends on the versions
    after it, and on when those were recorded.
    """

    as_of: datetime | None = None
    known_as_of: datetime | None = None
    include_superseded: bool = False

    @property
    def only_active(self) -> bool:
        """Whether only presently valid memories are found."""
        return self == NOW

    @property
    def actives(self) -> list[bool]:
        """Return the values of `active` that may pass: memories that ended since then were valid then."""
        return [True] if self.only_active else [True, False]

    @property
    def conditions(self) -> dict[str, Any]:
        """Return the parameters of the fragment `held_then`: when a memory began, and when it may end.

        With `ending` newer versions decide. With `as_of` alone, the present knowledge of the end of validity
        pre-filters; with `known_as_of` alone, the time of supersession does. With both, neither does: a
        version may have been superseded by then, or may have ended by something recorded later.
        """
        plain = END if self.only_active else BEGINNING
        only_true = self.known_as_of is None and not self.include_superseded
        only_known = self.as_of is None and not self.include_superseded
        return {
            "valid_by": self.as_of or LATEST,
            "invalid_from": (_after(self.as_of) if only_true else None) or plain,
            "created_by": self.known_as_of or END,
            "superseded_from": (_after(self.known_as_of) if only_known else None) or plain,
            "ending": not self.only_active and not self.include_superseded,
        }

    @property
    def of_versions(self) -> dict[str, Any]:
        """Return the conditions for memories with versions; `timed` says whether a time is requested."""
        return self.conditions | {"timed": not self.only_active}

    @property
    def of_messages(self) -> dict[str, Any]:
        """Return the conditions for messages, which have no versions and never end."""
        every = self.of_versions
        return {name: every[name] for name in ("timed", "valid_by", "created_by")}


NOW = Validity()
"""The present: no time is requested."""


def validity_asked(
    as_of: datetime | None, known_as_of: datetime | None, include_superseded: bool
) -> Validity:
    """Return the requested times in UTC. Raises `InvalidInput`."""
    return Validity(
        as_of=utc(as_of, "as_of") if as_of else None,
        known_as_of=utc(known_as_of, "known_as_of") if known_as_of else None,
        include_superseded=include_superseded,
    )


def _after(moment: datetime | None) -> datetime | None:
    """Return the next moment that a time property can hold."""
    return moment + datetime.resolution if moment else None


class Filtered(Protocol):
    """A memory with the properties that filters test; it is valid now."""

    @property
    def occurred_at(self) -> datetime:
        """The time at which it happened."""
        ...

    @property
    def other_categories(self) -> Sequence[str]:
        """Its categories besides its own."""
        ...


class Filters(Struct, frozen=True, kw_only=True):
    """The conditions that a memory must meet to be found; of a set it must have one of the values.

    Without a time only presently valid memories are found: neither superseded nor invalidated. `since` is
    inclusive, `until` exclusive, both of `occurred_at`; for the other times see `Validity`.
    """

    kind: Set[str] | None = None
    conversation_id: Set[str] | None = None
    session_id: Set[str] | None = None
    source_type: Set[str] | None = None
    source_id: Set[str] | None = None
    category: Set[str] | None = None
    scope: Set[str] | None = None
    tags: Set[str] = frozenset()
    """The tags that it must have, all of them; all versions of a memory have the same."""
    since: datetime = BEGINNING
    until: datetime = END
    as_of: datetime | None = None
    known_as_of: datetime | None = None
    include_superseded: bool = False

    def values(self, name: Property) -> Set[str] | None:
        """Return the values that a property may have; None is any. The empty value '' is never requested."""
        values: Set[str] | None = getattr(self, name)
        return values if values is None else values - {""}

    @property
    def validity(self) -> Validity:
        """The times at which a memory must be valid."""
        return Validity(
            as_of=self.as_of,
            known_as_of=self.known_as_of,
            include_superseded=self.include_superseded,
        )

    @property
    def only_active(self) -> bool:
        """Whether only presently valid memories are found."""
        return self.validity.only_active

    @property
    def timed(self) -> bool:
        """Whether any time is requested."""
        return not self.only_active or (self.since, self.until) != (BEGINNING, END)

    @property
    def impossible(self) -> bool:
        """Whether no memory can pass: an empty set, or `since` not before `until`."""
        return self.since >= self.until or any(
            self.values(name) is not None and not self.values(name) for name in SCOPED
        )

    def admit(self, memory: Filtered) -> bool:
        """Tell whether a memory that is valid now has one of the values, and happened in the period."""
        return self.since <= memory.occurred_at < self.until and all(
            (values := self.values(name)) is None
            or getattr(memory, name) in values
            or (name == "category" and not values.isdisjoint(memory.other_categories))
            for name in SCOPED
        )

    @property
    def shape(self) -> frozenset[str]:
        """The names of the filters that are set, those of the requested times among them."""
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
        if values is not None and len(values) <= MOST_SCOPE_WORDS:
            groups.append([scope_word(client_id, name, value) for value in sorted(values)])
    groups += [[scope_word(client_id, "tag", tag), ANY_TAG] for tag in sorted(filters.tags)]
    return groups


def passing(values: Iterable[str] | None) -> list[str]:
    """Return the parameter for a condition with these values, `ANY` if there is none.

    The empty list has a type of its own: for each combination of empty lists Neo4j plans a query anew.
    """
    return sorted(values or ()) or ANY


def ranges(filters: Filters) -> dict[str, str]:
    """Return the text ranges that contain all passing values, for the vector index.

    The range of a set with several values contains other values too, and `conditions` decide. The index
    orders texts by code point, as Python does; Cypher does not, so its own comparisons of texts are
    equalities.
    """
    parameters: dict[str, str] = {}
    for name in SCOPED:
        values = filters.values(name)
        parameters[f"{name}_from"] = min(values) if values else ""
        parameters[f"{name}_to"] = max(values) if values else LAST_TEXT
    return parameters


def conditions(filters: Filters) -> dict[str, Any]:
    """Return the exact conditions: lists of passing texts, `ANY` if all pass, and the times."""
    lists = {f"{name}_in": passing(filters.values(name)) for name in SCOPED}
    others = {"tags": passing(filters.tags), "since": filters.since, "until": filters.until}
    return lists | others | filters.validity.conditions


class Sources(Struct, frozen=True, kw_only=True):
    """The sources that a search covers: whole kinds, and source types of any kind."""

    kinds: frozenset[Kind] = frozenset(KINDS)
    types: frozenset[SourceType] = frozenset()
    only: Kind | None = None
    """The one kind of all results, whatever their source type."""
    ids: frozenset[str] = frozenset()
    """The sources that pass; all if empty."""
    conversation_id: str | None = None
    tags: frozenset[str] = frozenset()
    """The tags that a memory must have, all of them."""
    since: datetime = BEGINNING
    until: datetime = END
    validity: Validity = NOW

    @property
    def kinds_of(self) -> list[Kind]:
        """The kinds of all memories that can pass."""
        if self.only:
            return [self.only]
        own = {KIND_OF[one] for one in self.types}
        return sorted(self.kinds | own | ({"span"} if self.types else set()), key=KINDS.index)

    @property
    def branches(self) -> list[Filters]:
        """The filters of one search for each kind and for each source type."""
        only = {self.only} if self.only else None
        kinds = [replace(self._common, kind={one}) for one in self.kinds]
        types = [replace(self._common, kind=only, source_type={one}) for one in self.types]
        return [*kinds, *types]

    @property
    def of_passages(self) -> list[Filters]:
        """The filters of the searches for long memories by their passages: one for kinds, one for types."""
        kinds = self.kinds & CUT_KINDS
        own = {KIND_OF[one] for one in self.types} & CUT_KINDS
        typed = own & {self.only} if self.only else own
        return [
            *([replace(self._common, kind=kinds)] if kinds else []),
            *([replace(self._common, kind=typed, source_type=self.types)] if typed else []),
        ]

    @property
    def _common(self) -> Filters:
        return Filters(
            source_id=self.ids or None,
            conversation_id={self.conversation_id} if self.conversation_id else None,
            tags=self.tags,
            since=self.since,
            until=self.until,
            **asdict(self.validity),
        )

    def admit(self, memory: Filtered) -> bool:
        """Tell whether a memory that is valid now is of one of the sources."""
        return any(filters.admit(memory) for filters in self.branches)

    @property
    def conditions(self) -> dict[str, Any]:
        """Return the parameters of the fragments `of_sources` and `held_then`, and `timed`."""
        return {
            "whole_kinds": sorted(self.kinds),
            "source_types": passing(self.types),
            "source_ids": passing(self.ids),
            "conversation_ids": [self.conversation_id or ""],
            "tags": passing(self.tags),
            "since": self.since,
            "until": self.until,
        } | self.validity.of_versions


def sources_asked(
    types: Sequence[SourceType] | None,
    ids: Sequence[str] | None,
    conversation_id: str | None,
    since: datetime,
    until: datetime,
    only: Kind | None = None,
    validity: Validity = NOW,
    tags: Sequence[str] | None = None,
) -> Sources:
    """Return the sources of a search, all without types; `span` means that kind, other names source types."""
    named = frozenset(types or ())
    spans: frozenset[Kind] = frozenset({"span"}) if "span" in named else frozenset()
    return Sources(
        kinds=spans if named else frozenset({only} if only else KINDS),
        only=only,
        types=named - {"span"},
        ids=frozenset(ids or ()),
        conversation_id=conversation_id,
        tags=frozenset(tags or ()),
        since=since,
        until=until,
        validity=validity,
    )


assert set(SCOPED) <= set(msgspec.structs.asdict(Filters())), "every scoped property is a filter"
