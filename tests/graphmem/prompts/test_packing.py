"""Packing: what fits, by rank, never beyond the budget."""

from hypothesis import given, strategies as st

from graphmem.prompts.truncation import Parcel, fitting

PARCELS = st.lists(
    st.tuples(st.integers(0, 50), st.sampled_from("abc"), st.integers(0, 9)), max_size=30
).map(lambda drawn: [Parcel(str(number), *each) for number, each in enumerate(drawn)])


def cost(parcels: list[Parcel], taken: list[str]) -> int:
    """Return what the taken ones cost, each group's heading once."""
    chosen = [parcel for parcel in parcels if parcel.id in taken]
    first = {parcel.group: parcel for parcel in reversed(chosen)}
    return sum(parcel.tokens for parcel in chosen) + sum(
        parcel.heading_tokens for parcel in first.values()
    )


def test_what_does_not_fit_is_left_out_and_the_next_is_tried() -> None:
    parcels = [Parcel("a", 6, "s", 1), Parcel("b", 5, "s", 1), Parcel("c", 3, "s", 1)]

    assert fitting(parcels, 10, most=9) == ["a", "c"]


def test_a_group_pays_for_its_heading_once() -> None:
    parcels = [Parcel("a", 4, "s", 3), Parcel("b", 4, "s", 3), Parcel("c", 4, "t", 3)]

    assert fitting(parcels, 11, most=9) == ["a", "b"]
    assert fitting(parcels, 18, most=9) == ["a", "b", "c"]
    assert fitting(parcels, 17, most=9) == ["a", "b"]


def test_what_was_left_out_does_not_pay_the_heading() -> None:
    parcels = [Parcel("a", 9, "s", 3), Parcel("b", 4, "s", 3)]

    assert fitting(parcels, 7, most=9) == ["b"]
    assert fitting(parcels, 6, most=9) == []


def test_no_more_than_most_are_taken() -> None:
    parcels = [Parcel(id, 1, "s", 0) for id in "abc"]

    assert fitting(parcels, 100, most=2) == ["a", "b"]
    assert fitting(parcels, 100, most=0) == []


@given(PARCELS, st.integers(0, 200), st.integers(0, 30))
def test_the_budget_holds_and_is_used(parcels: list[Parcel], budget: int, most: int) -> None:
    taken = fitting(parcels, budget, most=most)

    assert cost(parcels, taken) <= budget
    assert len(taken) <= most
    places = [int(id) for id in taken]
    assert places == sorted(set(places))
    if len(taken) < most:
        # None of those left out would fit beside what stands before it.
        for parcel in parcels:
            before = [id for id in taken if int(id) < int(parcel.id)]
            if parcel.id not in taken:
                assert cost(parcels, [*before, parcel.id]) > budget
