"""The connection to Neo4j: runs query files, retries transient failures, and translates errors."""

import asyncio
import copy
import itertools
import logging
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC
from typing import Any, TypeVar

import msgspec
import neo4j
from msgspec import Struct, field
from neo4j import AsyncDriver, AsyncGraphDatabase, NotificationMinimumSeverity
from neo4j.exceptions import (
    AuthError,
    ConnectionPoolError,
    ConstraintError,
    DatabaseError,
    DriverError,
    IncompleteCommit,
    Neo4jError,
)
from neo4j.time import DateTime
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind

from graphmem.config import ClientLimits
from graphmem.errors import (
    DiskFull,
    GraphmemError,
    RecordDamaged,
    ServerFailed,
    StoreDamaged,
    TookTooLong,
    Unavailable,
)
from graphmem.graph.bookmarks import Bookmarks
from graphmem.graph.query import Query
from graphmem.model.vocabulary import FIRST, Side
from graphmem.observing.spans import span
from graphmem.places import mend_address

Row = TypeVar("Row")
Result = TypeVar("Result")
Session = neo4j.AsyncSession

RETRY_SECONDS = 15.0
"""The time during which a read or a transaction is retried while the database is unavailable."""

FAULTS = 5
"""The retries of an unexpected error: it may be due to a concurrent deletion or write."""

QUIET_SECONDS = 60.0
"""The time without an error after which the same one is logged again."""

OUTAGE_SECONDS, RESTART_SECONDS = 1.0, 5.0
"""The length of an outage whose end is logged: shorter ones are connections that were replaced; and of one in
which the database may have been restarted."""

TRANSIENT = "transient error of the database: %s; trying again"

DEADLOCK = "Neo.TransientError.Transaction.DeadlockDetected"
COLLISIONS = 6
"""The retries of a transaction after a deadlock, also for callers that count their own retries: the database
has rolled it back."""

LISTED = "rows"
"""The only column of a query that returns its rows as a list; times in it are ISO texts."""

SYSTEM = {"db.system": "neo4j"}

DELETED_MEANWHILE = "Neo.ClientError.Statement.EntityNotFound"
"""A node was deleted between finding and linking it: the statement must run again."""

INDEX_GONE = "Neo.ClientError.Schema.IndexNotFound"
"""The error code of a search whose embedding model was replaced long before this process noticed."""

KEPT_OUT = {
    "Neo.ClientError.Security.AuthenticationRateLimit",
    "Neo.ClientError.Security.CredentialsExpired",
}
"""The error codes of a user who is kept out, beside those of `AuthError`."""

CUT_OFF = {
    "Neo.ClientError.Transaction.TransactionTimedOut",
    "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
}
"""The error codes of a query that exceeded its time limit."""

TERMINATED = ("Transaction.Terminated", "Transaction.LockClientStopped")

LOST_ITS_WAY = {
    "Neo.ClientError.Cluster.Routing",
    "Neo.ClientError.Routing.RoutingFailed",
    "Neo.ClientError.Routing.DbmsInPanic",
}
"""The error codes of a member that cannot pass a statement on; the driver takes them for mistakes."""

UNKNOWN_STATE = {
    "Neo.ClientError.Transaction.InvalidBookmark",
    "Neo.ClientError.Transaction.InvalidBookmarkMixture",
}
"""The error codes of a database that does not know a bookmark: it was restored, or is another one."""

ROUTED = "neo4j"
"""The scheme of an address whose driver asks which member of a cluster reads, and which one writes."""

DAMAGE = (
    "InvalidRecordException",
    "InconsistentDataRead",
    "UnderlyingStorageException",
    # None of our queries divides by zero: the length of a record that Neo4j reads is 0.
    "/ by zero",
)
"""The signs of a damaged store in the message of Neo4j's error."""

BOOKKEEPING = {"graph/applied_migrations", "graph/keep_installation", "graph/stored_installation"}
"""The queries of the records that belong to no memory, without which nothing works: if one of these cannot be
read, only a backup helps."""

_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
"""A step of the path in an error of msgspec, `$[0].text`."""

log = logging.getLogger(__name__)


class NotUnique(Exception):
    """A write would make a node that exists already, and no repetition finds it."""

    def __init__(self) -> None:
        super().__init__("a node with the same identity exists already")


