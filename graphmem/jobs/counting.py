"""How much background work waits, runs or was given up, of all clients."""

from msgspec import Struct

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.jobs.types import JobState

OPEN: tuple[JobState, ...] = ("queued", "running", "dead")
"""The states that an operator watches; what is done is no load."""


class Counted(Struct, frozen=True):
    """How many jobs are in one state."""

    state: JobState
    jobs: int


COUNTED = Query("jobs/counted", Counted)


async def open_jobs(graph: Graph) -> list[Counted]:
    """Return how many jobs are in each open state."""
    return await graph.rows(COUNTED, states=list(OPEN))
