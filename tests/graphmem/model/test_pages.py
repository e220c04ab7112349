"""Cursors: what a list gives leads on in that list; what it never gave is refused."""

import re
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from graphmem.errors import InvalidInput
from graphmem.model.pages import FIRST, MOST_ENTRIES, Listing, listing, page
from graphmem.model.times import BEGINNING, END
from graphmem.references.types import ReferencesAsked
from graphmem.summaries.types import SummariesAsked

LISTED = Listing("k")

ROOT = Path(__file__).parents[3]
LARGEST = re.compile(r"page of 1–(\d+)|entries on a page, 1–(\d+)|1–(\d+) a page")
"""The wordings in which a docstring names the largest page."""


def sealed(place: bytes) -> str:
    return urlsafe_b64encode(place).decode()


@given(
    st.datetimes(BEGINNING.replace(tzinfo=None), END.replace(tzinfo=None), timezones=st.just(UTC)),
    st.text(st.characters(codec="utf-8")),
)
def test_a_cursor_leads_to_where_it_was_taken(moment: datetime, id: str):
    assert LISTED.position(LISTED.cursor(moment, id)) == (moment, id)


@pytest.mark.parametrize(
    "file",
    [
        "graphmem/client.py",
        "graphmem/runs/environment.py",
        "clients/typescript/src/client.ts",
    ],
)
def test_the_methods_name_the_largest_page(file: str):
    named = LARGEST.findall((ROOT / file).read_text("utf-8"))

    # The list of clients counts for each entry, and has smaller pages.
    numbers = {number for groups in named for number in groups if number} - {"100"}
    assert numbers == {str(MOST_ENTRIES)}


def test_without_a_cursor_a_list_begins_at_its_beginning():
    assert LISTED.position(None) == FIRST


@pytest.mark.parametrize(
    "given",
    [
        "",
        "x",
        "ä",
        sealed(b"\xff x"),
        sealed(b"k"),
        sealed(b"k now x"),
        sealed(b"other now x"),
        sealed(b"k 9999-12-31T23:59:59.999999+00:00 x"),
        sealed(b"k 0001-01-01T00:00:00+00:00 x"),
    ],
)
def test_what_no_list_has_given_is_refused(given: str):
    with pytest.raises(InvalidInput, match="cursor: is not one that this list has given"):
        LISTED.position(given)


def test_a_cursor_with_a_character_too_many_is_refused():
    given = LISTED.cursor(datetime(2026, 3, 2, tzinfo=UTC), "r-1")
    with pytest.raises(InvalidInput, match="cursor: is not one that this list has given"):
        LISTED.position(f"{given[:4]}!{given[4:]}")


def test_a_cursor_holds_for_its_list_and_its_filters_whatever_the_size_of_a_page():
    asked = ReferencesAsked(type="offer", since=datetime(2026, 3, 1, tzinfo=UTC))
    given = listing(asked).cursor(datetime(2026, 3, 2, tzinfo=UTC), "r-1")

    assert listing(replace(asked, limit=7, cursor=given)).position(given)[1] == "r-1"
    others = [
        listing(replace(asked, type="brand_kit")),
        listing(replace(asked, type=None)),
        listing(replace(asked, since=None)),
        listing(SummariesAsked()),
        listing(asked, "of another"),
    ]
    for other in others:
        with pytest.raises(InvalidInput, match="with these filters; begin without one"):
            other.position(given)


def test_a_page_leads_on_where_more_was_found_than_it_shows():
    assert page([3, 2, 1], 2, str) == ([3, 2], "2")
    assert page([3, 2], 2, str) == ([3, 2], None)
    assert page([], 2, str) == ([], None)
