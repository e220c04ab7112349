"""A process that uses the private server: prints the server's number, waits for a line, and leaves."""

import asyncio
import os
import sys
from pathlib import Path

from graphmem.config import load
from graphmem.server import process
from graphmem.server.private import private_server
from graphmem.server.process import Database


async def stand_in_answers(port: int, password: str) -> Database:
    return Database("online", "")


async def take_part() -> None:
    if "JAVA_STAND_IN" in os.environ:
        process.log_in = stand_in_answers
    settings = load(data_dir=Path(sys.argv[1]))
    async with private_server(settings) as server:
        sys.stdout.write(f"{server.pid}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)


asyncio.run(take_part())
