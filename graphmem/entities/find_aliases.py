"""Aliases: names that mean the same are joined by the rules, by hand, and parted again.

A new name is marked by the write that brings it. Whoever looks for aliases takes some marks away, reads the
names around, decides anew what all of these mean, and writes only what has changed: doing it again changes
nothing, and a name that makes another ambiguous drops that one's alias. Memories keep the names that they
mention, so that nothing is lost. Nobody waits for it: what is marked is done sooner or later, once.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.entities.types import Alias, AliasesFound, NewAlias, UndoneAlias
from graphmem.errors import AliasNotFound, EntityNotFound, InvalidInput
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.jobs.outbox import Due, postpone_all
from graphmem.model.text import checked_text
from graphmem.model.vocabulary import AliasRule
from graphmem.text import aliases
from graphmem.text.aliases import Named
from graphmem.text.entities import normalized
from graphmem.text.identifiers import LONGEST

ALIASES = "aliases"
"""The kind of the job that looks for a client's aliases, and its key: there is one of a client."""

TAKEN_AT_ONCE = 200
"""How many new names one transaction looks at: a writer of the same names waits for it."""

OF_ONE_SPELLING = 50
"""How many names of one spelling or short form are looked at; what more have is ambiguous."""

MOST_AROUND = 2_000
"""How many names around some are looked at; where there are more, fewer are looked at together."""

LOOKED_AT = 1_000
"""How many memories are asked what a short name stands for, and how many old names are marked at once."""

USERS = 200
"""Of how many memories that use a name the sources are looked at."""

WAITING = 10_000
"""Among how many marked names those are sought whose they are."""


class NewName(Struct, frozen=True):
    """A name whose aliases are to be found, as it was first written."""

    normalized: str
    name: str

    @property
    def named(self) -> Named:
        """What is known of it without asking."""
        keys = aliases.spelling(self.name, self.normalized)
        return Named(
            normalized=self.normalized, name=self.name, spelled=keys.spelled, short=keys.short
        )


class Near(Struct, frozen=True, kw_only=True):
    """A name with what is said of it, and since when it is an alias."""

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
        """What the rules look at; one that has not been looked at yet has no spelling."""
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


class Around(Struct, frozen=True):
    """Names, all that may mean the same as one of them, and what has too many names to decide anything."""

    near: dict[str, Near]
    crowded: frozenset[str]

    @property
    def named(self) -> dict[str, Named]:
        """What the rules look at, by the names."""
        return {name: one.named for name, one in self.near.items()}


class Change(Struct, frozen=True):
    """What a name is an alias of from now on, and was before; '' for none."""

    alias: str
    before: str
    canonical: str
    rule: AliasRule | None
    of: str


class _Wanted(Struct, frozen=True):
    """What is to be read: names, and all with these spellings and short forms."""

    names: set[str]
    spelled: set[str]
    shorts: set[str]

    @classmethod
    def only(cls, *names: str) -> "_Wanted":
        """Return names of which nothing else is known."""
        return cls(set(names), set(), set())

    @classmethod
    def around(cls, named: Iterable[Named]) -> "_Wanted":
        """Return what may mean the same as names whose spellings are known."""
        wanted = cls.only()
        for one in named:
            wanted.names.update({one.normalized, *one.forms, *aliases.known_names(one)})
            wanted.spelled.update(aliases.keys(one))
            wanted.shorts.update({one.spelled, one.short} - {""})
        return wanted

    def __bool__(self) -> bool:
        return bool(self.names or self.spelled or self.shorts)

    def without(self, other: "_Wanted") -> "_Wanted":
        """Return what is wanted of this and not of another."""
        return _Wanted(
            self.names - other.names, self.spelled - other.spelled, self.shorts - other.shorts
        )

    def and_(self, other: "_Wanted") -> "_Wanted":
        """Return what is wanted of either."""
        return _Wanted(
            self.names | other.names, self.spelled | other.spelled, self.shorts | other.shorts
        )


class _TooMany(Exception):
    """More names stand around some than are looked at together."""


class Waiting(Struct, frozen=True):
    """A client with names whose aliases are still to be found."""

    client_id: str


Said = Callable[[Mapping[str, Named]], Iterable[Named]]
"""What somebody says of names, put in the place of what the graph says."""

