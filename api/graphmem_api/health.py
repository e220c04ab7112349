"""Health: liveness and readiness of the process."""

import asyncio
from typing import Literal

from litestar import Router, get
from litestar.di import NamedDependency
from msgspec import Struct

from graphmem.errors import Unavailable
from graphmem.graph.schema import SERVER_VERSION
from graphmem.runtime import Runtime
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
async def ready(runtime: NamedDependency[Runtime], closing: NamedDependency[Closing]) -> Readiness:
    """Say that the database answers, or return 503 within two seconds; 503 too once the service is ending."""
    if closing.is_ending:
        raise Unavailable("the service is ending: send requests elsewhere")
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await runtime.graph.rows(SERVER_VERSION)
    except TimeoutError as problem:
        raise Unavailable(
            f"the database does not answer within {DEADLINE_SECONDS:g} s"
        ) from problem
    if runtime.reranker is None:
        return Readiness("ready")
    model = runtime.reranker.model
    return Readiness("ready", RerankerInUse(model.name, model.sha256))


health = Router("/health", route_handlers=[live, ready], tags=["health"])
