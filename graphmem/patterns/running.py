"""Patterns: the catalogue, read once from the files under `cypher/patterns/`, and running one of them."""

import asyncio
import statistics
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from graphmem import config
from graphmem.context import Context
from graphmem.embedding import Embedder, Vector
from graphmem.errors import InvalidInput, PatternDamaged, PatternNotFound
from graphmem.graph.query import Query
from graphmem.model.times import END
from graphmem.patterns import types
from graphmem.patterns.themes import ThemeSession, recurring, rising
from graphmem.patterns.types import (
    LIMIT,
    MOST_ROWS,
    Pattern,
    PatternAnswer,
    PatternAsked,
    Patterns,
    Values,
    checked_pattern,
    defaults,
    header,
    values,
)
from graphmem.retrieval.relevance import RELATED
from graphmem.sessions.whole_sessions import embed_whole_sessions
from graphmem.text.entities import normalized

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


SECONDS = 30.0
"""The time limit of a pattern on the server: a cold one takes seconds to plan the longest of them."""

Row = dict[str, Any]


Detector = Callable[[list[ThemeSession], Values], list[Row]]

DETECTORS: Mapping[str, Detector] = {
    "recurring_themes": recurring,
    "themes_rising_and_fading": rising,
}
"""Functions that evaluate the rows of a query beyond Cypher, by their names in headers."""


def patterns() -> Patterns:
    """Return the catalogue, in the order of names."""
    return Patterns(patterns=[one.pattern for one in catalogue().values()])


async def run_pattern(name: str, asked: PatternAsked, context: Context) -> PatternAnswer:
    """Return the rows that a pattern finds, at most 1,000.

    Raises `PatternNotFound`, `InvalidInput`, `TookTooLong`, `Unavailable`.
    """
    found = find(name)
    now = context.now()
    return await answer(found, values(found.pattern, asked.parameters, now=now), now, context)


async def answer(
    found: CataloguePattern, chosen: Values, now: datetime, context: Context
) -> PatternAnswer:
    """Return the rows that a pattern, of the catalogue or not, finds with checked parameters."""
    sent = (defaults(found.lender, now=now) if found.lender else {}) | chosen
    sent |= await _fill(found, sent, now, context)
    limit = chosen[LIMIT]
    sent[LIMIT] = limit + 1  # tells whether there are more
    # A borrowed query does not know the parameters of the borrower that only the detector uses.
    known = {name: value for name, value in sent.items() if name in found.query.parameters}
    rows = await context.graph.limited(found.query, seconds=SECONDS, most=MOST_ROWS + 1, **known)
    if found.pattern.detector:
        sessions = msgspec.convert(rows, list[ThemeSession])
        detect = DETECTORS[found.pattern.detector]
        rows = await asyncio.to_thread(detect, sessions, chosen)
    return PatternAnswer(
        columns=[column.name for column in found.pattern.columns],
        rows=rows[:limit],
        truncated=len(rows) > limit,
    )


async def _fill(found: CataloguePattern, chosen: Values, now: datetime, context: Context) -> Values:
    """Return the parameters that no caller sets."""
    filled: Values = {}
    for name in found.filled:
        match name:
            case "client_id":
                filled[name] = context.client_id
            case "now":
                filled[name] = now
            case "model":
                filled[name] = context.embedder.key
            case "background":
                filled[name] = await background(context.embedder)
            case types.UNEMBEDDED:
                filled[name] = await embed_whole_sessions(chosen, context, seconds=SECONDS)
            case _:
                filled[name] = await _of_text(name, chosen, context.embedder)
    return filled


async def _of_text(name: str, chosen: Values, embedder: Embedder) -> Any:
    """Return the normal form or the embedding of another parameter's text."""
    if name.endswith("_normalized"):
        return normalized(chosen[name.removesuffix("_normalized")])
    text = chosen[name.removesuffix("_embedding")]
    return await embedder.query(text) if text else []


_BACKGROUNDS: dict[str, Vector] = {}
"""By the key of an embedding model, the mean vector of unrelated texts: the same for every question."""


async def background(embedder: Embedder) -> Vector:
    """Return the mean of the vectors of unrelated texts; they are embedded once for each model."""
    if embedder.key not in _BACKGROUNDS:
        vectors = [one.vector for one in await embedder.passages([answer for _, answer in RELATED])]
        _BACKGROUNDS[embedder.key] = [
            statistics.fmean(values) for values in zip(*vectors, strict=True)
        ]
    return _BACKGROUNDS[embedder.key]
