"""What Neo4j could not interrupt is told from what merely looks like it, by the words alone."""

from collections.abc import Callable
from typing import Any

import pytest

from graphmem.errors import CypherRefused
from graphmem.exploring.endless import check_endless, has_lucene_regex, is_harmless, literal
from graphmem.exploring.words import words


def refused_at(query: str, **parameters: Any) -> tuple[str, int | None] | None:
    """Return the rule that refuses a text, and the offset of the word."""
    try:
        check_endless(query, words(query), parameters)
    except CypherRefused as problem:
        return problem.rule, problem.offset
    return None


@pytest.mark.parametrize(
    "pattern",
    [
        *("", "abc", "(?i).*tea.*", "(tea|coffee).*", "(ab)*c", "[a-z]+@[a-z]+", "\\d{4}-\\d{2}"),
        *(
            "(?:abc){2,3}",
            "[]a]",
            "[^\\]*]",
            "a{3,}",
            "(a*)?",
            "\\p{L}+",
            "a\\*\\*\\*b",
            "(?s)a(?-i)b",
        ),
    ],
)
def test_a_pattern_that_backtracks_little_is_harmless(pattern: str) -> None:
    assert is_harmless(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        *("((a|a)*)*b", "(a|b)*", "(a+)+", "(a{1,2}){2}", "((ab)?){9}", "a?" * 20, "(a|a)" * 12),
        *(
            ".*a.*b.*",
            "a{1,50}b{1,50}",
            "(x*){1,}",
            "(?x)(a *) *",
            "(?=a*)b",
            "(a)\\1*",
            "\\Q(\\E*",
        ),
        *("[a&&[b]]", "(", "a)", "[a", "a{", "\\", "a" * 1_001),
    ],
)
def test_a_pattern_that_may_backtrack_for_ever_is_not(pattern: str) -> None:
    assert not is_harmless(pattern)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("tea AND (coffee OR milk)", False),
        ("/te[ao]/", True),
        ("text:/a{1,100}/", True),
        ("http\\/\\/example", False),
        ('"and/or" tea', False),
        ('"tea\\" /a/', True),
        ("(" * 60, True),
    ],
)
def test_slashes_are_found_where_lucene_reads_an_expression(question: str, found: bool) -> None:
    assert has_lucene_regex(question) is found


def test_in_a_piece_of_a_question_quotes_hide_nothing() -> None:
    assert has_lucene_regex('" /a/ "', pieced=True)


def test_a_literal_is_read_as_the_database_reads_it() -> None:
    [word] = words(r"'a\\b\'\n\/'")
    assert literal(word) == "a\\b'\n/"


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("RETURN 1 AS x, [i IN range(1, 2000000) | i] AS y", "range"),
        ("RETURN [i IN range(1, 1000) | [j IN range(1, 2000) | j]] AS x", "range"),
        ("RETURN reduce(s = 0, i IN $many | reduce(t = s, j IN $many | t + j)) AS x", "$many"),
        ("RETURN [i IN range(1, size($many) * 1000000000) | i] AS x", "range"),
        ("MATCH (n) WHERE n.text =~ n.id RETURN n", "=~"),
    ],
)
def test_a_refusal_names_the_word(query: str, word: str) -> None:
    found = refused_at(query, many=[1] * 2_000)
    assert found is not None
    assert found[1] == query.index(word)


@pytest.mark.parametrize(
    "query",
    [
        "RETURN range(1, 1000) AS a, [x IN range(1, 100000) | x] AS b, range(1, 1000) AS c",
        "MATCH p = (a)-[*]->(b) RETURN [i IN range(0, length(p) - 1) | nodes(p)[i]] AS x",
        "RETURN [i IN range(-5, 5, 2) | i] AS x",
        "MATCH (n) WHERE n.idx IN range(1, 20) RETURN n.range, range",
        "RETURN 'range(1, 999999999999)' AS x // range(1, 99999999999)",
        "MATCH (n) WHERE n.a = 1 AND n.b = 2 RETURN n" + ", n.a + n.b" * 400,
        "UNWIND [" + ", ".join(["{id: 0, a: 'x', b: 2}"] * 400) + "] AS one RETURN one",
        "RETURN {" + ", ".join(f"k{number}: {number}" for number in range(600)) + "} AS one",
        "MATCH (n {client_id: $c, kind: 'x', id: 'i'}) " * 300 + "RETURN 1 AS x",
        " UNION ALL ".join(["RETURN 1 AS a, 2 AS b, 3 AS c, 4 AS d, 5 AS e, 6 AS f, 7 AS g"] * 90),
    ],
)
def test_what_comes_to_an_end_is_let_pass(query: str) -> None:
    assert refused_at(query) is None


@pytest.mark.parametrize(
    ("most", "nested"),
    [
        (50, lambda many: "RETURN " + "(" * many + "1" + ")" * many + " AS x"),
        (50, lambda many: "RETURN " + "NOT " * many + "true AS x"),
        (50, lambda many: "RETURN " + "CASE WHEN true THEN " * many + "1" + " END" * many),
        (
            10,
            lambda many: (
                "MATCH (n) WHERE " + "EXISTS { (n)--(m) WHERE " * many + "true" + " }" * many
            ),
        ),
        (100, lambda many: "RETURN 1" + " + 1" * many + " AS x"),
        (100, lambda many: "MATCH (n) RETURN n" + ".a" * many),
        (50, lambda many: "RETURN (1" + " + 1" * 50 + ")" + " + 1" * many),
        (50, lambda many: "RETURN [1" + " || 1" * 25 + ", 2][0]" + " + 1" * many),
        (97, lambda many: "RETURN EXISTS { (n) WHERE n.a = 1" + " AND n.a = 1" * many + " }"),
        (100, lambda many: "RETURN 1 AS x" + " UNION RETURN 1 AS x" * many),
        (500, lambda many: "RETURN [1, 2] AS x" + ", [1, 2] AS x" * many),
        (499, lambda many: "RETURN COUNT { MATCH (n)" + ", (n)" * many + " } AS x"),
        (500, lambda many: "MATCH (n) " * many + "RETURN 1 AS x"),
    ],
    ids=[
        *("brackets", "NOT", "CASE", "subqueries", "operators", "properties"),
        *("sum of a sum", "sum of a list", "conditions", "unions", "columns", "patterns", "MATCH"),
    ],
)
def test_what_nests_is_let_pass_up_to_its_bound(most: int, nested: Callable[[int], str]) -> None:
    assert refused_at(nested(most)) is None
    refused = refused_at(nested(most + 1))
    assert refused is not None
    assert refused[0] == "cypher_nesting"
