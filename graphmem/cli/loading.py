"""Remembering the messages of a file of any size, a window at a time, and the position kept of an import."""

import asyncio
import hashlib
import json
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec
from msgspec import Struct

from graphmem.client import Graphmem
from graphmem.config import Settings
from graphmem.conversations.forms import plain
from graphmem.conversations.types import NewMessage
from graphmem.errors import GraphmemError, InvalidInput, MemoryNotFound
from graphmem.model.times import present
from graphmem.model.validation import counted, invalid
from graphmem.model.vocabulary import MESSAGE_BYTES, Id
from graphmem.server.folder import write_private

LINE_BYTES = 8 * MESSAGE_BYTES
"""The maximum length of a line: JSON may need six bytes for one byte of a message."""

WINDOW_MESSAGES = 250
WINDOW_BYTES = 4 * MESSAGE_BYTES
"""The size of a window: below the API's limit, for visible progress and little memory."""

DIGITS = 40
"""The number of hexadecimal digits of a hash that make an id."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class BadLine(InvalidInput):
    """A line is not a valid message."""

    def __init__(self, number: int, field: str, problem: str) -> None:
        """Name the line, the field and the problem."""
        super().__init__(
            f"line {number}" if field == "body" else f"line {number}: {field}", problem
        )
        self.number = number


class FileChanged(InvalidInput):
    """A file does not begin with the lines that were read from it before."""

    def __init__(self, name: str, lines: int, unit: str = "line") -> None:
        """Name the file, and the number of lines, or of other units, that were read before."""
        super().__init__(
            name,
            f"its first {counted(lines, unit)} changed since an import of them was interrupted: "
            "--restart imports it as it is now",
        )


class Message(NewMessage, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The message of a line."""

    conversation_id: Id | None = None


class Line(Struct, frozen=True):
    """A message with its position in the file."""

    number: int
    end: int
    sha256: str
    """The hash of the file's name and of all lines up to this one."""
    conversation_id: str
    message: NewMessage
    title: str | None = None
    """The title of the conversation, if the file has one."""


class FilePosition(Struct, frozen=True):
    """A position in a file: the lines and bytes before it, and their hash."""

    lines: int
    end: int
    sha256: str


BEGINNING = FilePosition(0, 0, "")


def windows(
    file: BinaryIO, conversation_id: str | None, *, name: str = "", after: FilePosition = BEGINNING
) -> Iterator[list[Line]]:
    """Yield the messages in the file's order, one window at a time.

    Raises `FileChanged`, and `BadLine` after all messages before that line.
    """
    return grouped(read_lines(file, conversation_id, name=name, after=after), after)


def grouped(lines: Iterable[Line], after: FilePosition = BEGINNING) -> Iterator[list[Line]]:
    """Yield lines one window at a time; those before an error come before it."""
    window: list[Line] = []
    begins = after.end
    try:
        for line in lines:
            window.append(line)
            if len(window) == WINDOW_MESSAGES or line.end - begins >= WINDOW_BYTES:
                yield window
                window, begins = [], line.end
    except InvalidInput:
        if window:
            yield window
        raise
    if window:
        yield window


def read_lines(
    file: BinaryIO, conversation_id: str | None, *, name: str = "", after: FilePosition = BEGINNING
) -> Iterator[Line]:
    """Yield the messages after a position, in the file's order.

    `conversation_id` is the default of lines that name none. Raises `FileChanged`, `BadLine`.
    """
    number, end, read = 0, 0, hashlib.sha256(os.fsencode(name) + b"\n")
    # One byte above the limit distinguishes a line that is too long from one that just fits.
    for number, raw in enumerate(iter(lambda: file.readline(LINE_BYTES + 1), b""), start=1):
        end += len(raw)
        if len(raw) > LINE_BYTES:
            raise BadLine(number, "body", f"is longer than {LINE_BYTES:,} bytes")
        # The last line may have got its line break since then.
        read.update(raw.rstrip(b"\r\n") + b"\n")
        if number == after.lines and read.hexdigest() != after.sha256:
            raise FileChanged(name, after.lines)
        content = (raw.removeprefix(BYTE_ORDER_MARK) if number == 1 else raw).strip()
        if content and number > after.lines:
            yield _line(content, number, end, read.hexdigest(), conversation_id)
    if number < after.lines:
        raise FileChanged(name, after.lines)


def _line(content: bytes, number: int, end: int, sha256: str, conversation_id: str | None) -> Line:
    try:
        read = _decoded(content)
        # So that a whole window is valid.
        plain(read, present())
    except InvalidInput as problem:
        sentence = str(problem).removeprefix(f"{problem.field}: ")
        raise BadLine(number, problem.field, sentence) from problem
    conversation_id = read.conversation_id or conversation_id
    if conversation_id is None:
        raise BadLine(number, "conversation_id", "is missing: add it, or give --conversation")
    fields = {name: getattr(read, name) for name in NewMessage.__struct_fields__}
    fields["external_id"] = read.external_id or f"import:{sha256[:DIGITS]}"
    return Line(number, end, sha256, conversation_id, NewMessage(**fields))


def _decoded(content: bytes) -> Message:
    try:
        return msgspec.json.decode(content, type=Message)
    except msgspec.ValidationError as problem:
        raise invalid(problem) from problem
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise InvalidInput(
            "body", f"is not JSON in UTF-8 ({_place_of_mistake(content, problem)})"
        ) from problem


def _place_of_mistake(content: bytes, problem: Exception) -> str:
    """Return the position of the mistake in the JSON, from the parser that describes it best."""
    try:
        json.loads(content)
    except json.JSONDecodeError as better:
        return f"{better.msg[:1].lower()}{better.msg[1:]} at character {better.colno}"
    except ValueError:
        pass
    return str(problem)


log = logging.getLogger(__name__)


class Acknowledged(Struct, frozen=True):
    """The position up to which everything is stored, and the id of the last stored memory."""

    place: FilePosition
    memory_id: str


class Checkpoint:
    """The checkpoint file of one import."""

    def __init__(self, path: Path) -> None:
        """Begin with the file as it is."""
        self._path = path
        self._usable = True

    def read(self) -> Acknowledged | None:
        """Return the position of an interrupted import, None if there is none."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Acknowledged)
        except (OSError, msgspec.DecodeError):
            return None

    def write(self, acknowledged: Acknowledged) -> None:
        """Write the position; if that fails, the import goes on without a checkpoint."""
        if not self._usable:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(self._path, msgspec.json.encode(acknowledged).decode())
        except OSError as problem:
            self._usable = False
            log.warning(
                "an interrupted import would start over: %s cannot be written (%s)",
                self._path.parent,
                problem.strerror,
            )

    def remove(self) -> None:
        """Remove the file: the import has ended, or starts over."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as problem:
            log.warning("%s cannot be removed (%s)", self._path, problem.strerror)


def checkpoint(
    file: Path, client_id: str, conversation_id: str | None, settings: Settings
) -> Checkpoint:
    """Return the checkpoint of one file's import for one client into one database."""
    named = (
        os.fsencode(file.resolve()),
        client_id.encode(),
        (conversation_id or "").encode(),
        (settings.neo4j_uri or "").encode(),
        (settings.neo4j_database if settings.neo4j_uri else "").encode(),
    )
    key = hashlib.sha256(b"\0".join(named)).hexdigest()[:32]
    return Checkpoint(settings.data_dir / "imports" / f"{key}.json")


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
