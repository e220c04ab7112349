"""Which days and months a question names, and how near a moment lies to them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as some

from graphmem.text.named_times import NEAR_DAYS, NamedTime, named_times, nearness


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What did we do on 3 March 2026?", [NamedTime(3, 3, 2026)]),
        ("on March 3rd, 2026", [NamedTime(3, 3, 2026)]),
        ("the 3rd of march", [NamedTime(3, 3)]),
        ("What came up in May?", [NamedTime(5)]),
        ("June and July", [NamedTime(6), NamedTime(7)]),
        (
            "Sept 5, 2026-03-03 and 2026-04",
            [NamedTime(9, 5), NamedTime(3, 3, 2026), NamedTime(4, None, 2026)],
        ),
        ("29 February", [NamedTime(2, 29)]),
        ("May I ask where they march?", []),
        ("Did Jan mar the decorum in june?", []),
        ("the 30th of February, 2026-13, 2026-02-30", []),
        ("0000-01-02", []),
        ("", []),
    ],
)
def test_days_and_months_are_seen_and_other_words_are_not(
    question: str, named: list[NamedTime]
) -> None:
    assert named_times(question) == named


def test_a_moment_is_near_within_the_time_and_less_so_beside_it() -> None:
    def near(question: str, month: int, day: int, year: int = 2026) -> float:
        return nearness(datetime(year, month, day, 12, tzinfo=UTC), named_times(question))

    assert near("in March", 3, 31) == 1.0
    assert near("in March", 4, 1) == pytest.approx(1 - 1 / NEAR_DAYS)
    assert near("in March", 2, 28) == pytest.approx(1 - 1 / NEAR_DAYS)
    assert near("in March", 5, 1) == 0.0
    assert near("on 1 January", 12, 31, 2025) == pytest.approx(1 - 1 / NEAR_DAYS)
    assert near("on 3 March 2025", 3, 3) == 0.0
    assert near("on 3 March or 9 March", 3, 9) == 1.0
    assert near("at noon", 3, 9) == 0.0


@given(some.text(), some.datetimes())
def test_any_question_and_moment_will_do(question: str, moment: datetime) -> None:
    times = [*named_times(question), NamedTime(12), NamedTime(1, 1)]
    assert 0.0 <= nearness(moment, times) <= 1.0
