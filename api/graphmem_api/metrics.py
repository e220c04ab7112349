"""What Prometheus scrapes: counters kept since the start, and gauges read at that moment."""

import asyncio
import logging
import time
from collections.abc import Iterator
from typing import Any

from litestar import Request, Response, Router, get
from litestar.di import NamedDependency, Provide
from litestar.exceptions import PermissionDeniedException
from litestar.handlers import BaseRouteHandler
from litestar.openapi.spec import SecurityRequirement
from msgspec import Struct
from prometheus_client import REGISTRY
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, choose_encoder, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from graphmem.errors import Unavailable
from graphmem.graph.driver import Graph, Pool
from graphmem.jobs.show import JobCount, count_open_jobs
from graphmem.observing.logs import traced
from graphmem.runtime import Runtime
from graphmem_api.clients import Connection, Guard, current_client, is_near
from graphmem_api.problems import described

DEADLINE_SECONDS = 1.0
"""How long the database may take to count jobs; a scrape never waits longer for it."""

FRESH_SECONDS = 5.0
"""How long a count is shown again before the database is asked anew."""

SECURITY: list[SecurityRequirement] = [{}, {"key": []}]

log = logging.getLogger(__name__)


class JobCounts:
    """Counts open jobs, seldom and with a deadline; None while the database does not answer."""

    def __init__(self) -> None:
        self._asked = float("-inf")
        self._counted: list[JobCount] | None = None
        self._asking = asyncio.Lock()

    async def read(self, graph: Graph) -> list[JobCount] | None:
        """Return how many jobs are in each open state, as of a few seconds ago."""
        async with self._asking:
            if time.monotonic() - self._asked > FRESH_SECONDS:
                self._counted = await _count(graph)
                self._asked = time.monotonic()
            return self._counted


class Gauges(Struct, frozen=True):
    """What is read for one scrape."""

    jobs: list[JobCount] | None
    pool: Pool | None
    waiting: int

    def collect(self) -> Iterator[Metric]:
        """Yield what is counted since the start, then the gauges."""
        yield from REGISTRY.collect()
        yield GaugeMetricFamily(
            "graphmem_database_up",
            "Whether the database answered when jobs were last counted",
            value=self.jobs is not None,
        )
        yield _family(
            "graphmem_jobs",
            "Background work of all clients",
            "state",
            {row.state: row.jobs for row in self.jobs or []},
        )
        yield _family(
            "graphmem_neo4j_connections",
            "Connections in the driver's pool",
            "state",
            {"in_use": self.pool.in_use, "idle": self.pool.idle} if self.pool else {},
        )
        yield GaugeMetricFamily(
            "graphmem_embedder_waiting",
            "Questions and batches of passages that wait for the model",
            value=self.waiting,
        )


class ScrapeGuard:
    """Lets in this machine, and from elsewhere who has an operator's key."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def __call__(self, connection: Connection, handler: BaseRouteHandler) -> None:
        """Raise 401 without a known key and 403 without an operator's."""
        if is_near(connection):
            return
        await self._guard(connection, handler)
        if current_client(connection.scope).role != "operator":
            raise PermissionDeniedException("metrics are shown to keys of the role operator only")


@get(
    "/",
    summary="Metrics for Prometheus",
    media_type="text/plain",
    response_description="Prometheus' text, or OpenMetrics where that is asked for",
    responses=described(401, 403),
    security=SECURITY,
)
async def show_metrics(
    request: Request[Any, Any, Any],
    runtime: NamedDependency[Runtime],
    job_counts: NamedDependency[JobCounts],
) -> Response[bytes]:
    """Show what is counted and timed: by route, reason and kind, never by client.

    This machine needs no key; from elsewhere, or through a proxy, one of the role operator is
    needed. While the database does not answer, `graphmem_jobs` is empty.
    """
    gauges = Gauges(
        jobs=await job_counts.read(runtime.graph),
        pool=runtime.graph.pool(),
        waiting=runtime.embedder.waiting(),
    )
    try:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
    except (TypeError, ValueError):
        # An Accept that it cannot read.
        encode, content_type = generate_latest, CONTENT_TYPE_PLAIN_0_0_4
    return Response(encode(gauges), headers={"Content-Type": content_type})


def metrics(guard: Guard) -> Router:
    """Return the route, with counts of its own."""
    counts = JobCounts()
    return Router(
        "/metrics",
        route_handlers=[show_metrics],
        guards=[ScrapeGuard(guard)],
        dependencies={"job_counts": Provide(lambda: counts, sync_to_thread=False)},
        tags=["metrics"],
    )


async def _count(graph: Graph) -> list[JobCount] | None:
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await count_open_jobs(graph)
    except (TimeoutError, Unavailable):
        return None
    except Exception as problem:
        # Whatever it is, the rest of the metrics is what helps to find it.
        log.warning("jobs cannot be counted: %s", traced(problem))
        return None


def _family(name: str, about: str, label: str, values: dict[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=[label])
    for state, value in values.items():
        family.add_metric([state], value)
    return family
