"""How many connections work: the driver tells in private only, so a new one of it must fail here."""

import asyncio

from graphmem.config import Settings
from graphmem.graph.driver import Graph, Pool, connect


async def test_a_connection_is_in_use_while_it_works(neo4j_settings: Settings) -> None:
    given = neo4j_settings
    # With connections of its own: others use the shared ones at any moment.
    graph = await connect(
        given.neo4j_uri or "", given.neo4j_user, given.neo4j_password, given.neo4j_database
    )
    working: list[Pool | None] = []

    async def work(transaction: object) -> None:
        await asyncio.sleep(0)
        working.append(graph.pool())

    await graph.write(work)
    assert [pool.in_use for pool in working if pool] == [1]
    after = graph.pool()
    assert after is not None
    assert (after.in_use, after.idle >= 1) == (0, True)
    await graph.close()


async def test_a_callers_statement_takes_no_connection_of_other_work(
    neo4j_settings: Settings,
) -> None:
    given = neo4j_settings
    graph = await connect(
        given.neo4j_uri or "", given.neo4j_user, given.neo4j_password, given.neo4j_database
    )
    async with graph.reading(fetch_size=1) as session:
        statement = await session.run("UNWIND range(1, 10) AS x RETURN x")
        pool = graph.pool()
        await statement.consume()
    assert pool is not None
    assert pool.in_use == 0
    await graph.close()


def test_a_driver_that_does_not_tell_is_no_error() -> None:
    assert Graph(object(), "neo4j").pool() is None  # type: ignore[arg-type]