class Transaction:
    """One transaction that may write: all of it is committed, or nothing."""

    def __init__(
        self,
        transaction: neo4j.AsyncTransaction,
        side: Side = FIRST,
        limits: ClientLimits | None = None,
    ) -> None:
        self._transaction = transaction
        self.side = side
        self.limits = limits
        """The limits of the client that writes; None if it has none, or if this is background work."""

    async def rows(self, query: Query[Row], **parameters: Any) -> list[Row]:
        """Run a query in this transaction and return its rows."""
        with span(query.name, SYSTEM, kind=SpanKind.CLIENT) as shown:
            statement = query.statement(self.side, parameters)
            rows = await _rows(
                await self._transaction.run(statement, _unspelled(parameters)), query
            )
            shown.set_attribute("graphmem.rows", len(rows))
            return rows


class Pool(Struct, frozen=True):
    """The numbers of busy and of idle connections."""

    in_use: int
    idle: int


class DriverInUse(Struct):
    """The drivers that a graph and its copies (`on`, `impatient`) share, since they may be replaced.

    `settle` is awaited with the client, and the graph that reads, before each read.
    """

    driver: AsyncDriver
    apart: AsyncDriver
    settle: Callable[[str, "Graph"], Awaitable[None]] | None = None
    """Deletes what has expired before a client's read."""
    full: DiskFull | None = None
    """The reason for which nothing may be written now."""
    damaged: StoreDamaged | None = None
    """The reason for which the database does not come back, if that is known."""
    away: Unavailable | None = None
    """The error of a database that is known not to answer: nothing is retried."""
    faults: dict[tuple[str, str], float] = field(default_factory=dict)
    """When each error after which a call is tried again occurred last, in seconds of the monotonic clock."""
    lost_at: float | None = None
    """When connections began to fail, by the same clock; None since a call has succeeded."""
    running: int = 0
    """The number of calls that the database is answering."""
    on_return: Callable[[], None] | None = None
    """Called at the end of an outage in which the database may have been restarted."""

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count a call for as long as it waits for the database."""
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1

    def admit(self, writes: bool) -> None:
        """Raise `DiskFull` for a call that writes if nothing may be written."""
        if writes and self.full is not None:
            raise self.full

    def note_failure(self, problem: Exception) -> None:
        """Note the beginning of an outage if this failure shows one."""
        if self.lost_at is None and isinstance(problem, DriverError | OSError):
            self.lost_at = time.monotonic()

    def note_answer(self) -> None:
        """Note and log the end of an outage; that of a place that counts as away is logged with its name."""
        if self.lost_at is None:
            return
        seconds = time.monotonic() - self.lost_at
        self.lost_at = None
        if seconds >= OUTAGE_SECONDS and self.away is None:
            log.info("the database answers again, after %.0f s", seconds)
        if seconds >= RESTART_SECONDS and self.on_return is not None:
            self.on_return()

    def tell(self, said: str, fault: str, level: int = logging.WARNING) -> None:
        """Log an error after which a call is tried again, unless it goes on."""
        now, last = time.monotonic(), self.faults.get((said, fault))
        is_new = last is None or now - last >= QUIET_SECONDS
        self.faults[said, fault] = now
        log.log(level if is_new else logging.DEBUG, said, fault)


class Graph:
    """One database of one Neo4j, which runs query files on one side of its embeddings."""

    limits: ClientLimits | None = None
    """The limits of the client that writes, if it has any."""

    def __init__(
        self,
        driver: AsyncDriver,
        database: str,
        *,
        apart: AsyncDriver | None = None,
        retry_seconds: float = RETRY_SECONDS,
        place: str | None = None,
    ) -> None:
        """Use a driver; `place` is the name of a cluster's database, None for a single server."""
        self._link = DriverInUse(driver, apart or driver)
        self.database = database
        self.side = FIRST
        self._retry_seconds = retry_seconds
        self._check_write: Callable[[], None] = _admit_all
        self._is_cluster = place is not None
        # All processes of a single server see each write at once: its bookmarks need not leave this one.
        self._bookmarks = Bookmarks(place or "", travel=self._is_cluster)

    @property
    def driver(self) -> AsyncDriver:
        """The driver, which `reconnect` replaces."""
        return self._link.driver

    def impatient(self) -> "Graph":
        """Return the same database, retrying deadlocks only, for callers that count their own retries."""
        same = copy.copy(self)
        same._retry_seconds = 0.0
        return same

    def writing_if(self, check: Callable[[], None]) -> "Graph":
        """Return the same database, where `check` raises an error before a write that may not be."""
        same = copy.copy(self)
        same._check_write = check
        return same

    def on(self, side: Side) -> "Graph":
        """Return the same database with queries on this side of its embeddings."""
        same = copy.copy(self)
        same.side = side
        return same

    def held_to(self, limits: ClientLimits) -> "Graph":
        """Return the same database with writes held to these limits."""
        same = copy.copy(self)
        same.limits = limits
        return same

    @property
    def is_idle(self) -> bool:
        """Whether no call of this process is waiting for the database."""
        return self._link.running == 0

    @property
    def retry_seconds(self) -> float:
        """The time for which a failed query is retried."""
        return self._retry_seconds

    def settle_before_reads(self, settle: Callable[[str, "Graph"], Awaitable[None]]) -> None:
        """Await `settle` with the client and this graph before each query that reads of a client."""
        self._link.settle = settle

    def when_back(self, begin: Callable[[], None]) -> None:
        """Call `begin` whenever the database answers again after an outage as long as a restart."""
        self._link.on_return = begin

    async def _settle(self, parameters: Mapping[str, Any]) -> None:
        if self._link.settle is not None and "client_id" in parameters:
            await self._link.settle(parameters["client_id"], self)

    async def rows(self, query: Query[Row], **parameters: Any) -> list[Row]:
        """Run a query that reads and return its rows.

        An auto-commit transaction: it takes one round trip where a managed one takes two.
        Raises `Unavailable` when the database does not answer in time.
        """
        statement = query.statement(self.side, parameters)
        await self._settle(parameters)

        async def read(session: Session) -> list[Row]:
            return await _rows(await session.run(statement, _unspelled(parameters)), query)

        with span(query.name, SYSTEM, kind=SpanKind.CLIENT) as shown:
            rows = await self._retry(self._access_of(query), read, shown)
            shown.set_attribute("graphmem.rows", len(rows))
            return rows

    def _access_of(self, query: Query[Row]) -> str:
        """Return the member of a cluster that is to answer a query that reads.

        The leader, unless the rows only answer a caller: others may decide a write, and another member
        may lack the latest ones. A single server makes sure that a query only reads.
        """
        if self._is_cluster and not query.anywhere:
            return neo4j.WRITE_ACCESS
        return neo4j.READ_ACCESS

    async def limited(
        self, query: Query[Row], *, seconds: float, most: int, **parameters: Any
    ) -> list[Row]:
        """Run a query that reads, with a time limit on the server, and return its first rows.

        Raises `TookTooLong`, `Unavailable`.
        """
        statement = neo4j.Query(query.statement(self.side, parameters), timeout=seconds)
        await self._settle(parameters)

        async def read(session: Session) -> list[Row]:
            result = await session.run(statement, _unspelled(parameters))
            records = await result.fetch(most)
            await result.consume()
            if tuple(result.keys()) == (LISTED,):
                rows = records[0][LISTED][:most]
            else:
                rows = [
                    dict(zip(one.keys(), map(_deeply, one.values()), strict=True))
                    for one in records
                ]
            return _converted(rows, query)

        with span(query.name, SYSTEM, kind=SpanKind.CLIENT) as shown:
            rows = await self._retry(neo4j.READ_ACCESS, read, shown, seconds=seconds)
            shown.set_attribute("graphmem.rows", len(rows))
            return rows

    def reading(self, *, fetch_size: int) -> Session:
        """Return a session for callers' statements that read, without retries, `fetch_size` rows at once.

        It takes its connection from a pool apart: however slow they are, all other work has its own.
        """
        return self._link.apart.session(
            database=self.database,
            default_access_mode=neo4j.READ_ACCESS,
            bookmark_manager=self._bookmarks,
            fetch_size=fetch_size,
        )

    async def write(self, work: Callable[[Transaction], Awaitable[Result]]) -> Result:
        """Run `work` in one transaction that may write; retry it after transient failures.

        A commit whose answer was lost is retried too, so `work` must be idempotent: it merges nodes on
        ids that were made before.
        Raises `Unavailable` when the database does not answer in time.
        """

        async def attempt(session: Session) -> Result:
            async with await session.begin_transaction() as transaction:
                result = await work(Transaction(transaction, self.side, self.limits))
                await transaction.commit()
                return result

        with span("transaction", SYSTEM, kind=SpanKind.CLIENT) as shown:
            return await self._retry(neo4j.WRITE_ACCESS, attempt, shown, writes=True)

    async def delete(self, work: Callable[[Transaction], Awaitable[Result]]) -> Result:
        """Run `work`, which deletes and returns what it has deleted, in one transaction as `write` does.

        If the answer of a commit was lost, the next try finds nothing left and returns a false value: then
        the result of the try before it counts. Raises `Unavailable`.
        """
        gone: list[Result] = []

        async def remembering(transaction: Transaction) -> Result:
            deleted = await work(transaction)
            if deleted or not gone:
                gone[:] = [deleted]
            return gone[0]

        return await self.write(remembering)

    async def change(self, query: Query[Row], **parameters: Any) -> list[Row]:
        """Run one query that writes, in a transaction of its own: a third of the round trips of `write`.

        As there it may run twice. Raises `Unavailable` when the database does not answer in time.
        """
        statement = query.statement(self.side, parameters)

        async def run(session: Session) -> list[Row]:
            return await _rows(await session.run(statement, _unspelled(parameters)), query)

        with span(query.name, SYSTEM, kind=SpanKind.CLIENT) as shown:
            rows = await self._retry(neo4j.WRITE_ACCESS, run, shown, writes=True)
            shown.set_attribute("graphmem.rows", len(rows))
            return rows

    async def execute(self, statement: str, **parameters: Any) -> list[dict[str, Any]]:
        """Run one statement of the schema or of administration, and return its records."""

        async def run(session: Session) -> list[dict[str, Any]]:
            return await (await session.run(statement, _unspelled(parameters))).data()

        return await self._retry(neo4j.WRITE_ACCESS, run, writes=True)

    def pool(self) -> Pool | None:
        """Return the state of the driver's connections; None if the driver does not show it."""
        # The driver has no public API for this; its version is pinned, and a test covers it.
        by_address = getattr(getattr(self.driver, "_pool", None), "connections", None)
        if by_address is None:
            return None
        connections = [one for address in list(by_address) for one in list(by_address[address])]
        in_use = sum(connection.in_use for connection in connections)
        return Pool(in_use, len(connections) - in_use)

    def refuse_writes(self, full: DiskFull | None) -> None:
        """Refuse every write from now on with this error; with None admit them again."""
        self._link.full = full

    def report_damage(self, damaged: StoreDamaged | None) -> None:
        """Give this as the reason where the database does not answer from now on; None forgets it."""
        self._link.damaged = damaged

    def give_up(self, away: Unavailable | None) -> None:
        """Raise this error from now on instead of trying again; with None be patient again."""
        self._link.away = away

    async def reconnect(self, uri: str, user: str, password: str) -> None:
        """Continue with the same database at another address."""
        old, apart = self._link.driver, self._link.apart
        self._link.driver = _driver(uri, user, password)
        self._link.apart = _driver(uri, user, password)
        await old.close()
        await apart.close()

    async def close(self) -> None:
        """Close every connection; calls raise `Unavailable` from now on."""
        self._link.away = Unavailable("graphmem is closed: use the memory inside of its block")
        await self._link.driver.close()
        await self._link.apart.close()

    async def _retry(
        self,
        access: str,
        work: Callable[[Session], Awaitable[Result]],
        shown: Span = INVALID_SPAN,
        *,
        seconds: float | None = None,
        writes: bool = False,
    ) -> Result:
        deadline = time.monotonic() + self._retry_seconds
        pause = 0.05
        faults = collisions = 0
        tries = itertools.count()
        # Once: the answer of an earlier try may be lost, and `DiskFull` says that nothing was written.
        self._link.admit(writes)
        check = self._check_write if writes else _admit_all
        while True:
            check()
            shown.set_attribute("graphmem.retries", next(tries))
            try:
                async with self.driver.session(
                    database=self.database,
                    default_access_mode=access,
                    bookmark_manager=self._bookmarks,
                ) as session:
                    with self._link.waiting():
                        done = await work(session)
                self._link.note_answer()
                return done
            except (msgspec.ValidationError, DatabaseError) as problem:
                # A node that is deleted while it is read shows null properties for a moment.
                faults += 1
                if faults > FAULTS:
                    raise _stays(problem) from problem
                self._link.tell("read again: %s", _name(problem))
                continue
            except ConstraintError as problem:
                # Another writer has created the same unique node: retry, and find it.
                faults += 1
                if faults > FAULTS:
                    raise NotUnique from problem
                log.info("another writer came first: %s; trying again", _name(problem))
            except (Neo4jError, DriverError, OSError) as problem:
                if _name(problem) in UNKNOWN_STATE and self._bookmarks.forget():
                    continue
                self._link.note_failure(problem)
                _raise_unless_it_passes(problem, seconds, self._link.away)
                is_deadlock = _name(problem) == DEADLOCK
                collisions += is_deadlock
                is_spared = is_deadlock and collisions <= COLLISIONS
                if time.monotonic() + pause > deadline and not is_spared:
                    raise self._link.damaged or Unavailable(
                        f"the database does not answer ({_name(problem)})"
                    ) from problem
                self._link.tell(TRANSIENT, _name(problem), logging.INFO)
            # Jitter: not all callers retry at the same moment.
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311
            pause = min(pause * 2, 1.0)


