"""Running a caller's statement: first its plan, then its rows, within limits of time, rows and bytes."""

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import neo4j
from msgspec import Struct
from neo4j.exceptions import BrokenRecordError, DatabaseError, DriverError, Neo4jError

from graphmem.errors import (
    CypherMistake,
    GraphmemError,
    InvalidInput,
    TookTooLong,
    TookTooMuch,
    Unavailable,
)
from graphmem.graph.driver import CUT_OFF, TERMINATED, Graph
from graphmem.graph.plain import Budget, Plain, TooBig, Unreadable, keep_far_times
from graphmem.graph.statements import metadata

ANSWER_BYTES = 8 * 2**20
"""The maximum bytes of JSON in the rows of an answer, estimated before encoding."""

ANSWER_VALUES = 1_000_000
"""The maximum number of numbers, texts, lists and maps in the rows of an answer."""

LARGE_BYTES = 2**15
"""The length from which a row is converted in a thread, so that other requests do not wait."""

RECORD_BYTES = 8 * 2**20
"""The maximum length of one row on its way from the database."""

FIRST_ROWS, MOST_ROWS = 16, 1_000
"""The number of rows sent at once: at first, and the later maximum."""

AT_ONCE_BYTES = 8 * 2**20
"""The maximum length of the rows sent at once, if all are as long as the longest so far.

The server lays them out together, in memory shared by all its connections.
"""

LEAVE_SECONDS = 0.2
"""The time within which a statement with enough rows may end regularly."""

MEMORY = re.compile(r"OutOfMemory|StackOverFlow")
CALLERS = "Neo.ClientError."
"""The class of errors that the caller can correct."""

UNREADABLE = "Could not parse the given fulltext search query"
"""A mistake of the caller with an error code of the database's own failures."""

ROW_MEMORY = "direct memory"
"""The server's message about a row that is too long for its buffer."""

PLACE = re.compile(r"\(line (\d+), column (\d+) \(offset: (\d+)\)\)")


class CypherStatement(Struct, frozen=True):
    """A statement and its parameters; `head` is a line before the caller's text, `id` its name at work."""

    head: str
    text: str
    parameters: Mapping[str, Any]
    id: str = ""

    @property
    def whole(self) -> str:
        """The text that is sent to the database."""
        return f"{self.head}\n{self.text}"

    def query(self, seconds: float, *, prefix: str = "") -> neo4j.Query:
        """Return the query to send, with its time limit on the server."""
        return neo4j.Query(
            f"{prefix}{self.whole}", metadata=metadata(self.id, seconds), timeout=seconds
        )


class Operator(Struct, frozen=True):
    """One operator of a plan, its database, and the Cypher that it evaluates."""

    name: str
    database: str
    details: str
    depth: int
    rows: float | None


class CypherPlan(Struct, frozen=True):
    """The plan of a statement: its kind (`r` only reads), and its operators, the last one first."""

    kind: str
    language: str
    runtime: str
    operators: list[Operator]


class Bounds(Struct, frozen=True):
    """The maximum number of rows, and the time limit on the server in seconds."""

    rows: int
    seconds: float
    embeddings_named: bool = False


class Rows(Struct, frozen=True):
    """The first rows of a statement, and whether there are more."""

    columns: list[str]
    rows: list[dict[str, Any]]
    truncated: bool


async def explain(statement: CypherStatement, *, seconds: float, graph: Graph) -> CypherPlan:
    """Return the plan of a statement, without running it.

    Raises `CypherMistake`, `TookTooLong`, `TookTooMuch`, `Unavailable`.
    """
    prefix = "EXPLAIN "
    query = statement.query(seconds, prefix=prefix)
    with _translated_errors(len(prefix) + len(statement.head), seconds):
        async with graph.reading(fetch_size=FIRST_ROWS) as session:
            result = await session.run(query, dict(statement.parameters))
            summary = await result.consume()
    plan: Any = summary.plan
    arguments = plan["args"]
    return CypherPlan(
        kind=summary.query_type or "",
        language=str(arguments.get("version", "")),
        runtime=str(arguments.get("runtime", "")),
        operators=list(_operators(plan)),
    )


