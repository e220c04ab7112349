"""What a file of another program holds: its records, and what a form reads from them.

LangGraph's checkpoints in a file of SQLite are read as the records that its API would give. A checkpoint is
msgpack in which objects are extensions: the module, the class and the fields. Only the fields are read;
nothing of the file is imported or called.
"""

import re
import sqlite3
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path, PurePath
from typing import Any, BinaryIO, TypeVar

import msgspec
from msgspec import Struct

from graphmem.cli.lines import BYTE_ORDER_MARK, BadLine
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


def _decoded(form: str | None, content: Any, name: str) -> dict[str, Any]:
    """Return a checkpoint. Raises `InvalidInput`."""
    try:
        if form == "msgpack":
            decoded = msgspec.msgpack.decode(content, ext_hook=_fields)
        elif form == "json":
            decoded = _json(content.encode() if isinstance(content, str) else content)
        else:
            raise InvalidInput(
                name, f"has checkpoints of type {form}, which are not read: msgpack and json are"
            )
    except (ValueError, TypeError) as problem:
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


UNREADABLE = {
    b"PK\x03\x04": "is a part of a zip archive: download or copy it again, whole",
    b"\x1f\x8b": "is compressed: `gunzip` it first",
    b"\xff\xfe": "is text in UTF-16: save it in UTF-8",
    b"\xfe\xff": "is text in UTF-16: save it in UTF-8",
}
"""The first bytes of files that cannot be read as they are, and what to do."""

ENCRYPTED = 1
"""The flag of an encrypted file in a zip archive."""

DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)
"""What reading from a zip archive raises that is not whole, or packed in a way that Python does not know."""


@contextmanager
def opened(path: Path) -> Iterator[list[BinaryIO]]:
    """Open a file; of a zip archive those files in it that hold conversations. Raises `InvalidInput`."""
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            head = file.read(4)
            for beginning, remedy in UNREADABLE.items():
                if head.startswith(beginning):
                    raise InvalidInput(path.name, remedy)
            file.seek(0)
            yield [file]
        return
    with ExitStack() as stack:
        try:
            archive = stack.enter_context(zipfile.ZipFile(path))
            files = _conversations(archive, path.name)
        except DAMAGED as problem:
            raise _damaged(path.name, problem) from problem
        yield files


def _conversations(archive: zipfile.ZipFile, name: str) -> list[Any]:
    """Open those files of an archive that hold conversations, by name. Raises `InvalidInput`."""
    found = [one for one in archive.infolist() if _holds_conversations(one.filename)]
    if not found:
        raise InvalidInput(name, "is an archive without a conversations.json")
    if any(one.flag_bits & ENCRYPTED for one in found):
        raise InvalidInput(name, "is encrypted: unpack it, and import the file in it")
    return [archive.open(one) for one in sorted(found, key=lambda one: one.filename)]


def _damaged(name: str, problem: Exception) -> InvalidInput:
    return InvalidInput(name, f"is damaged in its archive ({problem}): download or copy that again")


def _holds_conversations(name: str) -> bool:
    file = PurePath(name).name
    return file.startswith("conversations") and file.endswith(".json")


def records(files: Iterable[BinaryIO]) -> Iterator[Any]:
    """Yield the items of an array, the objects of JSON Lines, or the one object of a file.

    Of a file of SQLite, yield the checkpoints of LangGraph. Only a file that is one object spread over
    several lines is read at once. Raises `BadLine` and `InvalidInput`.
    """
    for file in files:
        try:
            yield from _records(file)
        except DAMAGED as problem:
            raise _damaged(_name(file), problem) from problem
        except RecursionError as problem:
            raise InvalidInput(_name(file), "is nested too deeply to be read") from problem


def _records(file: BinaryIO) -> Iterator[Any]:
    head = file.read(HEAD_BYTES)
    if head.startswith(MAGIC):
        yield from checkpoints(Path(str(file.name)))
        return
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
        yield _json(first)
    except (msgspec.DecodeError, UnicodeDecodeError):
        yield _document(first + file.read(MOST_LINE_BYTES), _name(file))
        return
    for number, line in enumerate(iter(lambda: file.readline(MOST_LINE_BYTES), b""), start=2):
        if not line.strip():
            continue
        try:
            yield _json(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            # A program may be writing the last line; the next import gets it.
            if line.endswith(b"\n"):
                raise BadLine(number, "body", f"is not JSON in UTF-8 ({problem})") from problem


ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F]..)|.)", re.DOTALL
)
"""An escape in JSON: a pair of surrogates, half of one, or any other."""


def _json(text: bytes) -> Any:
    """Decode JSON; half of a pair, which a program that cuts texts may write, becomes a question mark."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        mended = ESCAPE.sub(lambda escape: b"?" if escape["half"] else escape[0], text)
        if mended == text:
            raise
        return msgspec.json.decode(mended)


def _document(text: bytes, name: str) -> Any:
    try:
        return _json(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise InvalidInput(name, f"is not JSON in UTF-8 ({problem})") from problem


def _name(file: BinaryIO) -> str:
    return PurePath(str(file.name)).name


def _first_line(problem: Exception) -> str:
    text = problem.args[0] if problem.args else problem
    shown = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    return shown.partition("\n")[0].strip()


def as_object(value: Any) -> dict[str, Any]:
    """Return an object of JSON, an empty one for all else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return an array of JSON, an empty one for all else."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """Return a text or a number of JSON as text, None for all else."""
    return str(value) if isinstance(value, str | int | float) else None


def converted(record: Any, to: type[Value]) -> Value | NoMessage:
    """Return a record as what its form says it is, or why it is not."""
    try:
        return msgspec.convert(record, to, strict=False)
    except msgspec.ValidationError as problem:
        return NoMessage(f"cannot be read: {problem}")
