"""Reading messages from JSON Lines, one window at a time, however large the file is."""

import json
from collections.abc import Iterator
from typing import BinaryIO

import msgspec
from msgspec import Struct

from graphmem.errors import InvalidInput
from graphmem.model.conversation import NewMessage
from graphmem.model.text import checked_text
from graphmem.model.times import utc
from graphmem.model.validation import invalid
from graphmem.model.vocabulary import MESSAGE_BYTES, Id

LINE_BYTES = 8 * MESSAGE_BYTES
"""The longest line: JSON may need six bytes for one byte of a message."""

WINDOW_MESSAGES = 250
WINDOW_BYTES = 4 * MESSAGE_BYTES
"""How much is sent at once: less than is allowed, so that progress is seen and memory is spared."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class BadLine(InvalidInput):
    """A line is not a message that can be remembered."""

    def __init__(self, number: int, field: str, problem: str) -> None:
        """Name the line, the field and what is wrong."""
        super().__init__(
            f"line {number}" if field == "body" else f"line {number}: {field}", problem
        )
        self.number = number


class Message(NewMessage, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message as a line has it."""

    conversation_id: Id | None = None


class Line(Struct, frozen=True):
    """A message with its place in the file."""

    number: int
    end: int
    conversation_id: str
    message: NewMessage


def windows(file: BinaryIO, conversation_id: str | None) -> Iterator[list[Line]]:
    """Return the messages in the file's order, some at a time.

    Raises `BadLine` after what stands before that line was returned.
    """
    window: list[Line] = []
    begins = 0
    try:
        for line in read_lines(file, conversation_id):
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


def read_lines(file: BinaryIO, conversation_id: str | None) -> Iterator[Line]:
    """Return the messages in the file's order; `conversation_id` is for those that name none.

    Raises `BadLine`.
    """
    end = 0
    # One byte more than is allowed tells a line that is too long from one that just fits.
    for number, raw in enumerate(iter(lambda: file.readline(LINE_BYTES + 1), b""), start=1):
        end += len(raw)
        if len(raw) > LINE_BYTES:
            raise BadLine(number, "body", f"is longer than {LINE_BYTES:,} bytes")
        content = (raw.removeprefix(BYTE_ORDER_MARK) if number == 1 else raw).strip()
        if content:
            yield _line(content, number, end, conversation_id)


def _line(content: bytes, number: int, end: int, conversation_id: str | None) -> Line:
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
    return Line(number, end, conversation_id, NewMessage(**fields))


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
