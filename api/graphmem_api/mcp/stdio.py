"""Serving tools over stdin and stdout, which only the protocol uses, until stdin ends."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

CHUNK = 65_536


async def serve(server: Server) -> None:
    """Answer messages on stdin until it ends. Other output to stdout goes to stderr."""
    # The SDK's own reader is a blocking thread: a signal would only end this after the next line.
    heard: Any = lines(sys.stdin.fileno())
    async with stdio_server(stdin=heard) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def lines(descriptor: int) -> AsyncIterator[str]:
    """Yield the input, line by line; waiting for it can be cancelled."""
    begun: list[bytes] = []
    while chunk := await _chunk(descriptor):
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield b"".join([*begun, line]).decode("utf-8", "replace")
            begun.clear()
        begun.append(rest)
    if last := b"".join(begun):
        yield last.decode("utf-8", "replace")


async def _chunk(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    try:
        loop.add_reader(descriptor, readable.set)
    except PermissionError:
        # A file is always readable: no waiting.
        return os.read(descriptor, CHUNK)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, CHUNK)
