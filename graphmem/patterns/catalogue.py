"""The catalogue of patterns: the files under `cypher/patterns/`, read once."""

from functools import cache
from typing import Any

from msgspec import Struct

from graphmem import resources
from graphmem.errors import InvalidInput, PatternDamaged, PatternNotFound
from graphmem.graph.query import Query
from graphmem.model.pattern import Pattern
from graphmem.model.times import END
from graphmem.patterns.header import header
from graphmem.patterns.parameters import checked_pattern

FOLDER = "patterns"


class Entry(Struct, frozen=True):
    """A pattern, the query that its file holds, and which of its parameters graphmem fills."""

    pattern: Pattern
    query: Query[dict[str, Any]]
    filled: frozenset[str]


@cache
def catalogue() -> dict[str, Entry]:
    """Return all patterns by their names. Raises `PatternDamaged`."""
    paths = sorted((resources.folder("cypher") / FOLDER).glob("*.cypher"))
    return {path.stem: entry(path.stem) for path in paths}


def entry(name: str) -> Entry:
    """Return the pattern of one file. Raises `PatternDamaged`."""
    query: Query[dict[str, Any]] = Query(f"{FOLDER}/{name}", dict[str, Any])
    said = header(name, query.text)
    try:
        checked_pattern(said.pattern, now=END)
    except InvalidInput as problem:
        raise PatternDamaged(name, f"its default or example for {problem}") from problem
    return Entry(said.pattern, query, said.filled)


def found(name: str) -> Entry:
    """Return a pattern by its name. Raises `PatternNotFound`."""
    try:
        return catalogue()[name]
    except KeyError:
        raise PatternNotFound(name, list(catalogue())) from None
