"""Named times: the days, months and years in a question, and the nearness of a moment to them. Pure.

Days in words ("3 March", "March 3rd, 2026", "in May"; "am 3. März", "el 3 de marzo"), as numbers (2026-03-03,
3.3.2026, 2026年3月3日), the weekdays of a month, weeks by their number, years ("in 2025"), parts of a year
("last spring", "over Christmas", "Q2 2026"), ranges ("between May and July", "3-5 March"), and those told
from the day of the question ("yesterday", "two weeks ago", "vor drei Tagen"). "before", "until", "since" and
"after" mean that side of a time. Their words in nine European languages, Chinese and Japanese are in
`time_words.toml`.
"""

import re
import string
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from graphmem.text.languages import ENGLISH, function_words, language
from graphmem.text.words import QUESTION_WORDS, words_of

NEAR_DAYS = 7
"""The number of days around a named time that count: people speak of events some days earlier or later."""

LONGEST_LEAD = 30
"""The characters before a time in which words tell its side."""

DAY = timedelta(days=1)

MOST_TIMES = 8
"""The maximum number of named times."""

MOST_DAYS = timedelta(days=31)
"""The longest time, from its first to its last day, whose memories are looked for by it alone."""

LOOKED_AT = 1_000
"""The characters at the beginning and at the end of a long question in which times are read."""

QUESTIONS_KEPT = 64
"""The number of latest questions whose times are kept."""

_LETTERS_ALIKE = str.maketrans("ıİſᲀᲁᲂᲃᲄᲅᲆᲇᲈ", "iisвдосттъѣꙋ")
"""Letters that patterns without regard to case take for others, and tables of words do not."""

LEAP_YEAR = 2024
"""A year with all possible days."""

_LEAP_YEARS_APART = 9
"""The years in which there is at least one with all possible days."""

_WORDS = tomllib.loads(Path(__file__).with_name("time_words.toml").read_text("utf-8"))

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
        "januari februari mars april maj juni juli augusti september oktober november december",
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        "январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре",
    )
    for number, name in enumerate(months.split(), start=1)
    if name not in _MONTHS
}
_WORDS_HERE = frozenset({"mai", "mars", "mayo"})
"""Months of other languages that are English words: a Mars bar is nothing of March."""

_UNSPECIFIC = {
    kind: frozenset(word for words in table.values() for word in words.split())
    for kind, table in tomllib.loads(
        Path(__file__).with_name("unspecific_words.toml").read_text("utf-8")
    ).items()
}

_NUMBERS = _SHORT | _MONTHS_ABROAD | {name: number for number, name in enumerate(_MONTHS, start=1)}
_MODAL = frozenset({"may", "march"})
"""Months that are also other words: alone they count only where a time is expected."""

