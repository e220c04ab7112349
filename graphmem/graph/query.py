"""A Cypher file as a value: its text, the shape of its rows, whether it writes.

A file under `cypher/` is one query. Its first line is the language version, then one sentence,
then a line `// $name  type  meaning` for every parameter.
"""

import re
from functools import cached_property
from typing import Generic, TypeVar

from graphmem import resources

Row = TypeVar("Row")

_PARAMETER = re.compile(r"^// \$(\w+)", re.MULTILINE)


class Query(Generic[Row]):
    """A query file and what its rows become.

    Each row has a column for each field of the struct `row`; a query that brings many returns them as
    one list of maps, `rows`.
    """

    def __init__(self, name: str, row: type[Row], *, writes: bool = False) -> None:
        self.name = name
        self.row = row
        self.writes = writes

    def __repr__(self) -> str:
        return f"Query({self.name!r})"

    @cached_property
    def text(self) -> str:
        """The Cypher, as it stands in the file."""
        return (resources.folder("cypher") / f"{self.name}.cypher").read_text(encoding="utf-8")

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The parameters that the file's header declares."""
        return frozenset(_PARAMETER.findall(self.text))
