"""The connection: what is tried again and what is not, how rows and times come out."""

import asyncio
import logging
import re
import socket
import time
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import msgspec
import neo4j
import pytest
from neo4j import AsyncGraphDatabase
from neo4j.exceptions import (
    ClientError,
    DriverError,
    IncompleteCommit,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)

from graphmem.conversations.conversation import OPEN_CONVERSATIONS
from graphmem.conversations.types import Conversation
from graphmem.errors import (
    DiskFull,
    RecordDamaged,
    ServerFailed,
    StoreDamaged,
    TookTooLong,
    Unavailable,
)
from graphmem.graph import driver
from graphmem.graph.driver import FAULTS, Graph, Transaction, connect
from graphmem.graph.query import Query
from graphmem.model.vocabulary import SECOND
from graphmem.runtime import Runtime
from tests import scripted

DEADLOCK = Neo4jError._hydrate_neo4j(
    code="Neo.TransientError.Transaction.DeadlockDetected", message="two waited for each other"
)


class Note(msgspec.Struct, frozen=True):
    """A row of these tests."""

    text: str
    at: datetime | None = None


TEXTS: set[str] = set()
"""The texts of the queries of these tests."""


def inline(text: str, row: type[Any] = Note, *, writes: bool = False) -> Query[Any]:
    """Return a query that stands in no file."""
    TEXTS.add(text)
    return scripted.inline(text, row, writes=writes)


ONE = inline("CYPHER 25 RETURN 'one' AS text")


class Shown(msgspec.Struct, frozen=True):
    """A row with an id."""

    id: str
    text: str


class Failing:
    """Fails some times with one error before it lets calls through."""

    def __init__(self, problem: Exception, times: int = 1_000_000) -> None:
        self.problem = problem
        self.calls = 0
        self._times = times

    def strike(self) -> None:
        """Count a call, and fail it while there are failures left."""
        self.calls += 1
        if self.calls <= self._times:
            raise self.problem


@pytest.fixture
async def graph(runtime: Runtime) -> Graph:
    """The tests' database, with little patience."""
    return Graph(runtime.graph.driver, runtime.graph.database, retry_seconds=0.4)


@pytest.fixture
def failing_reads(monkeypatch: pytest.MonkeyPatch):
    """Return what makes reads fail before they reach the database."""
    run = neo4j.AsyncSession.run

    def install(failing: Failing) -> Failing:
        async def struck(session, statement, *args, **options):
            # The running graphmem reads its installation and records reads now and then, from files.
            if getattr(statement, "text", statement) in TEXTS:
                failing.strike()
            return await run(session, statement, *args, **options)

        monkeypatch.setattr(neo4j.AsyncSession, "run", struck)
        return failing

    return install


FAULT = Neo4jError._hydrate_neo4j(
    code="Neo.DatabaseError.Statement.ExecutionFailed", message="index out of bounds"
)

DELETED = Neo4jError._hydrate_neo4j(
    code="Neo.ClientError.Statement.EntityNotFound", message="deleted before it was joined"
)

STOPPED = Neo4jError._hydrate_neo4j(
    code="Neo.TransientError.Transaction.Terminated", message="the server stops"
)

TIMED_OUT = Neo4jError._hydrate_neo4j(
    code="Neo.ClientError.Transaction.TransactionTimedOut", message="longer than the server allows"
)

PASSING = [
    DEADLOCK,
    STOPPED,
    FAULT,
    DELETED,
    msgspec.ValidationError("a row that was deleted while it was read"),
    TransientError("later"),
    ServiceUnavailable("gone"),
    SessionExpired("moved"),
    ConnectionResetError("reset"),
]


@pytest.mark.parametrize("problem", PASSING, ids=lambda problem: type(problem).__name__)
async def test_a_read_is_tried_again_where_it_failed_in_passing(
    graph: Graph, failing_reads, problem: Exception
):
    failing = failing_reads(Failing(problem, times=2))

    assert await graph.rows(ONE) == [Note("one")]
    assert failing.calls == 3


