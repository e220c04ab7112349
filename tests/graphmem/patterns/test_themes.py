"""Themes: what lies together is joined, whatever the order; rhythms are named; few sessions suffice."""

import itertools
import random
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from graphmem.patterns.themes import (
    TUNING,
    SessionCosines,
    ThemeSession,
    centred,
    direction,
    joined,
    naming,
    rhythm,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


def greedily(near: list[list[float]], least: float) -> set[frozenset[int]]:
    """Join the nearest two groups, again and again, and cut what stands apart, as the definition has it."""
    groups = [frozenset({place}) for place in range(len(near))]
    made_of: dict[frozenset[int], tuple[frozenset[int], frozenset[int]]] = {}

    def between(one: frozenset[int], other: frozenset[int]) -> float:
        return statistics.fmean(near[a][b] for a in one for b in other)

    def inside(group: frozenset[int]) -> float:
        return statistics.fmean(near[a][b] for a, b in itertools.combinations(group, 2))

    def cut(group: frozenset[int]) -> set[frozenset[int]]:
        one, other = made_of.get(group, (frozenset(), frozenset()))
        if min(len(one), len(other)) < TUNING.theme_sessions:
            return {group}
        if between(one, other) >= TUNING.apart_share * min(inside(one), inside(other)):
            return {group}
        return cut(one) | cut(other)

    while len(groups) > 1:
        one, other = max(itertools.combinations(groups, 2), key=lambda pair: between(*pair))
        if between(one, other) < least:
            break
        made_of[one | other] = (one, other)
        groups = [group for group in groups if group not in (one, other)] + [one | other]
    return set().union(*map(cut, groups))


@pytest.mark.parametrize("seed", range(20))
def test_chains_of_neighbours_join_what_the_definition_joins(seed: int) -> None:
    dice = random.Random(seed)
    count = dice.randrange(1, 24)
    near = [[1.0] * count for _ in range(count)]
    for a, b in itertools.combinations(range(count), 2):
        near[a][b] = near[b][a] = dice.random()
    for least in (0.0, 0.3, 0.5):
        assert {frozenset(group) for group in joined(near, least)} == greedily(near, least)


def test_two_themes_near_each_other_stay_apart_and_one_spread_out_stays_one() -> None:
    def blocks(inside: float, between: float) -> list[list[float]]:
        return [[inside if a // 3 == b // 3 else between for b in range(6)] for a in range(6)]

    assert joined(blocks(0.6, 0.3), 0.2) == [[0, 1, 2], [3, 4, 5]]
    assert joined(blocks(0.35, 0.3), 0.2) == [[0, 1, 2, 3, 4, 5]]


def test_nothing_has_no_themes() -> None:
    assert joined([], 0.1) == []
    assert centred([]).near == []


@pytest.mark.parametrize(
    ("days", "every", "word"),
    [
        ([0], None, "once"),
        ([0, 0.1, 0.2], 0.1, "several times a day"),
        ([0, 1, 2], 1.0, "daily"),
        ([3, 0, 6], 3.0, "every few days"),
        ([0, 7, 14, 60], 7.0, "weekly"),
        ([0, 14], 14.0, "every two weeks"),
        ([0, 30], 30.0, "monthly"),
        ([0, 100], 100.0, "seldom"),
    ],
)
def test_a_rhythm_is_the_median_of_what_lies_between(
    days: list[float], every: float | None, word: str
) -> None:
    assert rhythm(START + timedelta(days=day) for day in days) == (every, word)


def session(place: int, cosines: list[float], topics: Sequence[str] = ()) -> ThemeSession:
    return ThemeSession(
        id=str(place),
        external_id=str(place),
        conversation_id="c",
        at=START,
        opening="",
        topics=list(topics),
        messages=[],
        cosines=cosines,
        common=0.0,
        base=0.0,
        asked=0.0,
        asked_common=0.0,
    )


def test_a_named_session_answers_a_question_that_is_not_far() -> None:
    shown = [session(place, [0.0] * place, topics=["Auth"] * (place < 2)) for place in range(12)]
    near = TUNING.named_share * TUNING.question_cosine
    found = SessionCosines([], [near, near - 0.01, near, *[0.0] * 9], few=False)
    assert naming(shown, found, "struggling with auth") == [0]
    everywhere = [session(place, [0.0] * place, topics=["Auth"]) for place in range(12)]
    assert naming(everywhere, found, "struggling with auth") == []


def test_what_all_of_many_share_says_nothing() -> None:
    """Two themes whose sessions lie near the same mean are far apart around it."""
    shown = [
        session(place, [0.9 if other % 2 == place % 2 else 0.8 for other in range(place)])
        for place in range(12)
    ]
    near = centred(shown).near
    assert near[0][2] > 0.2
    assert near[0][1] < -0.2
    few = centred(shown[:11]).near
    assert few[0][1] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("recent", "before", "said"), [(2, 1, "rising"), (0, 3, "fading"), (2, 2, "steady")]
)
def test_a_direction_compares_two_windows(recent: int, before: int, said: str) -> None:
    assert direction(recent, before) == said