TAKE_NEW_NAMES = Query("entities/take_new_names", NewName, writes=True)
KEEP_SPELLINGS = Query("entities/keep_spellings", RowsWritten, writes=True)
NAMES_AROUND = Query("entities/names_around", Near)
LOCK_NAMES = Query("entities/lock_names", RowsWritten, writes=True)
KEEP_ALIASES = Query("entities/keep_aliases", RowsWritten, writes=True)
PART_NAMES = Query("entities/part_names", RowsWritten, writes=True)
REJOIN_NAMES = Query("entities/rejoin_names", RowsWritten, writes=True)
MARK_NAMES = Query("entities/mark_names", RowsWritten, writes=True)
CLIENTS_WITH_NEW_NAMES = Query("entities/clients_with_new_names", Waiting)


async def queue_aliases(*, now: datetime, new_id: Callable[[], str], graph: Graph) -> None:
    """Queue the search for aliases for every client that has names whose are still to be found."""
    for waiting in await graph.rows(CLIENTS_WITH_NEW_NAMES, looked_at=WAITING):
        job = Due(id=new_id(), kind=ALIASES, key=ALIASES, run_at=now, earliest=True)
        await graph.write(_queueing(job, waiting.client_id, now))


async def find_aliases(*, client_id: str, now: datetime, graph: Graph) -> AliasesFound:
    """Find the aliases of all names that are marked, some at a time. Raises `Unavailable`."""
    found = AliasesFound(names=0, made=0, dropped=0)
    while True:
        some = await graph.write(
            lambda transaction: _find_some(transaction, client_id=client_id, now=now)
        )
        if not some.names:
            return found
        found = AliasesFound(
            names=found.names + some.names,
            made=found.made + some.made,
            dropped=found.dropped + some.dropped,
        )


async def find_all_aliases(*, client_id: str, now: datetime, graph: Graph) -> AliasesFound:
    """Find the aliases of what is marked, and of names from before aliases were looked for.

    Raises `Unavailable`.
    """
    marked = True
    while marked:
        rows = await graph.change(MARK_NAMES, client_id=client_id, limit=LOOKED_AT)
        marked = rows[0].written == LOOKED_AT
    return await find_aliases(client_id=client_id, now=now, graph=graph)


async def join(new: NewAlias, *, client_id: str, now: datetime, graph: Graph) -> Alias:
    """Make a name an alias of another, whatever the rules say; one that is so already stays as it is.

    Raises `InvalidInput`, `EntityNotFound`, `Unavailable`.
    """
    alias, canonical = _normal(new.alias, "alias"), _normal(new.canonical, "canonical")
    if alias == canonical:
        raise InvalidInput("canonical", "is the name of `alias`: an alias joins two names")

    def said(named: Mapping[str, Named]) -> Iterable[Named]:
        yield replace(named[alias], rule="manual", of=canonical)
        # Who says the opposite of what was said before means it.
        for one in _leading_to(alias, canonical, named):
            yield replace(one, rule=None, of="")

    async def work(transaction: Transaction) -> Alias:
        await _lock(transaction, {alias, canonical}, client_id=client_id)
        wanted = _Wanted.only(alias, canonical)
        around = await _around(transaction, wanted, client_id=client_id)
        for name, given in ((alias, new.alias), (canonical, new.canonical)):
            if name not in around.near:
                raise EntityNotFound(given)
        await transaction.rows(REJOIN_NAMES, client_id=client_id, alias=alias, others=[canonical])
        await _decide(transaction, wanted, client_id=client_id, now=now, said=said)
        near = (await _around(transaction, _Wanted.only(alias), client_id=client_id)).near
        return _shown(near[alias], near, created=near[alias].since == now)

    return await graph.write(work)


async def undo(given: UndoneAlias, *, client_id: str, now: datetime, graph: Graph) -> Alias:
    """Make a name an alias of nothing, and keep the rules from doing it again; return what it was.

    Raises `InvalidInput`, `AliasNotFound`, `Unavailable`.
    """
    alias = _normal(given.alias, "alias")
    undone: list[Alias] = []

    def said(named: Mapping[str, Named]) -> Iterable[Named]:
        yield replace(named[alias], rule=None, of="")

    async def work(transaction: Transaction) -> Alias:
        await _lock(transaction, {alias}, client_id=client_id)
        near = (await _around(transaction, _Wanted.only(alias), client_id=client_id)).near
        one = near.get(alias)
        if one is not None and one.apart and undone and not one.alias_of:
            # A transaction whose answer got lost has done it.
            return undone[0]
        if one is None or not one.alias_of:
            raise AliasNotFound(given.alias)
        undone[:] = [_shown(one, near)]
        others = sorted({one.alias_of, one.of})
        await transaction.rows(
            PART_NAMES, client_id=client_id, alias=alias, others=others, rule=one.rule, now=now
        )
        wanted = _Wanted.only(alias, *others)
        await _decide(transaction, wanted, client_id=client_id, now=now, said=said)
        return undone[0]

    return await graph.write(work)


