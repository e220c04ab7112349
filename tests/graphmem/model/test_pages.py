"""Cursors: what a list gives leads on, what it never gave is refused."""

from base64 import urlsafe_b64encode
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from graphmem.errors import InvalidInput
from graphmem.model.pages import FIRST, cursor, page, position


@given(st.datetimes(timezones=st.just(UTC)), st.text(st.characters(codec="utf-8")))
def test_a_cursor_leads_to_where_it_was_taken(moment: datetime, id: str):
    assert position(cursor(moment, id)) == (moment, id)


def test_without_a_cursor_a_list_begins_at_its_beginning():
    assert position(None) == FIRST


@pytest.mark.parametrize(
    "given",
    ["", "x", "ä", urlsafe_b64encode(b"\xff x").decode(), urlsafe_b64encode(b"now x").decode()],
)
def test_what_no_list_has_given_is_refused(given: str):
    with pytest.raises(InvalidInput, match="cursor: is not one that this list has given"):
        position(given)


def test_a_page_leads_on_where_more_was_found_than_it_shows():
    assert page([3, 2, 1], 2, str) == ([3, 2], "2")
    assert page([3, 2], 2, str) == ([3, 2], None)
    assert page([], 2, str) == ([], None)