@pytest.mark.parametrize("problem", PASSING, ids=lambda problem: type(problem).__name__)
async def test_a_transaction_is_tried_again_as_a_whole(graph: Graph, problem: Exception):
    failing = Failing(problem, times=2)

    async def work(transaction):
        rows = await transaction.rows(ONE)
        failing.strike()
        return rows

    assert await graph.write(work) == [Note("one")]
    assert failing.calls == 3


async def test_a_mistake_is_not_tried_again(graph: Graph):
    calls = []

    async def work(transaction):
        calls.append(transaction)
        return await transaction.rows(inline("CYPHER 25 RETURN nobody.knows AS text"))

    with pytest.raises(ClientError):
        await graph.rows(inline("CYPHER 25 THIS IS NO CYPHER"))
    with pytest.raises(ClientError):
        await graph.write(work)
    assert len(calls) == 1


async def test_an_error_of_the_work_itself_passes_through_and_undoes_it(
    graph: Graph, memory, runtime: Runtime
):
    async def work(transaction):
        await opened(transaction, memory.client_id)
        raise LookupError("changed my mind")

    with pytest.raises(LookupError):
        await graph.write(work)
    assert await conversations(graph, memory.client_id) == 0


async def test_a_fault_that_stays_is_unavailable(graph: Graph, failing_reads):
    failing = failing_reads(Failing(FAULT))
    with pytest.raises(Unavailable, match="ExecutionFailed"):
        await graph.rows(ONE)
    assert failing.calls == FAULTS + 1


async def test_a_fault_that_goes_on_is_logged_once(
    graph: Graph,
    failing_reads,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
):
    async def told(problem: Exception) -> list[str]:
        caplog.clear()
        failing_reads(Failing(problem, times=3))
        await graph.on(SECOND).rows(ONE)
        warned = (one for one in caplog.records if one.levelname == "WARNING")
        return [one.message for one in warned if one.name == driver.log.name]

    odd = msgspec.ValidationError("a row that was deleted while it was read")
    assert await told(FAULT) == ["read again: Neo.DatabaseError.Statement.ExecutionFailed"]
    assert await told(odd) == ["read again: ValidationError"]
    assert await told(FAULT) == []
    monkeypatch.setattr(driver, "QUIET_SECONDS", 0.0)
    assert await told(FAULT) == ["read again: Neo.DatabaseError.Statement.ExecutionFailed"] * 3


async def test_a_database_that_is_away_is_logged_once_for_all_who_wait(
    graph: Graph,
    failing_reads,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
):
    async def told(problem: Exception) -> list[str]:
        caplog.clear()
        failing_reads(Failing(problem, times=6))
        side = graph.on(SECOND)
        await asyncio.gather(*(side.rows(ONE) for _ in range(3)))
        return [one.message for one in caplog.records if "transient" in one.message]

    caplog.set_level(logging.INFO, "graphmem.graph.driver")
    graph._link.faults.clear()
    assert await told(ServiceUnavailable("away")) == [
        "transient error of the database: ServiceUnavailable; trying again"
    ]
    assert await told(ServiceUnavailable("away")) == []
    assert await told(SessionExpired("gone")) == [
        "transient error of the database: SessionExpired; trying again"
    ]
    monkeypatch.setattr(driver, "QUIET_SECONDS", 0.0)
    assert len(await told(ServiceUnavailable("away"))) == 6


async def test_the_end_of_an_outage_is_logged_once(
    graph: Graph,
    failing_reads,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
):
    async def told(problem: Exception) -> list[str]:
        caplog.clear()
        failing_reads(Failing(problem, times=6))
        await asyncio.gather(*(graph.on(SECOND).rows(ONE) for _ in range(3)))
        await graph.rows(ONE)
        return [one.message for one in caplog.records if "answers again" in one.message]

    caplog.set_level(logging.INFO, "graphmem.graph.driver")
    monkeypatch.setattr(driver, "OUTAGE_SECONDS", 0.0)
    [line] = await told(ServiceUnavailable("away"))
    assert re.fullmatch(r"the database answers again, after \d+ s", line)
    assert await told(DEADLOCK) == []
    monkeypatch.setattr(driver, "OUTAGE_SECONDS", 3_600.0)
    assert await told(SessionExpired("moved")) == []


