"""The committed seed story is well formed, consistent in its dates, and as its README says."""

import json
import re
import uuid
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

SEED = Path(__file__).resolve().parents[2] / "seed"
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


def read_lines(name):
    text = (SEED / name).read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def at(message):
    return datetime.strptime(message["occurred_at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


@pytest.fixture(scope="module")
def messages():
    return read_lines("messages.jsonl")


@pytest.fixture(scope="module")
def by_id(messages):
    return {m["external_id"]: m for m in messages}


@pytest.fixture(scope="module")
def questions():
    return read_lines("questions.jsonl")


@pytest.fixture(scope="module")
def readme():
    return (SEED / "README.md").read_text(encoding="utf-8")


def test_lines_are_well_formed(messages):
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


def test_external_ids_are_unique_and_in_order(messages):
    ids = [m["external_id"] for m in messages]
    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids)


def test_size_and_span(messages):
    assert len(messages) >= 150
    assert len({m["session_id"] for m in messages}) >= 10
    assert at(messages[-1]) - at(messages[0]) >= timedelta(days=110)


def test_one_conversation(messages):
    conversation = json.loads((SEED / "conversation.json").read_text(encoding="utf-8"))
    assert set(conversation) == {"id", "title"}
    assert conversation["title"]
    assert str(uuid.UUID(conversation["id"])) == conversation["id"]
    assert {m["conversation_id"] for m in messages} == {conversation["id"]}


def test_times_increase_and_sessions_are_contiguous(messages):
    finished = set()
    for before, after in pairwise(messages):
        gap = (at(after) - at(before)).total_seconds()
        if before["session_id"] == after["session_id"]:
            assert 20 <= gap <= 90, after["external_id"]
        else:
            finished.add(before["session_id"])
            assert after["session_id"] not in finished
            assert gap > 24 * 3600
        assert at(after).weekday() < 5


def test_weekdays_named_with_a_date_are_right(messages):
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


def test_relative_times_fit(by_id):
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


def test_log_lines_are_older_than_their_message(messages):
    stamp = re.compile(r"2026-\d\d-\d\dT\d\d:\d\d:\d\d")
    found = 0
    for m in messages:
        for text in stamp.findall(m["content"]):
            found += 1
            assert text < m["occurred_at"][:19], m["external_id"]
            assert text[:10] == m["occurred_at"][:10], m["external_id"]
    assert found >= 10


def test_questions_have_evidence(questions, by_id):
    assert len(questions) >= 15
    assert len({q["query"] for q in questions}) == len(questions)
    for q in questions:
        assert set(q) == {"query", "evidence"}
        assert q["query"].endswith("?")
        assert q["evidence"]
        assert len(set(q["evidence"])) == len(q["evidence"])
        assert set(q["evidence"]) <= set(by_id), q["query"]


def test_question_kinds_are_as_the_readme_says(questions, by_id):
    """Lines 1–6 need one or two messages, 7–9 several sessions, 13–19 an old and a new message."""
    for q in questions[:6]:
        assert len(q["evidence"]) <= 2
    for q in questions[6:9] + questions[12:19]:
        assert len({by_id[e]["session_id"] for e in q["evidence"]}) >= 2, q["query"]


def test_readme_counts(readme, messages, questions):
    def number(word):
        return int(re.search(rf"\*\*(\d+) {word}\*\*", readme).group(1))

    first, last = at(messages[0]), at(messages[-1])
    assert number("messages") == len(messages)
    assert number("sessions") == len({m["session_id"] for m in messages})
    assert number("days") == (last.date() - first.date()).days
    assert number("questions") == len(questions)
    assert f"{first:%Y-%m-%d} to {last:%Y-%m-%d}" in readme
    assert messages[0]["conversation_id"] in readme


def test_readme_session_table(readme, messages):
    rows = re.findall(r"^\| `(\S+)` \| (m\d+)–(m\d+) \| (\S+) \|", readme, re.MULTILINE)
    actual, counts = {}, Counter()
    for m in messages:
        counts[m["session_id"]] += 1
        entry = actual.setdefault(m["session_id"], [m["external_id"], "", m["occurred_at"][:10]])
        entry[1] = m["external_id"]
    assert rows == [(s, a, b, day) for s, (a, b, day) in actual.items()]
    for session, first, last, _ in rows:
        assert int(last[1:]) - int(first[1:]) + 1 == counts[session]


@pytest.mark.parametrize(
    ("external_id", "text"),
    [
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
    ],
)
def test_readme_changes(readme, by_id, external_id, text):
    assert external_id in readme.split("**What changed")[1]
    assert text in by_id[external_id]["content"]
