"""Talking to the server as it comes up: does it answer, is the password set, is it online."""

import asyncio

from msgspec import Struct
from neo4j import AsyncDriver, AsyncGraphDatabase
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from graphmem.server.conf import HOST
from graphmem.server.password import INITIAL, USER

DATABASE = "neo4j"
CONNECT_SECONDS = 5.0
# A server that was stopped in its tracks takes a connection and then says nothing.
ANSWER_SECONDS = 10.0


class PasswordRefused(Exception):
    """The server takes neither our password nor the initial one."""


class Database(Struct, frozen=True):
    """How the database is, and why where it is not online."""

    status: str
    message: str


def uri(port: int) -> str:
    """Return the address of a server on a port of the loopback."""
    return f"bolt://{HOST}:{port}"


async def log_in(port: int, password: str) -> Database | None:
    """Return how the database is, by a real login; None where the server does not answer yet.

    On a store that still has its initial password ours is set first. Raises `PasswordRefused`.
    """
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await _logged_in(port, password)
    # Of Neo4j's own errors one passes too: that a wrong password was tried too often just now.
    except (DriverError, Neo4jError, OSError):
        return None


async def _logged_in(port: int, password: str) -> Database:
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
    return Database(row["currentStatus"], row["statusMessage"] or "")


async def _set_password(port: int, password: str) -> None:
    try:
        async with _driver(port, INITIAL) as driver:
            await driver.execute_query(
                "ALTER CURRENT USER SET PASSWORD FROM $initial TO $password",
                initial=INITIAL,
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