async def test_an_outage_lasts_until_a_call_succeeds(
    graph: Graph,
    failing_reads,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
):
    caplog.set_level(logging.INFO, "graphmem.graph.driver")
    monkeypatch.setattr(driver, "OUTAGE_SECONDS", 0.0)
    failing_reads(Failing(ServiceUnavailable("away"), times=2))
    for _ in range(2):
        with pytest.raises(Unavailable):
            await graph.impatient().rows(ONE)
    assert "answers again" not in caplog.text
    await graph.rows(ONE)
    assert caplog.text.count("answers again") == 1


async def test_the_end_of_an_outage_as_long_as_a_restart_is_told(
    graph: Graph, failing_reads, monkeypatch: pytest.MonkeyPatch
):
    told: list[str] = []
    graph.when_back(lambda: told.append("back"))
    for seconds, expected in [(3_600.0, []), (0.0, ["back"])]:
        monkeypatch.setattr(driver, "RESTART_SECONDS", seconds)
        failing_reads(Failing(ServiceUnavailable("away"), times=1))
        await graph.on(SECOND).rows(ONE)
        assert told == expected
    await graph.rows(ONE)
    assert told == ["back"]


async def test_a_call_that_the_server_timed_out_is_unavailable_and_not_tried_again(
    graph: Graph, failing_reads
):
    failing = failing_reads(Failing(TIMED_OUT))
    for call in (graph.rows, graph.change):
        with pytest.raises(Unavailable, match="limit of time") as raised:
            await call(ONE)
        assert raised.value.retry_after > 0
    assert failing.calls == 2


async def test_a_call_with_a_limit_of_its_own_took_too_long(graph: Graph, failing_reads):
    failing = failing_reads(Failing(TIMED_OUT))
    with pytest.raises(TookTooLong, match="3 seconds"):
        await graph.limited(ONE, seconds=3, most=1)
    assert failing.calls == 1


@pytest.mark.parametrize(
    "returned",
    [
        "RETURN [{id: 'fine', text: ''}, {id: 'm1', text: null}] AS rows",
        "RETURN 'm1' AS id, 1 AS text",
    ],
)
async def test_a_row_that_never_fits_is_one_damaged_record_whose_id_is_logged(
    graph: Graph, caplog: pytest.LogCaptureFixture, returned: str
):
    with pytest.raises(RecordDamaged, match="`graphmem doctor` names such records") as raised:
        await graph.rows(inline(f"CYPHER 25 {returned}", Shown))
    assert not isinstance(raised.value, StoreDamaged)
    assert "the query inline cannot read a record, of the id 'm1': Expected `str`" in caplog.text


async def test_graphmem_s_own_records_that_cannot_be_read_are_a_damaged_store(graph: Graph):
    asked = scripted.inline("CYPHER 25 RETURN 1 AS text", Note, name="graph/stored_installation")
    with pytest.raises(StoreDamaged, match="graphmem restore"):
        await graph.rows(asked)


@pytest.mark.parametrize(
    "code", ["Neo.DatabaseError.Statement.ExecutionFailed", "Neo.ClientError.Statement.Other"]
)
async def test_what_only_a_damaged_store_says_is_damage(graph: Graph, failing_reads, code: str):
    said = Neo4jError._hydrate_neo4j(code=code, message="InvalidRecordException: Record[7]")
    failing_reads(Failing(said))
    with pytest.raises(StoreDamaged, match="graphmem restore"):
        await graph.rows(ONE)


async def test_a_known_damage_is_the_reason_while_the_database_is_away(graph: Graph, failing_reads):
    failing_reads(Failing(ServiceUnavailable("gone")))
    graph.report_damage(StoreDamaged("Neo4j cannot open it"))
    with pytest.raises(StoreDamaged):
        await graph.rows(ONE)
    graph.report_damage(None)
    with pytest.raises(Unavailable, match="does not answer"):
        await graph.rows(ONE)


async def test_after_the_time_for_retries_it_is_unavailable(graph: Graph, failing_reads):
    failing = failing_reads(Failing(DEADLOCK))
    begun = time.monotonic()

    with pytest.raises(Unavailable, match=r"does not answer \(.*DeadlockDetected\)") as raised:
        await graph.rows(ONE)

    assert failing.calls > 2
    assert time.monotonic() - begun < 12
    assert raised.value.retry_after > 0
    assert raised.value.__cause__ is DEADLOCK


