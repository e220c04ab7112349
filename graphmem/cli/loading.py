"""Remembering the messages of a file, one window at a time."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any, BinaryIO, TypeVar

from msgspec import Struct

from graphmem.cli.checkpoint import Acknowledged, Checkpoint
from graphmem.cli.lines import BEGINNING, FilePosition, Line, windows
from graphmem.client import Graphmem
from graphmem.errors import GraphmemError, MemoryNotFound
from graphmem.model.text import counted

Value = TypeVar("Value")


class Imported(Struct, kw_only=True):
    """The progress of an import."""

    skipped_lines: int = 0
    """Lines that an interrupted import had stored before."""
    messages: int = 0
    conversations: int = 0
    new_conversations: int = 0
    embedding_truncated: int = 0
    """Messages that are longer than the embedding model's input; the rest is found by its words."""


async def load(
    file: BinaryIO,
    memory: Graphmem,
    *,
    conversation_id: str | None = None,
    name: str = "",
    checkpoint: Checkpoint | None = None,
    heard: Callable[[int], None] = lambda end: None,
) -> Imported:
    """Remember every message of a file of JSON Lines, in order; `heard` gets the number of bytes done.

    Missing conversations are opened. With a checkpoint, lines that an interrupted import of the same
    file has stored are skipped. An error carries a note about the stored messages. Raises `BadLine`,
    `FileChanged`, `Unavailable`.
    """
    after = await _resume_position(checkpoint, memory) if checkpoint else BEGINNING
    imported = Imported(skipped_lines=after.lines)
    opened: set[str] = set()
    try:
        async for window in iterate_in_thread(
            windows(file, conversation_id, name=name, after=after)
        ):
            for conversation, lines in _by_conversation(window):
                memory_id = await _send(conversation, lines, memory, imported, opened)
            last = window[-1]
            if checkpoint:
                place = FilePosition(last.number, last.end, last.sha256)
                checkpoint.write(Acknowledged(place, memory_id))
            heard(last.end)
    except GraphmemError as problem:
        problem.add_note(_stays(imported))
        raise
    if checkpoint:
        checkpoint.remove()
    return imported


async def _resume_position(checkpoint: Checkpoint, memory: Graphmem) -> FilePosition:
    """Return the position of an interrupted import, if the database still has its last memory."""
    known = checkpoint.read()
    if known is None:
        return BEGINNING
    try:
        await memory.memory(known.memory_id)
    except MemoryNotFound:
        return BEGINNING
    return known.place


def _stays(imported: Imported) -> str:
    if imported.skipped_lines and not imported.messages:
        return f"{counted(imported.skipped_lines, 'line')} imported before stay"
    if not imported.messages:
        return "nothing was imported"
    return f"{counted(imported.messages, 'message')} before it imported, to stay"


async def _send(
    conversation_id: str,
    lines: list[Line],
    memory: Graphmem,
    imported: Imported,
    opened: set[str],
) -> str:
    """Remember some messages of one conversation; return the id of the last one."""
    if conversation_id not in opened:
        conversation = await memory.open_conversation(conversation_id)
        opened.add(conversation_id)
        imported.conversations += 1
        imported.new_conversations += conversation.created
    remembered = await memory.remember(conversation_id, [line.message for line in lines])
    imported.messages += len(lines)
    imported.embedding_truncated += len(remembered.embedding_truncated)
    return remembered.ids[-1]


def _by_conversation(window: list[Line]) -> Iterator[tuple[str, list[Line]]]:
    """Group the lines of a window; `sorted` keeps the file's order within a conversation."""
    by_id = attrgetter("conversation_id")
    for conversation_id, lines in groupby(sorted(window, key=by_id), key=by_id):
        yield conversation_id, list(lines)


async def iterate_in_thread(values: Iterable[Value]) -> AsyncIterator[Value]:
    """Yield the values; a thread fetches each, since a read from a pipe may block.

    The threads are daemons, so that the process can end while the pipe stays silent.
    """
    iterator = iter(values)
    last: object = object()
    while True:
        future: asyncio.Future[Value] = asyncio.get_running_loop().create_future()

        def take(future: "asyncio.Future[Value]" = future) -> None:
            loop = future.get_loop()
            try:
                value = next(iterator, last)
            except Exception as problem:
                loop.call_soon_threadsafe(_settle, future, None, problem)
            else:
                loop.call_soon_threadsafe(_settle, future, value, None)

        threading.Thread(target=take, daemon=True).start()
        value = await future
        if value is last:
            return
        yield value


def _settle(future: "asyncio.Future[Any]", value: object, problem: Exception | None) -> None:
    """Set the result of a future, unless its waiter is gone."""
    if future.done():
        return
    if problem is not None:
        future.set_exception(problem)
    else:
        future.set_result(value)