def _admit_all() -> None:
    """Admit every call."""


async def connect(
    uri: str,
    user: str,
    password: str,
    database: str,
    *,
    place: str | None = None,
    remedy: str | None = None,
) -> Graph:
    """Connect to a Neo4j; the caller closes the graph. A `place` distinguishes it from other clusters.

    Raises `ServerFailed` if it rejects the password or does not answer; `remedy` is that of a private server.
    """
    with _explained(uri, user, remedy or mend_address(place)):
        driver = _driver(uri, user, password)
        try:
            await driver.verify_connectivity()
        except BaseException:
            await driver.close()
            raise
    is_cluster = uri.partition("://")[0].partition("+")[0].lower() == ROUTED
    apart = _driver(uri, user, password)
    named = f"{place or ''}/{database}" if is_cluster else None
    return Graph(driver, database, apart=apart, place=named)


def _driver(uri: str, user: str, password: str) -> AsyncDriver:
    return AsyncGraphDatabase.driver(
        uri,
        auth=(user, password),
        connection_timeout=5.0,
        connection_acquisition_timeout=10.0,
        notifications_min_severity=NotificationMinimumSeverity.OFF,
        telemetry_disabled=True,
    )


MEND_LOGIN = (
    "set GRAPHMEM_NEO4J_USER and GRAPHMEM_NEO4J_PASSWORD, or those of its place in the places file, to what "
    "it knows"
)
"""The remedy for a password that a server does not know, also one that was changed meanwhile."""


