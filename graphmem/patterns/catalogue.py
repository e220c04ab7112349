"""The catalogue of patterns: the files under `cypher/patterns/`, read once."""

from functools import cache
from typing import Any

from msgspec import Struct

from graphmem import config
from graphmem.errors import InvalidInput, PatternDamaged, PatternNotFound
from graphmem.graph.query import Query
from graphmem.model.times import END
from graphmem.patterns.types import Pattern, checked_pattern, header

FOLDER = "patterns"


class CataloguePattern(Struct, frozen=True):
    """A pattern, its query, and the parameters of the query that graphmem fills."""

    pattern: Pattern
    query: Query[dict[str, Any]]
    filled: frozenset[str]
    lender: Pattern | None = None
    """The pattern that the query is borrowed from, if any; its other parameters have their defaults."""


@cache
def catalogue() -> dict[str, CataloguePattern]:
    """Return all patterns by their names. Raises `PatternDamaged`."""
    paths = sorted((config.folder("cypher") / FOLDER).glob("*.cypher"))
    return {path.stem: entry(path.stem) for path in paths}


def entry(name: str) -> CataloguePattern:
    """Return the pattern of one file. Raises `PatternDamaged`."""
    query: Query[dict[str, Any]] = Query(f"{FOLDER}/{name}", dict[str, Any])
    said = header(name, query.text)
    try:
        checked_pattern(said.pattern, now=END)
    except InvalidInput as problem:
        raise PatternDamaged(name, f"its default or example for {problem}") from problem
    if said.query is None:
        return CataloguePattern(said.pattern, query, said.filled)
    return borrowing(said.pattern, said.query)


def borrowing(pattern: Pattern, name: str) -> CataloguePattern:
    """Return a pattern with the query of another, whose other parameters must all have defaults.

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
    return CataloguePattern(pattern, query, lender.filled, lender.pattern)


def find(name: str) -> CataloguePattern:
    """Return a pattern by its name. Raises `PatternNotFound`."""
    try:
        return catalogue()[name]
    except KeyError:
        raise PatternNotFound(name, list(catalogue())) from None
