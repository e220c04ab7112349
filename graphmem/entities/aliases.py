"""Aliases: names with the same meaning are joined by rules and by hand, and separated again.

A write marks its new names. The search for aliases removes some marks, reads the related names, decides again
which of these are aliases, and writes only the changes: repeating it changes nothing. An alias is dropped
when another name makes it ambiguous. Memories keep the names that they mention, so that nothing is lost. The
search runs in the background, once for each marked name.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from graphmem.context import Context
from graphmem.errors import AliasNotFound, EntityNotFound, InvalidInput
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.jobs.outbox import queue_for_clients
from graphmem.model.pages import GivenCursor, PageSize, listing, page
from graphmem.model.validation import checked_text
from graphmem.model.vocabulary import AliasRule
from graphmem.text import aliases
from graphmem.text.aliases import Named
from graphmem.text.entities import normalized
from graphmem.text.identifiers import LONGEST

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
    """The form in which names are compared and listed."""
    mentions: int
    """The number of memories that use this name, without those that use its aliases."""
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


ALIASES = "aliases"
"""The kind of the job that finds a client's aliases, and its key: each client has one such job."""

TAKEN_AT_ONCE = 200
"""The maximum number of new names in one transaction: concurrent writers of the same names wait for it."""

OF_ONE_SPELLING = 50
"""The maximum number of names of one spelling or short form; with more it is ambiguous."""

MOST_AROUND = 2_000
"""The maximum number of names related to a batch; with more of them the batch is halved."""

LOOKED_AT = 1_000
"""The maximum number of memories read for the long form of a short name, and of old names marked at once."""

USERS = 200
"""The maximum number of memories of a name whose sources are read."""

WAITING = 10_000
"""The number of marked names that are searched for clients."""


class NewName(Struct, frozen=True):
    """A name whose aliases are not found yet, as it was first written."""

    normalized: str
    name: str

    @property
    def named(self) -> Named:
        """The name in the form of the rules, without data from the graph."""
        keys = aliases.spelling(self.name, self.normalized)
        return Named(
            normalized=self.normalized, name=self.name, spelled=keys.spelled, short=keys.short
        )


class NearbyName(Struct, frozen=True, kw_only=True):
    """A name with its data from the graph, and the time since which it is an alias."""

    normalized: str
    name: str
    spelled: str
    short: str
    forms: list[str]
    sources: list[str]
    apart: list[str]
    aliases: list[str]
    alias_of: str
    rule: AliasRule | None
    of: str
    since: datetime | None

    @property
    def named(self) -> Named:
        """The name in the form of the rules; a name that is new in the graph has no spelling there."""
        keys = aliases.spelling(self.name, self.normalized)
        return Named(
            normalized=self.normalized,
            name=self.name,
            spelled=self.spelled or keys.spelled,
            short=self.short or keys.short,
            forms=self.forms,
            sources=self.sources,
            apart=self.apart,
            alias_of=self.alias_of,
            rule=self.rule,
            of=self.of,
        )


class NamesAround(Struct, frozen=True):
    """Names, all names that may mean the same, and the spellings with too many names for a decision."""

    near: dict[str, NearbyName]
    crowded: frozenset[str]

    @property
    def named(self) -> dict[str, Named]:
        """The names in the form of the rules, by their normal forms."""
        return {name: one.named for name, one in self.near.items()}


class AliasChange(Struct, frozen=True):
    """The canonical name of an alias after and before a change; '' for none."""

    alias: str
    before: str
    canonical: str
    rule: AliasRule | None
    of: str


