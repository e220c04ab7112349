"""A Cypher file as a value: its text with its includes, the type of its rows, and whether it writes.

An include is a block of Cypher that several files share, written once in `cypher/fragments/`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

from graphmem import config
from graphmem.model.vocabulary import FIRST, Side

if TYPE_CHECKING:  # the command line prints queries, and does without the driver
    from neo4j import AsyncResult

FOLDER = "fragments"

_INCLUDE = re.compile(r"^(?P<indent> *)// include\b(?P<what>.*)$", re.MULTILINE)
_WHAT = re.compile(r" (?P<name>[a-z]\w*)(?:\((?P<node>[a-z]\w*)\))?")
_NODE = re.compile(r"(?<![\w.:$])memory\b")
_PARAMETER_LINE = re.compile(r"// (?P<name>\$\w+) +(?P<type>\S+) +(?P<meaning>\S.*)")
_COMMENT = "//"


def names() -> list[str]:
    """Return the names of all query files, without fragments."""
    folder = config.folder("cypher")
    found = (path.relative_to(folder).with_suffix("") for path in folder.rglob("*.cypher"))
    return sorted(path.as_posix() for path in found if path.parts[0] != FOLDER)


def read(name: str) -> str:
    """Return the text of a file under `cypher/`, as it is written."""
    return (config.folder("cypher") / f"{name}.cypher").read_text(encoding="utf-8")


def expanded(name: str, text: str) -> str:
    """Return the text of a query file with its includes replaced and their parameters declared.

    Raises `ValueError` for an include of another form, of an unknown fragment or of itself.
    """
    declared: list[str] = []
    body = _replaced(name, text, declared, ())
    return _with_parameters(body, declared) if declared else body


def _replaced(name: str, text: str, declared: list[str], around: tuple[str, ...]) -> str:
    """Return a text with its includes replaced; add the fragments' parameters to `declared`."""

    def fragment(include: re.Match[str]) -> str:
        what = _WHAT.fullmatch(include["what"])
        if what is None:
            line = include[0].strip()
            raise ValueError(
                f"{name}: {line!r} is not `// include NAME` or `// include NAME(node)`"
            )
        if what["name"] in around:
            raise ValueError(f"{name}: the fragment {what['name']!r} includes itself")
        header, body = _parts(name, what["name"])
        declared.extend(line for line in header if _PARAMETER_LINE.fullmatch(line))
        body = _replaced(name, body, declared, (*around, what["name"]))
        return "\n".join(
            f"{include['indent']}{_renamed(line, what['node'])}" if line else line
            for line in body.splitlines()
        )

    return _INCLUDE.sub(fragment, text)


def _parts(name: str, fragment: str) -> tuple[list[str], str]:
    """Return the lines of a fragment's header, and its Cypher."""
    try:
        lines = read(f"{FOLDER}/{fragment}").splitlines()
    except FileNotFoundError:
        place = f"cypher/{FOLDER}/{fragment}.cypher"
        raise ValueError(f"{name} includes {fragment!r}, and there is no {place}") from None
    body = [
        at
        for at, line in enumerate(lines)
        if not line.startswith(_COMMENT) or _INCLUDE.fullmatch(line)
    ]
    return lines[: body[0]], "\n".join(lines[body[0] :])


def _renamed(line: str, node: str | None) -> str:
    """Return a line with the node renamed, if a name is given; comments stay."""
    if node is None or line.lstrip().startswith(_COMMENT):
        return line
    return _NODE.sub(node, line)


def _with_parameters(text: str, declared: Iterable[str]) -> str:
    """Return a text whose header declares these parameters after its own, aligned."""
    lines = text.splitlines(keepends=True)
    end = next(at for at, line in enumerate(lines[1:], 1) if not line.startswith(_COMMENT))
    own = [at for at in range(1, end) if _PARAMETER_LINE.fullmatch(lines[at].rstrip("\n"))]
    rows: dict[str, tuple[str, str]] = {}
    for line in (*(lines[at].rstrip("\n") for at in own), *declared):
        if found := _PARAMETER_LINE.fullmatch(line):
            rows.setdefault(found["name"], (found["type"], found["meaning"]))
    name_width = max(map(len, rows))
    type_width = max(len(type) for type, _ in rows.values())
    block = [
        f"// {name:{name_width}}  {type:{type_width}}  {meaning}\n"
        for name, (type, meaning) in rows.items()
    ]
    if not own:
        return "".join((*lines[:end], "//\n", *block, *lines[end:]))
    return "".join((*lines[: own[0]], *block, *lines[own[-1] + 1 :]))


Row = TypeVar("Row")

_PARAMETER = re.compile(r"^// \$(\w+)", re.MULTILINE)
_INDEX = re.compile(rf"\b{FIRST.index}\b")
_PASSAGE_INDEX = re.compile(rf"\b{FIRST.passage_index}\b")
_EMBEDDING = re.compile(rf"(?<=\.){FIRST.embedding}\b")


ANSWERING = {
    "contextual",
    "hypotheses",
    "neighbourhood",
    "patterns",
    "recall",
    "retrieval",
    "retrieve_memory",
    "warming",
}
"""The folders whose queries only answer callers: nothing that is written depends on their rows."""


ALSO_ANSWERING = {"memories/cards", "graph/answers"}
"""The queries of other folders that only answer callers, too."""


class RowsWritten(Struct, frozen=True):
    """The number of rows that a statement has written."""

    written: int


class Query(Generic[Row]):
    """A query file and the type of its rows.

    Each row has a column for each field of the struct `row`; a query with many rows returns them as one
    list of maps, `rows`. `reads` sets how the values of a result are read, before the first one is.
    """

    def __init__(
        self,
        name: str,
        row: type[Row],
        *,
        writes: bool = False,
        reads: "Callable[[AsyncResult], None] | None" = None,
    ) -> None:
        self.name = name
        self.row = row
        self.writes = writes
        self.reads = reads
        self._texts: dict[Side, str] = {}

    def __repr__(self) -> str:
        return f"Query({self.name!r})"

    @cached_property
    def anywhere(self) -> bool:
        """Whether any member of a cluster may answer it; else only the leader, which knows every write."""
        return self.name.partition("/")[0] in ANSWERING or self.name in ALSO_ANSWERING

    @cached_property
    def text(self) -> str:
        """The Cypher of the file, with its includes expanded."""
        return expanded(self.name, read(self.name))

    def text_on(self, side: Side) -> str:
        """Return the Cypher with the names of this side's vector indexes and property."""
        if side not in self._texts:
            self._texts[side] = renamed(self.text, side)
        return self._texts[side]

    def statement(self, side: Side, parameters: Mapping[str, object]) -> str:
        """Return the Cypher to run on a side with these parameters.

        Raises `TypeError` for a parameter that the header does not declare: Neo4j would ignore it.
        """
        unknown = parameters.keys() - self.parameters
        if unknown:
            raise TypeError(f"{self.name} declares no parameter {', '.join(sorted(unknown))}")
        return self.text_on(side)

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The parameters that the file's header and its includes declare."""
        return frozenset(_PARAMETER.findall(self.text))


def renamed(text: str, side: Side) -> str:
    """Return Cypher with a side's names instead of the first side's; changes nothing else."""
    indexed = _PASSAGE_INDEX.sub(side.passage_index, _INDEX.sub(side.index, text))
    return _EMBEDDING.sub(side.embedding, indexed)
