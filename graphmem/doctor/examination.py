"""One examination: the machine, the folder, the server, and the stored data, in that order."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from graphmem.config import Settings
from graphmem.doctor import integrity, machine, model, schema, server
from graphmem.doctor.findings import (
    Connection,
    Examination,
    Finding,
    note,
    ok,
    problem,
    refused,
    warning,
    ways,
)
from graphmem.errors import (
    GraphmemError,
    RecordDamaged,
    ServerFailed,
    SetupError,
    StoreDamaged,
)
from graphmem.graph.driver import Graph, connect
from graphmem.model.progress import Progress, silent
from graphmem.model.times import present
from graphmem.model.vocabulary import FIRST, Side
from graphmem.observing.logs import causes
from graphmem.runtime import database
from graphmem.server import private, process
from graphmem.server.folder import Record
from graphmem.server.process import USER

CONNECT_SECONDS = 15.0
"""A suspended server accepts a connection and then does not answer; the driver may notice it earlier."""

RESTART = (
    "wait: a running `graphmem serve` starts it anew within two minutes; without one `graphmem stop` ends it "
    "and the next command starts it; if that is refused, end the process that uses the server first"
)
"""The remedy for a private server that does not answer."""

CHECK_SECONDS = 150.0
"""Longer than the server lets a query run."""

UNREADABLE = "some stored records cannot be read as graphmem writes them"
UNREADABLE_REMEDY = (
    "see what the rules of integrity and of the graph name; if they name nothing, the store may be damaged: "
    "end graphmem and bring a backup back with `graphmem restore`"
)

Check = Callable[[], Awaitable[list[Finding]]]

log = logging.getLogger(__name__)


class ReachedDatabase(Struct, frozen=True):
    """A database that answers, and its connection."""

    graph: Graph
    connection: Connection
    pid: int | None


async def examine(
    settings: Settings, *, start: bool = False, progress: Progress = silent
) -> Examination:
    """Check everything; with `start` the private server is started or joined for the checks."""
    findings = await asyncio.to_thread(surroundings, settings)
    findings += await model.language_model(settings)
    connection = None
    try:
        async with _connect(settings, start=start, progress=progress) as reached:
            if reached is None:
                findings.append(_not_running(settings))
            else:
                connection = reached.connection
                findings.append(ok("connection", f"the database answers at {connection.uri}"))
                findings += await examine_store(reached, settings)
    except SetupError as error:
        findings.append(refused("connection", error))
    except TimeoutError:
        findings.append(_silent(settings))
    healthy = not any(finding.severity == "problem" for finding in findings)
    return Examination(healthy=healthy, findings=findings, connection=connection)


def surroundings(settings: Settings) -> list[Finding]:
    """Check everything that needs no database."""
    is_private = not settings.neo4j_uri
    findings = machine.cache(settings, private=is_private) + model.files(settings)
    findings += model.reranker(settings)
    if is_private:
        runs = private.status(settings.data_dir) is not None
        findings = [
            *machine.java(),
            *machine.memory(settings, runs=runs),
            *machine.data_disk(settings),
            *findings,
            *machine.folder(settings.data_dir),
        ]
    return findings


async def examine_store(reached: ReachedDatabase, settings: Settings) -> list[Finding]:
    """Check the server and the stored data."""
    graph = reached.graph
    findings = await _check("server", lambda: server.version(graph))
    if any(finding.severity == "problem" for finding in findings):
        # The results of another version would be meaningless.
        return findings

    is_private = not settings.neo4j_uri
    if unread := await _check("database", lambda: server.answers(graph, private=is_private)):
        # Each further check would fail in the same way.
        return findings + unread
    graph = graph.on(await _side(graph))

    async def drift() -> list[Finding]:
        return await schema.drift(graph, dimensions=await model.dimensions(graph, settings))

    checks: list[tuple[str, Check]] = [
        ("settings", lambda: server.settings(graph)),
        ("statements", lambda: server.statements(graph, private=is_private)),
        ("clock", lambda: server.clock(graph, present)),
        ("migrations", lambda: schema.migrations(graph)),
        ("schema", drift),
        ("embedding model", lambda: model.agreement(graph, settings)),
        ("calibration", lambda: model.measured(graph)),
        ("languages", lambda: model.languages(graph)),
        ("jobs", lambda: server.jobs(graph, present())),
        ("graph", lambda: integrity.agreement(graph)),
        ("memories", lambda: integrity.amount(graph)),
        ("memories", lambda: integrity.unfinished(graph)),
        ("size", lambda: server.fits(graph, reached.pid)),
    ]
    checks += [
        ("integrity", partial(integrity.check_rule, graph, rule)) for rule in integrity.RULES
    ]
    checks.append(("integrity", lambda: integrity.check_span_texts(graph)))
    found: list[Finding] = []
    for subject, check in checks:
        new = await _check(subject, check)
        if damaged := [one for one in new if one.subject == server.STORE]:
            # A damaged store says nothing of use about itself.
            return findings + damaged
        found += new
    if not any(one.subject == "integrity" and one.severity != "note" for one in found):
        rules = len(integrity.RULES) + integrity.SPAN_RULE
        found.append(ok("integrity", f"all {rules} rules hold for what is stored"))
    return joined(findings + found)


def joined(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, those with the same words about several subjects as one."""
    alike: dict[Finding, list[str]] = {}
    for one in findings:
        subjects = alike.setdefault(replace(one, subject=""), [])
        if one.subject not in subjects:
            subjects.append(one.subject)
    return [replace(one, subject=", ".join(subjects)) for one, subjects in alike.items()]


