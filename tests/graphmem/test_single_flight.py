"""The cache of turns: once for all who ask, bounded, and soon anew after a failure."""

import asyncio

import pytest

from graphmem.single_flight import FAILED_SECONDS, FRESH_SECONDS, SingleFlight


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def finding(found: list[str], what: str = "found"):
    async def find() -> str:
        await asyncio.sleep(0)
        found.append(what)
        return what

    return find


async def test_it_is_found_once_for_all_who_ask_at_the_same_time(clock: Clock):
    turns = SingleFlight[str](lambda _: False, clock=clock)
    found: list[str] = []

    answers = await asyncio.gather(*(turns.get(("a", "c", "1"), finding(found)) for _ in range(9)))

    assert found == ["found"]
    assert answers[0] == ("found", False)
    assert set(answers[1:]) == {("found", True)}


async def test_client_conversation_and_turn_are_the_key(clock: Clock):
    turns = SingleFlight[str](lambda _: False, clock=clock)
    found: list[str] = []
    for key in (("a", "c", "1"), ("b", "c", "1"), ("a", "d", "1"), ("a", "c", "2")):
        assert not (await turns.get(key, finding(found)))[1]
    assert len(found) == 4


async def test_it_expires_a_failure_within_seconds(clock: Clock):
    turns = SingleFlight[str](lambda what: what == "failed", clock=clock)
    found: list[str] = []
    await turns.get(("a", "", "1"), finding(found, "failed"))
    await turns.get(("a", "", "2"), finding(found))

    clock.now = FAILED_SECONDS
    assert (await turns.get(("a", "", "1"), finding(found))) == ("found", False)
    assert (await turns.get(("a", "", "2"), finding(found)))[1]
    clock.now = FRESH_SECONDS
    assert not (await turns.get(("a", "", "2"), finding(found)))[1]


async def test_the_least_recently_used_goes_first(clock: Clock):
    turns = SingleFlight[str](lambda _: False, most=2, clock=clock)
    found: list[str] = []
    for turn in ("1", "2", "1", "3"):
        await turns.get(("a", "", turn), finding(found))

    assert (await turns.get(("a", "", "1"), finding(found)))[1]
    assert not (await turns.get(("a", "", "2"), finding(found)))[1]


async def test_what_raised_is_forgotten(clock: Clock):
    turns = SingleFlight[str](lambda _: False, clock=clock)

    async def raises() -> str:
        raise ValueError

    with pytest.raises(ValueError):
        await turns.get(("a", "", "1"), raises)
    assert await turns.get(("a", "", "1"), finding([])) == ("found", False)
