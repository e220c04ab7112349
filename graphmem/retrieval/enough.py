"""Asking the indexes for more, while what they cannot decide lets too few of what they find through."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

MOST_CANDIDATES = 10_000
"""How many memories a leg looks at before it gives up on a filter that lets hardly any pass."""

GROWTH = 4


class Judged(Protocol):
    """A memory that an index has found."""

    @property
    def passes(self) -> bool:
        """Whether it passes what the index could not decide."""
        ...


Row = TypeVar("Row")
Legs = Callable[[list[Row]], Sequence[Sequence[Judged]]]
"""What each leg, a search of one index, has found."""


async def enough(
    ask: Callable[[int], Awaitable[list[Row]]], legs: Legs[Row], wanted: int
) -> tuple[list[Row], int]:
    """Return what was found when enough passes, or no more is there, and how many each leg was asked for.

    `ask` takes how many each leg brings: `wanted` at first, at most `MOST_CANDIDATES`.
    """
    limit = wanted
    while True:
        found = await ask(limit)
        if limit >= MOST_CANDIDATES or not any(
            len(leg) >= limit and passing(leg) < wanted for leg in legs(found)
        ):
            return found, limit
        limit = min(limit * GROWTH, MOST_CANDIDATES)


def falls_short(leg: Sequence[Judged], limit: int, wanted: int) -> bool:
    """Tell whether a leg has brought fewer than it was asked for, and too few of them pass."""
    return len(leg) < limit and passing(leg) < wanted


def passing(leg: Sequence[Judged]) -> int:
    """Return how many of a leg pass."""
    return sum(one.passes for one in leg)
