"""What a file of another program holds: its records, and what a form reads from them."""

import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any, BinaryIO, TypeVar

import msgspec
from msgspec import Struct

from graphmem.cli.foreign.checkpoints import MAGIC, checkpoints
from graphmem.cli.lines import BYTE_ORDER_MARK, BadLine
from graphmem.errors import InvalidInput

Value = TypeVar("Value")

HEAD_BYTES = 65_536
MOST_LINE_BYTES = 1 << 28
"""The longest line, and the longest file that holds a single object: transcripts hold images."""


class Begins(Struct, frozen=True):
    """From here on the messages belong to this conversation."""

    conversation: str
    title: str | None = None
    session: str | None = None
    at: Any = None
    """A time for messages without one."""


class ForeignMessage(Struct, frozen=True, kw_only=True):
    """A message as its program has it."""

    role: str
    content: Any
    id: str | None = None
    at: Any = None
    name: str | None = None
    tool_calls: Any = None


class NoMessage(Struct, frozen=True):
    """Something that is no message to remember."""

    reason: str


Event = Begins | ForeignMessage | NoMessage


@contextmanager
def opened(path: Path) -> Iterator[list[BinaryIO]]:
    """Open a file; of a zip archive those files in it that hold conversations."""
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            yield [file]
        return
    with zipfile.ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if _holds_conversations(name))
        if not names:
            raise InvalidInput(path.name, "is an archive without a conversations.json")
        yield [archive.open(name) for name in names]  # type: ignore[misc]


def _holds_conversations(name: str) -> bool:
    file = PurePath(name).name
    return file.startswith("conversations") and file.endswith(".json")


def records(files: Iterable[BinaryIO]) -> Iterator[Any]:
    """Yield the items of an array, the objects of JSON Lines, or the one object of a file.

    Of a file of SQLite, yield the checkpoints of LangGraph. Only a file that is one object spread over
    several lines is read at once. Raises `BadLine` and `InvalidInput`.
    """
    for file in files:
        head = file.read(HEAD_BYTES)
        if head.startswith(MAGIC):
            yield from checkpoints(Path(str(file.name)))
            continue
        head = head.removeprefix(BYTE_ORDER_MARK).lstrip()
        file.seek(0)
        if head.startswith(b"["):
            yield from _items(file)
        elif head.startswith(b"{"):
            yield from _objects(file)


def _items(file: BinaryIO) -> Iterator[Any]:
    import ijson

    if file.read(len(BYTE_ORDER_MARK)) != BYTE_ORDER_MARK:
        file.seek(0)
    try:
        yield from ijson.items(file, "item", use_float=True)
    except (ijson.JSONError, UnicodeDecodeError) as problem:
        raise InvalidInput(_name(file), f"is broken JSON: {_first_line(problem)}") from problem


def _objects(file: BinaryIO) -> Iterator[Any]:
    first = file.readline(MOST_LINE_BYTES).removeprefix(BYTE_ORDER_MARK)
    try:
        yield msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError):
        yield _document(first + file.read(MOST_LINE_BYTES), _name(file))
        return
    for number, line in enumerate(iter(lambda: file.readline(MOST_LINE_BYTES), b""), start=2):
        if not line.strip():
            continue
        try:
            yield msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            # A program may be writing the last line; the next import gets it.
            if line.endswith(b"\n"):
                raise BadLine(number, "body", f"is not JSON in UTF-8 ({problem})") from problem


def _document(text: bytes, name: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise InvalidInput(name, f"is not JSON in UTF-8 ({problem})") from problem


def _name(file: BinaryIO) -> str:
    return PurePath(str(file.name)).name


def _first_line(problem: Exception) -> str:
    text = problem.args[0] if problem.args else problem
    shown = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    return shown.partition("\n")[0].strip()


def converted(record: Any, to: type[Value]) -> Value | NoMessage:
    """Return a record as what its form says it is, or why it is not."""
    try:
        return msgspec.convert(record, to, strict=False)
    except msgspec.ValidationError as problem:
        return NoMessage(f"cannot be read: {problem}")