@contextmanager
def _explained(uri: str, user: str, remedy: str) -> Iterator[None]:
    try:
        yield
    except (Neo4jError, DriverError, OSError, ValueError) as problem:
        if _is_kept_out(problem):
            raise ServerFailed(
                f"the Neo4j at {uri} does not let the user {user!r} in: {MEND_LOGIN}"
            ) from problem
        raise ServerFailed(f"no Neo4j answers at {uri}: {remedy} ({_name(problem)})") from problem


def _stays(problem: Exception) -> Unavailable:
    """Return the error of a call that failed each time; log the record that cannot be read."""
    if not isinstance(problem, DatabaseError):
        query, id = getattr(problem, "__notes__", ["?", ""])[:2]
        if query in BOOKKEEPING:
            return StoreDamaged("it returns values that graphmem never writes")
        log.error("the query %s cannot read a record, of the id %r: %s", query, id, problem)
        return RecordDamaged(query)
    if _shows_damage(problem):
        return StoreDamaged(_name(problem))
    return Unavailable(f"the database failed ({_name(problem)})")


def _shows_damage(problem: Exception) -> bool:
    return any(sign in str(problem) for sign in DAMAGE)


def _cut_off(seconds: float | None) -> GraphmemError:
    """Return the error of a call that exceeded its own time limit, or the server's."""
    if seconds is not None:
        return TookTooLong(seconds)
    return Unavailable(
        "the database ended this at its own limit of time: it has too much to do", retry_after=10
    )


