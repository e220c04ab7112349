"""What fails in passing is tried again as often as there are retries, and no more."""

import pytest

from graphmem.errors import InvalidInput, Unavailable
from graphmem.runs import trying
from graphmem.runs.trying import Exhausted, Tries


class Failing:
    """A step that fails in passing some times before it succeeds."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.asked = 0

    async def __call__(self) -> str:
        self.asked += 1
        if self.left:
            self.left -= 1
            raise Unavailable("asleep")
        return "done"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "FIRST_PAUSE", 0.001)


# S3.27
async def test_each_retry_is_counted() -> None:
    tries = Tries(3)
    assert await tries.of(Failing(2)) == "done"
    assert tries.used == 2
    assert await tries.of(Failing(1)) == "done"
    assert tries.used == 3


async def test_with_no_retry_left_it_fails() -> None:
    step = Failing(9)
    tries = Tries(2)
    with pytest.raises(Unavailable, match="no retry is left"):
        await tries.of(step)
    assert (step.asked, tries.used) == (3, 2)


async def test_what_is_of_no_use_is_not_tried_again() -> None:
    tries = Tries()

    async def too_late() -> None:
        raise Exhausted("took too long")

    with pytest.raises(Unavailable, match="took too long"):
        await tries.of(too_late)
    assert tries.used == 0
    assert Exhausted.code == "unavailable"


async def test_what_does_not_pass_is_not_tried_again() -> None:
    tries = Tries()

    async def wrong() -> None:
        raise InvalidInput("cursor", "is none")

    with pytest.raises(InvalidInput):
        await tries.of(wrong)
    assert tries.used == 0
