"""The committed seed story is well formed and consistent in its dates."""

import json
import re
import uuid
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest

from tests.seed.conftest import SEED, Record, Records

REQUIRED = {
    "conversation_id",
    "session_id",
    "external_id",
    "role",
    "name",
    "content",
    "occurred_at",
}
WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
MONTHS = [
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
]

# What relative times in the text mean: (external id, phrase, day meant).
RELATIVE = [
    ("m019", "Since Tuesday", "2026-03-10"),
    ("m051", "last Friday", "2026-03-27"),
    ("m066", "tomorrow", "2026-04-01"),
    ("m067", "on Wednesday", "2026-04-15"),
    ("m080", "From Monday", "2026-04-13"),
    ("m087", "yesterday", "2026-04-19"),
    ("m087", "last Tuesday", "2026-04-14"),
    ("m112", "on Sunday", "2026-04-26"),
    ("m113", "on Monday", "2026-05-11"),
    ("m127", "last Tuesday", "2026-05-12"),
    ("m143", "by Thursday", "2026-05-21"),
    ("m148", "yesterday", "2026-05-26"),
    ("m165", "since Tuesday", "2026-06-09"),
    ("m179", "on Sunday", "2026-06-07"),
    ("m188", "Thursday last week", "2026-06-18"),
    ("m194", "on Wednesday", "2026-07-01"),
]


def read_lines(name: str) -> Records:
    text = (SEED / name).read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def at(message: Record) -> datetime:
    return datetime.strptime(message["occurred_at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


@pytest.fixture(scope="module")
def messages() -> Records:
    return read_lines("messages.jsonl")


@pytest.fixture(scope="module")
def by_id(messages: Records) -> dict[str, Record]:
    return {m["external_id"]: m for m in messages}


@pytest.fixture(scope="module")
def questions() -> Records:
    return read_lines("questions.jsonl")


def test_lines_are_well_formed(messages: Records) -> None:
    for m in messages:
        assert REQUIRED <= set(m) <= REQUIRED | {"importance"}, m
        assert (m["role"], m["name"]) in {
            ("user", "Mara Lindqvist"),
            ("assistant", "Quill"),
        }
        assert m["content"]
        assert m["content"] == m["content"].strip()
        assert all(isinstance(m[k], str) for k in REQUIRED)
        if "importance" in m:
            assert 0 <= m["importance"] <= 1
            assert m["importance"] != 0.5
        at(m)


def test_external_ids_are_unique_and_in_order(messages: Records) -> None:
    ids = [m["external_id"] for m in messages]
    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids)


def test_size_and_span(messages: Records) -> None:
    assert len(messages) >= 150
    assert len({m["session_id"] for m in messages}) >= 10
    assert at(messages[-1]) - at(messages[0]) >= timedelta(days=110)


def test_one_conversation(messages: Records) -> None:
    conversation = json.loads((SEED / "conversation.json").read_text(encoding="utf-8"))
    assert set(conversation) == {"id", "title"}
    assert conversation["title"]
    assert str(uuid.UUID(conversation["id"])) == conversation["id"]
    assert {m["conversation_id"] for m in messages} == {conversation["id"]}


def test_times_increase_and_sessions_are_contiguous(messages: Records) -> None:
    finished: set[str] = set()
    for before, after in pairwise(messages):
        gap = (at(after) - at(before)).total_seconds()
        if before["session_id"] == after["session_id"]:
            assert 20 <= gap <= 90, after["external_id"]
        else:
            finished.add(before["session_id"])
            assert after["session_id"] not in finished
            assert gap > 24 * 3600
        assert at(after).weekday() < 5


def test_weekdays_named_with_a_date_are_right(messages: Records) -> None:
    pattern = re.compile(
        r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? (\d{1,2}) "
        r"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
    )
    found = 0
    for m in messages:
        for day_name, day, month in pattern.findall(m["content"]):
            found += 1
            meant = date(2026, MONTHS.index(month) + 1, int(day))
            assert WEEKDAYS[meant.weekday()] == day_name, (
                m["external_id"],
                day_name,
                meant,
            )
    assert found >= 15


def test_relative_times_fit(by_id: dict[str, Record]) -> None:
    for external_id, phrase, day in RELATIVE:
        m, meant = by_id[external_id], date.fromisoformat(day)
        said = at(m).date()
        assert phrase in m["content"], external_id
        days = (meant - said).days
        named = re.search(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*day", phrase)
        if named:
            assert WEEKDAYS[meant.weekday()] == named.group(1), external_id
            assert 0 < abs(days) <= 7, external_id
        else:
            assert days == {"yesterday": -1, "tomorrow": 1}[phrase], external_id


def test_log_lines_are_older_than_their_message(messages: Records) -> None:
    stamp = re.compile(r"2026-\d\d-\d\dT\d\d:\d\d:\d\d")
    found = 0
    for m in messages:
        for text in stamp.findall(m["content"]):
            found += 1
            assert text < m["occurred_at"][:19], m["external_id"]
            assert text[:10] == m["occurred_at"][:10], m["external_id"]
    assert found >= 10


def test_questions_have_evidence(questions: Records, by_id: dict[str, Record]) -> None:
    assert len(questions) >= 15
    assert len({q["query"] for q in questions}) == len(questions)
    for q in questions:
        assert set(q) == {"query", "evidence"}
        assert q["query"].endswith("?")
        assert q["evidence"]
        assert len(set(q["evidence"])) == len(q["evidence"])
        assert set(q["evidence"]) <= set(by_id), q["query"]


def test_questions_need_as_much_evidence_as_their_kind(
    questions: Records, by_id: dict[str, Record]
) -> None:
    """Lines 1–6 need one or two messages, 7–9 several sessions, 13–19 an old and a new message."""
    for q in questions[:6]:
        assert len(q["evidence"]) <= 2
    for q in questions[6:9] + questions[12:19]:
        assert len({by_id[e]["session_id"] for e in q["evidence"]}) >= 2, q["query"]


CHANGES = [
    ("m014", "rollups go to Postgres"),
    ("m057", "SQLite"),
    ("m154", "back to Postgres"),
    ("m017", "49 €"),
    ("m038", "49 €"),
    ("m040", "59 €"),
    ("m161", "54 €"),
    ("m061", "Redis streams"),
    ("m158", "jobs table in Postgres"),
    ("m017", "Thursdays 20:00"),
    ("m109", "Tuesdays 06:00"),
    ("m015", "at length"),
    ("m098", "diff first"),
    ("m140", "sessionAffinity"),
    ("m184", "affinity has been out"),
    ("m121", "30 September"),
    ("m192", "31 October"),
    ("m062", "29 May"),
    ("m160", "19 June"),
    ("m193", "18 June"),
    ("m021", "E_CLOCK_DRIFT"),
    ("m103", "AUTH-4014"),
]
"""What changes in the story, and the messages that say so: the old, then the new."""


def test_what_changes_is_said(by_id: dict[str, Record]) -> None:
    assert [pair for pair in CHANGES if pair[1] not in by_id[pair[0]]["content"]] == []