_NAME = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_DAY = r"\d{1,2}(?:st|nd|rd|th|er|\.|º)?"
_TO = "and|to|until|till|through|bis|und|et|au|y|al|e|a|en|tot|och|по"
"""Words between the two ends of a time."""
_FROM = frozenset(
    "between from zwischen von vom entre de del du tra fra dal tussen van mellan с".split()  # noqa: SIM905
)
"""Words before the first end."""
_DASH = r"[-‐‑–—]"
_THE = r"(?:(?:the|dem|den|zum|el|le|il|al)\s+)?"
_SPAN_LEAD = re.compile(rf"\b(?:{'|'.join(_FROM)})\s+{_THE}$", re.IGNORECASE)
_IN_WORDS = re.compile(
    rf"(?:\b(?P<lead>(?!(?:{_NAME})\b)[^\W\d_]+)\s+{_THE})?"
    rf"(?:(?<!\w)(?:(?P<first>{_DAY})(?:\s*{_DASH}\s*|\s+(?:{_TO})\s+{_THE}))?(?P<before>{_DAY})\s+(?:of\s+|de\s+)?)?"
    rf"\b(?P<month>{_NAME})\b\.?"
    rf"(?:\s+(?:the\s+)?(?P<after>{_DAY})\b(?:{_DASH}(?P<last>{_DAY})\b)?)?"
    r"(?:,?\s+(?:of\s+|del?\s+)?(?P<year>\d{4})\b(?!-\d))?",
    re.IGNORECASE,
)
_NO_DIGIT = re.compile(r"\D")
_YEAR = r"(?:19|20)\d\d"
_BEFORE_DAYS = "(?i:{})".format(
    "|".join(
        rf"(?<=\b{lead} )" for lead in ("am", "vom", "zum", "bis", "seit", "dem", "den", "der")
    )
)
"""What stands before a day in numbers without a year, which may be a version otherwise."""
_IN_NUMBERS = re.compile(
    r"(?<![\d/.-])(?:"
    r"(?P<year>\d{4})-(?P<month>\d\d)(?:-(?P<day>\d\d))?(?![\d-])"
    rf"|(?P<year_>{_YEAR})/(?P<month_>\d\d?)/(?P<day_>\d\d?)(?![\d/])"
    rf"|(?P<day_of>\d\d?)\.\s?(?P<month_of>\d\d?)\.\s?(?P<year_of>{_YEAR})(?![\d.])"
    rf"|{_BEFORE_DAYS}"
    rf"(?:(?P<first_at>\d\d?)\.\s?(?:bis|{_DASH})\s?)?(?P<day_at>\d\d?)\.\s?(?P<month_at>\d\d?)\.(?!\d)"
    rf"|(?P<one>\d\d?)/(?P<other>\d\d?)/(?P<year_by>{_YEAR})(?![\d/])"
    r"|(?:(?P<year_in>\d{4})年)?(?P<month_in>\d\d?)月(?:(?P<day_in>\d\d?)[日号號])?)"
)
"""2026-03-02, 2026-03, 2026/3/2, 2.3.2026, `am 2.3.`, `vom 2. bis 4.3.`, 3/2/2026 and 2026年3月2日."""
_THROUGH = rf"{_DASH}|to|through|bis"
"""Words between the two ends of a time that need none before the first."""
_IN_WEEKS = re.compile(
    rf"\b(?:kw|cw|calendar week|kalenderwoche)\s?(?P<week>\d\d?)(?!\d)"
    rf"(?:(?:\s|\s?/\s?|\s+of\s+|\s+des jahres\s+)(?P<year>{_YEAR})(?!\d))?",
    re.IGNORECASE,
)
Side = Literal["before", "until", "since", "after"]
_SIDES: Mapping[str, Side] = {
    word: side for side, words in _WORDS["sides"].items() for word in words.split("|")
}
_AMOUNT = (
    r"\s*(?:[€$£%]|(?:euros?|eur|dollars?|usd|pounds?|gbp|francs?|franken|chf|yen|ms|seconds?|sekunden|minutes?|minuten"
    r"|hours?|stunden|kg|grams?|km|miles?|met(?:er|re)s?|people|tokens?|words?|lines?|rows?|requests?|calories)\b)"
)
"""What follows a number that is no year: of 2000 euros."""
_IN_YEARS = re.compile(
    rf"\b(?:in|during|throughout|of|by|between|from|im jahre?|von|en|entre|nel|dal|em|i|в|с"
    rf"|{'|'.join(_SIDES)})\s+"
    r"(?:the year\s+|(?:de[lm]?|il|al|o)\s+)?"
    rf"(?P<first>{_YEAR})(?:(?:\s*{_DASH}\s*|\s+(?:{_TO})\s+)(?P<last>{_YEAR}))?(?![-/.:年月]?\w|{_AMOUNT})"
    rf"(?:(?=,?\s+(?:or|oder|ou|o|of|eller|или)\s+(?P<other>{_YEAR})(?![-/.:年月]?\w|{_AMOUNT})))?"
    rf"|(?<!\d)(?P<year>{_YEAR})年(?!\d|前)",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"[\s,]*(?:\b(?:in|on|of|im|am|en|em|el|le|nel|del?|i|в|van)\b)?(?:\s+(?:the|jahre?))*(?:\s+year)?[\s,]*",
    re.IGNORECASE,
)
"""The words between a month and its year, in either order."""
_LEADS = frozenset(
    "in during of since last this next early late mid by until till from before after around".split()  # noqa: SIM905
)
_LEADS_IN_LOWER_CASE = _LEADS - {"this", "from", "of", "by"}
"""Those after which `may` and `march`, written so, are months: this may be, out of march."""

_SIDE = re.compile(
    rf"(\w*)\s*\b({'|'.join(_SIDES)})(?:['’]\w+)?\s+(?:(?:the|de[lmnr]?|d[iao]|al?|à|au|ao|o|l[ae]|el|il|zu[mr])\s+)*$",
    re.IGNORECASE,
)
_UNITS: Mapping[str, str] = _WORDS["units"]
_MEASURES = re.compile(
    rf"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|nights?|{'|'.join(_UNITS.values())}",
    re.IGNORECASE,
)


_LEADS_THERE = frozenset(
    "im em au seit bis depuis desde hasta dal da nach anfang mitte ende в".split()  # noqa: SIM905
)
_LEADS_ABROAD = _LEADS_THERE | {"in", "en", "a", "i"}
_LEADS_BEFORE_SMALL = frozenset(
    "de di av fin début courant fine inizio metà begin eind конце начале середине до с".split()  # noqa: SIM905
)
"""Those after which a month of another language is one if it is written small: `de julio`, not `de Julio`."""
_LEADS_OF_SMALL = _LEADS | _LEADS_THERE | {"av", "begin", "eind"}
"""Those of a month that is spelt as in English, if it is written small: `im august`."""


class NamedTime(Struct, frozen=True):
    """A month, or a day of it, or all from it to another; of any year if none is named."""

    month: int
    day: int | None = None
    year: int | None = None
    side: Side | None = None
    """Of which side of it the question speaks; None for the time itself."""
    through: "NamedTime | None" = None
    """The last month or day of a time of several; in the next year if it is earlier in a year."""