class _WantedNames(Struct, frozen=True):
    """Names to read: by normal form, by spelling and by short form."""

    names: set[str]
    spelled: set[str]
    shorts: set[str]

    @classmethod
    def only(cls, *names: str) -> "_WantedNames":
        """Return a request for names by their normal forms alone."""
        return cls(set(names), set(), set())

    @classmethod
    def around(cls, named: Iterable[Named]) -> "_WantedNames":
        """Return a request for all names that may mean the same as some known ones."""
        wanted = cls.only()
        for one in named:
            wanted.names.update({one.normalized, *one.forms, *aliases.known_names(one)})
            wanted.spelled.update(aliases.keys(one))
            wanted.shorts.update({one.spelled, one.short} - {""})
        return wanted

    def __bool__(self) -> bool:
        return bool(self.names or self.spelled or self.shorts)

    def without(self, other: "_WantedNames") -> "_WantedNames":
        """Return the part of this request that another one lacks."""
        return _WantedNames(
            self.names - other.names, self.spelled - other.spelled, self.shorts - other.shorts
        )

    def and_(self, other: "_WantedNames") -> "_WantedNames":
        """Return both requests as one."""
        return _WantedNames(
            self.names | other.names, self.spelled | other.spelled, self.shorts | other.shorts
        )


class _TooMany(Exception):
    """A batch has more related names than are decided together."""


class ClientWithNewNames(Struct, frozen=True):
    """A client with names whose aliases are not found yet."""

    client_id: str


Statement = Callable[[Mapping[str, Named]], Iterable[Named]]
"""A caller's statement about names: returns those that replace the names from the graph."""

TAKE_NEW_NAMES = Query("entities/take_new_names", NewName, writes=True)
KEEP_SPELLINGS = Query("entities/keep_spellings", RowsWritten, writes=True)
NAMES_AROUND = Query("entities/names_around", NearbyName)
LOCK_NAMES = Query("entities/lock_names", RowsWritten, writes=True)
KEEP_ALIASES = Query("entities/keep_aliases", RowsWritten, writes=True)
PART_NAMES = Query("entities/part_names", RowsWritten, writes=True)
REJOIN_NAMES = Query("entities/rejoin_names", RowsWritten, writes=True)
MARK_NAMES = Query("entities/mark_names", RowsWritten, writes=True)
CLIENTS_WITH_NEW_NAMES = Query("entities/clients_with_new_names", ClientWithNewNames)


async def queue_aliases(*, now: datetime, new_id: Callable[[], str], graph: Graph) -> None:
    """Queue the search for aliases for every client with marked names."""
    found = await graph.rows(CLIENTS_WITH_NEW_NAMES, looked_at=WAITING)
    clients = [one.client_id for one in found]
    await queue_for_clients(ALIASES, clients, now=now, new_id=new_id, graph=graph)


async def find_aliases(context: Context) -> AliasesFound:
    """Find the aliases of new names, and of names older than aliases; return the counts.

    Raises `Unavailable`.
    """
    marked = True
    while marked:
        rows = await context.graph.change(MARK_NAMES, client_id=context.client_id, limit=LOOKED_AT)
        marked = rows[0].written == LOOKED_AT
    return await find_new_aliases(context)


async def find_new_aliases(context: Context) -> AliasesFound:
    """Find the aliases of all names that are marked as new, in batches. Raises `Unavailable`."""
    client_id, now = context.client_id, context.now()
    found = AliasesFound(names=0, made=0, dropped=0)
    while True:
        batch = await context.graph.write(
            lambda transaction: _find_batch(transaction, client_id=client_id, now=now)
        )
        if not batch.names:
            return found
        found = AliasesFound(
            names=found.names + batch.names,
            made=found.made + batch.made,
            dropped=found.dropped + batch.dropped,
        )


