"""Waiting for a starting server: it must answer, have our password, and bring its database online."""

import asyncio
import time
from pathlib import Path

import psutil
from msgspec import Struct
from neo4j import AsyncDriver, AsyncGraphDatabase
from neo4j.exceptions import AuthError, DatabaseError, DriverError, Neo4jError

from graphmem.errors import SetupError
from graphmem.server.conf import HOST
from graphmem.server.diagnosis import PortTaken, failure
from graphmem.server.process import end, ended, is_ours, listens

DATABASE = "neo4j"
USER = "neo4j"
INITIAL_PASSWORD = "neo4j"  # noqa: S105  # of every new store
CONNECT_SECONDS = 5.0
# A suspended server accepts a connection and then does not answer.
ANSWER_SECONDS = 20.0
POLL_SECONDS = 0.1
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
            raise failure("cannot open its store", data_dir, database.message)
        await asyncio.sleep(POLL_SECONDS)
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
