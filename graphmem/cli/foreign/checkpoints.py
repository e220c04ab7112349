"""LangGraph's checkpoints in a file of SQLite, read as the records that its API would give.

A checkpoint is msgpack in which objects are extensions: the module, the class and the fields. Only the fields
are read; nothing of the file is imported or called.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from graphmem.errors import InvalidInput

MAGIC = b"SQLite format 3\x00"
"""The first bytes of every file of SQLite."""

STATEMENT = """
SELECT thread_id, type, checkpoint FROM checkpoints WHERE checkpoint_ns = '' ORDER BY checkpoint_id
"""
"""The checkpoints of whole graphs, not of the graphs inside of them; their ids begin with the time."""


def checkpoints(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the checkpoints of a file, oldest first, each with those messages that are new in its thread.

    Raises `InvalidInput` if it holds none, or if they cannot be read.
    """
    known: defaultdict[str, set[str]] = defaultdict(set)
    found = False
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            for thread, form, content in database.execute(STATEMENT):
                checkpoint = _decoded(form, content, path.name)
                messages = _messages(checkpoint)
                new = [one for one in messages if _id(one) not in known[thread]]
                known[thread].update(id for one in messages if (id := _id(one)))
                found = found or bool(messages)
                if new:
                    yield {
                        "thread_id": thread,
                        "ts": checkpoint.get("ts"),
                        "channel_values": {"messages": new},
                    }
    except sqlite3.Error as problem:
        raise InvalidInput(
            path.name, f"is a file of SQLite without checkpoints of LangGraph ({problem})"
        ) from problem
    if not found:
        raise InvalidInput(
            path.name,
            "has checkpoints of LangGraph, but none with a list of `messages` in its state",
        )


def _decoded(form: str | None, content: bytes, name: str) -> dict[str, Any]:
    """Return a checkpoint. Raises `InvalidInput`."""
    try:
        if form == "msgpack":
            decoded = msgspec.msgpack.decode(content, ext_hook=_fields)
        elif form == "json":
            decoded = json.loads(content)
        else:
            raise InvalidInput(
                name, f"has checkpoints of type {form}, which are not read: msgpack and json are"
            )
    except ValueError as problem:
        raise InvalidInput(name, f"has a checkpoint that is damaged: {problem}") from problem
    return decoded if isinstance(decoded, dict) else {}


def _fields(code: int, content: memoryview) -> Any:
    """Return the fields of an object: the third of its parts, after the module and the class."""
    parts = msgspec.msgpack.decode(bytes(content), ext_hook=_fields)
    return parts[2] if isinstance(parts, list) and len(parts) > 2 else parts


def _messages(checkpoint: dict[str, Any]) -> list[Any]:
    state = checkpoint.get("channel_values")
    messages = state.get("messages") if isinstance(state, dict) else None
    return messages if isinstance(messages, list) else []


def _id(message: Any) -> str | None:
    """Return the id of a message; a constructor has it among its arguments."""
    if not isinstance(message, dict):
        return None
    fields = message["kwargs"] if isinstance(message.get("kwargs"), dict) else message
    id = fields.get("id")
    return id if isinstance(id, str) else None
