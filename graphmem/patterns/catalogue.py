"""The catalogue of patterns: the files under `cypher/patterns/`, read once."""

from functools import cache
from typing import Any

from msgspec import Struct

from graphmem import resources
from graphmem.errors import InvalidInput, PatternDamaged, PatternNotFound
from graphmem.graph.query import Query
from graphmem.model.times import END
from graphmem.patterns.header import header
from graphmem.patterns.parameters import checked_pattern
from graphmem.patterns.types import Pattern

FOLDER = "patterns"


class Entry(Struct, frozen=True):
    """A pattern, the query that is run for it, and which of that query's parameters graphmem fills."""

    pattern: Pattern
    query: Query[dict[str, Any]]
    filled: frozenset[str]
    lender: Pattern | None = None
    """The pattern whose query it is, if not its own: what that takes besides has its defaults."""


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
    if said.query is None:
        return Entry(said.pattern, query, said.filled)
    return borrowing(said.pattern, said.query)


def borrowing(pattern: Pattern, name: str) -> Entry:
    """Return a pattern with another's query, whose other parameters all have defaults.

    Raises `PatternDamaged`.
    """
    query: Query[dict[str, Any]] = Query(f"{FOLDER}/{name}", dict[str, Any])
    try:
        lender = header(name, query.text)
    except OSError as problem:
        raise PatternDamaged(pattern.name, f"there is no pattern {name!r}") from problem
    own = {one.name for one in pattern.parameters}
    if lender.query or any(
        one.required for one in lender.pattern.parameters if one.name not in own
    ):
        raise PatternDamaged(pattern.name, f"the query of {name} cannot be run with its parameters")
    return Entry(pattern, query, lender.filled, lender.pattern)


def found(name: str) -> Entry:
    """Return a pattern by its name. Raises `PatternNotFound`."""
    try:
        return catalogue()[name]
    except KeyError:
        raise PatternNotFound(name, list(catalogue())) from None
