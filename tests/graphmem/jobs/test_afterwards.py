"""What comes after an answer: done soon, never felt when it fails, waited for at the end."""

import asyncio
import time

import pytest
from prometheus_client import REGISTRY

from graphmem.jobs.afterwards import Afterwards


def left_undone(what: str) -> float:
    return REGISTRY.get_sample_value("graphmem_left_undone_total", {"what": what}) or 0.0


async def test_the_caller_does_not_wait_for_it() -> None:
    afterwards, done = Afterwards(), asyncio.Event()

    async def work() -> None:
        await asyncio.sleep(0.05)
        done.set()

    afterwards.do("slow", work())
    assert not done.is_set()
    await afterwards.settle()
    assert done.is_set()


async def test_a_caller_may_wait_for_it_a_moment() -> None:
    hold = asyncio.Event()
    async with Afterwards() as afterwards:
        done: list[str] = []

        async def work(what: str) -> None:
            if what == "slow":
                await hold.wait()
            done.append(what)

        await afterwards.do_soon("quick", work("quick"), patience_seconds=30)
        assert done == ["quick"]
        await afterwards.do_soon("slow", work("slow"), patience_seconds=0.01)
        assert done == ["quick"]
        hold.set()
    assert done == ["quick", "slow"], "the end waits for it"


async def test_what_is_done_once_does_not_begin_again_while_it_is_under_way() -> None:
    afterwards, begun = Afterwards(), []

    async def work() -> None:
        begun.append(1)
        await asyncio.sleep(0)

    afterwards.do_once("rare", work)
    afterwards.do_once("rare", work)
    await afterwards.settle()
    assert len(begun) == 1
    afterwards.do_once("rare", work)
    await afterwards.settle()
    assert len(begun) == 2


async def test_a_failure_is_counted_and_logged_without_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        raise ValueError("sesame")

    before = left_undone("failing")
    afterwards = Afterwards()
    afterwards.do("failing", work())
    await afterwards.settle()
    assert left_undone("failing") == before + 1
    assert "failing" in caplog.text
    assert "ValueError" in caplog.text
    assert "sesame" not in caplog.text


async def test_what_is_too_much_is_dropped() -> None:
    hold, done = asyncio.Event(), []

    async def work(number: int) -> None:
        await hold.wait()
        done.append(number)

    before = left_undone("many")
    afterwards = Afterwards(most=2)
    for number in range(3):
        afterwards.do("many", work(number))
    hold.set()
    await afterwards.settle()
    assert done == [0, 1]
    assert left_undone("many") == before + 1


async def test_the_end_waits_for_what_is_under_way_but_not_for_ever() -> None:
    done = []

    async def work(seconds: float) -> None:
        await asyncio.sleep(seconds)
        done.append(seconds)

    before = left_undone("late")
    afterwards = Afterwards(end_seconds=0.2)
    afterwards.do("early", work(0.05))
    afterwards.do("late", work(60))
    began = time.monotonic()
    await afterwards.end()
    assert time.monotonic() - began < 30
    assert done == [0.05]
    assert left_undone("late") == before + 1