class Period(Struct, frozen=True):
    """The first and the last day of a year, or of a time told from the day of a question: `last week`."""

    first: date
    last: date

    @property
    def year(self) -> int | None:
        """The year of which it is the whole; None of any other time."""
        whole = date(self.first.year, 1, 1), date(self.first.year, 12, 31)
        return self.first.year if (self.first, self.last) == whole else None


Time = NamedTime | Period
Worded = tuple[Time, str]
"""A time with its words."""
AskedFor = Literal["anything", "kinds", "a subject"]
"""What a question names: nothing, as in `What happened?`, kinds of memories, or a subject."""
Placed = tuple[Time, int, int]
"""A time, and the places where its words begin and end."""


def named_times(question: str, today: date | None = None) -> list[Time]:
    """Return the times that a question names, those told from its day first; only valid ones.

    Those are read if the day of the question is given.
    """
    named, told = _times_in(question, today)
    return [*dict.fromkeys(time for time, _ in (*told, *named))][:MOST_TIMES]


def named_days(question: str, today: date | None = None) -> list[Worded]:
    """Return the times of at most a month that a question names, without whole months, each with its words.

    Also those told from its day if that is given.
    """
    named, told = _times_in(question, today)
    days = [one for one in named if isinstance(one[0], Period) or one[0].day]
    return [*dict.fromkeys(one for one in (*days, *told) if is_short(one[0]))][:MOST_TIMES]


def worded_times(question: str, today: date | None = None) -> list[Worded]:
    """Return the times that a question names, each with its words, those told from its day first."""
    named, told = _times_in(question, today)
    return [*dict.fromkeys((*told, *named))][:MOST_TIMES]


def asked_for(question: str, times: Iterable[Worded]) -> AskedFor:
    """Return what a question names beside its times, if any: nothing, only kinds of memories, or a subject.

    Without a time, a person or a thing that it does not name is a subject too: What did she say?
    """
    text = " ".join(_read(question).lower().split())
    worded = [words.lower() for _, words in times]
    for words in worded:
        text = text.replace(words, " ")
    found = words_of(text)
    left = found - QUESTION_WORDS - function_words(language(question))
    left -= _UNSPECIFIC["anything"] | _SIDES.keys()
    has_one = not found or not found.isdisjoint(_UNSPECIFIC["one"])
    if not left <= _UNSPECIFIC["kinds"] or (has_one and not worded):
        return "a subject"
    return "kinds" if left else "anything"


def short_times(times: Iterable[Time]) -> list[Time]:
    """Return the times of at most a month: of a longer one, little that was said is about the question."""
    return [time for time in times if is_short(time)]


@lru_cache(QUESTIONS_KEPT)
def _times_in(question: str, today: date | None) -> tuple[Sequence[Worded], Sequence[Worded]]:
    """Return the times in a question by themselves, and those told from its day.

    A year beside a month is the month's: in May last year, in May in 2025.
    """
    question = _read(question)
    placed, told = list(_named_in(question, today)), list(_told_in(question, today))
    months = [one for one in placed if isinstance(one[0], NamedTime) and one[0].year is None]
    beside = [
        one
        for one in placed
        if _whole_year(one[0]) and any(_is_beside(one, month, question) for month in months)
    ]
    whole = [_whole_year(time) for time, _ in told] + [_whole_year(time) for time, _, _ in beside]
    years = {year for year in whole if year}
    if len(years) == 1 and months:
        [year] = years
        told = [one for one in told if not _whole_year(one[0])]
        placed = [(_of_year(one[0], year), *one[1:]) for one in placed if one not in beside]
    named = ((_at_last(time, today), question[place:end]) for time, place, end in placed)
    return tuple(named), tuple(told)


def _whole_year(time: Time) -> int | None:
    return time.year if isinstance(time, Period) else None


def _is_beside(year: Placed, month: Placed, question: str) -> bool:
    """Tell whether a year is beside a month or a day: another may be an amount, as in 2000 ms."""
    (_, place, end), (_, first, last) = year, month
    return _BESIDE.fullmatch(question[min(last, end) : max(first, place)]) is not None


def drop_kept_questions() -> None:
    """Drop the latest questions, which this process keeps with their times."""
    _times_in.cache_clear()
    _told_from_today.cache_clear()


def _read(question: str) -> str:
    """Return the part of a question in which times are read."""
    if len(question) > 2 * LOOKED_AT:
        question = f"{question[:LOOKED_AT]} … {question[-LOOKED_AT:]}"
    return question.translate(_LETTERS_ALIKE)


def _of_year(time: Time, year: int) -> Time:
    if isinstance(time, NamedTime) and time.year is None and _is_possible(replace(time, year=year)):
        return replace(time, year=year)
    return time


