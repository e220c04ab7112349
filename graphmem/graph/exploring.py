"""Running a statement that is not ours: its plan first, then its rows, with limits to everything."""

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import neo4j
from msgspec import Struct
from neo4j.exceptions import DatabaseError, DriverError, Neo4jError

from graphmem.errors import (
    CypherMistake,
    GraphmemError,
    InvalidInput,
    TookTooLong,
    TookTooMuch,
    Unavailable,
)
from graphmem.graph.driver import CUT_OFF, Graph
from graphmem.graph.plain import Budget, Plain, TooBig

ANSWER_BYTES = 8 * 2**20
"""How many bytes of JSON an answer's rows may have, as far as that can be told before."""

ANSWER_VALUES = 1_000_000
"""How many numbers, texts, lists and maps an answer's rows may have."""

RECORD_BYTES = 8 * 2**20
"""How long one row may be on its way from the database; the driver would read one of any length."""

LARGE_BYTES = 2**15
"""From which length on a row is made plain in a thread: the others are not kept waiting."""

FIRST_ROWS, MOST_ROWS = 16, 1_000
"""How many rows the database sends at first, and later at most, before it is asked for more."""

AT_ONCE_BYTES = 8 * 2**20
"""How many bytes these may be if all are as long as the longest yet: the server lays them all out, in memory
that it has once for everybody."""

LEAVE_SECONDS = 0.2
"""How long a statement that brought enough is waited for until it ends in good order."""

TERMINATED = "Transaction.Terminated"
MEMORY = re.compile(r"OutOfMemory|StackOverFlow")
CALLERS = "Neo.ClientError."
"""What the caller alone can mend."""

UNREADABLE = "Could not parse the given fulltext search query"
"""Whose fault this is Neo4j leaves open."""

ROW_MEMORY = "direct memory"
"""What the server says of a row that is too long for the memory in which it would be laid out."""

PLACE = re.compile(r"\(line (\d+), column (\d+) \(offset: (\d+)\)\)")


class Statement(Struct, frozen=True):
    """A statement and its parameters; `head` stands on a line of its own before the text as it was sent."""

    head: str
    text: str
    parameters: Mapping[str, Any]

    @property
    def whole(self) -> str:
        """What is sent to the database."""
        return f"{self.head}\n{self.text}"


class Operator(Struct, frozen=True):
    """One operator of a plan, in which database, with the Cypher that it works out."""

    name: str
    database: str
    details: str
    depth: int
    rows: float | None


class Plan(Struct, frozen=True):
    """What the database would do: whether it reads (`r`) or else, and its operators, the last one first."""

    kind: str
    language: str
    runtime: str
    operators: list[Operator]


class Bounds(Struct, frozen=True):
    """How many rows are wanted, and how many seconds the server may work for them."""

    rows: int
    seconds: float
    embeddings_named: bool = False


class Rows(Struct, frozen=True):
    """Some rows, and whether there are more."""

    columns: list[str]
    rows: list[dict[str, Any]]
    truncated: bool


class _BrokenOff(asyncio.CancelledError):
    """Enough was read: the driver drops the connection, as for any cancelling, and the server its work."""


async def explained(statement: Statement, *, seconds: float, graph: Graph) -> Plan:
    """Return what the database would do, without having it done.

    Raises `CypherMistake`, `TookTooLong`, `TookTooMuch`, `Unavailable`.
    """
    head = f"EXPLAIN {statement.head}"
    query = neo4j.Query(f"{head}\n{statement.text}", timeout=seconds)
    with _ours(len(head), seconds):
        async with graph.reading(fetch_size=FIRST_ROWS) as session:
            result = await session.run(query, dict(statement.parameters))
            summary = await result.consume()
    plan: Any = summary.plan
    arguments = plan["args"]
    return Plan(
        kind=summary.query_type or "",
        language=str(arguments.get("version", "")),
        runtime=str(arguments.get("runtime", "")),
        operators=list(_operators(plan)),
    )


async def answered(statement: Statement, *, bounds: Bounds, graph: Graph) -> Rows:
    """Return a statement's first rows: as many as are wanted, and as fit into an answer.

    Raises `CypherMistake`, `TookTooLong`, `TookTooMuch`, `Unavailable`.
    """
    query = neo4j.Query(statement.whole, timeout=bounds.seconds)
    taking = _Taking(Plain(Budget(ANSWER_BYTES, ANSWER_VALUES), named=bounds.embeddings_named))
    try:
        with _ours(len(statement.head), bounds.seconds):
            async with graph.reading(fetch_size=FIRST_ROWS) as session:
                result = await session.run(query, dict(statement.parameters))
                await taking.take(result, bounds.rows)
    except _BrokenOff:
        taking.more = True
    return Rows(taking.columns, taking.rows, taking.more)


