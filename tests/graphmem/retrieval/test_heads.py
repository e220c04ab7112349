"""What was superseded between its finding and the answer gives its place to its head, each chain once."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from graphmem.model.times import BEGINNING
from graphmem.retrieval.filters import Filters, sources_asked
from graphmem.retrieval.heads import Head, at_heads, by_found_id, heads_of

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Hit(Struct, frozen=True):
    id: str
    score: float = 0.0


class Row(Struct, frozen=True):
    id: str
    head: Head | None = None


def head(*chain: str, **given: Any) -> Head:
    plain: dict[str, Any] = {
        "kind": "fact",
        "importance": 0.5,
        "token_count": 3,
        "occurred_at": NOON,
        "source_type": "fact",
        "source_id": "",
        "category": "user_fact",
        "scope": "user",
        "other_categories": [],
    }
    return Head(id=chain[-1], chain=list(chain), **(plain | given))


def shown(
    found: list[str], *heads: Head, admits: Callable[[Head], bool] = lambda _: True
) -> list[str]:
    hits = [Hit(id, place) for place, id in enumerate(found)]
    by_id = heads_of(Row(one.id, one) for one in heads)
    moved = at_heads(hits, by_id, admits, lambda hit, head: Hit(head.id, hit.score))
    assert [hit.score for hit in moved] == sorted(hit.score for hit in moved)
    return [hit.id for hit in moved]


def test_without_a_newer_version_all_stays():
    assert shown(["a", "b", "a"]) == ["a", "b", "a"]


def test_a_head_takes_the_place_and_the_score_of_the_version_that_was_found():
    assert shown(["x", "a", "b"], head("a", "c")) == ["x", "c", "b"]


def test_each_chain_is_shown_once_at_its_best_place():
    assert shown(["a", "x", "b"], head("a", "b")) == ["b", "x"]
    assert shown(["b", "x", "a"], head("a", "b")) == ["b", "x"]


def test_a_chain_that_grows_while_it_is_read_is_shown_once_too():
    assert shown(["a", "b"], head("a", "b"), head("b", "c")) == ["b"]
    assert shown(["b", "a"], head("a", "b"), head("b", "c")) == ["c"]
    assert shown(["a", "b"], head("a", "b", "c"), head("b", "c", "d")) == ["c"]


def test_a_head_that_the_filters_refuse_is_left_out_with_its_chain():
    assert shown(["a", "x"], head("a", "b"), admits=lambda _: False) == ["x"]


def test_rows_are_known_by_the_ids_that_were_asked_for():
    rows = [Row("c", head("a", "b", "c")), Row("d")]
    assert by_found_id(rows) == {"a": rows[0], "d": rows[1]}


def test_filters_admit_what_they_find():
    one = head("a", "b", scope="repo", conversation_id="c")
    assert Filters().admit(one)
    assert Filters(scope={"repo", "user"}, conversation_id={"c"}, kind={"fact"}).admit(one)
    assert not Filters(scope={"user"}).admit(one)
    assert not Filters(category={"goal"}).admit(one)
    assert Filters(category={"goal"}).admit(head("a", "b", other_categories=["goal"]))
    assert not Filters(until=NOON).admit(one)
    assert Filters(since=NOON).admit(one)
    facts = sources_asked(["fact"], None, "c", BEGINNING, NOON.replace(year=2027))
    assert facts.admit(one)
    assert not sources_asked(["message"], None, "c", BEGINNING, NOON.replace(year=2027)).admit(one)
    assert not sources_asked(["fact"], None, "d", BEGINNING, NOON.replace(year=2027)).admit(one)
