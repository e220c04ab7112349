"""Named times: the days and months in a question, and the nearness of a moment to them. Pure.

Days in English words ("3 March", "March 3rd, 2026", "in May") and as numbers (2026-03-03, 2026-03).
"""

import re
from collections.abc import Iterable, Sequence
from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta

from msgspec import Struct

NEAR_DAYS = 7
"""The number of days around a named time that count: people speak of events some days earlier or later."""

MOST_TIMES = 8
"""The maximum number of named times."""

LEAP_YEAR = 2024
"""A year with all possible days."""

_MONTHS = tuple(
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_SHORT = {"sept": 9} | {name[:3]: number for number, name in enumerate(_MONTHS, start=1)}
_NUMBERS = _SHORT | {name: number for number, name in enumerate(_MONTHS, start=1)}
_MODAL = frozenset({"may", "march"})
"""Months that are also other words: alone they count only where a time is expected."""

_NAME = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_IN_WORDS = re.compile(
    rf"(?:(?P<before>{_DAY})\s+(?:of\s+)?|(?P<lead>\b[a-z]+)\s+)?"
    rf"\b(?P<month>{_NAME})\b\.?"
    rf"(?:\s+(?:the\s+)?(?P<after>{_DAY})\b)?"
    r"(?:,?\s+(?:of\s+)?(?P<year>\d{4})\b(?!-\d))?",
    re.IGNORECASE,
)
_IN_NUMBERS = re.compile(r"(?<!\d)(\d{4})-(\d\d)(?:-(\d\d))?(?![\d-])")
_LEADS = frozenset(
    "in during of since last this next early late mid by until till from before after around".split()  # noqa: SIM905
)


class NamedTime(Struct, frozen=True):
    """A month, or a day of it; of any year if none is named."""

    month: int
    day: int | None = None
    year: int | None = None


def named_times(question: str) -> list[NamedTime]:
    """Return the days and months that a question names, those in words first; only valid ones."""
    found = [_in_words(match) for match in _IN_WORDS.finditer(question) if _is_month(match)] + [
        NamedTime(int(month), int(day) if day else None, int(year))
        for year, month, day in _IN_NUMBERS.findall(question)
    ]
    possible = [time for time in dict.fromkeys(found) if _spans(time, _years(time, LEAP_YEAR))]
    return possible[:MOST_TIMES]


def nearness(moment: datetime, times: Iterable[NamedTime]) -> float:
    """Return 1 within a named time, falling to 0 at `NEAR_DAYS` days from it; 0 without one."""
    day = moment.date()
    away = [
        max((first - day).days, (day - last).days, 0)
        for time in times
        for first, last in _spans(time, _years(time, day.year))
    ]
    return max(0.0, 1 - min(away) / NEAR_DAYS) if away else 0.0


def _is_month(match: re.Match[str]) -> bool:
    """Tell whether it is a month rather than a name or another word."""
    word = match["month"].lower()
    if match["before"] or match["after"] or match["year"]:
        return True
    if word not in _MONTHS or not match["month"][0].isupper():
        return False
    return word not in _MODAL or (match["lead"] or "").lower() in _LEADS


def _in_words(match: re.Match[str]) -> NamedTime:
    day = match["before"] or match["after"]
    return NamedTime(
        _NUMBERS[match["month"].lower()],
        int(day.rstrip("stndrhSTNDRH")) if day else None,
        int(match["year"]) if match["year"] else None,
    )


def _years(time: NamedTime, about: int) -> Sequence[int]:
    """Return the named year, else the years around another."""
    return [time.year] if time.year is not None else range(about - 1, about + 2)


def _spans(time: NamedTime, years: Sequence[int]) -> list[tuple[date, date]]:
    """Return its first and last day in each of the years that have it."""
    spans = []
    for year in years:
        try:
            if time.day is not None:
                spans.append((date(year, time.month, time.day),) * 2)
            elif MINYEAR <= year < MAXYEAR:
                after = date(year + time.month // 12, time.month % 12 + 1, 1)
                spans.append((date(year, time.month, 1), after - timedelta(days=1)))
        except ValueError:
            # The 30th of February, or a month 13.
            continue
    return spans
