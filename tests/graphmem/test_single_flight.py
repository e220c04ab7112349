"""The cache of turns: once for all who ask, bounded, and soon anew after a failure."""

import asyncio
import gc
import weakref

import pytest

from graphmem import single_flight
from graphmem.single_flight import CLIENT_SHARE, FAILED_SECONDS, FRESH_SECONDS, SingleFlight


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


def sized(most: int, size: int = 10_000) -> SingleFlight[str]:
    """Return a cache of turns that have `size` bytes each, beside what keeping them takes."""
    return SingleFlight[str](lambda _: False, size=lambda _: size, most=most)


async def kept(turns: SingleFlight[str], client: str, turn: str) -> bool:
    return (await turns.get((client, "", turn), finding([])))[1]


async def test_of_a_client_the_least_recently_used_goes_first():
    turns = sized(CLIENT_SHARE * 30_000)
    for turn in ("1", "2", "1", "3"):
        await kept(turns, "a", turn)

    assert await kept(turns, "a", "1")
    assert not await kept(turns, "a", "2")


async def test_a_busy_client_pushes_out_only_its_own_turns():
    turns = sized(200_000)
    await kept(turns, "quiet", "1")
    for turn in range(100):
        await kept(turns, "busy", str(turn))

    assert await kept(turns, "quiet", "1")
    assert not await kept(turns, "busy", "0")


async def test_many_clients_together_stay_within_the_limit():
    turns = sized(200_000)
    clients = [f"client-{number}" for number in range(100, 200)]
    for client in clients:
        await kept(turns, client, "1")

    assert all([await kept(turns, client, "1") for client in clients[-10:]])
    assert not await kept(turns, clients[0], "1")


async def test_with_no_room_it_is_still_found_once_for_all_who_ask_at_the_same_time():
    turns = sized(0)
    found: list[str] = []

    await asyncio.gather(*(turns.get(("a", "c", "1"), finding(found)) for _ in range(9)))
    assert found == ["found"]
    assert not await kept(turns, "a", "1")


class Findings:
    """Findings whose end can be watched."""


async def test_what_has_expired_is_dropped_although_nobody_asks(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(single_flight, "FRESH_SECONDS", 0.05)
    turns = SingleFlight[Findings](lambda _: False)

    async def find() -> Findings:
        return Findings()

    found = weakref.ref((await turns.get(("a", "", "1"), find))[0])
    gc.collect()
    assert found() is not None
    await asyncio.sleep(0.2)
    gc.collect()
    assert found() is None


async def test_the_expiry_of_what_was_dropped_leaves_what_was_found_since(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(single_flight, "FRESH_SECONDS", 0.05)
    turns = SingleFlight[str](lambda _: False)
    await kept(turns, "a", "1")
    turns.forget("a")
    monkeypatch.setattr(single_flight, "FRESH_SECONDS", FRESH_SECONDS)
    await kept(turns, "a", "1")

    await asyncio.sleep(0.2)
    assert await kept(turns, "a", "1")


async def test_a_search_that_raises_after_it_was_forgotten_leaves_the_newer_one():
    turns, raising = SingleFlight[str](lambda _: False), asyncio.Event()

    async def raises() -> str:
        await raising.wait()
        raise ValueError

    older = asyncio.create_task(turns.get(("a", "", "1"), raises))
    await asyncio.sleep(0)
    turns.forget("a")
    await turns.get(("a", "", "1"), finding([], "newer"))
    raising.set()
    with pytest.raises(ValueError):
        await older

    assert await turns.get(("a", "", "1"), finding([])) == ("newer", True)


async def test_what_raised_is_forgotten(clock: Clock):
    turns = SingleFlight[str](lambda _: False, clock=clock)

    async def raises() -> str:
        raise ValueError

    with pytest.raises(ValueError):
        await turns.get(("a", "", "1"), raises)
    assert await turns.get(("a", "", "1"), finding([])) == ("found", False)
