"""What hops pass on, by hand: relevance, depths, paths."""

from datetime import UTC, datetime
from typing import Any

import pytest

from graphmem.retrieval.expansion import DECAY, Expansion, HopCandidate, HopPath, edge_types, joined

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def reached(id: str, from_id: str, passed: float, **more: Any) -> HopCandidate:
    plain: dict[str, Any] = {
        "kind": "reference",
        "importance": 0.5,
        "token_count": 10,
        "occurred_at": NOON,
        "link_type": "RELATES_TO",
        "entity": None,
    }
    return HopCandidate(id=id, from_id=from_id, passed=passed, **plain | more)


def test_a_hop_passes_half_on_and_the_next_half_of_that():
    expansion = Expansion({"a": 0.8})

    frontier = expansion.add([reached("b", "a", 0.8)], {"a": 0.8})
    assert frontier == {"b": pytest.approx(DECAY * 0.8)}
    assert expansion.add([reached("c", "b", frontier["b"])], {"a": 0.8}) == {
        "c": pytest.approx(0.2)
    }
    assert [expansion.depth(id) for id in "abc"] == [0, 1, 2]
    assert expansion.path("c") == [
        HopPath(from_id="a", to_id="b", link_type="relates_to"),
        HopPath(from_id="b", to_id="c", link_type="relates_to"),
    ]


def test_what_matches_better_by_itself_is_no_find_of_a_hop_but_gains_by_it():
    expansion = Expansion({"a": 0.8, "b": 0.6})

    expansion.add([reached("b", "a", 0.8), reached("a", "b", 0.6)], {"a": 0.8, "b": 0.6})
    assert expansion.reached().keys() == {"a", "b"}
    assert (expansion.depth("a"), expansion.depth("b")) == (0, 0)
    assert expansion.path("b") == []
    assert joined(0.6, expansion.reached()["b"].inherited) == pytest.approx(0.76)


def test_the_echo_of_where_the_search_began_is_not_heard():
    seeds = {"a": 0.8, "weak": 0.05}
    expansion = Expansion(seeds)

    expansion.add([reached("b", "a", 0.8)], seeds)
    expansion.add([reached("a", "b", 0.4), reached("weak", "b", 0.4)], seeds)
    assert "a" not in expansion.reached()
    assert expansion.depth("weak") == 2, "the way there says more than its own match"


def test_the_frontier_goes_by_worth_and_does_not_return_to_where_it_began():
    seeds = {"a": 0.9}
    expansion = Expansion(seeds | {"d": 0.5})

    rows = [reached("b", "a", 0.3), reached("c", "a", 0.9), reached("d", "a", 0.1)]
    assert list(expansion.add(rows, seeds)) == ["d", "c", "b"]


@pytest.mark.parametrize("own", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("inherited", [0.0, 0.25, 0.5])
def test_two_reasons_are_more_than_one_and_never_more_than_certain(own, inherited):
    assert max(own, inherited) <= joined(own, inherited) <= 1.0


def test_neighbours_and_parts_are_followed_only_when_asked():
    assert {"NEXT", "PART_OF", "SUPERSEDES"}.isdisjoint(edge_types(None))
    assert {"MENTIONS", "DERIVED_FROM", "RELATES_TO", "REFERENCES"} <= set(edge_types(None))
    assert edge_types(["related_to", "relates_to", "next"]) == ["NEXT", "RELATES_TO"]