def _named_in(question: str, today: date | None) -> Iterator[Placed]:
    """Yield the valid times of a question that do not depend on its day, the longest first."""
    taken: list[tuple[int, int]] = []
    for time, place, end in (
        *_in_weekdays(question, today),
        *_in_weeks(question, today),
        *_in_words(question, today),
        *_in_parts(question, today),
        *_in_numbers(question),
        *_in_years(question),
    ):
        if any(
            place < last and first < end for first, last in taken if (first, last) != (place, end)
        ):
            continue
        side = _side(question, place)
        sided = _period(time, side) if isinstance(time, Period) else replace(time, side=side)
        if isinstance(sided, Period) or _is_possible(sided):
            taken.append((place, end))
            yield sided, place, end


def _in_words(question: str, today: date | None) -> Iterator[Placed]:
    """Yield the months and days with names of months; two of them are one time if it goes to the second."""
    matches = [*_IN_WORDS.finditer(question), None]
    begun: re.Match[str] | None = None
    for match in matches:
        if begun is not None and match is not None and _is_range(begun, match):
            yield _through(_date(begun), _date(match)), _place(begun), match.end()
            begun = None
            continue
        if begun is not None and _is_month(begun):
            yield _of_lead(_date(begun), begun["lead"], today), _place(begun), begun.end()
        begun = match


def _in_weekdays(question: str, today: date | None) -> Iterator[Placed]:
    """Yield the days that are named by their place in a month: the first Monday of May."""
    for match in _IN_WEEKDAYS.finditer(question):
        weekday, place = _WEEKDAYS[match["weekday"].lower()], _WHICH_WEEKDAY[match["which"].lower()]
        for year in _years_of(match, today):
            month = _month(year * _MONTHS_OF_YEAR + _NUMBERS[match["month"].lower()] - 1)
            days = (month.first + timedelta(days=number) for number in range(month.last.day))
            day = [day for day in days if day.weekday() == weekday][place]
            if match["year"] or day <= (today or day):
                yield _days(day), match.start(), match.end()
                break


def _in_weeks(question: str, today: date | None) -> Iterator[Placed]:
    """Yield the weeks that are named by their ISO number in a year."""
    for match in _IN_WEEKS.finditer(question):
        week = int(match["week"])
        for year in _years_of(match, today):
            # The 28th of December is in the last week of its year.
            if not 1 <= week <= date(year, 12, 28).isocalendar().week:
                continue
            monday = date.fromisocalendar(year, week, 1)
            if match["year"] or monday <= (today or monday):
                yield _days(monday, 7), match.start(), match.end()
                break


def _years_of(match: re.Match[str], today: date | None) -> Sequence[int]:
    """Return the year that is named, else those in which the time may have been last, the latest first."""
    if match["year"]:
        return [int(match["year"])]
    if today is None:
        return []
    last = min(today.year, MAXYEAR - 1)
    return range(last, max(MINYEAR, last - _LEAP_YEARS_APART), -1)


def _place(match: re.Match[str]) -> int:
    return next(match.start(group) for group in ("first", "before", "month") if match[group])


def _day_of(match: re.Match[str]) -> str:
    """Return the day beside a month, an empty text if there is none."""
    before: str = match["before"] or ""
    if before.endswith(".") and match["month"].lower() in _MODAL:
        # A sentence ends there: It costs 12. May I pay?
        before = ""
    return before or match["after"] or ""


def _date(match: re.Match[str]) -> NamedTime:
    first, last = match["first"], match["last"]
    day, year = _day_of(match), match["year"]
    time = NamedTime(_NUMBERS[match["month"].lower()], _day(day), int(year) if year else None)
    if first and day:
        return replace(time, day=_day(first), through=replace(time, year=None))
    return replace(time, through=replace(time, day=_day(last), year=None)) if last else time


def _day(text: str) -> int | None:
    return int(_NO_DIGIT.sub("", text)) if text else None


def _through(first: NamedTime, last: NamedTime) -> NamedTime:
    """Return the time from the first to the last one; the year of one is that of both."""
    year = first.year
    if year is None and last.year is not None:
        year = last.year - _is_later(first, last)
    return replace(first, year=year, through=last)


def _is_later(first: NamedTime, last: NamedTime) -> bool:
    """Tell whether the first is later in a year."""
    return (first.month, first.day or 1) > (last.month, last.day or 31)


def _is_range(one: re.Match[str], other: re.Match[str]) -> bool:
    """Tell whether two months, or days, are the ends of one time."""
    between = " ".join(one.string[one.end() : _place(other)].lower().split())
    if one["first"] or other["first"] or bool(_day_of(one)) != bool(_day_of(other)):
        return False
    if (one["lead"] or "").lower() in _FROM and re.fullmatch(f"(?:{_TO}) ?{_THE}", f"{between} "):
        return True
    return _is_month(one) and re.fullmatch(_THROUGH, between) is not None


def _of_lead(time: NamedTime, lead: str | None, today: date | None) -> NamedTime:
    """Return a time in the year that the word before it tells: last May is over, this May is of this year."""
    lead = (lead or "").lower()
    if today is None or time.year is not None or not re.fullmatch(f"{_LAST}|{_THIS}", lead):
        return time
    if re.fullmatch(_THIS, lead):
        spans = _spans(time, [today.year - 1, today.year])
        begun = (first.year for first, last in spans if first <= today <= last)
        return replace(time, year=next(begun, today.year))
    over = (one for year in range(today.year, today.year - 3, -1) for one in _spans(time, [year]))
    return replace(time, year=next((first.year for first, last in over if last < today), None))


