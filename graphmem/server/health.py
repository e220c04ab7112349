"""Waiting until a server is online, or saying why it will not be."""

import asyncio
import time
from pathlib import Path

import psutil

from graphmem.errors import SetupError
from graphmem.server import bolt
from graphmem.server.bolt import Database
from graphmem.server.diagnosis import PortTaken, failure
from graphmem.server.process import end, ended, is_ours, listens

POLL_SECONDS = 0.1
ONLINE = "online"
# A database in one of these states that gives a reason will not come online by waiting.
FAILED = {"offline", "dirty", "quarantined"}


async def online(
    process: psutil.Process, port: int, password: str, *, data_dir: Path, seconds: float
) -> None:
    """Return once the server answers a login and its database is online.

    Where that fails, or does not happen in time, the process is ended if it is this folder's, and
    the reason is raised as a `SetupError`, or as `PortTaken` or `PasswordRefused`: then the
    process is left, since others may be using it.
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
        database = await bolt.log_in(port, password) if listens(process, port) else None
        if database is not None and database.status == ONLINE:
            return
        if database is not None and _failed(database):
            raise failure("cannot open its store", data_dir, database.message)
        await asyncio.sleep(POLL_SECONDS)
    late = f"did not answer within {seconds:.0f} s (GRAPHMEM_NEO4J_START_SECONDS)"
    raise failure(late, data_dir)


def _failed(database: Database) -> bool:
    return database.status in FAILED and bool(database.message)
