"""The clients of a store: their limits and what they have, and for operators the list of all."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import datetime, time, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from graphmem.config import ClientLimits, Settings, WatchedFile, variable
from graphmem.errors import DayLimitReached, InvalidInput, SettingError, StoreLimitReached
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.model.pages import GivenCursor, listing, page
from graphmem.model.times import present
from graphmem.model.validation import told, validated
from graphmem.model.vocabulary import KINDS, ClientId, Kind
from graphmem.observing.metrics import ReachedLimit, count_reached

LIMITS_FORM = "`client memories=N bytes=N tokens_a_day=N requests=N`, of which any may be left out"

COUNTED_ANEW = timedelta(hours=1)
"""The age of a count that is made anew before it refuses a write: the store may have been changed by hand."""


class CountedUsage(Struct, frozen=True, kw_only=True):
    """What a client has, as it is counted while limits hold."""

    memories: int
    bytes: int
    day: str
    tokens: int
    counted_at: datetime

    def tokens_on(self, day: str) -> int:
        """Return the tokens written on a day."""
        return self.tokens if self.day == day else 0


class Written(Struct, frozen=True, kw_only=True):
    """What a write adds."""

    memories: int
    bytes: int
    tokens: int


NOTHING_GONE = Written(memories=0, bytes=0, tokens=0)


class StoredTexts(Struct, frozen=True):
    """The bytes of the texts of a client's memories and contexts."""

    bytes: int


class Used(Struct, frozen=True, kw_only=True):
    """What a client has of that which can be limited; None until its first write under limits."""

    memories: int | None = None
    bytes: int | None = None
    """Of the texts of the memories, in UTF-8."""
    tokens_today: int | None = None
    """The tokens that were written since midnight UTC."""


class ClientUsage(Struct, frozen=True, kw_only=True):
    """The limits of a client, and what it has."""

    limits: ClientLimits
    used: Used


class KindCount(Struct, frozen=True):
    """The number of memories of a kind."""

    kind: Kind
    memories: int


class NextClient(Struct, frozen=True, kw_only=True):
    """A client with its counts."""

    id: str
    last_written_at: datetime | None
    last_read_at: datetime | None
    conversations: int
    counts: list[KindCount]
    usage: CountedUsage | None


class ListedClient(Struct, frozen=True, kw_only=True):
    """A client, its counts, when it last wrote and read, its limits, and what it has of them."""

    id: str
    conversations: int
    memories: int
    by_kind: dict[Kind, int]
    last_written_at: datetime | None
    """The time when the newest memory was stored."""
    last_read_at: datetime | None
    """The time of the last recorded read."""
    limits: ClientLimits
    used: Used


class ClientsAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The page of a list of clients."""

    limit: Annotated[int, Meta(ge=1, le=100, description="entries on a page, 1–100")] = 20
    cursor: GivenCursor | None = None


class Clients(Struct, frozen=True, kw_only=True):
    """A page of clients in the order of their ids, and the cursor of the next page."""

    clients: list[ListedClient]
    cursor: str | None


class ClientStore(Struct, frozen=True):
    """A place of clients: its database, and which clients are in it; others have left a copy behind."""

    graph: Graph
    holds: Callable[[str], bool]


NEXT_CLIENT = Query("clients/next_client", NextClient)
USAGE = Query("clients/usage", CountedUsage)
STORED_TEXTS = Query("clients/stored_texts", StoredTexts)
COUNT_USAGE = Query("clients/count_usage", CountedUsage, writes=True)
DROP_OLD_USAGES = Query("clients/drop_old_usages", RowsWritten, writes=True)


class LimitsOfClients:
    """The limits of each client: those of the settings, and what the limits file says instead.

    A change of the file takes effect with the next request. Raises `SettingError` at first if it cannot be
    used; if that happens later, the limits stay as they were, and the log says so.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        settings = settings or Settings()
        self._usual = ClientLimits(
            requests=settings.client_requests,
            memories=settings.client_memories or None,
            bytes=settings.client_bytes or None,
            tokens_a_day=settings.client_tokens_a_day or None,
        )
        read = partial(read_limits, usual=self._usual)
        path = settings.limits_file
        self._file = WatchedFile(path, read, "the limits stay as they were") if path else None

    def of(self, client_id: str) -> ClientLimits:
        """Return the limits of a client."""
        return (self._file.current() if self._file else {}).get(client_id, self._usual)

    def of_writes(self, client_id: str) -> ClientLimits | None:
        """Return the limits of a client if they limit what it writes."""
        limits = self.of(client_id)
        is_limited = (limits.memories, limits.bytes, limits.tokens_a_day) != (None, None, None)
        return limits if is_limited else None


