"""Messages from JSON Lines of any size, one window at a time, and the position kept of an import.

A line without `external_id` gets one: a hash of the file's name and of all lines up to it. So a repeated
import recognizes the line, also after lines were appended, while equal lines of one file, or of two files
that begin differently, are different messages.
"""

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from graphmem.config import Settings
from graphmem.conversations.forms import plain
from graphmem.conversations.types import NewMessage
from graphmem.errors import InvalidInput
from graphmem.exports.lines import BEGINNING as EXPORT
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
    if content.startswith(EXPORT):
        # An export is read several times, which no pipe can be.
        raise BadLine(number, "body", "begins an export: write it to a file, and import that")
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
    except RecursionError as problem:
        raise InvalidInput("body", "is nested too deeply to be read") from problem
    except msgspec.ValidationError as problem:
        raise invalid(problem, Message) from problem
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
