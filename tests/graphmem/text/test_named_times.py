"""Which days and months a question names, and how near a moment lies to them."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as some

from graphmem.text.named_times import (
    NEAR_DAYS,
    NamedTime,
    Period,
    asked_for,
    named_days,
    named_times,
    nearness,
    relative_words,
    short_times,
    told_days,
    worded_times,
)


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
        ("Was ist am 2. Juni passiert?", [NamedTime(6, 2)]),
        ("Wer kam am 2. August 2026?", [NamedTime(8, 2, 2026)]),
        ("Was geschah im März?", [NamedTime(3)]),
        ("¿Qué pasó el 2 de junio de 2026?", [NamedTime(6, 2, 2026)]),
        ("¿Qué compramos en mayo?", [NamedTime(5)]),
        ("Qui est venu le 1er février ?", [NamedTime(2, 1)]),
        ("Chi venne il 2 giugno 2026?", [NamedTime(6, 2, 2026)]),
        ("Quem veio em março?", [NamedTime(3)]),
        ("Wie kwam er op 2 maart?", [NamedTime(3, 2)]),
        ("Is there life on Mars, and who ate the mayo?", []),
        ("May I ask where they march?", []),
        ("Who bought the 3 Mars bars, and who ate a Mars bar?", []),
        ("Who built the Mars 2020 rover?", []),
        ("Who made us a Mai tai?", []),
        ("It costs 12. May I pay?", []),
        ("Was war im September?", [NamedTime(9)]),
        ("Was war im Mai?", [NamedTime(5)]),
        ("Arzt am 2. Mai", [NamedTime(5, 2)]),
        ("Qui est venu le 3 mars ?", [NamedTime(3, 3)]),
        ("Did Jan mar the decorum in june?", [NamedTime(6)]),
        ("issues in november, and in may", [NamedTime(11), NamedTime(5)]),
        ("this may be a march of ducks in a june bug", []),
        ("March 3 April 5", [NamedTime(3, 3), NamedTime(4, 5)]),
        ("two weeks before 10 July", [NamedTime(7, 10)]),
        ("the Sunday before the 10th of July", [NamedTime(7, 10)]),
        ("before 10 July", [NamedTime(7, 10, side="before")]),
        ("until March 2026", [NamedTime(3, year=2026, side="until")]),
        ("since the 3rd of May", [NamedTime(5, 3, side="since")]),
        ("after 2026-03-02", [NamedTime(3, 2, 2026, "after")]),
        ("Was war am 21.09.?", [NamedTime(9, 21)]),
        ("Bis 3. 11. war er hier", [NamedTime(11, 3, side="until")]),
        ("seit dem 21.9.", [NamedTime(9, 21, side="since")]),
        ("vom 21.09. bis 23.09.", [NamedTime(9, 21, through=NamedTime(9, 23))]),
        ("vom 3. bis 5.9.", [NamedTime(9, 3, through=NamedTime(9, 5))]),
        (
            "zwischen dem 30.12. und dem 2.1.2026",
            [NamedTime(12, 30, 2025, through=NamedTime(1, 2, 2026))],
        ),
        (
            "from 2026-03-02 to 2026-03-05",
            [NamedTime(3, 2, 2026, through=NamedTime(3, 5, 2026))],
        ),
        (
            "between 2.3.2026 and 5.3.2026",
            [NamedTime(3, 2, 2026, through=NamedTime(3, 5, 2026))],
        ),
        ("2026-03 - 2026-05", [NamedTime(3, None, 2026, through=NamedTime(5, None, 2026))]),
        ("2026-03-02 and 2026-03-05", [NamedTime(3, 2, 2026), NamedTime(3, 5, 2026)]),
        ("in version 3.11. of it", []),
        ("the first Wednesday of November 2025", [Period(date(2025, 11, 5), date(2025, 11, 5))]),
        ("the 30th of February, 2026-13, 2026-02-30", []),
        ("0000-01-02", []),
        ("", []),
    ],
)
def test_days_and_months_are_seen_and_other_words_are_not(
    question: str, named: list[NamedTime | Period]
) -> None:
    assert named_times(question) == named


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("Did Ana go sailing March 3rd, 2026?", [(NamedTime(3, 3, 2026), "March 3rd, 2026")]),
        (
            "Was it sold on 3 March or on 7 July, or 2026-07-08?",
            [
                (NamedTime(3, 3), "3 March"),
                (NamedTime(7, 7), "7 July"),
                (NamedTime(7, 8, 2026), "2026-07-08"),
            ],
        ),
        ("Was it sold in March or yesterday?", []),
        ("Wer kam am 2. Juni?", [(NamedTime(6, 2), "2. Juni")]),
    ],
)
def test_the_days_of_a_question_come_with_its_words_for_them(
    question: str, days: list[tuple[NamedTime, str]]
) -> None:
    assert named_days(question) == days


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


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("before July", "2026-06-30", "2026-07-08"),
        ("before July 2025", "2020-01-01", "2025-07-08"),
        ("until 3 March", "2026-03-03", "2026-03-10"),
        ("since September", "2025-09-01", "2025-08-25"),
        ("since 2026-03-03", "2026-11-01", "2026-02-01"),
        ("after 3 March", "2026-03-04", "2026-02-25"),
        ("before 0001-01-01 or after 9999-12-31", "0001-01-01", "2026-01-01"),
    ],
)
def test_before_and_since_tell_a_side_of_a_time(question: str, near: str, far: str) -> None:
    times = named_times(question, date(2026, 8, 20))

    assert nearness(datetime.fromisoformat(f"{near}T12:00Z"), times) == 1.0
    assert nearness(datetime.fromisoformat(f"{far}T12:00Z"), times) == 0.0


@given(some.text(), some.datetimes())
def test_any_question_and_moment_will_do(question: str, moment: datetime) -> None:
    times = [*named_times(question), NamedTime(12), NamedTime(1, 1)]
    assert 0.0 <= nearness(moment, times) <= 1.0


WEDNESDAY = date(2026, 3, 11)


@pytest.mark.parametrize(
    ("question", "spans"),
    [
        ("What did we do in 2025?", [("2025-01-01", "2025-12-31")]),
        ("im Jahr 2025", [("2025-01-01", "2025-12-31")]),
        ("в 2025 году", [("2025-01-01", "2025-12-31")]),
        ("between 2023 and 2024", [("2023-01-01", "2024-12-31")]),
        ("since 2024", [("2024-01-01", "9999-12-31")]),
        ("before 2024", [("0001-01-01", "2023-12-31")]),
        ("from March to June 2025", [("2025-03-01", "2025-06-30")]),
        ("from December to February 2026", [("2025-12-01", "2026-02-28")]),
        ("zwischen Mai und Juli 2025", [("2025-05-01", "2025-07-31")]),
        ("entre mayo y junio de 2025", [("2025-05-01", "2025-06-30")]),
        ("from 3 March to 20 April 2025", [("2025-03-03", "2025-04-20")]),
        ("3-5 March 2025", [("2025-03-03", "2025-03-05")]),
        ("March 3–5, 2025", [("2025-03-03", "2025-03-05")]),
        ("vom 3. bis 5. März 2025", [("2025-03-03", "2025-03-05")]),
        ("in summer 2025", [("2025-06-01", "2025-08-31")]),
        ("last spring", [("2025-03-01", "2025-05-31")]),
        ("el verano pasado", [("2025-06-01", "2025-08-31")]),
        ("in winter 2024", [("2024-12-01", "2025-02-28")]),
        ("in Q2 2025", [("2025-04-01", "2025-06-30")]),
        ("over Christmas 2025", [("2025-12-24", "2025-12-26")]),
        ("last January", [("2026-01-01", "2026-01-31")]),
        ("last March", [("2025-03-01", "2025-03-31")]),
        ("in May last year", [("2025-05-01", "2025-05-31")]),
        ("en mayo del año pasado", [("2025-05-01", "2025-05-31")]),
        ("am 4.3.2025", [("2025-03-04", "2025-03-04")]),
        ("2025/03/04", [("2025-03-04", "2025-03-04")]),
        ("3/25/2025", [("2025-03-25", "2025-03-25")]),
        ("3/4/2025", [("2025-04-03", "2025-04-03"), ("2025-03-04", "2025-03-04")]),
        ("2025年3月4日", [("2025-03-04", "2025-03-04")]),
        ("4 марта 2025", [("2025-03-04", "2025-03-04")]),
        ("on port 2025, in 1.2025, of the spring", []),
    ],
)
def test_years_ranges_and_parts_of_a_year_are_times(
    question: str, spans: list[tuple[str, str]]
) -> None:
    for first, last in spans:
        for day, near in ((first, 1.0), (last, 1.0)):
            noon = datetime.combine(date.fromisoformat(day), time(12), UTC)
            assert nearness(noon, named_times(question, WEDNESDAY)) == near
    told = {
        day
        for day in (WEDNESDAY - timedelta(days=back) for back in range(1_000))
        if nearness(datetime.combine(day, time(12), UTC), named_times(question, WEDNESDAY)) == 1.0
    }
    ends = [(date.fromisoformat(first), date.fromisoformat(last)) for first, last in spans]
    assert all(any(first <= day <= last for first, last in ends) for day in told)


@pytest.mark.parametrize(
    "question",
    [
        "in apr\u0131l 2026",
        "\u017fince 2 May",
        "la\u017ft week",
        "on 3 APR\u0130L",
        "3 \u044f\u043d\u1c80\u0430\u0440\u044f",
    ],
)
def test_letters_that_are_equal_but_for_case_are_read(question: str) -> None:
    assert named_times(question, WEDNESDAY)


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Did I get a bonus of 2000 euros in March?", NamedTime(3)),
        ("How many calls in 2000 ms did we see on 3 March?", NamedTime(3, 3)),
        ("What happened in March, in 2025?", NamedTime(3, None, 2025)),
        ("Was geschah im März im Jahr 2025?", NamedTime(3, None, 2025)),
        ("In 2025, on 3 March, who came?", NamedTime(3, 3, 2025)),
        ("im Mai letzten Jahres", NamedTime(5, None, 2025)),
        ("в мае прошлого года", NamedTime(5, None, 2025)),
    ],
)
def test_a_month_has_the_year_beside_it_and_no_amount(question: str, named: NamedTime) -> None:
    times = named_times(question, WEDNESDAY)

    assert [one for one in times if isinstance(one, NamedTime)] == [named]


@pytest.mark.parametrize(
    "question",
    [
        "the second quarter of 2025",
        "das zweite Quartal 2025",
        "au deuxième trimestre 2025",
        "el segundo trimestre de 2025",
        "secondo trimestre 2025",
        "o segundo trimestre de 2025",
        "tweede kwartaal 2025",
        "второй квартал 2025",
    ],
)
def test_quarters_are_read_by_their_place_in_the_year(question: str) -> None:
    [quarter] = named_times(question, WEDNESDAY)

    assert quarter == NamedTime(4, None, 2025, None, NamedTime(6))


def _years(first: int, last: int | None = None) -> Period:
    return Period(date(first, 1, 1), date(last or first, 12, 31))


def test_one_year_or_another_is_both() -> None:
    assert named_times("Did we move in 2019 or 2021?", WEDNESDAY) == [_years(2019), _years(2021)]
    assert named_times("2019 oder 2021") == []
    assert named_times("between 2019 and 2021 or 2024") == [_years(2019, 2021), _years(2024)]


@pytest.mark.parametrize(
    "question", ["sinds 2020", "dopo il 2020", "até 2020", "après 2020", "ab 2020"]
)
def test_sides_of_years_are_read_in_other_languages(question: str) -> None:
    [time] = named_times(question, WEDNESDAY)

    assert isinstance(time, Period)
    assert date.max == time.last or date.min == time.first


@pytest.mark.parametrize(
    "question", ["a bonus of 2000 euros", "ab 2000 Franken", "in 2000 ms", "after 2000 requests"]
)
def test_amounts_are_no_years(question: str) -> None:
    assert named_times(question, WEDNESDAY) == []


@pytest.mark.parametrize(
    "question",
    [
        "was war im juli",
        "ende juli",
        "¿Qué pasó a finales de julio?",
        "el mes de julio",
        "la facture de juillet",
        "fin juillet",
        "a fine luglio",
        "eind juli",
        "в конце июля",
    ],
)
def test_a_month_is_read_behind_the_words_that_say_which_part_of_it(question: str) -> None:
    assert named_times(question) == [NamedTime(7)]


def test_months_of_german_written_small_are_read_too() -> None:
    assert named_times("was war im august") == named_times("anfang august") == [NamedTime(8)]
    assert named_times("la habitación de Julio") == []


def test_a_year_ago_today_is_a_time_of_last_year() -> None:
    assert named_times("What did I do a year ago today?", date(2026, 11, 24)) == [_years(2025)]


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("Who came on the first Wednesday of November?", date(2025, 11, 5)),
        ("the last Friday in February", date(2026, 2, 27)),
        ("am ersten Mittwoch im März", date(2026, 3, 4)),
        ("the fourth Thursday of March", date(2025, 3, 27)),
        ("el primer lunes de noviembre", date(2025, 11, 3)),
    ],
)
def test_a_weekday_of_a_month_is_the_last_one_that_was(question: str, day: date) -> None:
    assert named_times(question, WEDNESDAY) == [Period(day, day)]


@pytest.mark.parametrize(
    ("question", "monday"),
    [
        ("Was stand in KW 9?", date(2026, 2, 23)),
        ("in KW43", date(2025, 10, 20)),
        ("in KW 53", date(2020, 12, 28)),
        ("calendar week 43 of 2024", date(2024, 10, 21)),
        ("KW 2/2027", date(2027, 1, 11)),
    ],
)
def test_a_week_is_named_by_its_number_in_a_year(question: str, monday: date) -> None:
    assert named_times(question, WEDNESDAY) == [Period(monday, monday + timedelta(days=6))]


@pytest.mark.parametrize("question", ["KW 0", "KW 54", "KW 430", "KW 53/2025", "week 9", "skw 9"])
def test_other_numbers_name_no_week(question: str) -> None:
    assert named_times(question, WEDNESDAY) == []


def test_numbers_are_read_on_the_first_and_the_last_day() -> None:
    monday = date.fromisocalendar(9998, 52, 1)
    assert named_times("KW 52", date.max) == [Period(monday, monday + timedelta(days=6))]
    assert named_times("What was on the 31st?", date.max) == [Period(date.max, date.max)]
    assert named_times("the last Friday of December", date.max)
    for question in ("KW 52", "What was on the 31st?"):
        assert named_times(question, date.min) == []


def test_before_a_week_is_before_its_monday() -> None:
    assert named_times("before KW 9", WEDNESDAY) == [Period(date.min, date(2026, 2, 22))]


def test_a_weekday_of_a_month_of_another_year_is_the_month() -> None:
    assert named_times("the first Monday of November last year", WEDNESDAY) == [
        NamedTime(11, None, 2025)
    ]


def test_the_last_week_in_a_month_is_of_that_month() -> None:
    assert named_times("the last week in May", WEDNESDAY) == [NamedTime(5)]
    assert len(named_times("last week in Paris", WEDNESDAY)) == 1


def test_this_winter_is_the_one_that_has_begun() -> None:
    [winter] = named_times("this winter", date(2027, 1, 15))

    assert nearness(datetime(2026, 12, 20, tzinfo=UTC), [winter]) == 1.0
    assert nearness(datetime(2027, 12, 20, tzinfo=UTC), [winter]) == 0.0


def test_what_was_before_a_time_that_is_ahead_may_be_of_this_year() -> None:
    [christmas] = named_times("before Christmas", date(2026, 11, 24))
    [leap_day] = named_times("since 29 February", date(2026, 11, 24))

    assert nearness(datetime(2026, 10, 3, tzinfo=UTC), [christmas]) == 1.0
    assert leap_day == NamedTime(2, 29, 2024, "since")


@pytest.mark.parametrize(
    "question",
    [
        "What happened yesterday?",
        "What did we do in May, and what in June?",
        "Summarize last week",
        "Was war gestern los?",
        "Was ist im Mai passiert?",
        "Que s'est-il passé en mai ?",
        "¿Qué pasó ayer?",
        "Cosa è successo ieri?",
        "O que aconteceu ontem?",
        "Wat is er gisteren gebeurd?",
        "Vad hände igår?",
        "Что было вчера?",
        "What happened?",
        "What do you know about me?",
        "What do you remember?",
        "What have we talked about?",
        "Tell me everything you know.",
        "Was weißt du über mich?",
        "Worüber haben wir gesprochen?",
        "¿Qué sabes de mí?",
        "Que sais-tu de moi ?",
    ],
)
def test_a_question_may_ask_for_all_there_is_or_was_at_a_time(question: str) -> None:
    assert asked_for(question, worded_times(question, WEDNESDAY)) == "anything"


@pytest.mark.parametrize(
    "question",
    [
        "Who is she?",
        "Where is it?",
        "What did he say?",
        "Was hat sie gesagt?",
        "user preferences",
        "What did Ana do yesterday?",
        "What went wrong in May?",
        "Was hat Ana gestern gemacht?",
        "昨天我们吃了什么",
        "",
    ],
)
def test_a_question_for_someone_or_something_asks_for_that(question: str) -> None:
    assert asked_for(question, worded_times(question, WEDNESDAY)) != "anything"


@pytest.mark.parametrize(
    "question",
    [
        "user preferences",
        "user's preferences and habits",
        "recent decisions",
        "project overview",
        "User Profile",
        "Which decisions did we make?",
        "What are the open tasks and next steps?",
        "What am I working on?",
        "What problems were there in January?",
        "Welche Aufgaben sind offen?",
        "Welche Entscheidungen haben wir getroffen?",
        "offene Aufgaben des Projekts",
        "Quelles décisions avons-nous prises ?",
        "¿Qué decisiones tomamos?",
        "Quali decisioni abbiamo preso?",
        "Que decisões tomamos?",
        "Welke beslissingen hebben we genomen?",
        "användarens preferenser",
        "предпочтения пользователя",
    ],
)
def test_a_question_may_name_only_kinds_of_memories(question: str) -> None:
    assert asked_for(question, worded_times(question, WEDNESDAY)) == "kinds"


@pytest.mark.parametrize(
    "question",
    [
        "dark mode preference",
        "decisions about the harbour",
        "What are Ana's preferences?",
        "Which tasks does she have?",
        "problems with the printer in January",
        "Entscheidungen zum Hafen",
        "*",
        "",
    ],
)
def test_a_question_for_memories_about_something_names_that(question: str) -> None:
    assert asked_for(question, worded_times(question, WEDNESDAY)) == "a subject"


def test_only_short_times_have_their_words_beside_what_was_said_then() -> None:
    for long in ("since 2020", "this year", "in 2025", "until yesterday"):
        assert named_times(long, WEDNESDAY)
        assert named_days(long, WEDNESDAY) == []
        assert short_times(named_times(long, WEDNESDAY)) == []
    assert short_times(named_times("in March", WEDNESDAY)) == [NamedTime(3)]


def test_a_long_question_is_read_at_both_ends() -> None:
    long = f"yesterday {'word ' * 2_000} on 3 March"

    assert len(named_times(long, WEDNESDAY)) == 2
    assert named_times(f"{'word ' * 1_000} yesterday {'word ' * 1_000}", WEDNESDAY) == []


@pytest.mark.parametrize(
    "question", ["seit dem 3. März", "depuis le 3 mars, qui est venu ?", "desde el 3 de marzo"]
)
def test_sides_are_read_in_other_languages(question: str) -> None:
    assert named_times(question, WEDNESDAY) == [NamedTime(3, 3, 2026, "since")]


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What did we eat yesterday?", "2026-03-10", "2026-03-10"),
        ("and the day before yesterday", "2026-03-09", "2026-03-09"),
        ("Was gab es gestern zu essen?", "2026-03-10", "2026-03-10"),
        ("vorgestern", "2026-03-09", "2026-03-09"),
        ("¿Qué comimos ayer?", "2026-03-10", "2026-03-10"),
        ("что было вчера?", "2026-03-10", "2026-03-10"),
        ("昨天我们吃了什么", "2026-03-10", "2026-03-10"),
        ("Who came last week?", "2026-03-02", "2026-03-08"),
        ("this week", "2026-03-09", "2026-03-15"),
        ("last weekend", "2026-03-07", "2026-03-08"),
        ("last Monday", "2026-03-09", "2026-03-09"),
        ("letzten Mittwoch", "2026-03-04", "2026-03-04"),
        ("What did Ana say on Tuesday?", "2026-03-10", "2026-03-10"),
        ("Was habe ich am Mittwoch erzählt?", "2026-03-04", "2026-03-04"),
        ("letzte Woche", "2026-03-02", "2026-03-08"),
        ("vor drei Tagen", "2026-03-08", "2026-03-08"),
        ("3 days ago", "2026-03-08", "2026-03-08"),
        ("two weeks ago", "2026-02-22", "2026-02-28"),
        ("a month ago", "2026-02-01", "2026-02-28"),
        ("vor zwei Jahren", "2024-01-01", "2024-12-31"),
        ("in the last 3 days", "2026-03-08", "2026-03-11"),
        ("in den letzten zwei Monaten", "2026-01-01", "2026-03-11"),
        ("a fortnight ago", "2026-02-22", "2026-02-28"),
        ("two months back", "2026-01-01", "2026-01-31"),
        ("vor vierzehn Tagen", "2026-02-23", "2026-02-27"),
        ("a few days ago", "2026-03-05", "2026-03-09"),
        ("vor ein paar Tagen", "2026-03-05", "2026-03-09"),
        ("half a year ago", "2025-09-01", "2025-09-30"),
        ("last quarter", "2025-10-01", "2025-12-31"),
        ("in the past week", "2026-03-04", "2026-03-11"),
        ("during the last month", "2026-02-09", "2026-03-11"),
        ("vorletzte Woche", "2026-02-23", "2026-03-01"),
        ("What did we do over the weekend?", "2026-03-07", "2026-03-08"),
        ("la semaine dernière", "2026-03-02", "2026-03-08"),
        ("Qu'a-t-on fait hier ?", "2026-03-10", "2026-03-10"),
        ("lundi dernier", "2026-03-09", "2026-03-09"),
        ("il y a trois jours", "2026-03-08", "2026-03-08"),
        ("¿Qué compré el mes pasado?", "2026-02-01", "2026-02-28"),
        ("hace tres días", "2026-03-08", "2026-03-08"),
        ("tre giorni fa", "2026-03-08", "2026-03-08"),
        ("na semana passada", "2026-03-02", "2026-03-08"),
        ("drie dagen geleden", "2026-03-08", "2026-03-08"),
        ("för tre dagar sedan", "2026-03-08", "2026-03-08"),
        ("на прошлой неделе", "2026-03-02", "2026-03-08"),
        ("три дня назад", "2026-03-08", "2026-03-08"),
        ("我们三天前", "2026-03-08", "2026-03-08"),
        ("上个月", "2026-02-01", "2026-02-28"),
        ("先週", "2026-03-02", "2026-03-08"),
        ("three weeks before last week", "2026-03-02", "2026-03-08"),
        ("since last week", "2026-03-02", "9999-12-31"),
        ("seit letzter Woche", "2026-03-02", "9999-12-31"),
        ("since Monday", "2026-03-09", "9999-12-31"),
        ("before yesterday", "0001-01-01", "2026-03-09"),
        ("until last week", "0001-01-01", "2026-03-08"),
        ("after yesterday", "2026-03-11", "9999-12-31"),
        ("What did we say two Fridays ago?", "2026-02-27", "2026-02-27"),
        ("two Wednesdays ago", "2026-02-25", "2026-02-25"),
        ("on the Monday before last", "2026-03-02", "2026-03-02"),
        ("vor zwei Freitagen", "2026-02-27", "2026-02-27"),
        ("am vorletzten Dienstag", "2026-03-03", "2026-03-03"),
        ("hace dos sábados", "2026-02-28", "2026-02-28"),
        ("the night before last", "2026-03-09", "2026-03-09"),
        ("letzte Nacht", "2026-03-10", "2026-03-10"),
        ("¿Quién llamó esta mañana?", "2026-03-11", "2026-03-11"),
        ("three weeks before the Friday before last week", "2026-03-02", "2026-03-08"),
        ("What did we say on Friday two weeks ago?", "2026-02-27", "2026-02-27"),
        ("am Freitag vor zwei Wochen", "2026-02-27", "2026-02-27"),
        ("Friday a few weeks ago", "2026-01-25", "2026-02-28"),
        ("¿Qué dijo Ana el lunes?", "2026-03-09", "2026-03-09"),
        ("¿Quién llamó el sábado?", "2026-03-07", "2026-03-07"),
        ("Qu'est-ce qu'on a dit lundi ?", "2026-03-09", "2026-03-09"),
        ("Qui est venu jeudi, et qu'a-t-on décidé ?", "2026-03-05", "2026-03-05"),
        ("Cosa abbiamo deciso venerdì?", "2026-03-06", "2026-03-06"),
        ("O que a Ana disse na segunda-feira?", "2026-03-09", "2026-03-09"),
        ("Wat heeft Ana op maandag gezegd?", "2026-03-09", "2026-03-09"),
        ("Что Анна сказала в пятницу?", "2026-03-06", "2026-03-06"),
        ("What did we decide on the 24th?", "2026-02-24", "2026-02-24"),
        ("What was said on the 11th about the price?", "2026-03-11", "2026-03-11"),
        ("Who was there on the 30th, and why?", "2026-01-30", "2026-01-30"),
        ("Was haben wir am 24. besprochen?", "2026-02-24", "2026-02-24"),
    ],
)
def test_a_relative_time_is_told_from_the_day_of_the_question(
    question: str, first: str, last: str
) -> None:
    named = [Period(date.fromisoformat(first), date.fromisoformat(last))]
    assert named_times(question, WEDNESDAY) == named
    assert named_times(question) == []


@pytest.mark.parametrize(
    "question",
    [
        "Who came last?",
        "What do we have on Tuesday?",
        "the lastweek of it",
        "What a holidaytoday",
        "Was haben wir hier gesagt?",
        "the last week of it",
        "1000 days ago",
        "1.5 years ago",
        "twenty-one days ago",
        "twenty two days ago",
        "treinta y dos días atrás",
        "двадцать два дня назад",
        "三十五天前",
        "2020年前我住在哪里",
        "ago",
        "vor Tagen",
        "some Fridays ago",
        "What do we have on the 24th?",
        "¿Qué tenemos el lunes?",
        "Qu'est-ce qu'on fait lundi ?",
        "Cosa facciamo venerdì?",
        "O que temos na segunda-feira?",
        "Wat doen we op maandag?",
        "Что у нас в пятницу?",
        "Who was there on the 24th floor?",
        "What was done on the 2nd attempt?",
        "Wer hat am 24. Geburtstag gefeiert?",
        "Who was there on the 32nd?",
    ],
)
def test_what_tells_no_day_is_no_relative_time(question: str) -> None:
    assert named_times(question, WEDNESDAY) == []


def test_relative_times_come_with_their_words_too() -> None:
    yesterday = Period(date(2026, 3, 10), date(2026, 3, 10))
    question = "What  did we eat Yesterday or on 3 March?"

    assert named_days(question, WEDNESDAY) == [
        (NamedTime(3, 3), "3 March"),
        (yesterday, "Yesterday"),
    ]
    assert relative_words(question) == {"yesterday"}
    assert relative_words("the week before last week, on Tuesday") == {"last", "week"}


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("yesterday", [("2026-03-10", "2026-03-10")]),
        ("in May or on 3 March", [("2025-05-01", "2025-05-31"), ("2026-03-03", "2026-03-03")]),
        ("in May 2024 or in May 2027", [("2024-05-01", "2024-05-31")]),
        ("since 3 March, in the last two years", []),
        ("on 29 February", []),
    ],
)
def test_a_time_of_at_most_a_month_has_its_latest_days(
    question: str, days: list[tuple[str, str]]
) -> None:
    expected = [(date.fromisoformat(first), date.fromisoformat(last)) for first, last in days]
    assert told_days(named_times(question, WEDNESDAY), WEDNESDAY) == expected


def test_a_moment_is_near_a_relative_time_by_its_day_in_the_zone() -> None:
    times = named_times("yesterday", WEDNESDAY)
    late = datetime(2026, 3, 9, 23, 30, tzinfo=UTC)

    assert nearness(late, times) == 0.5
    assert nearness(late, times, ZoneInfo("Europe/Berlin")) == 1.0
    assert nearness(datetime(2026, 3, 8, 12, tzinfo=UTC), times) == 0.0


@given(some.text(), some.dates())
def test_any_question_of_any_day_will_do(question: str, today: date) -> None:
    for one in named_times(f"999 years ago, last week, {question}", today):
        assert isinstance(one, NamedTime) or one.first <= one.last
    for first, last in told_days(named_times(question, today), today):
        assert first <= last
