import pytest

from graphmem.cli.cypher_shell import COMMANDS, completions, is_complete
from graphmem.cli.typed_statements import TypedStatement, marked, parameter, statements
from graphmem.errors import InvalidInput
from graphmem.graph.inspection import KnownNames

NAMES = KnownNames(
    labels=["Fact", "Memory", "Message"], edge_types=["NEXT", "PART_OF"], keys=["kind", "text"]
)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("RETURN 1", [("RETURN 1", 0, False)]),
        ("RETURN 1;", [("RETURN 1", 0, True)]),
        (" RETURN 1 ;\nRETURN 2;\n", [("RETURN 1", 1, True), ("RETURN 2", 12, True)]),
        ("RETURN ';' AS `a;b` // c;\n;", [("RETURN ';' AS `a;b` // c;", 0, True)]),
        ("RETURN 1 /* ; */; RETURN \"it's;\"", [
            ("RETURN 1 /* ; */", 0, True),
            ('RETURN "it\'s;"', 18, False),
        ]),
        (";;  ; // nothing", []),
        ("", []),
    ],
)  # fmt: skip
def test_a_text_is_cut_where_a_statement_ends(typed, found):
    assert statements(typed) == [TypedStatement(text, start, ended) for text, start, ended in found]


@pytest.mark.parametrize(
    ("typed", "complete"),
    [
        ("", True),
        (":schema", True),
        ("MATCH (n)", False),
        ("MATCH (n)\nRETURN n;", True),
        ("RETURN 1; RETURN", False),
        ("RETURN ';", False),
        ("RETURN 1 // ;", False),
        ("// only a word", False),
    ],
)
def test_enter_ends_what_is_whole(typed, complete):
    assert is_complete(typed) is complete


def test_a_mark_stands_below_the_place():
    typed = "MATCH (n)\nRETURN\tm"
    assert marked("no m", typed, 17) == "no m (line 2, column 8)\n  RETURN m\n         ^"
    assert marked("no m", typed, None) == "no m"
    assert marked("short", typed, 99).endswith("(line 2, column 9)\n  RETURN m\n          ^")


def test_of_a_long_line_a_part_is_shown_around_the_mark():
    shown = marked("wrong", "x" * 100 + "!" + "y" * 100, 100).splitlines()
    assert shown[1] == "  " + "x" * 60 + "!" + "y" * 59
    assert shown[2].index("^") == shown[1].index("!")


def test_a_parameter_is_json():
    assert parameter("limit=10") == ("limit", 10)
    assert parameter('names=["a=b", null]') == ("names", ["a=b", None])
    for wrong, sentence in (
        ("limit", "expected name=JSON"),
        ("a b=1", "expected name=JSON"),
        ("name=Mara", "a text needs double quotes"),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            parameter(wrong)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("MATCH (m:Me", ["Memory", "Message"]),
        ("MATCH (m:Memory|fa", ["Fact"]),
        ("MATCH (a)-[:pa", ["PART_OF"]),
        ("MATCH (a)-[:NEXT|", ["NEXT", "PART_OF"]),
        ("MATCH (m) WHERE m.t", ["text"]),
        ("MATCH (m {", ["kind", "text"]),
        ("MATCH (m {kind: 'x', te", ["text"]),
        ("mat", ["MATCH"]),
        ("RETURN 'MATCH (m:", ()),
        (":s", [":schema"]),
        (":", list(COMMANDS)),
        ("MATCH (n) RETURN n ORD", ["ORDER BY"]),
    ],
)
def test_what_fits_is_offered(before, expected):
    assert completions(before, NAMES) == list(expected)
