"""Neo4j's process: starting it, waiting until it answers, the reason why it did not start, and its end."""

import asyncio
import contextlib
import os
import re
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import psutil
from msgspec import Struct
from neo4j import AsyncDriver, AsyncGraphDatabase
from neo4j.exceptions import AuthError, DatabaseError, DriverError, Neo4jError

from graphmem.errors import DataFolderInUse, ServerFailed, SetupError, StoreUnreadable
from graphmem.server.command import HOST, home_argument
from graphmem.server.folder import Record, home, logs

# The output of Java, and Neo4j's messages to its operator.
CONSOLE = "console.log"
NEO4J_LOG = "neo4j.log"
POLL_SECONDS = 0.05
TERM_SECONDS = 20.0
KILL_SECONDS = 5.0
# Passwords and keys of graphmem and of others are no business of Neo4j's, whose environment a dump shows.
INHERITED = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG|TZ|TMPDIR|(LC|LD|DYLD|MALLOC|GLIBC|JAVA|JDK|FAKETIME)_\w+|_JAVA_OPTIONS"
)
# The difference between two readings of the same process's start time.
SAME_START_SECONDS = 1.0


def spawn(command: Sequence[str], data_dir: Path) -> psutil.Process:
    """Start Neo4j in a session of its own, so that Ctrl-C in the terminal does not reach it."""
    with _console(data_dir) as output:
        child = subprocess.Popen(  # noqa: S603  # the command is ours
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=home(data_dir),
            env=_environment(os.environ),
            start_new_session=True,
            umask=0o077,
        )
    process = psutil.Process(child.pid)
    # The server may outlive us: Popen must neither warn of that nor wait for it. We reap it.
    child.returncode = 0
    return process


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Return the part of our environment that a Java needs, without secrets."""
    kept = {name: value for name, value in ours.items() if INHERITED.fullmatch(name)}
    # Java reads paths and argument files in the locale's encoding.
    return kept | {"LC_ALL": "C.UTF-8"}


def _console(data_dir: Path) -> BinaryIO:
    """Open the console's log; the logs of the start before are kept beside it."""
    for log in (logs(data_dir) / CONSOLE, logs(data_dir) / NEO4J_LOG):
        if log.exists():
            log.replace(log.with_suffix(".previous.log"))
    descriptor = os.open(logs(data_dir) / CONSOLE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    return os.fdopen(descriptor, "wb")


def living(record: Record | None, data_dir: Path) -> psutil.Process | None:
    """Return the record's process if it lives and is the recorded one.

    Its start time distinguishes it from a later process with the same number. Its command line is the
    fallback when the clock was set in between.
    """
    if record is None:
        return None
    _reap(record.pid)
    with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        process = psutil.Process(record.pid)
        same = abs(process.create_time() - record.started) < SAME_START_SECONDS
        if (same or is_ours(process, data_dir)) and not _dead(process):
            return process
    return None


def is_ours(process: psutil.Process, data_dir: Path) -> bool:
    """Tell whether a process is a Neo4j of this data folder."""
    try:
        return home_argument(data_dir) in process.cmdline()
    except psutil.Error:
        return False


def listens(process: psutil.Process, port: int) -> bool:
    """Tell whether this process, and not another one, listens on the port."""
    try:
        sockets = process.net_connections("tcp")
    except psutil.AccessDenied:
        # Without the permission to look, the login decides.
        return True
    except psutil.NoSuchProcess:
        return False
    return any(s.status == psutil.CONN_LISTEN and s.laddr.port == port for s in sockets)


def free_port(preferred: int = 0) -> int:
    """Return the preferred port of the loopback if it is free, else any free port."""
    try:
        return _bound(preferred)
    except OSError:
        return _bound(0)


def _bound(port: int) -> int:
    with socket.socket() as probe:
        # As Java does: lingering connections of the server before do not keep the port taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((HOST, port))
        return int(probe.getsockname()[1])


def servers(data_dir: Path) -> list[psutil.Process]:
    """Return the living servers of this data folder, recorded or not."""
    return [
        process
        for process in psutil.process_iter()
        if is_ours(process, data_dir) and not _dead(process)
    ]


async def kill(process: psutil.Process) -> None:
    """End a process at once. Neo4j recovers all commits, and never stops for work that it cannot end."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.kill()
        await _ended_within(process, KILL_SECONDS)


async def end(process: psutil.Process) -> None:
    """Ask a process to stop, and kill it if it does not stop in time."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.terminate()
        if not await _ended_within(process, TERM_SECONDS):
            process.kill()
            await _ended_within(process, KILL_SECONDS)


async def _ended_within(process: psutil.Process, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not ended(process):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True


def ended(process: psutil.Process) -> bool:
    """Tell whether a process has ended; our own child is reaped."""
    _reap(process.pid)
    return _dead(process)


def _dead(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _reap(pid: int) -> None:
    # It may be another process's child, or no process at all.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


TAIL_LINES = 20
# Java's warnings and stack traces do not help to start Neo4j.
NOISE = ("WARNING: ", "at ", "... ")


class PortTaken(Exception):
    """Another program took the port after it was found free."""


class Cause(Struct, frozen=True):
    """The signs of a cause in a log, and the error that reports it."""

    signs: tuple[str, ...]
    error: type[SetupError]
    sentence: str


CAUSES = (
    Cause(
        ("Lock file has been locked by another process", "StoreLockException", "FileLockException"),
        DataFolderInUse,
        "another process holds the store in {data_dir}: end it, or choose another folder with "
        "GRAPHMEM_DATA_DIR",
    ),
    Cause(
        ("UnsupportedClassVersionError",),
        ServerFailed,
        "this Java is too old for Neo4j: let JAVA_HOME name Java 25 (or 21 and newer)",
    ),
    Cause(
        ("No space left on device", "Disk quota exceeded"),
        ServerFailed,
        "the disk of {data_dir} is full: free some space or choose another folder with "
        "GRAPHMEM_DATA_DIR",
    ),
    Cause(
        ("Read-only file system", "AccessDeniedException"),
        ServerFailed,
        "Neo4j cannot write in {data_dir}: allow it or choose another folder with "
        "GRAPHMEM_DATA_DIR",
    ),
    Cause(
        (
            "Unknown store version",
            "UpgradeNotAllowed",
            "UnableToMigrateException",
            "UnsupportedLogVersionException",
            "No matching KernelVersion",
        ),
        ServerFailed,
        "the store in {data_dir} was written by another version of Neo4j than this one can read: "
        "use the graphmem that wrote it and export, or choose another folder with "
        "GRAPHMEM_DATA_DIR",
    ),
    Cause(
        (
            "Could not reserve enough space",
            "There is insufficient memory",
            "Cannot allocate memory",
        ),
        ServerFailed,
        "there is not enough memory for Neo4j: free some or lower GRAPHMEM_NEO4J_HEAP and "
        "GRAPHMEM_NEO4J_PAGE_CACHE",
    ),
)
UNKNOWN = Cause(
    (),
    ServerFailed,
    "Neo4j {happened}: its last lines are below, the rest is in {logs}",
)
UNREADABLE = Cause(
    (),
    StoreUnreadable,
    "Neo4j cannot open the store in {data_dir}, which is damaged: bring a backup back with `graphmem restore "
    "BACKUP --replace`, which puts this store aside; Neo4j's words are below, the rest is in {logs}",
)
PORT_SIGNS = ("Address already in use", "PortBindException", "java.net.BindException")


def failure(
    happened: str, data_dir: Path, reason: str = "", *, unknown: Cause = UNKNOWN
) -> SetupError | PortTaken:
    """Return the error for a server that did not start, from its logs or from a given reason.

    `unknown` is the cause where there is no sign of another.
    """
    told = [*_lines_of(logs(data_dir) / CONSOLE), *_lines_of(logs(data_dir) / NEO4J_LOG)]
    said = "\n".join([reason, *told])
    if any(sign in said for sign in PORT_SIGNS):
        return PortTaken()
    cause = next((known for known in CAUSES if any(sign in said for sign in known.signs)), unknown)
    sentence = cause.sentence.format(data_dir=data_dir, logs=logs(data_dir), happened=happened)
    return cause.error("\n".join([sentence, *filter(None, [reason]), *told[-TAIL_LINES:]]))


def _lines_of(log: Path) -> Sequence[str]:
    try:
        lines = log.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [line for line in lines if not line.lstrip().startswith(NOISE)]


DATABASE = "neo4j"
USER = "neo4j"
INITIAL_PASSWORD = "neo4j"  # noqa: S105  # of every new store
CONNECT_SECONDS = 5.0
# A suspended server accepts a connection and then does not answer.
ANSWER_SECONDS = 20.0
CONNECTION_POLL_SECONDS = 0.1
ONLINE = "online"
# A database in one of these states that gives a reason will not come online by waiting.
FAILED = {"offline", "dirty", "quarantined"}


class PasswordRefused(Exception):
    """The server accepts neither our password nor the initial one."""


class Database(Struct, frozen=True):
    """The status of the database, and the reason if it is not online."""

    status: str
    message: str


def uri(port: int) -> str:
    """Return the address of a server on a port of the loopback."""
    return f"bolt://{HOST}:{port}"


async def online(
    process: psutil.Process, port: int, password: str, *, data_dir: Path, seconds: float
) -> None:
    """Return once the server answers a login and its database is online.

    If that fails or takes longer than `seconds`, a process of this folder is ended, and the reason is
    raised as `SetupError` or `PortTaken`. `PasswordRefused` leaves the process running, since others may
    be using it.
    """
    try:
        await _online(process, port, password, data_dir=data_dir, seconds=seconds)
    except (SetupError, PortTaken):
        if is_ours(process, data_dir):
            await end(process)
        raise


async def _online(
    process: psutil.Process, port: int, password: str, *, data_dir: Path, seconds: float
) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if ended(process):
            raise failure("ended while it started", data_dir)
        database = await log_in(port, password) if listens(process, port) else None
        if database is not None and database.status == ONLINE:
            return
        if database is not None and _failed(database):
            raise failure("cannot open its store", data_dir, database.message, unknown=UNREADABLE)
        await asyncio.sleep(CONNECTION_POLL_SECONDS)
    late = f"did not answer within {seconds:.0f} s (GRAPHMEM_NEO4J_START_SECONDS)"
    raise failure(late, data_dir)


def _failed(database: Database) -> bool:
    return database.status in FAILED and bool(database.message)


async def log_in(port: int, password: str) -> Database | None:
    """Log in and return the status of the database; None while the server does not answer.

    A store that still has its initial password gets ours first. Raises `PasswordRefused`.
    """
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await _log_in_or_set_password(port, password)
    # Neo4jError: for some seconds after too many wrong passwords Neo4j refuses every login.
    except (DriverError, Neo4jError, OSError):
        return None


async def _log_in_or_set_password(port: int, password: str) -> Database:
    try:
        return await _database(port, password)
    except AuthError:
        await _set_password(port, password)
        return await _database(port, password)


async def _database(port: int, password: str) -> Database:
    async with _driver(port, password) as driver:
        found = await driver.execute_query(
            "SHOW DATABASE neo4j YIELD currentStatus, statusMessage", database_="system"
        )
        [row] = found.records
        database = Database(row["currentStatus"], row["statusMessage"] or "")
        if database.status != ONLINE:
            return database
        try:
            # A database that has failed while it ran is `online` too.
            await driver.execute_query("RETURN 1", database_=DATABASE)
        except DatabaseError as problem:
            return Database("dirty", f"the database has failed ({problem.code})")
    return database


async def _set_password(port: int, password: str) -> None:
    try:
        async with _driver(port, INITIAL_PASSWORD) as driver:
            await driver.execute_query(
                "ALTER CURRENT USER SET PASSWORD FROM $initial TO $password",
                initial=INITIAL_PASSWORD,
                password=password,
                database_="system",
            )
    except AuthError as refused:
        raise PasswordRefused from refused


def _driver(port: int, password: str) -> AsyncDriver:
    return AsyncGraphDatabase.driver(
        uri(port),
        auth=(USER, password),
        connection_timeout=CONNECT_SECONDS,
        connection_acquisition_timeout=CONNECT_SECONDS,
        max_transaction_retry_time=0,
        telemetry_disabled=True,
    )