def _raise_unless_it_passes(
    problem: Exception, seconds: float | None, away: Unavailable | None
) -> None:
    if _name(problem) in CUT_OFF:
        raise _cut_off(seconds) from problem
    if _name(problem) == INDEX_GONE:
        raise Unavailable(
            "an index is not there: ask again in a few seconds; if it stays away, `graphmem migrate` "
            "creates it, and `graphmem doctor` says more"
        ) from problem
    if _is_kept_out(problem):
        raise Unavailable(f"the database does not let graphmem in: {MEND_LOGIN}") from problem
    if _shows_damage(problem):
        raise StoreDamaged(_name(problem)) from problem
    if not _passes(problem):
        raise problem
    if away is not None:
        raise away from problem


def _is_kept_out(problem: Exception) -> bool:
    return isinstance(problem, AuthError) or _name(problem) in KEPT_OUT


DRIVER_CLOSED = "Driver closed"
"""The driver's sentence of its own end; the error has no code."""


def _passes(problem: Exception) -> bool:
    """Tell whether the same call may succeed later."""
    if isinstance(problem, OSError | IncompleteCommit | ConnectionPoolError):
        return True
    if type(problem) is DriverError and str(problem) == DRIVER_CLOSED:
        # By `reconnect`, so that there is another one, or by `close`.
        return True
    if isinstance(problem, Neo4jError) and problem.code == DELETED_MEANWHILE:
        return True
    if _name(problem).endswith(TERMINATED) or _name(problem) in LOST_ITS_WAY:
        # By a server that stops: it comes back, or another one does. Nothing of it was done.
        return True
    return isinstance(problem, Neo4jError | DriverError) and problem.is_retryable()


