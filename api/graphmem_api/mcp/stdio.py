"""Serving tools over stdin and stdout, which only the protocol uses, until stdin ends."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

CHUNK = 65_536

ABOUT_ALL = ("missing", "model_type")
"""The kinds of a validator's errors that have the whole message as their input."""

TOO_DEEP = "the JSON is nested too deep: at most 200 levels are read"
HALF = (
    "the JSON has half of a surrogate pair (an escape from \\ud800 to \\udfff alone, as where a text was cut "
    "inside an emoji): send Unicode characters"
)
NO_REQUEST = (
    'the JSON is no message of JSON-RPC 2.0: a request is an object with "jsonrpc": "2.0", an id, a method '
    "and perhaps params, an object"
)
NO_LIST = "a list of messages is not taken: send each one on a line of its own"


async def serve(server: Server) -> None:
    """Answer messages on stdin until it ends. Other output to stdout goes to stderr."""
    # The SDK's own reader is a blocking thread: a signal would only end this after the next line.
    heard: Any = lines(sys.stdin.fileno())
    async with stdio_server(stdin=heard) as (incoming, outgoing):
        messages: Any = _messages(incoming, outgoing)
        await server.run(messages, outgoing, server.create_initialization_options())


async def _messages(incoming: Any, outgoing: Any) -> AsyncIterator[SessionMessage]:
    """Yield the messages, and answer the lines that are none: the SDK would drop them in silence."""
    async with incoming:
        async for item in incoming:
            if isinstance(item, SessionMessage):
                yield item
            elif isinstance(item, ValidationError) and (answer := refusal(item)):
                await outgoing.send(SessionMessage(answer))


def refusal(problem: ValidationError) -> types.JSONRPCError | None:
    """Return the answer to a line that is no message; None to a blank one, and to one that answers us."""
    errors = problem.errors(include_url=False)
    if errors[0]["type"] == "json_invalid":
        line = str(errors[0]["input"])
        if not line.strip():
            return None
        code, (record, why) = types.PARSE_ERROR, _mistake(line, errors[0]["msg"])
    else:
        record = next((one["input"] for one in errors if one["type"] in ABOUT_ALL), None)
        code, why = types.INVALID_REQUEST, NO_LIST if isinstance(record, list) else NO_REQUEST
    fields = record if isinstance(record, dict) else {}
    if fields.keys() & {"result", "error"}:
        return None
    given = fields.get("id")
    # Half of a surrogate pair cannot be written, not even in an id.
    id = given if type(given) is int or (isinstance(given, str) and given.isprintable()) else None
    error = types.ErrorData(code=code, message=f"{why}.")
    return types.JSONRPCError(jsonrpc="2.0", id=id, error=error)


def _mistake(line: str, told: str) -> tuple[Any, str]:
    """Return what can be read of a line that the SDK takes for no JSON, and the reason."""
    try:
        # Python reads half of a surrogate pair, and more levels: so the id is known.
        record = json.loads(line)
    except RecursionError:
        return None, TOO_DEEP
    except ValueError as mistake:
        return None, f"the line is no JSON: {mistake}"
    if "recursion" in told:
        return record, TOO_DEEP
    # Of what Python reads, the SDK refuses this alone.
    return record, HALF


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
