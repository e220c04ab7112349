"""Running a pattern: its query with limits, and what a detector makes of the rows."""

import asyncio
import statistics
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from graphmem.embedding import Embedder, Vector
from graphmem.graph.driver import Graph
from graphmem.patterns.catalogue import Entry, catalogue, found
from graphmem.patterns.header import UNSUMMARIZED
from graphmem.patterns.parameters import Values, defaults, values
from graphmem.patterns.rising import rising
from graphmem.patterns.themes import Sessions, recurring
from graphmem.patterns.types import MOST_ROWS, Pattern, PatternAnswer
from graphmem.retrieval.calibration import RELATED
from graphmem.sessions.whole_sessions import whole_sessions
from graphmem.text.entities import normalized

SECONDS = 10.0
"""How long the server works on a pattern before it cuts it off."""

Row = dict[str, Any]


class Asked(Struct, frozen=True):
    """In whose name a pattern is run, and when."""

    client_id: str
    now: datetime


Detector = Callable[[list[Sessions], Values], list[Row]]

DETECTORS: Mapping[str, Detector] = {
    "recurring_themes": recurring,
    "themes_rising_and_fading": rising,
}
"""What finds in a query's rows what Cypher cannot, by the name that a header gives it."""


def patterns() -> list[Pattern]:
    """Return the catalogue, in the order of names."""
    return [entry.pattern for entry in catalogue().values()]


async def run(
    name: str, given: Mapping[str, Any], *, asked: Asked, graph: Graph, embedder: Embedder
) -> PatternAnswer:
    """Return what a pattern finds, at most 1,000 rows.

    Raises `PatternNotFound`, `InvalidInput`, `TookTooLong`, `Unavailable`.
    """
    entry = found(name)
    chosen = values(entry.pattern, given, now=asked.now)
    return await answer(entry, chosen, asked=asked, graph=graph, embedder=embedder)


async def answer(
    entry: Entry, chosen: Values, *, asked: Asked, graph: Graph, embedder: Embedder
) -> PatternAnswer:
    """Return what a pattern of the catalogue, or one in the making, finds with checked parameters."""
    sent = (defaults(entry.lender, now=asked.now) if entry.lender else {}) | chosen
    sent |= await _filled(entry, sent, asked, graph, embedder)
    # A borrowed query does not know the borrower's own parameters, which only the detector uses.
    known = {name: value for name, value in sent.items() if name in entry.query.parameters}
    rows = await graph.limited(entry.query, seconds=SECONDS, most=MOST_ROWS + 1, **known)
    if entry.pattern.detector:
        shown = msgspec.convert(rows, list[Sessions])
        detect = DETECTORS[entry.pattern.detector]
        rows = (await asyncio.to_thread(detect, shown, chosen))[: chosen["limit"]]
    return PatternAnswer(
        columns=[column.name for column in entry.pattern.columns],
        rows=rows[:MOST_ROWS],
        truncated=len(rows) > MOST_ROWS,
    )


async def _filled(
    entry: Entry, chosen: Values, asked: Asked, graph: Graph, embedder: Embedder
) -> Values:
    """Return the parameters that no caller sets."""
    found: Values = {}
    for name in entry.filled:
        if name in {"client_id", "now"}:
            found[name] = getattr(asked, name)
        elif name == "background":
            found[name] = await background(embedder)
        elif name == UNSUMMARIZED:
            found[name] = await whole_sessions(
                chosen, client_id=asked.client_id, seconds=SECONDS, graph=graph, embedder=embedder
            )
        elif name.endswith("_normalized"):
            found[name] = normalized(chosen[name.removesuffix("_normalized")])
        else:
            text = chosen[name.removesuffix("_embedding")]
            found[name] = await embedder.query(text) if text else []
    return found


async def background(embedder: Embedder) -> Vector:
    """Return the mean of vectors of texts that have nothing to do with each other."""
    vectors = [one.vector for one in await embedder.passages([answer for _, answer in RELATED])]
    return [statistics.fmean(values) for values in zip(*vectors, strict=True)]
