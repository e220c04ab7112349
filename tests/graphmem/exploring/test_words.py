"""The words of a Cypher text, as Neo4j reads it."""

import pytest

from graphmem.exploring.words import dotted, place_of, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("RETURN 1", ["RETURN", "1"]),
        ("a.b /* c; */ // d\n + $e", ["a", ".", "b", "+", "$e"]),
        ("RETURN 'a; \\' b' , \"c'\\\\\" ;", ["RETURN", "'a; \\' b'", ",", '"c\'\\\\"', ";"]),
        ("`a``;b` x", ["`a``;b`", "x"]),
        ("\\u0043RE\\u0041TE", ["CREATE"]),
        ("'\\u0027 x", ["''", "x"]),
        ("'\\\\u0027' x", ["'\\\\u0027'", "x"]),
        ("'\\u005c' AS a ' x", ["'\\' AS a '", "x"]),
        ("1 // c\\u000aAS y", ["1", "AS", "y"]),
        ("/* \\u002a\\u002f 1", ["1"]),
        ("1 /* a /* b */ c", ["1", "c"]),
        ("'never ends", ["'never ends"]),
        ("/* never ends", []),
        ("0x1F 1.5e3 1..2", ["0x1F", "1.5e3", "1", ".", ".", "2"]),
        ("ＣＲＥＡＴＥ ß", ["ＣＲＥＡＴＥ", "ß"]),
    ],
)
def test_words_are_what_stands_outside_of_comments(text: str, found: list[str]) -> None:
    assert [one.text for one in words(text)] == found


def test_a_word_knows_where_it_stands_in_the_text_as_it_was_sent() -> None:
    text = "'\\u00e4' \\u0043REATE\n (n)"
    string, create, *_, last = words(text)
    assert (string.start, create.start, last.start) == (0, 9, 24)
    assert create.upper == "CREATE"
    assert string.upper == ""
    place = place_of(text, last.start)
    assert (place.line, place.column, place.offset) == (2, 4, 24)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("CALL db.labels", ["db.labels"]),
        ("CALL `a.b` . `c``d` ()", ["a.b.c`d"]),
        ("RETURN a.b, date.truncate('x')", ["date.truncate"]),
        ("RETURN n.x IN (1)", []),
        ("x = call AND b.c", []),
    ],
)
def test_names_with_dots_are_those_that_are_called(text: str, names: list[str]) -> None:
    assert [one.name for one in dotted(words(text))] == names