async def test_who_counts_its_own_retries_is_spared_a_few_deadlocks(graph: Graph, failing_reads):
    failing = failing_reads(Failing(DEADLOCK, times=3))
    assert await graph.impatient().rows(ONE) == [Note("one")]
    assert failing.calls == 4


async def test_who_counts_its_own_retries_hears_of_the_first_failure(graph: Graph, failing_reads):
    failing = failing_reads(Failing(TransientError("later"), times=1))
    with pytest.raises(Unavailable):
        await graph.impatient().rows(ONE)
    assert failing.calls == 1


async def test_a_database_that_is_gone_is_unavailable_for_every_kind_of_call(free_port: int):
    driver = neo4j.AsyncGraphDatabase.driver(
        f"bolt://127.0.0.1:{free_port}", auth=("neo4j", "x"), connection_timeout=0.2
    )
    graph = Graph(driver, "neo4j", retry_seconds=0.2)

    async def work(transaction):
        raise AssertionError("there is no transaction")

    for call in (graph.rows(ONE), graph.write(work), graph.execute("RETURN 1")):
        with pytest.raises(Unavailable):
            await call
    await graph.close()
    for call in (graph.rows(ONE), graph.write(work), graph.execute("RETURN 1")):
        with pytest.raises(Unavailable, match="graphmem is closed: use the memory inside of its"):
            await call


async def test_a_call_that_meets_a_driver_which_is_being_replaced_goes_on_with_the_next(
    graph: Graph, failing_reads
):
    failing = failing_reads(Failing(DriverError("Driver closed"), times=1))
    assert [one.text for one in await graph.rows(ONE)] == ["one"]
    assert failing.calls == 2


async def test_a_commit_whose_answer_got_lost_is_done_once(
    graph: Graph, memory, monkeypatch: pytest.MonkeyPatch
):
    commit, attempts = neo4j.AsyncTransaction.commit, []

    async def losing(transaction):
        await commit(transaction)
        attempts.append(transaction)
        if len(attempts) == 1:
            raise IncompleteCommit("the connection broke")

    monkeypatch.setattr(neo4j.AsyncTransaction, "commit", losing)
    await graph.write(lambda transaction: opened(transaction, memory.client_id))
    monkeypatch.undo()

    assert len(attempts) == 2
    assert await conversations(graph, memory.client_id) == 1


async def test_a_write_whose_answer_got_lost_is_not_said_to_be_unwritten(
    graph: Graph, memory, monkeypatch: pytest.MonkeyPatch
):
    """The disk fills between the commit and its repetition."""
    commit = neo4j.AsyncTransaction.commit

    async def losing(transaction):
        await commit(transaction)
        monkeypatch.undo()
        graph.refuse_writes(DiskFull(12, 256))
        raise IncompleteCommit("the connection broke")

    monkeypatch.setattr(neo4j.AsyncTransaction, "commit", losing)
    try:
        await graph.write(lambda transaction: opened(transaction, memory.client_id))
        with pytest.raises(DiskFull):
            await graph.write(lambda transaction: opened(transaction, memory.client_id))
    finally:
        graph.refuse_writes(None)
    assert await conversations(graph, memory.client_id) == 1


async def test_a_real_deadlock_is_overcome(graph: Graph, memory, runtime: Runtime):
    """Two transactions that lock the same two nodes in opposite order."""
    patient = Graph(graph.driver, graph.database)
    for id in ("a", "b"):
        await memory.open_conversation(id)
    lock = inline(
        "CYPHER 25 MATCH (c:Conversation {client_id: $client_id, id: $id}) "
        "SET c.locked = true RETURN c.id AS text"
    )
    both = asyncio.Barrier(2)
    attempts = []

    async def write(first: str, second: str) -> list[Note]:
        async def work(transaction):
            attempts.append(first)
            await transaction.rows(lock, client_id=memory.client_id, id=first)
            if len(attempts) <= 2:
                await both.wait()
            return await transaction.rows(lock, client_id=memory.client_id, id=second)

        return await patient.write(work)

    answers = await asyncio.gather(write("a", "b"), write("b", "a"))

    assert list(answers) == [[Note("b")], [Note("a")]]
    assert len(attempts) == 3