def read_limits(path: Path, usual: ClientLimits) -> dict[str, ClientLimits]:
    """Return the limits of the clients that a file names. Raises a `SettingError` that names the line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8"
        raise _unusable(f"{path} cannot be read: {reason}") from problem
    found: dict[str, ClientLimits] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if words[0] in found:
            raise _unusable(f"{path}, line {number}: this client is on an earlier line already")
        found[words[0]] = _limits(words, usual, f"{path}, line {number}")
    return found


def _limits(words: list[str], usual: ClientLimits, place: str) -> ClientLimits:
    given = dict(word.partition("=")[::2] for word in words[1:])
    try:
        validated(words[0], ClientId)
        if len(given) == len(words) - 1:
            return msgspec.convert(asdict(usual) | given, ClientLimits, strict=False)
    except InvalidInput as problem:
        raise _unusable(f"{place}: a client is 1–128 of letters, digits and `. _ : -`") from problem
    except msgspec.ValidationError as problem:
        raise _unusable(f"{place}: {told(str(problem))}; expected {LIMITS_FORM}") from problem
    raise _unusable(f"{place}: expected {LIMITS_FORM}, each once")


def _unusable(problem: str) -> SettingError:
    return SettingError(variable("limits_file"), problem)


async def check_room(added: Written, *, client_id: str, graph: Graph) -> None:
    """Refuse a write that its client's limits do not admit, before anything is computed for it.

    The transaction decides: this only spares the work. Raises `StoreLimitReached`, `DayLimitReached`.
    """
    if graph.limits is None:
        return
    now = present()
    for usage in await graph.rows(USAGE, client_id=client_id):
        if now - usage.counted_at < COUNTED_ANEW:
            _refuse_excess(_with(usage, added, now), graph.limits, added, now)


async def hold_to_limits(
    transaction: Transaction,
    usage: CountedUsage | None,
    added: Written,
    *,
    client_id: str,
    now: datetime,
    gone: Written = NOTHING_GONE,
) -> None:
    """Refuse a write that exceeds its client's limits, at its end: the transaction is rolled back then.

    `usage` includes the write; None if nothing is counted of this client yet. `gone` is counted too, but this
    transaction is about to delete it. Raises `StoreLimitReached`, `DayLimitReached`.
    """
    if transaction.limits is None:
        return
    is_fresh = usage is not None and now - usage.counted_at < COUNTED_ANEW
    if usage is None or (
        not is_fresh and any(_excesses(_without(usage, gone), transaction.limits))
    ):
        usage = await _count(transaction, client_id=client_id, now=now)
    net = Written(
        memories=added.memories - gone.memories,
        bytes=added.bytes - gone.bytes,
        tokens=added.tokens,
    )
    _refuse_excess(_without(usage, gone), transaction.limits, net, now)


async def _count(transaction: Transaction, *, client_id: str, now: datetime) -> CountedUsage:
    """Count what a client has, and keep it; today's tokens stay if they are counted already."""
    rows = await transaction.rows(
        COUNT_USAGE, client_id=client_id, day=day_of(now), begin=_midnight(now), now=now
    )
    return rows[0]


async def keep_tokens(*, client_id: str, now: datetime, graph: Graph) -> None:
    """Count anew what a client has whose nodes are deleted, if its tokens of today are still counted."""

    async def work(transaction: Transaction) -> None:
        if await transaction.rows(USAGE, client_id=client_id):
            await _count(transaction, client_id=client_id, now=now)

    await graph.write(work)


async def drop_old_counts(*, now: datetime, graph: Graph) -> None:
    """Delete the counts of earlier days of clients that have no memory. Raises `Unavailable`."""
    await graph.change(DROP_OLD_USAGES, day=day_of(now))


async def hold_context_to_limits(transaction: Transaction, added: int, *, client_id: str) -> None:
    """Refuse `added` bytes of a context, at the end of their transaction, if the client has no room for them.

    Texts of contexts are added up for each new one: they end within days, so they are no part of a count that
    every write keeps. Raises `StoreLimitReached`.
    """
    limit = transaction.limits.bytes if transaction.limits else None
    if limit is None or not added:
        return
    [stored] = await transaction.rows(STORED_TEXTS, client_id=client_id)
    if stored.bytes > limit:
        raise _reached("bytes", limit, stored.bytes - added)


def day_of(at: datetime) -> str:
    """Return the day, in UTC, on which tokens are counted together."""
    return at.date().isoformat()