def _in_parts(question: str, today: date | None) -> Iterator[Placed]:
    """Yield the seasons, quarters and feasts."""
    for match in _IN_PARTS.finditer(question):
        lead, over, year = match["lead"], match["over"], match["year"]
        if not (lead or over or year or re.match(r"q\d", match["name"], re.IGNORECASE)):
            continue
        time = next(time for words, time in _PARTS if words.fullmatch(match["name"]))
        time = replace(time, year=int(year)) if year else time
        yield _of_lead(time, "last" if over else lead, today), match.start("name"), match.end()


def _in_numbers(question: str) -> Iterator[Placed]:
    """Yield the months and days in numbers; two of them are one time if it goes to the second."""
    begun: re.Match[str] | None = None
    for match in [*_IN_NUMBERS.finditer(question), None]:
        if begun is not None and match is not None:
            [*_, first], [*_, last] = _of_numbers(begun), _of_numbers(match)
            if bool(first.day) == bool(last.day) and _goes_through(question, begun, match):
                yield _through(first, last), begun.start(), match.end()
                begun = None
                continue
        if begun is not None:
            yield from ((time, begun.start(), begun.end()) for time in _of_numbers(begun))
        begun = match


def _of_numbers(match: re.Match[str]) -> list[NamedTime]:
    """Return the time that is written in numbers: one, or the two that it may be."""
    names = {name.partition("_")[0]: part for name, part in match.groupdict().items() if part}
    numbers = {name: int(part) for name, part in names.items()}
    if "one" in numbers:
        # The day is first in most countries, the month in some: both are meant.
        one, other, year = numbers["one"], numbers["other"], numbers["year"]
        return [NamedTime(other, one, year), NamedTime(one, other, year)]
    time = NamedTime(numbers["month"], numbers.get("day"), numbers.get("year"))
    return [replace(time, day=numbers["first"], through=time) if "first" in numbers else time]


def _goes_through(question: str, first: re.Match[str], last: re.Match[str]) -> bool:
    """Tell whether two times in numbers are the ends of one: each may be only one time itself."""
    if first["one"] or last["one"] or first["first_at"] or last["first_at"]:
        return False
    between = " ".join(question[first.end() : last.start()].lower().split())
    lead = _SPAN_LEAD.search(question, max(0, first.start() - LONGEST_LEAD), first.start())
    words = _THROUGH if lead is None else _TO
    return re.fullmatch(f"(?:{words}|{_THROUGH}) ?{_THE}", f"{between} ") is not None


def _in_years(question: str) -> Iterator[Placed]:
    for match in _IN_YEARS.finditer(question):
        first = int(match["first"] or match["year"])
        last = int(match["last"] or first)
        if first <= last:
            place = match.start("first" if match["first"] else "year")
            yield Period(date(first, 1, 1), date(last, 12, 31)), place, match.end()
        if match["other"]:
            year = int(match["other"])
            yield Period(date(year, 1, 1), date(year, 12, 31)), *match.span("other")


def _side(question: str, place: int) -> Side | None:
    """Return the side of the time at a place that is meant; None for `a week before it`, which is near it."""
    told = _SIDE.search(question, max(0, place - LONGEST_LEAD), place)
    return None if told is None or _MEASURES.fullmatch(told[1]) else _SIDES[told[2].lower()]


def _period(time: Period, side: Side | None) -> Period:
    """Return the time on one side of another."""
    match side:
        case "before":
            return Period(date.min, max(time.first, date.min + DAY) - DAY)
        case "until":
            return Period(date.min, time.last)
        case "since":
            return Period(time.first, date.max)
        case "after":
            return Period(min(time.last, date.max - DAY) + DAY, date.max)
    return time


def _at_last(time: Time, today: date | None) -> Time:
    """Return a time with a side in the year in which it was last: since March is since the last one.

    What lies before one that is still ahead may lie before that: the year stays open.
    """
    if isinstance(time, Period) or time.side is None or time.year is not None or today is None:
        return time
    is_ahead = (time.month, time.day or 1) > (today.month, today.day)
    if is_ahead and time.side in ("before", "until"):
        return time
    last = today.year - is_ahead
    each = (replace(time, year=year) for year in range(last, last - _LEAP_YEARS_APART, -1))
    return next(filter(_is_possible, each), time)


def relative_words(question: str) -> frozenset[str]:
    """Return the words of the times that a question tells from its day: they say when, not what."""
    return frozenset(
        word for match in _told_from_today(_read(question)) for word in match[0].lower().split()
    )


def told_days(times: Iterable[Time], today: date) -> list[tuple[date, date]]:
    """Return the first and the last day of each time of at most a month; without a year the latest begun."""
    spans = [_last_span(time, today) for time in short_times(times)]
    return [span for span in spans if span is not None]