class _Taking:
    """Takes rows from a result, as long as they fit."""

    def __init__(self, plain: Plain) -> None:
        self.columns: list[str] = []
        self.rows: list[dict[str, Any]] = []
        self.more = False
        self._plain = plain

    async def take(self, result: neo4j.AsyncResult, most: int) -> None:
        """Take so many rows at most, and leave the rest on the server. Raises `_BrokenOff`."""
        self.columns.extend(result.keys())
        longest = 1
        with _bounded(result) as length:
            async for record in result:
                if len(self.rows) == most:
                    self.more = True
                    break
                try:
                    self.rows.append(await self._plainly(record, length()))
                except TooBig:
                    raise _BrokenOff from None
                longest = max(longest, length())
                # The driver's word for it is said once for a session, before any row is known.
                result._fetch_size = max(FIRST_ROWS, min(AT_ONCE_BYTES // longest, MOST_ROWS))
            await _left(result)

    async def _plainly(self, record: neo4j.Record, length: int) -> dict[str, Any]:
        if length < LARGE_BYTES:
            return self._plain.row(self.columns, record.values())
        return await asyncio.to_thread(self._plain.row, self.columns, record.values())


async def _left(result: neo4j.AsyncResult) -> None:
    """End a statement in good order if that is soon done; what goes wrong in its rest is of no interest."""
    try:
        with contextlib.suppress(Neo4jError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await result.consume()
    except TimeoutError:
        raise _BrokenOff from None


@contextmanager
def _bounded(result: neo4j.AsyncResult) -> Iterator[Callable[[], int]]:
    """Break the connection off where a row is too long; yield what tells the length of the last one."""
    # The driver has no word for this: it reads a row of any length. Its version is pinned, and tests
    # have rows that are too long.
    inbox: Any = result._connection.inbox
    socket = inbox._socket
    inbox._socket = counted = _Counted(socket, inbox)
    try:
        yield counted.last
    finally:
        inbox._socket = socket


class _Counted:
    """The driver's connection to the database, which reads no message beyond a length."""

    def __init__(self, socket: Any, inbox: Any) -> None:
        self._socket = socket
        self._inbox = inbox
        self._length = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    async def recv_into(self, *arguments: Any) -> int:
        """Read some bytes of a message. Raises `_BrokenOff`."""
        self._length = self._inbox._buffer.used
        if self._length > RECORD_BYTES:
            error = _BrokenOff()
            raise error
        read: int = await self._socket.recv_into(*arguments)
        return read

    def last(self) -> int:
        """Return how long the message was that was read last, in bytes."""
        return self._length


@contextmanager
def _ours(head: int, seconds: float) -> Iterator[None]:
    """Have the driver's errors as ours; places are those in the text without its first line."""
    try:
        yield
    except Neo4jError as problem:
        if ROW_MEMORY in (problem.message or ""):
            raise _BrokenOff from problem
        raise _translated(problem, head + 1, seconds) from problem
    except (DriverError, OSError) as problem:
        if isinstance(problem, TimeoutError):
            raise
        what = f"the database does not answer ({type(problem).__name__})"
        raise Unavailable(what) from problem
    except (OverflowError, TypeError, ValueError) as problem:
        # What the driver cannot send, such as a number beyond 64 bits or half of a surrogate pair.
        raise InvalidInput("parameters", f"cannot be sent to the database: {problem}") from problem


def _translated(problem: Neo4jError, head: int, seconds: float) -> GraphmemError:
    code = problem.code or ""
    if code in CUT_OFF or code.endswith(TERMINATED):
        return TookTooLong(seconds)
    if MEMORY.search(code):
        return TookTooMuch()
    if code.startswith(CALLERS) or UNREADABLE in (problem.message or ""):
        return _mistake(problem.message or code, code, head)
    if isinstance(problem, DatabaseError):
        return Unavailable(f"the database failed ({code})")
    return Unavailable(f"the database does not answer ({code})")


def _mistake(message: str, code: str, head: int) -> CypherMistake:
    """Return Neo4j's sentence with its places as they are in the text that was sent."""
    match = PLACE.search(message)
    if match is None or not int(match[1]):
        return CypherMistake(PLACE.sub("", message), neo4j_code=code)

    def moved(one: re.Match[str]) -> str:
        return "(line {}, column {} (offset: {}))".format(*_moved(one, head))

    return CypherMistake(PLACE.sub(moved, message), _moved(match, head), neo4j_code=code)


def _moved(match: re.Match[str], head: int) -> tuple[int, int, int]:
    line, column, offset = map(int, match.groups())
    return max(line - 1, 1), column, max(offset - head, 0)


def _operators(plan: Mapping[str, Any], depth: int = 0) -> Iterator[Operator]:
    name, _, database = plan["operatorType"].partition("@")
    arguments = plan["args"]
    yield Operator(
        name, database, str(arguments.get("Details", "")), depth, arguments.get("EstimatedRows")
    )
    for child in plan.get("children", ()):
        yield from _operators(child, depth + 1)
