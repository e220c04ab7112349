"""Health: liveness and readiness of the process."""

import asyncio
from collections.abc import Mapping
from typing import Literal

from litestar import Router, get, head
from litestar.di import NamedDependency
from msgspec import Struct

from graphmem.errors import Unavailable
from graphmem.graph.schema import unanswerable
from graphmem.retrieval.reranking import Reranker
from graphmem.runtime import Runtime
from graphmem_api.clients import Guard
from graphmem_api.problems import described

DEADLINE_SECONDS = 2.0
"""The time limit for the database to answer."""


class Health(Struct, frozen=True):
    """The state of health."""

    status: Literal["live", "ready"]


class RerankerInUse(Struct, frozen=True):
    """The cross-encoder that reads the first memories of a ranking."""

    name: str
    sha256: str


class Readiness(Health, frozen=True):
    """The state of health of a process that can answer."""

    reranker: RerankerInUse | None = None
    """Null if none is set."""
    places: dict[str, Literal["ready", "away"]] | None = None
    """The places of clients: ready if the database answers and has the indexes of searches; null without a
    places file."""


class Closing:
    """Whether new requests are wanted; not any more once the service has been told to end."""

    def __init__(self) -> None:
        self.is_ending = False


@get("/live", summary="Is it alive?", response_description="It is")
async def live() -> Health:
    """Say that the process lives, without asking the database."""
    return Health("live")


@get(
    "/ready",
    summary="Can it answer?",
    response_description="It can",
    responses=described(503),
)
async def ready(
    runtime: NamedDependency[Runtime],
    closing: NamedDependency[Closing],
    guard: NamedDependency[Guard],
) -> Readiness:
    """Say that the database answers and has the indexes of searches, or return 503 within two seconds.

    503 too while the keys file cannot be used, and once the service is ending.

    With a places file it says which places are ready, and is if one of them is: each has its own clients.
    """
    return await readiness(runtime, closing, guard)


@head("/live", include_in_schema=False)
async def head_of_live() -> None:
    """Say so without a body, as load balancers ask."""


@head("/ready", include_in_schema=False)
async def head_of_ready(
    runtime: NamedDependency[Runtime],
    closing: NamedDependency[Closing],
    guard: NamedDependency[Guard],
) -> None:
    """Say so without a body, as load balancers ask."""
    await readiness(runtime, closing, guard)


async def readiness(runtime: Runtime, closing: Closing, guard: Guard) -> Readiness:
    """Return what answers questions; see `ready`. Raises `Unavailable`."""
    if closing.is_ending:
        raise Unavailable("the service is ending: send requests elsewhere")
    guard.check_keys()
    reranker = in_use(runtime.reranker)
    if runtime.places is not None:
        return Readiness(
            "ready", reranker, at_places(await runtime.places.readiness(DEADLINE_SECONDS))
        )
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            reason = await unanswerable(runtime.graph)
    except TimeoutError as problem:
        raise Unavailable(
            f"the database does not answer within {DEADLINE_SECONDS:g} s"
        ) from problem
    if reason:
        raise Unavailable(f"questions cannot be answered: {reason}")
    return Readiness("ready", reranker)


def in_use(reranker: Reranker | None) -> RerankerInUse | None:
    """Return the description of a cross-encoder."""
    return RerankerInUse(reranker.model.name, reranker.model.sha256) if reranker else None


def at_places(states: Mapping[str, str | None]) -> dict[str, Literal["ready", "away"]]:
    """Return the state of each place. Raises `Unavailable`, with all reasons, if all are away."""
    if all(problem is not None for problem in states.values()):
        reasons = "; ".join(f"{name}: {problem}" for name, problem in states.items())
        raise Unavailable(f"no place can answer questions: {reasons}")
    return {name: "away" if problem else "ready" for name, problem in states.items()}


health = Router(
    "/health", route_handlers=[live, ready, head_of_live, head_of_ready], tags=["health"]
)