def _queueing(job: Due, client_id: str, now: datetime) -> Callable[[Transaction], Awaitable[Any]]:
    return lambda transaction: postpone_all(transaction, [job], client_id=client_id, now=now)


async def _find_some(transaction: Transaction, *, client_id: str, now: datetime) -> AliasesFound:
    """Take the marks of some names away and decide what they, and those around them, mean."""
    new = await transaction.rows(TAKE_NEW_NAMES, client_id=client_id, limit=TAKEN_AT_ONCE)
    if not new:
        return AliasesFound(names=0, made=0, dropped=0)
    rows = [
        {"normalized": one.normalized, "spelled": one.named.spelled, "short": one.named.short}
        for one in new
    ]
    await transaction.rows(KEEP_SPELLINGS, client_id=client_id, rows=rows)
    changes = await _decide_few(transaction, new, client_id=client_id, now=now)
    return AliasesFound(
        names=len(new),
        made=sum(change.before == "" for change in changes),
        dropped=sum(change.canonical == "" for change in changes),
    )


async def _decide_few(
    transaction: Transaction, new: Sequence[NewName], *, client_id: str, now: datetime
) -> list[Change]:
    """Decide what names mean, in parts where too many stand around them; what one alone has is too many."""
    try:
        wanted = _Wanted.around(one.named for one in new)
        return await _decide(transaction, wanted, client_id=client_id, now=now, most=MOST_AROUND)
    except _TooMany:
        if len(new) == 1:
            return []
        middle = len(new) // 2
        first = await _decide_few(transaction, new[:middle], client_id=client_id, now=now)
        return first + await _decide_few(transaction, new[middle:], client_id=client_id, now=now)


async def _decide(
    transaction: Transaction,
    wanted: _Wanted,
    *,
    client_id: str,
    now: datetime,
    said: Said | None = None,
    most: int | None = None,
) -> list[Change]:
    """Decide what names and those around them mean, and write what has changed; return that.

    Raises `_TooMany`.
    """
    locked: set[str] = set()
    while True:
        around = await _around(transaction, wanted, client_id=client_id, most=most)
        changes = _changes(around, said)
        touched = {name for one in changes for name in (one.alias, one.before, one.canonical)}
        if not (missing := touched - locked - {""}):
            break
        # What is locked may be another by now: it is looked at again.
        await _lock(transaction, missing, client_id=client_id)
        locked |= missing
    if changes:
        rows = [asdict(change) for change in changes]
        await transaction.rows(KEEP_ALIASES, client_id=client_id, rows=rows, now=now)
    return changes


async def _around(
    transaction: Transaction, wanted: _Wanted, *, client_id: str, most: int | None = None
) -> Around:
    """Read names and, from these on, all that the rules may find to mean the same. Raises `_TooMany`."""
    near: dict[str, Near] = {}
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
        wanted = _Wanted.around(one.named for one in new.values())
        for one in new.values():
            wanted.names.update({one.alias_of, one.of, *one.aliases} - {""})
        wanted = wanted.without(asked)
        asked = asked.and_(wanted)
    shared = Counter(key for one in near.values() for key in {one.named.spelled, one.named.short})
    return Around(near, frozenset(key for key, n in shared.items() if n > OF_ONE_SPELLING))


def _changes(around: Around, said: Said | None) -> list[Change]:
    """Return what has to be written so that the graph says what was decided."""
    named = around.named
    if said is not None:
        named |= {one.normalized: one for one in said(named)}
    decided = {one.alias: one for one in aliases.decided(named.values(), around.crowded)}
    changes = []
    for name, one in around.near.items():
        now = decided.get(name)
        change = Change(
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
    """Yield the name that somebody has said means `alias`, where saying so leads there from `canonical`."""
    seen: set[str] = set()
    at = canonical
    while (one := named.get(at)) and one.rule == "manual" and at not in seen:
        if one.of == alias:
            yield one
        seen.add(at)
        at = one.of


def _shown(one: Near, near: Mapping[str, Near], *, created: bool = False) -> Alias:
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
