"""The file of an export: its lines, the hash that grows with them, and places where it can be continued.

    {"graphmem_export": 1, "client_id": …}                           the header
    {"node": ["Memory", "Fact"], "properties": {…}}                  nodes, and the edges that begin at them
    {"edge": "MENTIONS", "from": ["Memory", id], "to": ["Entity", name], "properties": {…}}
    {"page": {"nodes": 500, "edges": 1200, "sha256": …, "cursor": …}}  the end of a page
    {"end": {"nodes": …, "edges": …, "sha256": …, "changed": false}}   the end of the file

The hash of a page is that of the hash before it and of the lines since then. So a file that ends early, or of
which a byte has changed, is recognised, and a page can be checked without those before it. What the ends say
themselves has no hash: their numbers are counted again, and `changed` and the cursors are believed.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec
from msgspec import Struct, field

from graphmem.errors import InvalidInput
from graphmem.model.validation import counted

Wanted = TypeVar("Wanted")

FORMAT = 1
BEGINNING = b'{"graphmem_export":'
"""The first bytes of every export."""

NODE, EDGE, PAGE, END = (b'{"%b":' % name for name in (b"node", b"edge", b"page", b"end"))

CLIENT = NODE + b'["Client"]'
"""The first bytes of the line of the client's own node, which has its settings."""


