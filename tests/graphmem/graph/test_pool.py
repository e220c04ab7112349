"""How many connections work: the driver tells in private only, so a new one of it must fail here."""

import asyncio

from graphmem.graph.driver import Graph, Pool
from graphmem.runtime import Runtime


async def test_a_connection_is_in_use_while_it_works(runtime: Runtime) -> None:
    at_rest = runtime.graph.pool()
    assert at_rest is not None
    working: list[Pool | None] = []

    async def work(transaction: object) -> None:
        await asyncio.sleep(0)
        working.append(runtime.graph.pool())

    await runtime.graph.write(work)
    assert [pool.in_use for pool in working if pool] == [at_rest.in_use + 1]
    after = runtime.graph.pool()
    assert after is not None
    assert (after.in_use, after.idle >= 1) == (at_rest.in_use, True)


def test_a_driver_that_does_not_tell_is_no_error() -> None:
    assert Graph(object(), "neo4j").pool() is None  # type: ignore[arg-type]