async def fetch_rows(statement: CypherStatement, *, bounds: Bounds, graph: Graph) -> Rows:
    """Run a statement and return as many of its first rows as the bounds and an answer allow.

    Raises `CypherMistake`, `TookTooLong`, `TookTooMuch`, `Unavailable`.
    """
    query = statement.query(bounds.seconds)
    reader = _RowReader(Plain(Budget(ANSWER_BYTES, ANSWER_VALUES), named=bounds.embeddings_named))
    try:
        with _translated_errors(len(statement.head), bounds.seconds):
            async with graph.reading(fetch_size=FIRST_ROWS) as session:
                result = await session.run(query, dict(statement.parameters))
                await reader.read(result, bounds.rows)
    except BrokenOff:
        reader.more = True
    return Rows(reader.columns, reader.rows, reader.more)


class _RowReader:
    """Reads the rows of a result until the budget is used up."""

    def __init__(self, plain: Plain) -> None:
        self.columns: list[str] = []
        self.rows: list[dict[str, Any]] = []
        self.more = False
        self._plain = plain

    async def read(self, result: neo4j.AsyncResult, most: int) -> None:
        """Read at most `most` rows, and leave the rest on the server. Raises `BrokenOff`."""
        self.columns.extend(result.keys())
        keep_far_times(result)
        longest = 1
        with limited_messages(result) as length:
            async for record in result:
                if len(self.rows) == most:
                    self.more = True
                    break
                try:
                    self.rows.append(await self._plain_row(record, length()))
                except TooBig:
                    raise BrokenOff from None
                longest = max(longest, length())
                fetch_at_once(result, longest)
            await _finish(result)

    async def _plain_row(self, record: neo4j.Record, length: int) -> dict[str, Any]:
        if length < LARGE_BYTES:
            return self._plain.row(self.columns, record.values())
        return await asyncio.to_thread(self._plain.row, self.columns, record.values())


async def _finish(result: neo4j.AsyncResult) -> None:
    """End a statement regularly if that is quick; failures of its remaining rows are ignored."""
    try:
        with contextlib.suppress(Neo4jError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await result.consume()
    except TimeoutError:
        raise BrokenOff from None


@contextmanager
def _translated_errors(head: int, seconds: float) -> Iterator[None]:
    """Raise the driver's errors as ours, with places in the caller's text."""
    try:
        yield
    except Neo4jError as problem:
        if ROW_MEMORY in (problem.message or ""):
            raise BrokenOff from problem
        raise _translated(problem, head + 1, seconds) from problem
    except (Unreadable, BrokenRecordError) as problem:
        kind = f"the type {problem}" if isinstance(problem, Unreadable) else "an unknown type"
        raise CypherMistake(
            f"an answer holds a value of {kind}, which cannot be read: return toString(…) of it"
        ) from problem
    except (DriverError, OSError) as problem:
        if isinstance(problem, TimeoutError):
            raise
        what = f"the database does not answer ({type(problem).__name__})"
        raise Unavailable(what) from problem
    except OverflowError as problem:
        raise InvalidInput(
            "parameters", "expected whole numbers from -2^63 to 2^63 - 1"
        ) from problem
    except (TypeError, ValueError) as problem:
        # A value that the driver cannot send, such as half of a surrogate pair.
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
    """Return Neo4j's message, with places in the caller's text."""
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


class BrokenOff(asyncio.CancelledError):
    """Reading was stopped; the driver drops the connection as for any cancellation, the server its work."""


@contextmanager
def limited_messages(result: neo4j.AsyncResult) -> Iterator[Callable[[], int]]:
    """Stop reading at a row that is too long; yield a function that returns the length of the last row.

    Raises `BrokenOff`.
    """
    inbox: Any = result._connection.inbox
    socket = inbox._socket
    inbox._socket = counting = _CountingSocket(socket, inbox)
    try:
        yield counting.last
    finally:
        inbox._socket = socket


def fetch_at_once(result: neo4j.AsyncResult, longest: int) -> None:
    """Set the number of rows fetched at once, by the length in bytes of the longest row so far."""
    result._fetch_size = max(FIRST_ROWS, min(AT_ONCE_BYTES // longest, MOST_ROWS))


class _CountingSocket:
    """The driver's socket, which reads no message beyond a length."""

    def __init__(self, socket: Any, inbox: Any) -> None:
        self._socket = socket
        self._inbox = inbox
        self._length = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    async def recv_into(self, *arguments: Any) -> int:
        """Read some bytes of a message. Raises `BrokenOff`."""
        self._length = self._inbox._buffer.used
        if self._length > RECORD_BYTES:
            error = BrokenOff()
            raise error
        read: int = await self._socket.recv_into(*arguments)
        return read

    def last(self) -> int:
        """Return the length of the last message that was read, in bytes."""
        return self._length
