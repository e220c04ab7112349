"""A Cypher file as a value: its text, the type of its rows, and whether it writes.

A file under `cypher/` is one query. Its first line is the language version, then one sentence,
then a line `// $name  type  meaning` for every parameter. A line `// include NAME` stands for the text of
a fragment, the names of the vector indexes and of a memory's embedding for those of the current side.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Generic, TypeVar

from msgspec import Struct

from graphmem.graph.fragments import expanded, read
from graphmem.model.side import FIRST, Side

Row = TypeVar("Row")

_PARAMETER = re.compile(r"^// \$(\w+)", re.MULTILINE)
_INDEX = re.compile(rf"\b{FIRST.index}\b")
_PASSAGE_INDEX = re.compile(rf"\b{FIRST.passage_index}\b")
_EMBEDDING = re.compile(rf"(?<=\.){FIRST.embedding}\b")


class RowsWritten(Struct, frozen=True):
    """The number of rows that a statement has written."""

    written: int


class Query(Generic[Row]):
    """A query file and the type of its rows.

    Each row has a column for each field of the struct `row`; a query with many rows returns them as one
    list of maps, `rows`.
    """

    def __init__(self, name: str, row: type[Row], *, writes: bool = False) -> None:
        self.name = name
        self.row = row
        self.writes = writes
        self._texts: dict[Side, str] = {}

    def __repr__(self) -> str:
        return f"Query({self.name!r})"

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