class Damaged(InvalidInput):
    """A file is no whole export."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        """Name the problem, and the line that has it."""
        super().__init__("file", problem if line is None else f"{problem} (line {line:,})")


class ExportHeader(Struct, frozen=True, kw_only=True):
    """The first line: the client, its schema, and the model of its vectors, None if the file has none."""

    graphmem_export: int = FORMAT
    client_id: str
    schema: int
    tokenizer: str
    embedding_model: str | None
    began_at: datetime


class NodeLine(Struct, frozen=True):
    """A node with its labels; its properties are as `graphmem.graph.plain` writes them."""

    node: list[str]
    properties: dict[str, Any]


class EdgeLine(Struct, frozen=True):
    """An edge between two nodes, each named by its label and its key."""

    edge: str
    start: tuple[str, str] = field(name="from")
    end: tuple[str, str] = field(name="to")
    properties: dict[str, Any] = {}


class PageEnd(Struct, frozen=True):
    """The end of a page: the numbers of nodes and edges up to it, the hash, the cursor of the next page."""

    nodes: int
    edges: int
    sha256: str
    cursor: str


class PageLine(Struct, frozen=True):
    """The line at the end of a page."""

    page: PageEnd


class End(Struct, frozen=True, kw_only=True):
    """The last line.

    `changed` tells that the numbers of memories and conversations, or the newest memory, are not those of the
    beginning. It misses changes of what was there: annotations, titles, links, facts that were said again.
    """

    nodes: int
    edges: int
    sha256: str
    changed: bool


class EndLine(Struct, frozen=True):
    """The line at the end of the file."""

    end: End


class Checked(Struct, frozen=True):
    """A whole file: its header, its end, and its size in bytes."""

    header: ExportHeader
    end: End
    size: int


class UnfinishedFile(Struct, frozen=True):
    """The beginning of a file that ends early: its header, its last page, and the bytes up to its end."""

    header: ExportHeader
    page: PageEnd | None
    size: int


class Lines(Struct, frozen=True):
    """The lines of a page of one kind, nodes or edges, their numbers, and the place in the file after it."""

    lines: list[bytes]
    numbers: list[int]
    after: int


def line(value: Struct) -> bytes:
    """Return a struct as a line."""
    return msgspec.json.encode(value) + b"\n"


def chained(before: str, lines: bytes) -> str:
    """Return the hash after some lines."""
    return hashlib.sha256(before.encode() + lines).hexdigest()


def header_of(first: bytes) -> ExportHeader:
    """Return the header of a file. Raises `Damaged`."""
    header = _read(first, ExportHeader, "its first line is no header of an export")
    if header.graphmem_export != FORMAT:
        raise Damaged(
            f"it has the format {header.graphmem_export}, and this graphmem reads {FORMAT}: upgrade graphmem"
        )
    return header


def check(path: Path) -> Checked:
    """Read a whole file and return what it says of itself. Raises `Damaged` if it is not whole."""
    with path.open("rb") as file:
        first = file.readline()
        header, sha256 = header_of(first), chained("", first)
        nodes = edges = 0
        for page, _ in _pages(file, sha256):
            sha256, nodes, edges = page.sha256, page.nodes, page.edges
        last = file.readline()
        rest = file.readline()
        size = file.tell()
    if not last.startswith(END) or rest:
        raise Damaged("it has no end: the export was interrupted; continue it, then import it")
    end = _read(last, EndLine, "its last line cannot be read").end
    if end.sha256 != sha256:
        raise Damaged("a page is missing: export it again")
    _require_numbers(end, nodes, edges)
    return Checked(header, end, size)


def beginning(path: Path) -> UnfinishedFile | None:
    """Return the whole pages at the beginning of an unfinished file, None without a header."""
    with path.open("rb") as file:
        first = file.readline()
        if not first.endswith(b"\n"):
            return None
        header, size, last = header_of(first), len(first), None
        for page, after in _pages(file, chained("", first)):
            last, size = page, after
    return UnfinishedFile(header, last, size)


def read_pages(path: Path, prefix: bytes, after: int) -> Iterator[Lines]:
    """Yield the lines of one kind of each page that begins at a place or behind it."""
    with path.open("rb") as file:
        file.seek(after)
        place = after
        found: list[bytes] = []
        numbers: list[int] = []
        for number, one in enumerate(file, count_lines(path, after) + 1):
            place += len(one)
            if one.startswith(prefix):
                found.append(one)
                numbers.append(number)
            elif one.startswith(PAGE):
                yield Lines(found, numbers, place)
                found, numbers = [], []


def count_lines(path: Path, end: int) -> int:
    """Return the number of lines before a place in the file."""
    number = place = 0
    with path.open("rb") as file:
        for one in file:
            place += len(one)
            if place > end:
                break
            number += 1
    return number


def _pages(file: BinaryIO, sha256: str) -> Iterator[tuple[PageEnd, int]]:
    """Yield each whole page with the place after it; then leave the file before the lines that follow.

    Raises `Damaged` for a page with another hash than its own, or other numbers of nodes and edges up to it.
    """
    digest = hashlib.sha256(sha256.encode())
    nodes = edges = 0
    place = after = file.tell()
    for one in iter(file.readline, b""):
        after += len(one)
        if not one.endswith(b"\n") or one.startswith(END):
            break
        if not one.startswith(PAGE):
            digest.update(one)
            nodes += one.startswith(NODE)
            edges += one.startswith(EDGE)
            continue
        page = _read(one, PageLine, "the end of a page cannot be read").page
        if page.sha256 != digest.hexdigest():
            raise Damaged(
                "a page differs from what was exported: its SHA-256 is another; export it again"
            )
        _require_numbers(page, nodes, edges)
        digest, place = hashlib.sha256(page.sha256.encode()), after
        yield page, place
    file.seek(place)


def _require_numbers(told: PageEnd | End, nodes: int, edges: int) -> None:
    """Raise `Damaged` for the end of a page, or of the file, that tells of other numbers than there are."""
    if (told.nodes, told.edges) != (nodes, edges):
        raise Damaged(
            f"it has {counted(nodes, 'node')} and {counted(edges, 'edge')} where it tells of "
            f"{counted(told.nodes, 'node')} and {counted(told.edges, 'edge')}; export it again"
        )


def _read(one: bytes, wanted: type[Wanted], problem: str) -> Wanted:
    try:
        return msgspec.json.decode(one, type=wanted)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Damaged(problem) from error
