"""Cutting texts: every byte is in a piece, no piece is too long, no length hangs."""

import itertools

import pytest
from hypothesis import given, settings, strategies as st

from graphmem.references.spans import OVERLAP_BYTES, PIECE_BYTES, chunked

ALPHABET = st.sampled_from(list("abc .!?\n\tä漢。🦊\u0301"))


def check(text: str) -> None:
    """Assert what holds for the pieces of any text."""
    data = text.encode()
    pieces = chunked(text)
    for piece in pieces:
        assert data[piece.start_byte : piece.end_byte].decode() == piece.text
        assert 0 < piece.end_byte - piece.start_byte <= PIECE_BYTES
    for before, after in itertools.pairwise(pieces):
        assert before.start_byte < after.start_byte <= before.end_byte < after.end_byte
        assert before.end_byte - after.start_byte <= OVERLAP_BYTES
    if data:
        assert (pieces[0].start_byte, pieces[-1].end_byte) == (0, len(data))
    else:
        assert pieces == []


@pytest.mark.parametrize("letter", ["a", "ä", "漢", "🦊", ".", " ", "\n", "a ", "a. "])
@pytest.mark.parametrize("length", [0, 1, 17, 99, 100, 101, 667, 999, 1000, 1001, 1100, 1900, 2500])
def test_any_length_ends(letter: str, length: int):  # S3.34
    check(letter * length)


def test_a_long_word_is_cut_between_characters():
    check("x" * 100_000)
    check("🦊" * 25_000)
    assert len(chunked("x" * 100_000)) == 111


@given(st.lists(st.tuples(ALPHABET, st.integers(1, 700)), max_size=12))
def test_runs_of_characters_are_covered(runs: list[tuple[str, int]]):
    check("".join(letter * times for letter, times in runs))


@settings(max_examples=30)  # a text of a thousand drawn letters is slow to make
@given(st.lists(ALPHABET, min_size=800, max_size=1_200).map("".join), st.integers(1, 4))
def test_mixed_texts_are_covered(text: str, times: int):
    check(text * times)


def test_a_text_that_fits_is_one_piece():
    assert [piece.text for piece in chunked("a" * PIECE_BYTES)] == ["a" * PIECE_BYTES]
    assert len(chunked("a" * (PIECE_BYTES + 1))) == 2


def test_a_piece_ends_with_a_sentence_of_its_last_third():
    text = "w" * 700 + ". " + "More words follow here " * 40
    assert chunked(text)[0].text == "w" * 700 + "."
    quoted = "w" * 700 + '!" ' + "More words follow here " * 40
    assert chunked(quoted)[0].text == "w" * 700 + '!"'
    assert chunked("漢" * 250 + "。" + "字" * 300)[0].text == "漢" * 250 + "。"


def test_the_last_sentence_that_fits_ends_it():
    text = "word " * 140 + "one. " + "two. " * 100
    piece = chunked(text)[0]
    assert piece.text.endswith("two.")
    assert piece.end_byte > PIECE_BYTES - 6


def test_a_sentence_that_ends_earlier_does_not_end_it():
    text = "Short. " + "word " * 400
    piece = chunked(text)[0]
    assert piece.text.endswith("word")
    assert piece.end_byte > PIECE_BYTES - 5


def test_a_number_s_point_ends_no_sentence():
    assert chunked("w" * 700 + " 3.14 " + "x" * 400)[0].text.endswith("3.14")


def test_a_piece_begins_with_a_word_of_the_piece_before():
    first, second = chunked("harbour " * 200)[:2]
    assert second.text.startswith("harbour")
    assert OVERLAP_BYTES - 8 < first.end_byte - second.start_byte <= OVERLAP_BYTES


def test_the_same_text_gives_the_same_pieces():
    text = "The quay is wet. " * 300
    assert chunked(text) == chunked(text)
