"""Metrics for Prometheus: counters since the start, and gauges read during the scrape."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from litestar import Request, Response, Router, get
from litestar.di import NamedDependency, Provide
from litestar.handlers import BaseRouteHandler
from litestar.openapi.spec import SecurityRequirement
from msgspec import Struct
from prometheus_client import REGISTRY, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, choose_encoder, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from graphmem.errors import Unavailable
from graphmem.graph.driver import Graph, Pool
from graphmem.graph.statements import STATEMENTS_AT_WORK, AtWork
from graphmem.jobs.outbox import JobCount, JobState, count_open_jobs
from graphmem.observing.logs import traced
from graphmem.runtime import Runtime
from graphmem_api.clients import Connection, Guard, is_near
from graphmem_api.problems import described

DEADLINE_SECONDS = 1.0
"""The time limit of a count in the database; a scrape never waits longer for it."""

FRESH_SECONDS = 5.0
"""The time for which a count is reused."""

SECURITY: list[SecurityRequirement] = [{}, {"key": []}]

Row = TypeVar("Row")

log = logging.getLogger(__name__)


class Counted(Struct, frozen=True):
    """Open jobs by state, and operators' running statements; None while the database does not answer."""

    jobs: list[JobCount] | None = None
    statements: list[AtWork] | None = None


def together(counted: Sequence[Counted]) -> Counted:
    """Return the counts of all places as one; those of places that do not answer are left out."""
    jobs: Counter[JobState] = Counter()
    for one in counted:
        jobs.update({row.state: row.jobs for row in one.jobs or ()})
    if all(one.jobs is None for one in counted):
        return Counted()
    return Counted(
        jobs=[JobCount(state, number) for state, number in jobs.items()],
        statements=[row for one in counted for row in one.statements or ()],
    )


class Counts:
    """Counts in the databases, seldom and with a deadline."""

    def __init__(self) -> None:
        self._asked = float("-inf")
        self._counted = Counted()
        self._asking = asyncio.Lock()

    async def read(self, graphs: Sequence[Graph]) -> Counted:
        """Return the counts, at most a few seconds old."""
        async with self._asking:
            if time.monotonic() - self._asked > FRESH_SECONDS:
                counted = await asyncio.gather(*map(_count, graphs))
                self._counted = counted[0] if len(counted) == 1 else together(counted)
                self._asked = time.monotonic()
            return self._counted


class Gauges(Struct, frozen=True):
    """The gauges of one scrape."""

    counted: Counted
    pool: Pool | None
    waiting: int
    places: dict[str, str | None] = {}

    def collect(self) -> Iterator[Metric]:
        """Yield the counters since the start, then the gauges."""
        yield from REGISTRY.collect()
        yield GaugeMetricFamily(
            "graphmem_database_up",
            "Whether the database answered when jobs were last counted",
            value=self.counted.jobs is not None,
        )
        yield _family(
            "graphmem_jobs",
            "Background work of all clients",
            "state",
            {row.state: row.jobs for row in self.counted.jobs or []},
        )
        yield _family(
            "graphmem_cypher_statements",
            "Operators' statements that the database works on; cut_off: nobody waits for them any more",
            "state",
            self._statements(),
        )
        yield _family(
            "graphmem_neo4j_connections",
            "Connections in the driver's pool",
            "state",
            {"in_use": self.pool.in_use, "idle": self.pool.idle} if self.pool else {},
        )
        if self.places:
            yield _family(
                "graphmem_place_up",
                "Whether the Neo4j of a place of clients answers",
                "place",
                {name: problem is None for name, problem in self.places.items()},
            )
        yield GaugeMetricFamily(
            "graphmem_embedder_waiting",
            "Questions and batches of passages that wait for the model",
            value=self.waiting,
        )

    def _statements(self) -> dict[str, int]:
        found = self.counted.statements
        if found is None:
            return {}
        cut_off = sum(one.is_cut_off for one in found)
        return {"running": len(found) - cut_off, "cut_off": cut_off}


class ScrapeGuard:
    """Admits this machine, and remote callers with an operator's key."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def __call__(self, connection: Connection, handler: BaseRouteHandler) -> None:
        """Raise 401 without a known key, and 403 without an operator's."""
        if is_near(connection):
            return
        await self._guard(connection, handler)


@get(
    "/",
    summary="Metrics for Prometheus",
    media_type="text/plain",
    response_description="Prometheus' text format, or OpenMetrics if requested",
    responses=described(401, 403),
    security=SECURITY,
)
async def show_metrics(
    request: Request[Any, Any, Any],
    runtime: NamedDependency[Runtime],
    counts: NamedDependency[Counts],
) -> Response[bytes]:
    """Show counts and durations: by route, reason and kind, never by client.

    This machine needs no key; remote callers, and those behind a proxy, need one of the role operator.
    With a places file, the gauges add up all places, and `graphmem_place_up` names those that are away. While
    the database does not answer, `graphmem_jobs` and `graphmem_cypher_statements` are empty.
    """
    graphs = [one.graph for one in runtime.everywhere]
    gauges = Gauges(
        counted=await counts.read(graphs),
        pool=pooled([graph.pool() for graph in graphs]),
        waiting=runtime.embedder.waiting(),
        places=runtime.places.states() if runtime.places else {},
    )
    try:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
    except (TypeError, ValueError):
        # An Accept header that it cannot parse.
        encode, content_type = generate_latest, CONTENT_TYPE_PLAIN_0_0_4
    return Response(encode(gauges), headers={"Content-Type": content_type})


def metrics(guard: Guard) -> Router:
    """Return the route, with its own cache of counts."""
    # A third of all lines, which no dashboard uses: a restart shows in `process_start_time_seconds`.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    counts = Counts()
    return Router(
        "/metrics",
        route_handlers=[show_metrics],
        guards=[ScrapeGuard(guard)],
        dependencies={"counts": Provide(lambda: counts, sync_to_thread=False)},
        tags=["metrics"],
    )


def pooled(pools: Sequence[Pool | None]) -> Pool | None:
    """Return the connections of all places together."""
    known = [one for one in pools if one is not None]
    if not known:
        return None
    return Pool(sum(one.in_use for one in known), sum(one.idle for one in known))


async def _count(graph: Graph) -> Counted:
    jobs = await _within_deadline(count_open_jobs(graph))
    if jobs is None:
        return Counted()
    return Counted(jobs, await _within_deadline(graph.rows(STATEMENTS_AT_WORK)))


async def _within_deadline(counting: Coroutine[Any, Any, list[Row]]) -> list[Row] | None:
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await counting
    except (TimeoutError, Unavailable):
        return None
    except Exception as problem:
        # Whatever the cause, the other metrics help to find it.
        log.warning("the database cannot be asked for counts: %s", traced(problem))
        return None


def _family(name: str, about: str, label: str, values: Mapping[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=[label])
    for state, value in values.items():
        family.add_metric([state], value)
    return family