async def test_what_was_written_is_read_by_the_next_call(graph: Graph, memory):
    for place in range(5):
        await graph.write(partial(opened, client_id=memory.client_id, id=str(place)))
        assert await conversations(graph, memory.client_id) == place + 1


async def test_it_is_idle_unless_a_call_waits_for_the_database(graph: Graph):
    mine = Graph(graph.driver, graph.database)
    seen: list[bool] = []

    async def work(transaction: Transaction) -> None:
        seen.append(mine.impatient().is_idle)
        raise ValueError

    assert mine.is_idle
    with pytest.raises(ValueError):
        await mine.write(work)
    assert (seen, mine.is_idle) == ([False], True)


async def test_a_parameter_that_the_header_does_not_declare_is_a_mistake(graph: Graph) -> None:
    async def work(transaction: Transaction) -> list[Note]:
        return await transaction.rows(ONE, client_id="x")

    for refused in (
        graph.rows(ONE, client_id="x"),
        graph.change(ONE, client_id="x"),
        graph.limited(ONE, seconds=1.0, most=1, client_id="x"),
        graph.write(work),
    ):
        with pytest.raises(TypeError, match="inline declares no parameter client_id"):
            await refused


async def test_a_read_cannot_write(graph: Graph, memory):
    with pytest.raises(ClientError, match=r"(?i)read"):
        await graph.rows(
            inline("CYPHER 25 CREATE (n:Note {client_id: $client_id}) RETURN 'x' AS text"),
            client_id=memory.client_id,
        )


async def test_rows_that_come_as_one_list_are_rows(graph: Graph):
    listed = inline(
        "CYPHER 25 UNWIND range(1, $count) AS n "
        "RETURN collect({text: toString(n), at: toString(datetime('2026-03-01T09:00:00.5Z'))}) "
        "AS rows"
    )
    at = datetime(2026, 3, 1, 9, 0, 0, 500_000, tzinfo=UTC)

    assert await graph.rows(listed, count=2) == [Note("1", at), Note("2", at)]
    assert await graph.rows(listed, count=0) == []


async def test_times_come_out_aware_and_in_utc(graph: Graph):
    given = datetime(2026, 3, 1, 9, 0, 0, 123_456, tzinfo=UTC)
    told = inline("CYPHER 25 RETURN 'x' AS text, $at AS at")
    note = (await graph.rows(told, at=given))[0]

    assert note.at == given
    assert note.at.utcoffset() == timedelta(0)


async def test_the_ends_of_time_come_out_as_they_went_in(graph: Graph):
    from graphmem.model.times import BEGINNING, END

    told = inline("CYPHER 25 RETURN 'x' AS text, $at AS at")
    for moment in (BEGINNING, END):
        assert (await graph.rows(told, at=moment))[0].at == moment


async def test_no_rows_are_no_rows(graph: Graph):
    assert await graph.rows(inline("CYPHER 25 UNWIND [] AS text RETURN text")) == []