def _midnight(at: datetime) -> datetime:
    return datetime.combine(at.date(), time(), tzinfo=at.tzinfo)


def _with(usage: CountedUsage, added: Written, now: datetime) -> CountedUsage:
    """Return the usage after a write."""
    return CountedUsage(
        memories=usage.memories + added.memories,
        bytes=usage.bytes + added.bytes,
        day=day_of(now),
        tokens=usage.tokens_on(day_of(now)) + added.tokens,
        counted_at=usage.counted_at,
    )


def _without(usage: CountedUsage, gone: Written) -> CountedUsage:
    """Return the usage after a deletion; tokens stay counted."""
    return replace(usage, memories=usage.memories - gone.memories, bytes=usage.bytes - gone.bytes)


def _excesses(usage: CountedUsage, limits: ClientLimits) -> Iterator[ReachedLimit]:
    """Yield the names of the limits that are exceeded."""
    used_of: dict[ReachedLimit, int] = {
        "memories": usage.memories,
        "bytes": usage.bytes,
        "tokens_a_day": usage.tokens,
    }
    for name, used in used_of.items():
        limit = getattr(limits, name)
        if limit is not None and used > limit:
            yield name


def _refuse_excess(
    usage: CountedUsage, limits: ClientLimits, added: Written, now: datetime
) -> None:
    """Raise the error of the first limit that is exceeded, with what the client had before."""
    for name in _excesses(usage, limits):
        limit: int = getattr(limits, name)
        if name == "tokens_a_day":
            count_reached(name)
            left = _midnight(now) + timedelta(days=1) - now
            raise DayLimitReached(
                limit, usage.tokens - added.tokens, retry_after=int(left.total_seconds()) + 1
            )
        raise _reached(name, limit, getattr(usage, name) - getattr(added, name))


def _reached(name: ReachedLimit, limit: int, before: int) -> StoreLimitReached:
    """Count that a limit of what is stored is reached; return its error, with what the client had before."""
    count_reached(name)
    return StoreLimitReached("memories" if name == "memories" else "bytes of text", limit, before)


async def show_usage(client_id: str, limits: ClientLimits, graph: Graph) -> ClientUsage:
    """Return the limits of a client, and what it has."""
    rows = await graph.rows(USAGE, client_id=client_id)
    return ClientUsage(limits=limits, used=_used(rows[0] if rows else None, present()))


def _used(usage: CountedUsage | None, now: datetime) -> Used:
    if usage is None:
        return Used()
    return Used(
        memories=usage.memories, bytes=usage.bytes, tokens_today=usage.tokens_on(day_of(now))
    )


async def list_clients(
    asked: ClientsAsked, stores: Sequence[ClientStore], limits: LimitsOfClients
) -> Clients:
    """Return a page of the clients of all places that have a conversation or a memory, each with its counts.

    Counting takes time in proportion to the memories of the page's clients. Raises `InvalidInput`,
    `Unavailable`.
    """
    listed = listing(asked)
    after = listed.opened(asked.cursor) if asked.cursor else ""
    found: list[ListedClient] = []
    nexts = [await _next(store, after) for store in stores]
    while len(found) <= asked.limit and any(nexts):
        _, at, first = min((one.id, at, one) for at, one in enumerate(nexts) if one)
        found.append(_counted(first, limits.of(first.id)))
        nexts[at] = await _next(stores[at], first.id)
    shown, cursor = page(found, asked.limit, lambda row: listed.sealed(row.id))
    return Clients(clients=shown, cursor=cursor)


async def _next(store: ClientStore, after: str) -> NextClient | None:
    """Return the first client of a place behind an id.

    One at a time, each from the index at the place of the one before: to find the distinct ids at once would
    read every memory of the store.
    """
    while rows := await store.graph.rows(NEXT_CLIENT, after=after, kinds=list(KINDS)):
        if store.holds(rows[0].id):
            return rows[0]
        after = rows[0].id
    return None


async def client_ids(graph: Graph) -> AsyncIterator[str]:
    """Yield the clients that have a conversation or a memory, in the order of their ids."""
    after = ""
    while rows := await graph.rows(NEXT_CLIENT, after=after, kinds=[]):
        after = rows[0].id
        yield after


def _counted(client: NextClient, limits: ClientLimits) -> ListedClient:
    by_kind = {one.kind: one.memories for one in client.counts}
    return ListedClient(
        id=client.id,
        conversations=client.conversations,
        memories=sum(by_kind.values()),
        by_kind=by_kind,
        last_written_at=client.last_written_at,
        last_read_at=client.last_read_at,
        limits=limits,
        used=_used(client.usage, present()),
    )