async def add_alias(new: NewAlias, context: Context) -> Alias:
    """Make a name an alias of another by the rule `manual`; an alias that exists already is not changed.

    Raises `InvalidInput`, `EntityNotFound` for a name that no memory mentions, `Unavailable`.
    """
    client_id, now = context.client_id, context.now()
    alias, canonical = _normal(new.alias, "alias"), _normal(new.canonical, "canonical")
    if alias == canonical:
        raise InvalidInput("canonical", "is the name of `alias`: an alias joins two names")

    def said(named: Mapping[str, Named]) -> Iterable[Named]:
        yield replace(named[alias], rule="manual", of=canonical)
        # A later statement wins over an earlier one that contradicts it.
        for one in _leading_to(alias, canonical, named):
            yield replace(one, rule=None, of="")

    async def work(transaction: Transaction) -> Alias:
        await _lock(transaction, {alias, canonical}, client_id=client_id)
        wanted = _WantedNames.only(alias, canonical)
        around = await _load_around(transaction, wanted, client_id=client_id)
        for name, given in ((alias, new.alias), (canonical, new.canonical)):
            if name not in around.near:
                raise EntityNotFound(given)
        await transaction.rows(REJOIN_NAMES, client_id=client_id, alias=alias, others=[canonical])
        await _decide(transaction, wanted, client_id=client_id, now=now, said=said)
        near = (await _load_around(transaction, _WantedNames.only(alias), client_id=client_id)).near
        return _shown(near[alias], near, created=near[alias].since == now)

    return await context.graph.write(work)


async def undo_alias(undone: UndoneAlias, context: Context) -> Alias:
    """Make an alias a name of its own, which no rule makes an alias again; return the former alias.

    Raises `InvalidInput`, `AliasNotFound`, `Unavailable`.
    """
    client_id, now = context.client_id, context.now()
    alias = _normal(undone.alias, "alias")
    former: list[Alias] = []

    def said(named: Mapping[str, Named]) -> Iterable[Named]:
        yield replace(named[alias], rule=None, of="")

    async def work(transaction: Transaction) -> Alias:
        await _lock(transaction, {alias}, client_id=client_id)
        near = (await _load_around(transaction, _WantedNames.only(alias), client_id=client_id)).near
        one = near.get(alias)
        if one is not None and one.apart and former and not one.alias_of:
            # An earlier try of this transaction did it, and its answer was lost.
            return former[0]
        if one is None or not one.alias_of:
            raise AliasNotFound(undone.alias)
        former[:] = [_shown(one, near)]
        others = sorted({one.alias_of, one.of})
        await transaction.rows(
            PART_NAMES, client_id=client_id, alias=alias, others=others, rule=one.rule, now=now
        )
        wanted = _WantedNames.only(alias, *others)
        await _decide(transaction, wanted, client_id=client_id, now=now, said=said)
        return former[0]

    return await context.graph.write(work)


async def _find_batch(transaction: Transaction, *, client_id: str, now: datetime) -> AliasesFound:
    """Remove the marks of some names, and decide the aliases among these and related names."""
    new = await transaction.rows(TAKE_NEW_NAMES, client_id=client_id, limit=TAKEN_AT_ONCE)
    if not new:
        return AliasesFound(names=0, made=0, dropped=0)
    rows = [
        {"normalized": one.normalized, "spelled": one.named.spelled, "short": one.named.short}
        for one in new
    ]
    await transaction.rows(KEEP_SPELLINGS, client_id=client_id, rows=rows)
    changes = await _decide_in_parts(transaction, new, client_id=client_id, now=now)
    return AliasesFound(
        names=len(new),
        made=sum(change.before == "" for change in changes),
        dropped=sum(change.canonical == "" for change in changes),
    )


async def _decide_in_parts(
    transaction: Transaction, new: Sequence[NewName], *, client_id: str, now: datetime
) -> list[AliasChange]:
    """Decide the aliases of names, in halves while too many are related; a single such name is skipped."""
    try:
        wanted = _WantedNames.around(one.named for one in new)
        return await _decide(transaction, wanted, client_id=client_id, now=now, most=MOST_AROUND)
    except _TooMany:
        if len(new) == 1:
            return []
        middle = len(new) // 2
        first = await _decide_in_parts(transaction, new[:middle], client_id=client_id, now=now)
        return first + await _decide_in_parts(
            transaction, new[middle:], client_id=client_id, now=now
        )


