"""Remembering the messages of a file, one window at a time."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any, BinaryIO, TypeVar

from msgspec import Struct

from graphmem.cli.lines import BEGINNING, Acknowledged, Checkpoint, FilePosition, Line, windows
from graphmem.client import Graphmem
from graphmem.errors import GraphmemError, MemoryNotFound
from graphmem.model.validation import counted

Value = TypeVar("Value")

CONVERSATIONS_AT_ONCE = 4
"""Conversations that are written at once: while one waits for the database, another is embedded."""


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

    Raises `BadLine`, and what `load_windows` raises.
    """

    def read(after: FilePosition) -> Iterator[list[Line]]:
        return windows(file, conversation_id, name=name, after=after)

    return await load_windows(read, memory, checkpoint=checkpoint, heard=heard)


async def load_windows(
    read: Callable[[FilePosition], Iterable[list[Line]]],
    memory: Graphmem,
    *,
    checkpoint: Checkpoint | None = None,
    heard: Callable[[int], None] = lambda end: None,
    unit: str = "line",
) -> Imported:
    """Remember every message that `read` yields after a position, in order.

    Missing conversations are opened. With a checkpoint, lines that an interrupted import of the same
    file has stored are skipped. An error carries a note about the stored messages. Raises `FileChanged`,
    `Unavailable`.
    """
    after = await _resume_position(checkpoint, memory) if checkpoint else BEGINNING
    imported = Imported(skipped_lines=after.lines)
    opened: set[str] = set()
    try:
        async for window in iterate_in_thread(read(after)):
            memory_id = await _send_window(window, memory, imported, opened)
            last = window[-1]
            if checkpoint:
                place = FilePosition(last.number, last.end, last.sha256)
                checkpoint.write(Acknowledged(place, memory_id))
            heard(last.end)
    except GraphmemError as problem:
        problem.add_note(_stays(imported, unit))
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


def _stays(imported: Imported, unit: str) -> str:
    if imported.skipped_lines and not imported.messages:
        return f"{counted(imported.skipped_lines, unit)} imported before stay"
    if not imported.messages:
        return "nothing was imported"
    return f"{counted(imported.messages, 'message')} before it imported, to stay"


async def _send_window(
    window: list[Line], memory: Graphmem, imported: Imported, opened: set[str]
) -> str:
    """Remember the messages of a window; return the id of one of the last ones."""
    turns = asyncio.Semaphore(CONVERSATIONS_AT_ONCE)

    async def send(conversation_id: str, lines: list[Line]) -> str:
        async with turns:
            return await _send(conversation_id, lines, memory, imported, opened)

    sends = [asyncio.create_task(send(*one)) for one in _by_conversation(window)]
    try:
        ids = await asyncio.gather(*sends)
    finally:
        # After an error or an interruption nothing is sent any more.
        for task in sends:
            task.cancel()
        await asyncio.gather(*sends, return_exceptions=True)
    return ids[-1]


async def _send(
    conversation_id: str,
    lines: list[Line],
    memory: Graphmem,
    imported: Imported,
    opened: set[str],
) -> str:
    """Remember some messages of one conversation; return the id of the last one."""
    if conversation_id not in opened:
        conversation = await memory.open_conversation(conversation_id, title=lines[0].title)
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
