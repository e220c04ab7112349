"""Named times: the days and months in a question, and the nearness of a moment to them. Pure.

Days in words ("3 March", "March 3rd, 2026", "in May"; "am 3. März", "el 3 de marzo", also in French, Italian,
Portuguese and Dutch) and as numbers (2026-03-03, 2026-03); relative ones in English and German ("yesterday",
"last week", "vor drei Tagen"), the commonest also in Spanish, Russian, Chinese and Japanese. "before",
"until", "since" and "after" mean that side of a day or month.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta, tzinfo
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from graphmem.text.languages import ENGLISH, language

NEAR_DAYS = 7
"""The number of days around a named time that count: people speak of events some days earlier or later."""

LONGEST_LEAD = 30
"""The characters before a time in which words tell its side."""

DAY = timedelta(days=1)

MOST_TIMES = 8
"""The maximum number of named times."""

MOST_DAYS = timedelta(days=31)
"""The longest time, from its first to its last day, whose memories are looked for by it alone."""

LEAP_YEAR = 2024
"""A year with all possible days."""

_MONTHS = tuple(
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_SHORT = {"sept": 9} | {name[:3]: number for number, name in enumerate(_MONTHS, start=1)}
_MONTHS_ABROAD = {
    name: number
    for months in (
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "januari februari maart april mei juni juli augustus september oktober november december",
    )
    for number, name in enumerate(months.split(), start=1)
    if name not in _MONTHS
}
_WORDS_HERE = frozenset({"mai", "mars", "mayo"})
"""Months of other languages that are English words: a Mars bar is nothing of March."""

_NUMBERS = _SHORT | _MONTHS_ABROAD | {name: number for number, name in enumerate(_MONTHS, start=1)}
_MODAL = frozenset({"may", "march"})
"""Months that are also other words: alone they count only where a time is expected."""

_NAME = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_DAY = r"\d{1,2}(?:st|nd|rd|th|er|\.|º)?"
_IN_WORDS = re.compile(
    rf"(?:\b(?P<lead>(?!(?:{_NAME})\b)[a-z]+)\s+(?:the\s+)?)?(?:(?<!\w)(?P<before>{_DAY})\s+(?:of\s+|de\s+)?)?"
    rf"\b(?P<month>{_NAME})\b\.?"
    rf"(?:\s+(?:the\s+)?(?P<after>{_DAY})\b)?"
    r"(?:,?\s+(?:of\s+|del?\s+)?(?P<year>\d{4})\b(?!-\d))?",
    re.IGNORECASE,
)
_NO_DIGIT = re.compile(r"\D")
_IN_NUMBERS = re.compile(r"(?<!\d)(\d{4})-(\d\d)(?:-(\d\d))?(?![\d-])")
_LEADS = frozenset(
    "in during of since last this next early late mid by until till from before after around".split()  # noqa: SIM905
)
_LEADS_IN_LOWER_CASE = _LEADS - {"this", "from", "of", "by"}
"""Those after which `may` and `march`, written so, are months: this may be, out of march."""

Side = Literal["before", "until", "since", "after"]
_SIDES: Mapping[str, Side] = {
    "before": "before",
    "until": "until",
    "till": "until",
    "since": "since",
    "after": "after",
}
_SIDE = re.compile(rf"(\w*)\s*\b({'|'.join(_SIDES)})\s+(?:the\s+)?$", re.IGNORECASE)
_MEASURES = re.compile(
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)?day|night|week|weekend|month|year)s?",
    re.IGNORECASE,
)


_LEADS_THERE = frozenset("im em au seit bis depuis desde hasta dal da".split())  # noqa: SIM905
_LEADS_ABROAD = _LEADS_THERE | {"in", "en", "a"}


class NamedTime(Struct, frozen=True):
    """A month, or a day of it; of any year if none is named."""

    month: int
    day: int | None = None
    year: int | None = None
    side: Side | None = None
    """Of which side of it the question speaks; None for the time itself."""


class RelativeTime(Struct, frozen=True):
    """The first and the last day of a time that a question tells from its own day, as in `last week`."""

    first: date
    last: date


def named_times(question: str, today: date | None = None) -> list[NamedTime | RelativeTime]:
    """Return the days and months that a question names, those in words first; only valid ones.

    Relative ones too if the day of the question is given.
    """
    times: list[NamedTime | RelativeTime] = [
        *dict.fromkeys(_at_last(time, today) for time, _ in _named_in(question))
    ]
    if today is not None:
        relative = dict.fromkeys(time for time, _ in _relative_times(question, today))
        times = [*relative, *times]
    return times[:MOST_TIMES]


def named_days(
    question: str, today: date | None = None
) -> list[tuple[NamedTime | RelativeTime, str]]:
    """Return the days that a question names, without months, each with its words.

    Relative times too if the day of the question is given.
    """
    days: list[tuple[NamedTime | RelativeTime, str]] = [
        (time, words) for time, words in _named_in(question) if time.day and time.side is None
    ]
    if today is not None:
        days += _relative_times(question, today)
    return [*dict.fromkeys(days)][:MOST_TIMES]


def _named_in(question: str) -> Iterator[tuple[NamedTime, str]]:
    """Yield the valid days and months that a question names, those in words first, each with its words."""
    for match in _IN_WORDS.finditer(question):
        place = match.start("before" if match["before"] else "month")
        time = _in_words(match, _side(question, place))
        if time is not None and _is_possible(time):
            yield time, question[place : match.end()]
    for match in _IN_NUMBERS.finditer(question):
        year, month, day = match.groups()
        side = _side(question, match.start())
        if _is_possible(time := NamedTime(int(month), int(day) if day else None, int(year), side)):
            yield time, match[0]


def _side(question: str, place: int) -> Side | None:
    """Return the side of the time at a place that is meant; None for `a week before it`, which is near it."""
    told = _SIDE.search(question, max(0, place - LONGEST_LEAD), place)
    return None if told is None or _MEASURES.fullmatch(told[1]) else _SIDES[told[2].lower()]


def _at_last(time: NamedTime, today: date | None) -> NamedTime:
    """Return a time with a side in the year in which it was last: since March is since the last one."""
    if time.side is None or time.year is not None or today is None:
        return time
    is_ahead = (time.month, time.day or 1) > (today.month, today.day)
    return replace(time, year=today.year - is_ahead)


def relative_words(question: str) -> frozenset[str]:
    """Return the words of the times that a question tells from its day: they say when, not what."""
    return frozenset(
        word for match in _told_from_today(question) for word in match[0].lower().split()
    )


def told_days(times: Iterable[NamedTime | RelativeTime], today: date) -> list[tuple[date, date]]:
    """Return the first and the last day of each time of at most a month; without a year the latest begun."""
    spans = [span for time in times if (span := _last_span(time, today)) is not None]
    return [(first, last) for first, last in spans if last - first <= MOST_DAYS]


def _last_span(time: NamedTime | RelativeTime, today: date) -> tuple[date, date] | None:
    if isinstance(time, RelativeTime):
        return time.first, time.last
    if time.side is not None:
        return None
    begun = [span for span in _spans(time, _years(time, today.year)) if span[0] <= today]
    return begun[-1] if begun else None


def nearness(
    moment: datetime, times: Iterable[NamedTime | RelativeTime], zone: tzinfo = UTC
) -> float:
    """Return 1 within a named time, falling to 0 at `NEAR_DAYS` days from it; 0 without one.

    It falls faster beside a relative time, which is remembered better the shorter it is. The moment's day is
    that in the zone.
    """
    day = (moment if zone is UTC else moment.astimezone(zone)).date()
    near = [
        1 - max((first - day).days, (day - last).days, 0) / fades
        for time in times
        for first, last, fades in _near_days(time, day.year)
    ]
    return max(0.0, *near) if near else 0.0


def _near_days(time: NamedTime | RelativeTime, year: int) -> Iterator[tuple[date, date, int]]:
    """Yield the first and the last day of a time, and the number of days in which nearness falls to 0."""
    if isinstance(time, RelativeTime):
        yield time.first, time.last, min((time.last - time.first).days + 2, NEAR_DAYS)
        return
    for first, last in _spans(time, _years(time, year)):
        match time.side:
            case "before":
                yield date.min, max(first, date.min + DAY) - DAY, NEAR_DAYS
            case "until":
                yield date.min, last, NEAR_DAYS
            case "since":
                yield first, date.max, NEAR_DAYS
            case "after":
                yield min(last, date.max - DAY) + DAY, date.max, NEAR_DAYS
            case None:
                yield first, last, NEAR_DAYS


_DAYS_BEFORE: Mapping[str, int] = {
    "today": 0,
    "tonight": 0,
    "yesterday": 1,
    "last night": 1,
    "day before yesterday": 2,
    "heute": 0,
    "gestern": 1,
    "vorgestern": 2,
    "hoy": 0,
    "ayer": 1,
    "anteayer": 2,
    "сегодня": 0,
    "вчера": 1,
    "позавчера": 2,
    "今天": 0,
    "昨天": 1,
    "前天": 2,
    "今日": 0,
    "昨日": 1,
    "一昨日": 2,
}
_NUMBER_WORDS: Mapping[str, int] = {
    "a": 1,
    "an": 1,
    "couple of": 2,
    "einem": 1,
    "einer": 1,
    **{
        word: number
        for words in (
            "one two three four five six seven eight nine ten eleven twelve",
            "ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        )
        for number, word in enumerate(words.split(), start=1)
    },
}
_UNITS: Mapping[str, str] = {
    "day": "day",
    "week": "week",
    "weekend": "weekend",
    "month": "month",
    "year": "year",
    "tag": "day",
    "woche": "week",
    "wochenende": "weekend",
    "monat": "month",
    "jahr": "year",
}
_WEEKDAYS: Mapping[str, int] = {
    day: place
    for days in (
        "monday tuesday wednesday thursday friday saturday sunday",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    )
    for place, day in enumerate(days.split())
}
_MOST_AGO = 999

_DAY_WORDS = "|".join(sorted(_DAYS_BEFORE, key=len, reverse=True))
_MANY = rf"(?P<many>\d{{1,3}}|{'|'.join(sorted(_NUMBER_WORDS, key=len, reverse=True))})"
_ONE = "|".join(sorted({*_UNITS, *_WEEKDAYS}, key=len, reverse=True))
_BEFORE_TODAY = re.compile(
    rf"(?P<day>{_DAY_WORDS.replace('|', '(?![a-zа-я])|')}(?![a-zа-я]))"
    rf"|\b(?:a )?{_MANY} (?P<ago>day|week|month|year)s? ago\b"
    rf"|\bvor {_MANY.replace('<many>', '<vor>')} (?P<her>tag|woche|monat|jahr)(?:en?|n)?\b"
    rf"|\b(?:the (?:last|past)|(?:den|die) (?:letzten|vergangenen)) {_MANY.replace('<many>', '<since>')}"
    r" (?P<long>day|week|month|year|tag|woche|monat|jahr)(?:s|en?|n)?\b"
    rf"|\b(?:on|am) (?P<weekday>{'|'.join(_WEEKDAYS)})\b"
    rf"|\b(?P<which>last|past|previous|this|(?:letzt|vorig|vergangen|dies)e[mnrs]?) (?P<unit>{_ONE})\b",
    re.IGNORECASE,
)
_CURRENT = ("this", "dies")
_PAST = re.compile(
    r"\b(?:did|was|were|had|happened|said|told|talked|habe?|haben|hat|hast|hatten?|war|waren|wurden?)\b",
    re.IGNORECASE,
)
"""The verbs of a question about the past, in which a weekday is the last one."""


def _told_from_today(question: str) -> Iterator[re.Match[str]]:
    """Yield the times that are told from today; a bare weekday only in a question about the past."""
    question = " ".join(question.split())
    is_past = _PAST.search(question) is not None
    return (one for one in _BEFORE_TODAY.finditer(question) if is_past or not one["weekday"])


def _relative_times(question: str, today: date) -> Iterator[tuple[RelativeTime, str]]:
    """Yield the times that are told from today, each with its words."""
    for match in _told_from_today(question):
        try:
            yield _relative(match, today), match[0]
        except (OverflowError, ValueError):
            # Before the first year.
            continue


def _relative(match: re.Match[str], today: date) -> RelativeTime:
    if day := match["day"]:
        if match.start() and day.isascii() and match.string[match.start() - 1].isalpha():
            raise ValueError(day)
        return _days(today - timedelta(days=_DAYS_BEFORE[day.lower()]))
    if match["ago"] or match["her"]:
        unit = _UNITS[(match["ago"] or match["her"]).lower()]
        return _ago(_number(match["many"] or match["vor"]), unit, today)
    if match["long"]:
        unit, many = _UNITS[match["long"].lower()], _number(match["since"])
        return RelativeTime(_ago(many, unit, today).first, today)
    if weekday := match["weekday"]:
        return _named(weekday.lower(), today, current=False)
    current = match["which"].lower().startswith(_CURRENT)
    return _named(match["unit"].lower(), today, current=current)


def _number(word: str) -> int:
    return min(int(word) if word.isdigit() else _NUMBER_WORDS[word.lower()], _MOST_AGO)


def _ago(many: int, unit: str, today: date) -> RelativeTime:
    """Return the day, the seven days, the month or the year that lies so many before today."""
    if unit == "day":
        return _days(today - timedelta(days=many))
    if unit == "week":
        middle = today - timedelta(weeks=many)
        return _days(middle - timedelta(days=3), 7)
    if unit == "month":
        month = today.year * 12 + today.month - 1 - many
        return _month(month // 12, month % 12 + 1)
    return RelativeTime(date(today.year - many, 1, 1), date(today.year - many, 12, 31))


def _named(unit: str, today: date, *, current: bool) -> RelativeTime:
    """Return a week, weekend, month, year or weekday: this one, or the last one before today."""
    monday = today - timedelta(days=today.weekday())
    if unit in _WEEKDAYS:
        if current:
            return _days(monday + timedelta(days=_WEEKDAYS[unit]))
        return _days(today - timedelta(days=(today.weekday() - _WEEKDAYS[unit] - 1) % 7 + 1))
    kind = _UNITS[unit]
    if kind == "week":
        return _days(monday if current else monday - timedelta(days=7), 7)
    if kind == "weekend":
        return _days(monday + timedelta(days=5 if current else -2), 2)
    return _ago(0 if current else 1, kind, today)


def _days(first: date, number: int = 1) -> RelativeTime:
    return RelativeTime(first, first + timedelta(days=number - 1))


def _month(year: int, month: int) -> RelativeTime:
    after = date(year + month // 12, month % 12 + 1, 1)
    return RelativeTime(date(year, month, 1), after - timedelta(days=1))


def _in_words(match: re.Match[str], side: Side | None) -> NamedTime | None:
    """Return the month, or the day of it; None if it is a name or another word."""
    word, before = match["month"].lower(), match["before"] or ""
    if before.endswith(".") and word in _MODAL:
        # A sentence ends there: It costs 12. May I pay?
        before = ""
    day = before or match["after"]
    if not _is_month(match, day):
        return None
    return NamedTime(
        _NUMBERS[word],
        int(_NO_DIGIT.sub("", day)) if day else None,
        int(match["year"]) if match["year"] else None,
        side,
    )


def _is_month(match: re.Match[str], day: str | None) -> bool:
    """Tell whether it is a month rather than a name or another word."""
    word, lead = match["month"].lower(), (match["lead"] or "").lower()
    if word in _WORDS_HERE and not (lead in _LEADS_THERE or (day or "").endswith(".")):
        spoken = language(match.string)
        if spoken is None or spoken == ENGLISH:
            return False
    if day or match["year"]:
        return True
    if word in _MONTHS_ABROAD:
        return lead in _LEADS_ABROAD
    if word not in _MONTHS:
        return False
    if match["month"][0].isupper():
        return word not in _MODAL or lead in _LEADS
    return lead in (_LEADS_IN_LOWER_CASE if word in _MODAL else _LEADS)


def _is_possible(time: NamedTime) -> bool:
    return bool(_spans(time, _years(time, LEAP_YEAR)))


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
