"""What may be set of a pattern: legal values go through, all else is told what is legal."""

from datetime import UTC, datetime
from typing import Any

import pytest

from graphmem.errors import InvalidInput
from graphmem.model.times import BEGINNING
from graphmem.patterns.types import checked_pattern, header, values

TEXT = """CYPHER 25
// What is there.
//
// title    Things
// example  {"name": "Ada"}
//
// $client_id  string    whose
// $name       string    the name [1..20]
// $kind       string    which [fact|episode = "fact"]
// $near       float     how near [0.5..1 = 0.9]
// $old        boolean   whether old ones count [= false]
// $since      datetime  from then on [= "beginning"]
// $until      datetime  and before then [= "now"]
// $limit      int       how many [1..1000 = 50]
//
// > memory_ids  list<string>  the memory
RETURN 1
"""

PATTERN = header("things", TEXT).pattern

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def test_what_is_not_set_is_the_default() -> None:
    assert values(PATTERN, {"name": "Ada"}, now=NOW) == {
        "name": "Ada",
        "kind": "fact",
        "near": 0.9,
        "old": False,
        "since": BEGINNING,
        "until": NOW,
        "limit": 50,
    }


def test_what_is_set_holds() -> None:
    given: dict[str, Any] = {
        "name": "é" * 20,
        "kind": "episode",
        "near": 1,
        "old": True,
        "since": "2026-01-01T02:00:00+02:00",
        "limit": 1000,
    }
    found = values(PATTERN, given, now=NOW)
    assert found["since"] == datetime(2026, 1, 1, tzinfo=UTC)
    assert (found["near"], type(found["near"])) == (1.0, float)
    assert (found["kind"], found["old"], found["limit"]) == ("episode", True, 1000)


@pytest.mark.parametrize(
    ("field", "value", "legal"),
    [
        ("name", "", "1 to 20 characters"),
        ("name", "x" * 21, "1 to 20 characters"),
        ("name", 7, "1 to 20 characters"),
        ("name", "   ", "blank"),
        ("name", "\ud800", "surrogate"),
        ("kind", "message", "fact, episode"),
        ("kind", None, "fact, episode"),
        ("near", 0.49, "0.5 to 1"),
        ("near", float("nan"), "0.5 to 1"),
        ("near", "0.9", "0.5 to 1"),
        ("limit", 0, "1 to 1,000"),
        ("limit", 1001, "1 to 1,000"),
        ("limit", 5.0, "1 to 1,000"),
        ("limit", True, "1 to 1,000"),
        ("limit", 10**400, "1 to 1,000"),
        ("old", 1, "true or false"),
        ("since", "2026-01-01T00:00:00", "zone"),
        ("since", "yesterday", "RFC 3339"),
        ("since", 1767225600, "RFC 3339"),
        ("since", None, "RFC 3339"),
        ("nmae", "Ada", "`limit` is a whole number from 1 to 1,000"),
        ("client_id", "other", "there is no such parameter"),
    ],
)
def test_what_cannot_be_used_names_the_field_and_what_is_legal(
    field: str, value: Any, legal: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        values(PATTERN, {"name": "Ada", field: value}, now=NOW)
    assert caught.value.field == f"parameters.{field}"
    assert legal in str(caught.value)


def test_what_must_be_set_is_missed() -> None:
    with pytest.raises(InvalidInput, match=r"parameters\.name: is missing"):
        values(PATTERN, {}, now=NOW)


@pytest.mark.parametrize("change", [{"default": "someday"}, {"type": "int", "default": 2000}])
def test_a_default_that_is_not_legal_is_refused(change: dict[str, Any]) -> None:
    from msgspec.structs import replace

    index = 4 if change.get("type") is None else 6
    wrong = replace(PATTERN.parameters[index], **change)
    pattern = replace(PATTERN, parameters=[*PATTERN.parameters[:index], wrong])
    with pytest.raises(InvalidInput):
        checked_pattern(pattern, now=NOW)


def test_an_empty_choice_is_told_in_quotes() -> None:
    every = header("every", TEXT.replace('[fact|episode = "fact"]', '[|fact = ""]')).pattern
    with pytest.raises(InvalidInput, match="`kind` is one of '', fact: which"):
        values(every, {"name": "Ada", "kind": "x"}, now=NOW)
