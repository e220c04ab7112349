"""Filters in the forms that the two indexes understand."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from graphmem.graph.scope import SCOPED, Property, scope_word, scope_words
from graphmem.model.times import BEGINNING, END
from graphmem.retrieval.filters import (
    LAST_TEXT,
    LATEST,
    Filters,
    conditions,
    ranges,
    scope_groups,
)

MAY = datetime(2026, 5, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)
ANY = st.text(st.characters(exclude_categories=["Cs"]))


def test_no_filter_lets_everything_of_now_pass() -> None:
    assert ranges(Filters()) == {
        f"{name}_{end}": value
        for name in SCOPED
        for end, value in (("from", ""), ("to", LAST_TEXT))
    }
    assert conditions(Filters()) == {f"{name}_in": [""] for name in SCOPED} | {
        "tags": [""],
        "since": BEGINNING,
        "until": END,
        "valid_by": LATEST,
        "invalid_from": END,
        "created_by": END,
        "superseded_from": END,
        "ending": False,
    }


def test_one_value_is_a_range_of_one() -> None:
    filters = Filters(kind={"fact"})

    assert (ranges(filters)["kind_from"], ranges(filters)["kind_to"]) == ("fact", "fact")
    assert conditions(filters)["kind_in"] == ["fact"]


def test_several_values_lie_inside_their_range_and_stand_in_the_list() -> None:
    filters = Filters(category={"b", "\U0001f98a", "\uffee"})

    # By code point, as the index orders; by UTF-16 the fox would come before \uffee.
    assert ranges(filters)["category_from"] == "b"
    assert ranges(filters)["category_to"] == "\U0001f98a"
    assert conditions(filters)["category_in"] == ["b", "\uffee", "\U0001f98a"]


@given(st.frozensets(ANY.filter(bool), min_size=1))
def test_every_value_lies_inside_its_range(values: frozenset[str]) -> None:
    limits = ranges(Filters(source_id=values))

    for value in values:
        # The index orders by UTF-8.
        least, greatest = limits["source_id_from"].encode(), limits["source_id_to"].encode()
        assert least <= value.encode() <= greatest


def test_as_of_asks_for_what_was_true_then_superseded_or_not() -> None:
    asked = conditions(Filters(as_of=MAY))

    assert (asked["valid_by"], asked["invalid_from"]) == (MAY, MAY + TICK)
    assert (asked["created_by"], asked["superseded_from"]) == (END, BEGINNING)
    assert asked["ending"]


def test_known_as_of_asks_for_what_was_known_then() -> None:
    asked = conditions(Filters(known_as_of=MAY))

    assert (asked["created_by"], asked["superseded_from"]) == (MAY, MAY + TICK)
    assert (asked["valid_by"], asked["invalid_from"]) == (LATEST, BEGINNING)
    assert asked["ending"]


def test_with_both_times_no_end_in_the_index_leaves_out_what_only_later_versions_ended() -> None:
    asked = conditions(Filters(as_of=MAY, known_as_of=MAY + TICK))

    assert (asked["valid_by"], asked["created_by"]) == (MAY, MAY + TICK)
    assert asked["invalid_from"] == asked["superseded_from"] == BEGINNING
    assert asked["ending"]


def test_superseded_ones_are_found_when_asked_for() -> None:
    asked = conditions(Filters(include_superseded=True, as_of=MAY, known_as_of=MAY))

    assert asked["invalid_from"] == asked["superseded_from"] == BEGINNING
    assert (asked["valid_by"], asked["created_by"], asked["ending"]) == (MAY, MAY, False)
    assert not Filters(include_superseded=True).only_active


@pytest.mark.parametrize(
    "filters",
    [
        Filters(kind=set()),
        Filters(scope={""}),
        Filters(since=MAY, until=MAY),
        Filters(since=MAY + TICK, until=MAY),
    ],
)
def test_what_no_memory_can_pass_is_impossible(filters: Filters) -> None:
    assert filters.impossible


def test_what_some_memory_can_pass_is_possible() -> None:
    assert not Filters().impossible
    assert not Filters(since=MAY, until=MAY + TICK, kind={"fact"}, scope={"", "user"}).impossible


def test_none_is_no_value_to_ask_for() -> None:
    filters = Filters(scope={"", "user"})

    assert filters.values("scope") == {"user"}
    assert conditions(filters)["scope_in"] == ["user"]
    assert scope_word("c", "scope", "user") in scope_groups(filters, "c")[-1]
    assert len(scope_groups(filters, "c")[-1]) == 1


def test_the_shape_names_what_is_asked_for() -> None:
    assert Filters().shape == frozenset()
    assert Filters(kind={"fact"}, until=MAY).shape == {"kind", "until"}
    assert Filters(include_superseded=True).shape == {"include_superseded"}


def test_scope_groups_begin_with_the_client_and_being_active() -> None:
    assert scope_groups(Filters(), "c") == [
        [scope_word("c", "client")],
        [scope_word("c", "active")],
    ]
    assert scope_groups(Filters(as_of=MAY), "c") == [[scope_word("c", "client")]]


def test_of_several_values_one_scope_word_suffices() -> None:
    groups = scope_groups(Filters(kind={"span", "fact"}), "c")

    assert groups[2:] == [[scope_word("c", "kind", "fact"), scope_word("c", "kind", "span")]]


def test_a_long_list_stays_outside_lucene() -> None:
    values = {str(number) for number in range(65)}

    assert len(scope_groups(Filters(source_id=values), "c")) == 2
    assert len(scope_groups(Filters(source_id=values - {"0"}), "c")) == 3
    assert len(conditions(Filters(source_id=values))["source_id_in"]) == 65


@given(ANY, st.sampled_from(SCOPED), ANY, ANY)
def test_a_scope_word_is_one_word_of_one_client_and_one_value(
    client: str, name: Property, value: str, other: str
) -> None:
    word = scope_word(client, name, value)

    assert re.fullmatch("s[0-9a-f]{20}0", word)
    assert scope_word(f"{client}x", name, value) != word
    assert (scope_word(client, name, other) == word) == (other == value)


def test_a_memory_carries_a_word_for_each_value_that_it_has() -> None:
    memory = dict.fromkeys(SCOPED, "") | {"kind": "fact", "scope": "user", "active": True}

    assert scope_words("c", memory).split() == [
        scope_word("c", "client"),
        scope_word("c", "active"),
        scope_word("c", "kind", "fact"),
        scope_word("c", "scope", "user"),
    ]
    assert scope_word("c", "active") not in scope_words("c", memory | {"active": False})
