"""Remembering the messages of a file, one window at a time; some are embedded while others are written."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import Struct

from graphmem.cli.lines import BEGINNING, Acknowledged, Checkpoint, FilePosition, Line
from graphmem.client import Graphmem
from graphmem.context import Context
from graphmem.conversations.forms import text_of
from graphmem.conversations.remember import (
    NewBatch,
    PreparedBatch,
    prepare_batches,
    remember_prepared,
)
from graphmem.errors import GraphmemError, MemoryNotFound
from graphmem.model.validation import counted

Value = TypeVar("Value")

_by_conversation = attrgetter("conversation_id")

BATCH_CHARACTERS = 25_000
"""The length of the texts that are written at once: a write embeds no more passages of long ones."""


class Imported(Struct, kw_only=True):
    """The progress of an import."""

    skipped_lines: int = 0
    """Lines that an interrupted import had stored before."""
    messages: int = 0
    known_messages: int = 0
    """Those of them that were stored before, or that the file has twice."""
    conversations: int = 0
    new_conversations: int = 0
    embedding_truncated: int = 0
    """Messages that are longer than the embedding model's input; the rest is found by its words."""


async def load_windows(
    read: Callable[[FilePosition], Iterable[list[Line]]],
    memory: Graphmem,
    *,
    checkpoint: Checkpoint | None = None,
    heard: Callable[[int], None] = lambda end: None,
    unit: str = "line",
) -> Imported:
    """Remember every message that `read` yields after a position, in order; `heard` gets the bytes done.

    Missing conversations are opened. With a checkpoint, lines that an interrupted import of the same
    file has stored are skipped. An error carries a note about the stored messages. Raises `FileChanged`,
    `Unavailable`.
    """
    after = await _resume_position(checkpoint, memory) if checkpoint else BEGINNING
    imported = Imported(skipped_lines=after.lines)

    def written(last: Line, memory_id: str) -> None:
        if checkpoint:
            place = FilePosition(last.number, last.end, last.sha256)
            checkpoint.write(Acknowledged(place, memory_id))
        heard(last.end)

    try:
        async with Writing(memory, imported) as writing:
            async for window in iterate_in_thread(read(after)):
                *others, last = batched(window)
                for lines in others:
                    await writing.send(lines)
                await writing.send(last, partial(written, window[-1]))
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


class Writing:
    """Embeds messages while those before them are written."""

    def __init__(self, memory: Graphmem, imported: Imported) -> None:
        self._memory = memory
        self._imported = imported
        self._sent: set[str] = set()
        self._written: set[str] = set()
        self._last: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Writing":
        return self

    async def __aexit__(self, error: type[BaseException] | None, *others: object) -> None:
        """Finish the last write, also after an error in what follows it; at an interruption give it up."""
        if self._last is None:
            return
        if error is None or issubclass(error, GraphmemError):
            await self._last
        else:
            self._last.cancel()
            await asyncio.gather(self._last, return_exceptions=True)

    async def send(
        self, lines: list[Line], written: Callable[[str], None] = lambda memory_id: None
    ) -> None:
        """Write messages after those before them; `written` gets the id of one of the last ones."""
        context = self._memory.runtime.context(self._memory.client_id)
        new = [self._batch(id, list(some)) for id, some in groupby(lines, key=_by_conversation)]
        prepared = await prepare_batches(new, context, now=context.now())
        if self._last is not None:
            last, self._last = self._last, None
            await last
        self._last = asyncio.create_task(self._write(prepared, context, written))

    def _batch(self, conversation_id: str, lines: list[Line]) -> NewBatch:
        """Return the batch of some messages; the first of a conversation gives it its title."""
        title = None if conversation_id in self._sent else lines[0].title
        self._sent.add(conversation_id)
        messages = [line.message for line in lines]
        return NewBatch(
            conversation_id=conversation_id, messages=messages, create=True, title=title
        )

    async def _write(
        self, batches: list[PreparedBatch], context: Context, written: Callable[[str], None]
    ) -> None:
        remembered = await remember_prepared(batches, context)
        imported = self._imported
        for batch, one in zip(batches, remembered, strict=True):
            if batch.conversation_id not in self._written:
                self._written.add(batch.conversation_id)
                imported.conversations += 1
                imported.new_conversations += batch.is_first
            imported.messages += len(batch.given)
            imported.known_messages += len(batch.given) - len(batch.messages)
            imported.embedding_truncated += len(one.embedding_truncated)
        written(remembered[-1].ids[-1])


def batched(window: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the messages of a window that are written at once; each conversation keeps the file's order."""
    batch: list[Line] = []
    size = 0
    for line in sorted(window, key=_by_conversation):
        length = len(text_of(line.message.content, line.message.tool_calls or ()))
        if batch and size + length > BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += length
    yield batch


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