async def _decide(
    transaction: Transaction,
    wanted: _WantedNames,
    *,
    client_id: str,
    now: datetime,
    said: Statement | None = None,
    most: int | None = None,
) -> list[AliasChange]:
    """Decide the aliases of names and related names; write the changes and return them.

    Raises `_TooMany`.
    """
    locked: set[str] = set()
    while True:
        around = await _load_around(transaction, wanted, client_id=client_id, most=most)
        changes = _changes(around, said)
        touched = {name for one in changes for name in (one.alias, one.before, one.canonical)}
        if not (missing := touched - locked - {""}):
            break
        # A name may have changed before it was locked: all are read again.
        await _lock(transaction, missing, client_id=client_id)
        locked |= missing
    if changes:
        rows = [asdict(change) for change in changes]
        await transaction.rows(KEEP_ALIASES, client_id=client_id, rows=rows, now=now)
    return changes


async def _load_around(
    transaction: Transaction, wanted: _WantedNames, *, client_id: str, most: int | None = None
) -> NamesAround:
    """Read names and, following the rules, all that may mean the same. Raises `_TooMany`."""
    near: dict[str, NearbyName] = {}
    asked = wanted
    while wanted:
        rows = await transaction.rows(
            NAMES_AROUND,
            client_id=client_id,
            names=sorted(wanted.names),
            spelled=sorted(wanted.spelled),
            shorts=sorted(wanted.shorts),
            most=OF_ONE_SPELLING + 1,
            looked_at=LOOKED_AT,
            users=USERS,
        )
        new = {row.normalized: row for row in rows if row.normalized not in near}
        near |= new
        if most is not None and len(near) > most:
            raise _TooMany
        wanted = _WantedNames.around(one.named for one in new.values())
        for one in new.values():
            wanted.names.update({one.alias_of, one.of, *one.aliases} - {""})
        wanted = wanted.without(asked)
        asked = asked.and_(wanted)
    shared = Counter(key for one in near.values() for key in {one.named.spelled, one.named.short})
    return NamesAround(near, frozenset(key for key, n in shared.items() if n > OF_ONE_SPELLING))


def _changes(around: NamesAround, said: Statement | None) -> list[AliasChange]:
    """Return the changes that make the graph agree with the rules' decisions."""
    named = around.named
    if said is not None:
        named |= {one.normalized: one for one in said(named)}
    decided = {one.alias: one for one in aliases.decided(named.values(), around.crowded)}
    changes = []
    for name, one in around.near.items():
        now = decided.get(name)
        change = AliasChange(
            alias=name,
            before=one.alias_of,
            canonical=now.canonical if now else "",
            rule=now.rule if now else None,
            of=now.of if now else "",
        )
        if (change.before, one.rule, one.of) != (change.canonical, change.rule, change.of):
            changes.append(change)
    return changes


def _leading_to(alias: str, canonical: str, named: Mapping[str, Named]) -> Iterable[Named]:
    """Yield the manual alias of `alias` that is reached from `canonical` by manual steps."""
    seen: set[str] = set()
    at = canonical
    while (one := named.get(at)) and one.rule == "manual" and at not in seen:
        if one.of == alias:
            yield one
        seen.add(at)
        at = one.of


def _shown(one: NearbyName, near: Mapping[str, NearbyName], *, created: bool = False) -> Alias:
    assert one.rule is not None, "it is an alias"
    assert one.since is not None, "an alias has a time"
    return Alias(
        alias=one.name,
        canonical=near[one.alias_of].name,
        rule=one.rule,
        created_at=one.since,
        created=created,
    )


async def _lock(transaction: Transaction, names: Collection[str], *, client_id: str) -> None:
    await transaction.rows(LOCK_NAMES, client_id=client_id, names=sorted(names))


def _normal(name: str, field: str) -> str:
    """Return a name's normal form. Raises `InvalidInput`."""
    if form := normalized(checked_text(name, field, most_bytes=1_024)):
        return form
    raise InvalidInput(
        field, f"is no name: it needs a letter or a digit, and at most {LONGEST} characters"
    )


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
