"""The audit of operators' Cypher: every statement is kept before it runs, and how it ended afterwards.

An entry holds the text as it was sent, since only that tells what was looked at, and of the parameters the
names alone. It stands in the graph and never in a log.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct

from graphmem.errors import CypherMistake, CypherRefused, GraphmemError, TookTooLong, TookTooMuch
from graphmem.exploring.types import Asked, CypherAsked, Outcome, Table
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.jobs.afterwards import Afterwards

KEPT = timedelta(days=90)
"""How long an entry is kept."""

MOST = 100_000
"""How many entries are kept; beyond that the oldest go."""

FORGOTTEN_AT_ONCE = 20

PATIENCE_SECONDS = 0.25
"""How long an answer waits until its end is kept; on a server in trouble that comes later."""


class Kept(Struct, frozen=True):
    """How many entries a statement has changed."""

    written: int


BEGIN_AUDIT = Query("exploring/begin_audit", Kept, writes=True)
SETTLE_AUDIT = Query("exploring/settle_audit", Kept, writes=True)
FORGET_AUDIT = Query("exploring/forget_audit", Kept, writes=True)

OUTCOMES: Mapping[type[BaseException], Outcome] = {
    CypherRefused: "refused",
    CypherMistake: "mistaken",
    TookTooLong: "cut_off",
    TookTooMuch: "cut_off",
}


async def begin(sent: CypherAsked, *, asked: Asked, graph: Graph) -> None:
    """Keep that a statement was sent. Raises `Unavailable`: what cannot be kept is not run."""
    await graph.change(
        BEGIN_AUDIT,
        client_id=asked.client_id,
        id=asked.id,
        at=asked.at,
        properties={
            "via": asked.via,
            "query": sent.query,
            "parameters": sorted(sent.parameters),
            "outcome": "running",
        },
    )


async def end(
    ended: Table | BaseException,
    milliseconds: float,
    *,
    asked: Asked,
    graph: Graph,
    afterwards: Afterwards,
) -> None:
    """Keep how a statement ended; the answer does not wait long for it, and never fails for it."""
    properties = {"milliseconds": milliseconds, **_told(ended)}
    await afterwards.do_soon(
        "the end of a statement in the audit",
        _settled(properties, asked, graph),
        patience_seconds=PATIENCE_SECONDS,
    )


async def _settled(properties: dict[str, Any], asked: Asked, graph: Graph) -> None:
    await graph.change(SETTLE_AUDIT, client_id=asked.client_id, id=asked.id, properties=properties)
    await forget(asked=asked, graph=graph)


async def forget(*, asked: Asked, graph: Graph, most: int = MOST) -> int:
    """Forget some entries that are too old or too many; return how many."""
    rows = await graph.change(
        FORGET_AUDIT, before=asked.at - KEPT, most=most, limit=FORGOTTEN_AT_ONCE
    )
    return rows[0].written


def _told(ended: Table | BaseException) -> dict[str, Any]:
    if isinstance(ended, Table):
        return {"outcome": "answered", "rows": len(ended.rows), "truncated": ended.truncated}
    outcome = OUTCOMES.get(type(ended), "failed")
    code = ended.code if isinstance(ended, GraphmemError) else type(ended).__name__
    return {"outcome": outcome, "code": getattr(ended, "rule", code)}