@pytest.fixture
def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
async def no_bolt() -> AsyncIterator[int]:
    """The port of a program that is no Neo4j."""

    async def answer(reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()


async def test_a_closed_port_is_said_in_a_sentence(free_port: int):
    with pytest.raises(ServerFailed) as raised:
        await connect(f"bolt://127.0.0.1:{free_port}", "neo4j", "x", "neo4j")

    assert str(raised.value) == (
        f"no Neo4j answers at bolt://127.0.0.1:{free_port}: "
        "start it or mend GRAPHMEM_NEO4J_URI (ServiceUnavailable)"
    )


async def test_the_remedy_for_a_place_names_its_entry(free_port: int):
    with pytest.raises(ServerFailed, match=r"start it or mend \[places.eu\] in the places file"):
        await connect(f"bolt://127.0.0.1:{free_port}", "neo4j", "x", "neo4j", place="eu")


async def test_another_program_on_the_port_is_said_in_a_sentence(no_bolt: int):
    with pytest.raises(ServerFailed, match="no Neo4j answers at"):
        await connect(f"bolt://127.0.0.1:{no_bolt}", "neo4j", "x", "neo4j")


@pytest.mark.parametrize("uri", ["http://127.0.0.1:7474", "127.0.0.1", "", "bolt://127.0.0.1:x"])
async def test_an_address_that_is_none_is_said_in_a_sentence(uri: str):
    with pytest.raises(ServerFailed, match="mend GRAPHMEM_NEO4J_URI"):
        await connect(uri, "neo4j", "x", "neo4j")


async def test_a_wrong_password_is_said_in_a_sentence_without_it(runtime: Runtime):
    # Another user than the real one, whom the server would keep out after a few of these.
    uri, user = str(runtime.settings.neo4j_uri), f"nobody-{uuid.uuid4().hex[:6]}"
    with pytest.raises(ServerFailed) as raised:
        await connect(uri, user, "a-secret", "neo4j")

    assert str(raised.value) == (
        f"the Neo4j at {uri} does not let the user {user!r} in: "
        "set GRAPHMEM_NEO4J_USER and GRAPHMEM_NEO4J_PASSWORD, or those of its place in the places file, "
        "to what it knows"
    )


@pytest.mark.parametrize("code", sorted(driver.KEPT_OUT))
async def test_a_user_who_is_kept_out_makes_every_call_unavailable(
    graph: Graph, failing_reads, code: str
):
    """After three failures a server refuses a user for some seconds, whatever the password."""
    failing_reads(Failing(Neo4jError._hydrate_neo4j(code=code, message="kept out")))
    with pytest.raises(Unavailable, match="does not let graphmem in"):
        await graph.rows(ONE)


async def test_a_password_that_was_changed_meanwhile_makes_every_call_unavailable(
    runtime: Runtime,
):
    uri, user = str(runtime.settings.neo4j_uri), f"nobody-{uuid.uuid4().hex[:6]}"
    async with AsyncGraphDatabase.driver(uri, auth=(user, "changed")) as changed:
        graph = Graph(changed, "neo4j")
        for call in (graph.rows(ONE), graph.write(lambda transaction: transaction.rows(ONE))):
            with pytest.raises(Unavailable, match="does not let graphmem in: set GRAPHMEM_NEO4J"):
                await call


async def test_the_driver_spells_no_text_and_no_vector_of_a_list(
    graph: Graph, caplog: pytest.LogCaptureFixture
):
    said = inline("CYPHER 25 RETURN $rows[0].text AS text")
    rows = [{"text": "The light is red.", "vector": [0.25] * 384}]
    with caplog.at_level("DEBUG", logger="neo4j"):
        read = await graph.rows(said, rows=rows)
        written = await graph.write(lambda transaction: transaction.rows(said, rows=rows))

    assert [one.text for one in read + written] == ["The light is red."] * 2
    assert caplog.text.count("'rows': [1 values]") == 2
    assert "light" not in caplog.text
    assert "0.25" not in caplog.text


async def opened(transaction, client_id: str, id: str = "c") -> list[Conversation]:
    now = datetime.now(UTC)
    rows = await transaction.rows(
        OPEN_CONVERSATIONS,
        client_id=client_id,
        conversations=[{"id": id, "tags": []}],
        created_at=now,
    )
    return [row.shown for row in rows]


async def conversations(graph: Graph, client_id: str) -> int:
    counted = inline(
        "CYPHER 25 MATCH (c:Conversation {client_id: $client_id}) RETURN toString(count(c)) AS text"
    )
    return int((await graph.rows(counted, client_id=client_id))[0].text)


async def test_an_index_that_is_gone_is_said_to_be_away_for_now(graph: Graph):
    """A process that slept through a change of the embedding model asks an index that was dropped."""
    gone = inline(
        "CYPHER 25 MATCH (m:Memory) SEARCH m IN (VECTOR INDEX no_such_index FOR [1.0] LIMIT 1) "
        "RETURN m.id AS text"
    )

    with pytest.raises(Unavailable, match="an index is not there: ask again"):
        await graph.rows(gone)