def _last_span(time: Time, today: date) -> tuple[date, date] | None:
    if isinstance(time, Period):
        return time.first, time.last
    begun = [span for span in _spans(time, _years(time, today.year)) if span[0] <= today]
    return begun[-1] if begun else None


def is_short(time: Time) -> bool:
    """Tell whether a time is at most a month."""
    if isinstance(time, Period):
        return time.last - time.first <= MOST_DAYS
    spans = _spans(time, _years(time, LEAP_YEAR)) if time.side is None else []
    return any(last - first <= MOST_DAYS for first, last in spans)


def nearness(moment: datetime, times: Iterable[Time], zone: tzinfo = UTC) -> float:
    """Return 1 within a named time, falling to 0 at `NEAR_DAYS` days from it; 0 without one.

    It falls faster beside a short time told from the question's day, which is remembered better. The moment's
    day is that in the zone.
    """
    day = (moment if zone is UTC else moment.astimezone(zone)).date()
    near = [
        1 - max((first - day).days, (day - last).days, 0) / fades
        for time in times
        for first, last, fades in _near_days(time, day.year)
    ]
    return max(0.0, *near) if near else 0.0


def words_at(moment: datetime, days: Iterable[Worded], zone: tzinfo = UTC) -> str:
    """Return the words of those times in which a moment is: they count as words of what was said then."""
    return " ".join(words for day, words in days if nearness(moment, [day], zone) == 1.0)


def _near_days(time: Time, year: int) -> Iterator[tuple[date, date, int]]:
    """Yield the first and the last day of a time, and the number of days in which nearness falls to 0."""
    if isinstance(time, Period):
        yield time.first, time.last, min((time.last - time.first).days + 2, NEAR_DAYS)
        return
    for first, last in _spans(time, _years(time, year)):
        side = _period(Period(first, last), time.side)
        yield side.first, side.last, NEAR_DAYS


def _part(first: str, last: str) -> NamedTime:
    """Return a part of a year from its first to its last month or day, as `12-24 12-26`."""
    begin, end = (
        NamedTime(int(month), int(day) if day else None)
        for month, _, day in (bound.partition("-") for bound in (first, last))
    )
    return replace(begin, through=end)


_MONTHS_OF_YEAR = 12
_MONTHS_IN: Mapping[str, int] = {"month": 1, "quarter": 3, "year": 12}
_PAST_DAYS: Mapping[str, int] = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}
"""The days of the past week, month or year, before today."""
_A_FEW = (6, 2)
"""The most and the fewest of `a few days ago`."""

_LAST = r"last|past|previous|(?:letzt|vorig|vergangen)e[mnrs]?"
_THIS = r"this|diese[mnrs]?"
_NUMBER_WORDS: Mapping[str, str] = {
    word: number for number, words in _WORDS["numbers"].items() for word in words.split()
}
_WEEKDAYS: Mapping[str, int] = {
    day: place for days in _WORDS["weekdays"].values() for place, day in enumerate(days.split())
}
NAMES_OF_TIMES = frozenset({*_WEEKDAYS, *_MONTHS, *_MONTHS_ABROAD} - _WORDS_HERE)
"""The names of weekdays and months, in lower case."""
_ANY_UNIT = "|".join(_UNITS.values())
_PARTS = tuple(
    (re.compile(words, re.IGNORECASE), _part(*bounds.split()))
    for bounds, words in _WORDS["parts"].items()
)
_IN_PARTS = re.compile(
    rf"(?:\b(?P<lead>{_LAST}|{_THIS}|in|during|since|over|at|on|until|before|after|im|an|zu|seit|vor|nach|bis|en|au"
    rf"|nel|cet|l['’]|el|este|la|in|d')(?:\s+(?:the|der|dem|el|la|l['’]))?(?:\s+|(?<=['’])))?"
    rf"(?<!\w)(?P<name>{'|'.join(_WORDS['parts'].values())})(?!\w)"
    rf"(?:\s+(?P<over>derni[eè]re?|pasad[oa]|passad[oa]|scors[oa]))?"
    rf"(?:,?\s+(?:(?:of|de|del)\s+)?(?P<year>{_YEAR})\b)?",
    re.IGNORECASE,
)


_WHICH_WEEKDAY: Mapping[str, int] = {
    word: place - 1 if place else -1
    for place, words in enumerate(_WORDS["which"].values())
    for word in words.split()
}
"""The words of the first to the fourth weekday of a month, from 0, and of the last, -1."""
_IN_WEEKDAYS = re.compile(
    rf"\b(?P<which>{'|'.join(_WHICH_WEEKDAY)})\s+(?P<weekday>{'|'.join(_WEEKDAYS)})\s+(?:of|in|im|de|en|di)\s+"
    rf"(?P<month>{_NAME})\b(?:,?\s+(?P<year>{_YEAR})\b)?(?!,?\s+(?:of\s+)?\w+\s+(?:year|jahr))",
    re.IGNORECASE,
)

