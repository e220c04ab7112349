"""Counting what a question costs the database: its queries are run again under PROFILE.

A comparison is a cosine of the question's vector with one memory's, counted by the rows of the operator
that computes it. A vector index does not say how many it compares: it counts as all that its filters let
through, which is the most it can be. Where they let nothing through, or the parameters leave the search
out, it finds nothing and counts as none.
"""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.runtime import Runtime

COSINES = ("vector.similarity.cosine(", "vector_distance(")
VECTOR_SEARCH = "VECTOR INDEX"


class Asked(Struct, frozen=True):
    """A query that was run, with its parameters."""

    query: Query[Any]
    parameters: dict[str, Any]


class Cost(Struct, frozen=True):
    """What a query costs: database hits, cosines computed, and how many times an index searched vectors."""

    name: str
    hits: int
    comparisons: int
    vector_searches: int


class Watched:
    """A graph that keeps the queries it runs."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.asked: list[Asked] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    async def rows(self, query: Query[Any], **parameters: Any) -> list[Any]:
        """Run a query as the graph does, and keep it."""
        self.asked.append(Asked(query, parameters))
        return await self._graph.rows(query, **parameters)


async def queries_of(runtime: Runtime, ask: Callable[[Runtime], Awaitable[Any]]) -> list[Asked]:
    """Return the queries that are run while something is asked of a running graphmem."""
    watched = Watched(runtime.graph)
    await ask(replace(runtime, graph=watched, recorder=None))
    return watched.asked


async def cost(graph: Graph, asked: Asked) -> Cost:
    """Run a query once more, under PROFILE."""
    async with graph.driver.session(database=graph.database) as session:
        text = f"PROFILE {asked.query.text_on(graph.side)}"
        summary = await (await session.run(text, asked.parameters)).consume()
    operators = list(_operators(summary.profile))
    return Cost(
        asked.query.name,
        sum(one.get("dbHits", 0) for one in operators),
        sum(one["rows"] for one in operators if _compares(one)),
        sum(VECTOR_SEARCH in _details(one) and one["rows"] > 0 for one in operators),
    )


def _compares(operator: dict[str, Any]) -> bool:
    """Tell whether it computes a cosine for each of its rows, not only where one is missing."""
    projects = operator["operatorType"].startswith("Projection")
    details = _details(operator)
    return projects and any(one in details for one in COSINES) and "coalesce(" not in details


def _details(operator: dict[str, Any]) -> str:
    return str(operator.get("args", {}).get("Details") or "")


def _operators(plan: Any) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("children", []):
        yield from _operators(child)
