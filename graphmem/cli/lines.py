"""Reading messages from JSON Lines, one window at a time, however large the file is.

A line without `external_id` gets one that is made of the file's name and of all that the file holds up
to there: read again it is the same message, also when lines were added at the end, while equal lines
of one file, or of two that begin differently, stay apart.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from typing import BinaryIO

import msgspec
from msgspec import Struct

from graphmem.cli.showing import counted
from graphmem.conversations.types import NewMessage
from graphmem.errors import InvalidInput
from graphmem.model.text import checked_text
from graphmem.model.times import utc
from graphmem.model.validation import invalid
from graphmem.model.vocabulary import MESSAGE_BYTES, Id

LINE_BYTES = 8 * MESSAGE_BYTES
"""The longest line: JSON may need six bytes for one byte of a message."""

WINDOW_MESSAGES = 250
WINDOW_BYTES = 4 * MESSAGE_BYTES
"""How much is sent at once: less than is allowed, so that progress is seen and memory is spared."""

DIGITS = 40
"""How much of a hash makes an id."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class BadLine(InvalidInput):
    """A line is not a message that can be remembered."""

    def __init__(self, number: int, field: str, problem: str) -> None:
        """Name the line, the field and what is wrong."""
        super().__init__(
            f"line {number}" if field == "body" else f"line {number}: {field}", problem
        )
        self.number = number


class Changed(InvalidInput):
    """A file does not begin with what was read from it before."""

    def __init__(self, name: str, lines: int) -> None:
        """Name the file, and how far it was read before."""
        super().__init__(
            name,
            f"its first {counted(lines, 'line')} changed since an import of them was interrupted: "
            "--restart imports it as it is now",
        )


class Message(NewMessage, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message as a line has it."""

    conversation_id: Id | None = None


class Line(Struct, frozen=True):
    """A message with its place in the file."""

    number: int
    end: int
    sha256: str
    """The hash of the file's name and of all that it holds up to here."""
    conversation_id: str
    message: NewMessage


class Place(Struct, frozen=True):
    """How far a file was read."""

    lines: int
    end: int
    sha256: str


BEGINNING = Place(0, 0, "")


def windows(
    file: BinaryIO, conversation_id: str | None, *, name: str = "", after: Place = BEGINNING
) -> Iterator[list[Line]]:
    """Return the messages in the file's order, some at a time.

    Raises `Changed`, and `BadLine` after what stands before that line was returned.
    """
    window: list[Line] = []
    begins = after.end
    try:
        for line in read_lines(file, conversation_id, name=name, after=after):
            window.append(line)
            if len(window) == WINDOW_MESSAGES or line.end - begins >= WINDOW_BYTES:
                yield window
                window, begins = [], line.end
    except BadLine:
        if window:
            yield window
        raise
    if window:
        yield window


def read_lines(
    file: BinaryIO, conversation_id: str | None, *, name: str = "", after: Place = BEGINNING
) -> Iterator[Line]:
    """Return the messages that stand after a place, in the file's order.

    `conversation_id` is for those that name none. Raises `Changed`, `BadLine`.
    """
    number, end, read = 0, 0, hashlib.sha256(os.fsencode(name) + b"\n")
    # One byte more than is allowed tells a line that is too long from one that just fits.
    for number, raw in enumerate(iter(lambda: file.readline(LINE_BYTES + 1), b""), start=1):
        end += len(raw)
        if len(raw) > LINE_BYTES:
            raise BadLine(number, "body", f"is longer than {LINE_BYTES:,} bytes")
        # The last line may have got its line break since.
        read.update(raw.rstrip(b"\r\n") + b"\n")
        if number == after.lines and read.hexdigest() != after.sha256:
            raise Changed(name, after.lines)
        content = (raw.removeprefix(BYTE_ORDER_MARK) if number == 1 else raw).strip()
        if content and number > after.lines:
            yield _line(content, number, end, read.hexdigest(), conversation_id)
    if number < after.lines:
        raise Changed(name, after.lines)


def _line(content: bytes, number: int, end: int, sha256: str, conversation_id: str | None) -> Line:
    try:
        read = _decoded(content)
        _check(read)
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
        raise InvalidInput("body", f"is not JSON in UTF-8 ({_told(content, problem)})") from problem


def _told(content: bytes, problem: Exception) -> str:
    """Return where the JSON breaks, in the words of the parser that says it best."""
    try:
        json.loads(content)
    except json.JSONDecodeError as better:
        return f"{better.msg[:1].lower()}{better.msg[1:]} at character {better.colno}"
    except ValueError:
        pass
    return str(problem)


def _check(message: NewMessage) -> None:
    """Check what else makes a message impossible, so that a window is taken whole."""
    checked_text(message.content, "content", most_bytes=MESSAGE_BYTES)
    for name in ("session_id", "name", "external_id"):
        if getattr(message, name) is not None:
            checked_text(getattr(message, name), name, most_bytes=1024)
    if message.occurred_at:
        utc(message.occurred_at, "occurred_at")
