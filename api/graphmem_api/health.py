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
async def ready(runtime: NamedDependency[Runtime]) -> Health:
    """Say that the database answers, or return 503 within two seconds."""
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await runtime.graph.rows(SERVER_VERSION)
    except TimeoutError as problem:
        raise Unavailable(
            f"the database does not answer within {DEADLINE_SECONDS:g} s"
        ) from problem
    return Health("ready")


health = Router("/health", route_handlers=[live, ready], tags=["health"])