_FORMS: Sequence[tuple[str, str]] = (
    *(("told", words) for words in _WORDS["told"].values()),
    *(
        (kind, form)
        for kind in ("weekdayago", "ago", "other", "since", "weekday", "ordinal")
        for form in _WORDS[kind]["forms"]
    ),
    ("which", rf"(?P<which>{_LAST}|{_THIS}) (?:<U>|<W>)(?! (?:of|des) | i[nm] (?:{_NAME})\b)"),
    *(("past", form) for form in _WORDS["past"]["forms"]),
)
_TOLD = tuple(_WORDS["told"])
# Not the end of a longer number: 1000, 1.5, twenty-one, treinta y uno.
_WHOLE = r"(?<!\d)(?<!\d[.,])(?<!ty[- ])(?<!hundred )(?<!nta [ye] )(?<!nte e )(?<!цать )(?<!десят )"
_NUMBER = (
    rf"(?:an? |ein |de )?{_WHOLE}(?P<n#>\d{{1,3}}|"
    rf"{'|'.join(sorted(_NUMBER_WORDS, key=len, reverse=True))})(?: of)?"
)


def _pattern(forms: Iterable[tuple[str, str]]) -> re.Pattern[str]:
    """Return the pattern of all forms; each has groups of its own for its kind, number, unit and weekday."""
    parts = {
        "<N>": _NUMBER,
        "<U>": rf"(?P<u#>{_ANY_UNIT})",
        "<W>": rf"(?P<w#>{'|'.join(_WEEKDAYS)})",
        "<M>": rf"(?:{_NAME})",
    }
    for spoken, days in _WORDS["weekdays"].items():
        parts[f"<W-{spoken}>"] = rf"(?P<w#>{days.replace(' ', '|')})"
    patterns = []
    for place, (kind, form) in enumerate(forms):
        whole = re.sub(r"<[NUWM](?:-\w\w)?>", lambda part: parts[part[0]], form)
        patterns.append(f"(?P<{kind}#>{whole})".replace("#", str(place)))
    letter = "[a-zß-öø-ÿа-яё]"
    return re.compile(rf"(?<!{letter})(?:{'|'.join(patterns)})(?!{letter})", re.IGNORECASE)


_BEFORE_TODAY = _pattern(_FORMS)
_PAST = re.compile(rf"\b(?:{'|'.join(_WORDS['past']['verbs'])})\b", re.IGNORECASE)
"""The verbs of a question about the past, in which a weekday is the last one."""


def _kind(match: re.Match[str]) -> tuple[str, int]:
    """Return the kind of a time that is told from today, and the place of its form."""
    kind = (match.lastgroup or "").rstrip(string.digits)
    return kind, int((match.lastgroup or "")[len(kind) :])


@lru_cache(QUESTIONS_KEPT)
def _told_from_today(question: str) -> Sequence[re.Match[str]]:
    """Return the times that are told from today; a bare weekday only in a question about the past."""
    question = " ".join(question.split())
    is_past = _PAST.search(question) is not None
    return tuple(
        one
        for one in _BEFORE_TODAY.finditer(question)
        # `Hier` is German and Dutch for `here`.
        if (one[0].lower() != "hier" or language(question) == "fr")
        and (is_past or _kind(one)[0] not in ("past", "ordinal"))
    )


def _told_in(question: str, today: date | None) -> Iterator[Worded]:
    """Yield the times that are told from today, each with its words; none without that."""
    if today is None:
        return
    for match in _told_from_today(question):
        try:
            time = _told(match, today)
            side = None if _kind(match)[0] == "since" else _side(match.string, match.start())
            yield _period(time, side), match[0]
        except (OverflowError, ValueError, KeyError):
            # Before the first year, or no number.
            continue


def _told(match: re.Match[str], today: date) -> Period:
    kind, place = _kind(match)
    number, found, weekday = (match.groupdict().get(f"{part}{place}") or "" for part in "nuw")
    unit = _unit(found or "weekend")
    if number:
        return _told_by_number(kind, number, unit, weekday, today)
    current = kind == "which" and re.fullmatch(_THIS, match["which"], re.IGNORECASE) is not None
    match kind:
        case "told":
            unit, _, many = _TOLD[place].partition(" ")
            return _ago(many, unit, today) if many == "few" else _calendar(int(many), unit, today)
        case "other":
            return _weekday_ago("2", _WEEKDAYS[weekday.lower()], today)
        case "since":
            return Period(today - timedelta(days=_PAST_DAYS[unit]), today)
    if weekday:
        return _weekday(_WEEKDAYS[weekday.lower()], today, current=current)
    return _calendar(0 if current else 1, unit, today)


def _told_by_number(kind: str, word: str, unit: str, weekday: str, today: date) -> Period:
    """Return the time that a number of days, weeks or weekdays tells. Raises `ValueError` for none."""
    number = _number(word)
    match kind:
        case "ordinal":
            return _day_of_month(int(number), today)
        case "weekdayago" if number != "few":
            week = _calendar(int(number), unit, today)
            return _days(week.first + timedelta(days=_WEEKDAYS[weekday.lower()]))
        case "ago" if weekday:
            return _weekday_ago(number, _WEEKDAYS[weekday.lower()], today)
    ago = _ago(number, unit, today)
    return Period(ago.first, today) if kind == "since" else ago


