"""What a text from outside must be: Unicode, not blank, not beyond its limit."""

import pytest
from hypothesis import given, strategies as st

from graphmem.errors import InvalidInput, TooLarge
from graphmem.model.validation import checked_text


@pytest.mark.parametrize(
    "text", ["a", " a ", "\0", "\u202eabc", "\U0001f98a", "漢字", "a\ud7ff", "line\nline", "\u200b"]
)
def test_a_text_passes_unchanged(text: str) -> None:
    assert checked_text(text, "content", most_bytes=100) == text


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u3000", "\u2028"])
def test_a_blank_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^content: is blank; send at least one character$"):
        checked_text(text, "content", most_bytes=100)


@pytest.mark.parametrize(("text", "place"), [("\ud800", 0), ("ab\udfffc", 2), ("\udc80\ud83e", 0)])
def test_half_of_a_surrogate_pair_is_refused_with_its_place(text: str, place: int) -> None:
    with pytest.raises(InvalidInput, match=f"^content: character {place} is half of a surrogate"):
        checked_text(text, "content", most_bytes=100)


def test_bytes_are_counted_not_characters() -> None:
    assert checked_text("é" * 50, "content", most_bytes=100) == "é" * 50
    with pytest.raises(TooLarge, match=r"^content: 1,002 bytes of UTF-8; at most 1,000 are taken$"):
        checked_text("é" * 501, "content", most_bytes=1000)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(str.strip))
def test_any_text_of_characters_passes_unchanged(text: str) -> None:
    assert checked_text(text, "name", most_bytes=32) == text