async def _side(graph: Graph) -> Side:
    """Return the current side; if it is unknown, the checks that need it report that."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            return await model.side(graph)
    except (GraphmemError, TimeoutError):
        return FIRST


async def _check(subject: str, check: Check) -> list[Finding]:
    """Return the findings of a check; its failure does not prevent the other checks."""
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check()
    except StoreDamaged as error:
        return [server.damage(error)]
    except RecordDamaged:
        return [problem(subject, UNREADABLE, UNREADABLE_REMEDY)]
    except GraphmemError as error:
        reason = str(error)
    except TimeoutError:
        reason = f"no answer within {CHECK_SECONDS:.0f} s"
    except Exception as error:
        log.debug("a check failed", exc_info=True)
        reason = getattr(error, "code", None) or type(error).__name__
    return [warning(subject, f"this could not be looked at ({reason})", "mend the rest, ask again")]


@asynccontextmanager
async def _connect(
    settings: Settings, *, start: bool, progress: Progress
) -> AsyncIterator[ReachedDatabase | None]:
    """Provide the database for the length of the block; None if the private server does not run."""
    if start and not settings.neo4j_uri:
        async with database(settings, progress) as graph:
            record = private.status(settings.data_dir)
            yield ReachedDatabase(
                graph, _connection(settings, record), record.pid if record else None
            )
        return
    record = None if settings.neo4j_uri else private.status(settings.data_dir)
    if record is None and not settings.neo4j_uri:
        yield None
        return
    connection = _connection(settings, record)
    async with asyncio.timeout(CONNECT_SECONDS):
        try:
            graph = await connect(
                connection.uri,
                connection.user,
                _password(settings),
                connection.database,
                place=settings.place,
                remedy=RESTART if record else None,
            )
        except ServerFailed as failed:
            if record and any(isinstance(one, TimeoutError) for one in causes(failed)):
                raise TimeoutError from failed
            raise
    try:
        yield ReachedDatabase(graph, connection, record.pid if record else None)
    finally:
        await graph.close()


def _connection(settings: Settings, record: Record | None) -> Connection:
    if settings.neo4j_uri:
        connection = Connection(
            uri=settings.neo4j_uri,
            user=settings.neo4j_user,
            database=settings.neo4j_database,
            credentials="GRAPHMEM_NEO4J_PASSWORD",
        )
    else:
        connection = Connection(
            uri=process.uri(record.port if record else 0),
            user=USER,
            database=process.DATABASE,
            credentials=str(machine.password_file(settings.data_dir)),
        )
    return replace(connection, ways=ways(connection))


def _password(settings: Settings) -> str:
    if settings.neo4j_uri:
        return settings.neo4j_password
    try:
        return machine.password_file(settings.data_dir).read_text("utf-8").strip()
    except OSError as fault:
        raise ServerFailed(
            f"the server runs, and its password cannot be read ({fault.strerror}): put the file back"
        ) from fault


def _not_running(settings: Settings) -> Finding:
    return note(
        "connection",
        f"no private Neo4j runs in {settings.data_dir}, so nothing in it was looked at",
        "`graphmem doctor --start` starts it for this, and stops it",
    )


def _silent(settings: Settings) -> Finding:
    remedy = "look at its logs, and restart it" if settings.neo4j_uri else RESTART
    return problem("connection", "the server takes connections and does not answer", remedy)