def _day_of_month(number: int, today: date) -> Period:
    """Return the last day with that number, today or before. Raises `ValueError` for no day of a month."""
    date(LEAP_YEAR, 1, number)
    back = (today - timedelta(days=days) for days in range(2 * MOST_DAYS.days))
    return _days(next(day for day in back if day.day == number))


def _number(word: str) -> str:
    return word if word.isdigit() else _NUMBER_WORDS[word.lower()]


def _unit(word: str) -> str:
    return next(unit for unit, words in _UNITS.items() if re.fullmatch(words, word, re.IGNORECASE))


def _ago(many: str, unit: str, today: date) -> Period:
    """Return the day, the seven days or the calendar's unit that lies so many before today."""
    if many == "few":
        most, fewest = _A_FEW
        return Period(_ago(str(most), unit, today).first, _ago(str(fewest), unit, today).last)
    if unit == "day":
        # Fourteen days ago is about a fortnight.
        about = int(many) // 7
        return _days(today - timedelta(days=int(many) + about), 2 * about + 1)
    weeks = {"week": 1, "fortnight": 2}.get(unit)
    if weeks is None:
        return _calendar(int(many), unit, today)
    return _days(today - timedelta(weeks=int(many) * weeks, days=3), 7)


def _calendar(number: int, unit: str, today: date) -> Period:
    """Return the unit of the calendar that lies so many before that of today."""
    monday = today - timedelta(days=today.weekday() + 7 * number)
    match unit:
        case "day":
            return _days(today - timedelta(days=number))
        case "week" | "fortnight":
            return _days(monday, 7)
        case "weekend":
            return _days(monday + timedelta(days=5), 2)
    months = _MONTHS_IN[unit]
    begun = ((today.year * _MONTHS_OF_YEAR + today.month - 1) // months - number) * months
    return Period(_month(begun).first, _month(begun + months - 1).last)


def _weekday(weekday: int, today: date, *, current: bool) -> Period:
    """Return a weekday: that of this week, or the last one before today."""
    if current:
        return _days(today - timedelta(days=today.weekday() - weekday))
    return _days(today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1))


def _weekday_ago(many: str, weekday: int, today: date) -> Period:
    """Return the weekday that was so many times before today. Raises `ValueError` for no number."""
    last = _weekday(weekday, today, current=False).first
    return _days(last - timedelta(weeks=int(many) - 1))


def _days(first: date, number: int = 1) -> Period:
    return Period(first, first + timedelta(days=number - 1))


def _month(number: int) -> Period:
    """Return a month by its number from the first month of the year 0."""
    year, month = divmod(number, 12)
    after = date(year + (month + 1) // 12, (month + 1) % 12 + 1, 1)
    return Period(date(year, month + 1, 1), after - timedelta(days=1))


def _is_month(match: re.Match[str]) -> bool:
    """Tell whether it is a month rather than a name or another word."""
    word, lead, day = match["month"].lower(), (match["lead"] or "").lower(), _day_of(match)
    if word in _WORDS_HERE and not (lead in _LEADS_THERE or day.endswith(".")):
        spoken = language(match.string)
        if spoken is None or spoken == ENGLISH:
            return False
    if day or match["year"]:
        return True
    small = match["month"][0].islower()
    if word in _MONTHS_ABROAD:
        return lead in _LEADS_ABROAD or (small and lead in _LEADS_BEFORE_SMALL)
    if word not in _MONTHS:
        return False
    if word in _MODAL:
        return lead in (_LEADS_IN_LOWER_CASE if small else _LEADS)
    return not small or lead in _LEADS_OF_SMALL


def _is_possible(time: NamedTime) -> bool:
    return bool(_spans(time, _years(time, LEAP_YEAR)))


def _years(time: NamedTime, about: int) -> Sequence[int]:
    """Return the named year, else the years around another."""
    return [time.year] if time.year is not None else range(about - 1, about + 2)


def _spans(time: NamedTime, years: Sequence[int]) -> list[tuple[date, date]]:
    """Return its first and last day in each of the years that have it."""
    end = time.through or time
    spans = []
    for year in years:
        try:
            last_year = end.year or year + (time.through is not None and _is_later(time, end))
            spans.append((_bounds(time, year).first, _bounds(end, last_year).last))
        except ValueError:
            # The 30th of February, or a month 13.
            continue
    return [(first, last) for first, last in spans if first <= last]


def _bounds(time: NamedTime, year: int) -> Period:
    """Return the first and the last day of a month or a day. Raises `ValueError`."""
    if time.day is not None:
        return _days(date(year, time.month, time.day))
    if not (MINYEAR <= year < MAXYEAR and 1 <= time.month <= _MONTHS_OF_YEAR):
        raise ValueError(time)
    return _month(year * 12 + time.month - 1)