def _name(problem: Exception) -> str:
    return getattr(problem, "code", None) or type(problem).__name__


async def _rows(result: neo4j.AsyncResult, query: Query[Row]) -> list[Row]:
    """Return a result's rows; a query with many rows returns them in one list, `rows`.

    The driver awaits each record by itself: a hundred of them cost more than their query.
    """
    if query.reads is not None:
        query.reads(result)
    records = [record async for record in result]
    if tuple(result.keys()) == (LISTED,):
        rows = records[0][LISTED]
    else:
        rows = [
            dict(zip(record.keys(), map(_native, record.values()), strict=True))
            for record in records
        ]
    return _converted(rows, query)


def _converted(rows: list[Any], query: Query[Row]) -> list[Row]:
    try:
        return msgspec.convert(rows, list[query.row])  # type: ignore[name-defined]
    except msgspec.ValidationError as problem:
        problem.add_note(query.name)
        problem.add_note(_id_of(rows, problem))
        raise


def _id_of(rows: list[Any], problem: msgspec.ValidationError) -> str:
    """Return the id of the innermost map with one that holds the value that does not fit; '' without one."""
    value: Any = rows
    id = ""
    for name, place in _STEP.findall(str(problem).rpartition(" - at `$")[2]):
        try:
            value = value[name or int(place)]
        except (LookupError, TypeError, ValueError):
            break
        if isinstance(value, Mapping):
            id = str(value.get("id") or id)
    return id


class _Unspelled(list[Any]):
    """A list of which only the length is spelled."""

    def __repr__(self) -> str:
        return f"[{len(self)} values]"


def _unspelled(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters whose lists the driver does not spell.

    It spells those of each statement for its log, also where there is none: a vector takes a hundred times as
    long as to send it, and meanwhile no other thread runs.
    """
    return {name: _Unspelled(one) if type(one) is list else one for name, one in parameters.items()}


def _native(value: Any) -> Any:
    """Return a value without the driver's own type; a time in UTC: else a name of a zone is stored."""
    if not isinstance(value, DateTime):
        return value
    moment = value.to_native()
    return moment.astimezone(UTC) if moment.tzinfo else moment


def _deeply(value: Any) -> Any:
    """Return a value, or a list of maps of values, without the driver's own types."""
    if isinstance(value, list):
        return [_deeply(one) for one in value]
    if isinstance(value, dict):
        return {key: _deeply(one) for key, one in value.items()}
    return _native(value)
