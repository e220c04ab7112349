"""A memory serves callers that await and callers that do not, or says why it cannot."""

import asyncio

import pytest
from anyio.from_thread import BlockingPortal

from graphmem.adapters.memory import MemoryAccess
from graphmem.blocking.event_loop import EventLoop
from graphmem.blocking.generated import BlockingGraphmem
from graphmem.client import Graphmem
from graphmem.errors import InvalidInput


async def loop_of_work(_: Graphmem) -> asyncio.AbstractEventLoop:
    """Return the event loop in which the memory works."""
    return asyncio.get_running_loop()


@pytest.fixture
def asleep() -> Graphmem:
    """A memory that nothing is asked of."""
    return object.__new__(Graphmem)


async def test_calls_from_all_threads_and_loops_are_worked_on_in_the_loop_of_the_memory(
    asleep: Graphmem,
) -> None:
    here, access = asyncio.get_running_loop(), MemoryAccess(asleep)

    assert await access.ask(loop_of_work) is here
    assert await asyncio.to_thread(access.wait, loop_of_work) is here
    assert await asyncio.to_thread(asyncio.run, access.ask(loop_of_work)) is here


async def test_a_blocking_memory_works_in_its_own_thread_for_both(asleep: Graphmem) -> None:
    def use() -> None:
        with EventLoop() as portal:
            access = MemoryAccess(BlockingGraphmem(asleep, portal))
            own = portal.call(loop_of_work, asleep)
            assert access.wait(loop_of_work) is own
            assert asyncio.run(access.ask(loop_of_work)) is own

    await asyncio.to_thread(use)


async def test_an_adapter_of_a_closed_memory_says_so(asleep: Graphmem) -> None:
    def use() -> MemoryAccess:
        with EventLoop() as portal:
            return MemoryAccess(BlockingGraphmem(asleep, portal))

    access = await asyncio.to_thread(use)
    with pytest.raises(RuntimeError, match="the memory is closed: use it in its block"):
        await access.ask(loop_of_work)
    with pytest.raises(RuntimeError, match="the memory is closed: use it in its block"):
        await asyncio.to_thread(access.wait, loop_of_work)


def test_an_adapter_made_outside_of_a_loop_belongs_to_the_first_that_awaits_it(
    asleep: Graphmem,
) -> None:
    access = MemoryAccess(asleep)

    async def first() -> None:
        assert await access.ask(loop_of_work) is asyncio.get_running_loop()
        assert await asyncio.to_thread(access.wait, loop_of_work) is asyncio.get_running_loop()

    asyncio.run(first())
    # That loop is closed, so the next one takes over.
    asyncio.run(first())


async def test_who_would_wait_for_ever_is_told(asleep: Graphmem) -> None:
    access = MemoryAccess(asleep)
    with pytest.raises(InvalidInput, match="cannot be waited for in its own event loop"):
        access.wait(loop_of_work)
    unused = await asyncio.to_thread(MemoryAccess, asleep)
    with pytest.raises(InvalidInput, match=r"its event loop does not run: give a graphmem\.Client"):
        await asyncio.to_thread(unused.wait, loop_of_work)


async def test_errors_of_the_work_reach_the_caller(
    asleep: Graphmem, portal: BlockingPortal
) -> None:
    async def fail(_: Graphmem) -> None:
        raise InvalidInput("query", "is blank")

    for access in (MemoryAccess(asleep), MemoryAccess(BlockingGraphmem(asleep, portal))):
        with pytest.raises(InvalidInput, match="query: is blank"):
            await asyncio.to_thread(access.wait, fail)
        with pytest.raises(InvalidInput, match="query: is blank"):
            await asyncio.to_thread(asyncio.run, access.ask(fail))
