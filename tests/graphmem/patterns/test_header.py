"""A pattern's file says all of it in its header, and a header that does not is refused."""

import re
from datetime import UTC, datetime

import pytest

from graphmem import config
from graphmem.errors import PatternDamaged
from graphmem.patterns.running import borrowing, catalogue
from graphmem.patterns.types import header, values

FILE = """CYPHER 25
// What is
// there.
//
// title    Things
// example  {"limit": 5}
//
// $client_id  string    whose
// $name       string    the name [1..20]
// $kind       string    which [fact|episode = "fact"]
// $near       float     how near [0.5..1 = 0.9]
// $since      datetime  from then on [= "beginning"]
// $limit      int       how many [1..1000 = 50]
//
// > text        string        its text
// > memory_ids  list<string>  the memory
MATCH (n {client_id: $client_id}) RETURN n.text AS text, [n.id] AS memory_ids
"""

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize("name", catalogue())
def test_every_file_of_the_catalogue_says_what_it_must(name: str) -> None:
    pattern = catalogue()[name].pattern
    assert pattern.title
    assert pattern.description.endswith(".")
    assert all(one.meaning for one in pattern.parameters)
    assert all(one.meaning for one in pattern.columns)
    assert re.search(r"\bclient_id\b", " ".join(catalogue()[name].filled))
    assert values(pattern, pattern.example, now=NOW)
    limit = next(one for one in pattern.parameters if one.name == "limit")
    assert (limit.least, limit.most) == (1, 1000)


def test_the_catalogue_is_the_folder() -> None:
    files = (config.folder("cypher") / "patterns").iterdir()
    assert {path.name for path in files} == {f"{name}.cypher" for name in catalogue()}
    assert {
        "recurring_themes",
        "themes_rising_and_fading",
        "entities_across_sessions",
        "decisions_reversed",
        "open_contradictions",
        "bridges",
        "shown_and_never_used",
        "knowledge_gaps",
        "timeline",
        "duplicates",
    } <= set(catalogue())


def test_a_header_is_read_whole() -> None:
    said = header("things", FILE)
    pattern = said.pattern
    assert (pattern.name, pattern.title, pattern.detector) == ("things", "Things", None)
    assert pattern.description == "What is there."
    assert said.filled == {"client_id"}
    name, kind, near, since, limit = pattern.parameters
    assert (name.type, name.required, name.least, name.most) == ("string", True, 1, 20)
    assert (kind.choices, kind.default, kind.required) == (["fact", "episode"], "fact", False)
    assert (near.type, near.least, near.most, near.default) == ("float", 0.5, 1, 0.9)
    assert (since.type, since.default) == ("datetime", "beginning")
    assert (limit.meaning, limit.default) == ("how many", 50)
    assert [column.name for column in pattern.columns] == ["text", "memory_ids"]


def test_a_pattern_may_run_another_s_query_with_its_own_parameters() -> None:
    rising, recurring = catalogue()["themes_rising_and_fading"], catalogue()["recurring_themes"]
    assert rising.query.name == recurring.query.name
    assert rising.lender == recurring.pattern
    assert rising.filled == recurring.filled
    assert (
        "MATCH"
        not in (config.folder("cypher") / f"patterns/{rising.pattern.name}.cypher").read_text()
    )


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("magic", "there is no pattern 'magic'"),
        ("timeline", "cannot be run with its parameters"),
        ("themes_rising_and_fading", "cannot be run with its parameters"),
    ],
)
def test_a_query_that_cannot_be_borrowed_is_refused(query: str, problem: str) -> None:
    with pytest.raises(PatternDamaged, match=re.escape(problem)):
        borrowing(catalogue()["bridges"].pattern, query)


@pytest.mark.parametrize(
    ("line", "instead", "problem"),
    [
        ("CYPHER 25", "CYPHER 5", "first line"),
        ("// title    Things\n", "", "no title"),
        ("// title    Things", "// title    A\n// title    B", "twice"),
        ('// example  {"limit": 5}', "// example  {limit}", "not JSON"),
        ("// title    Things", "// title    Things\n// detector  magic", "detector"),
        ("[1..1000 = 50]", "[= 50]", "without bounds"),
        ("[1..20]", "[]", "without a length or choices"),
        ('[= "beginning"]', '[1..2 = "beginning"]', "which a datetime cannot have"),
        ("how near [0.5..1 = 0.9]", "how near", "$near cannot be filled"),
        (
            "// $name ",
            "// $unembedded  list<map>  of what\n// $name ",
            "$unembedded needs $conversation_id, $newest, $until too",
        ),
        ("// $client_id  string    whose\n", "", "no $client_id"),
        ("// $limit      int       how many [1..1000 = 50]\n", "", "no $limit"),
        ("// $near       float ", "// $near       list<float>", "no caller can set"),
        ("// $near ", "// $kind ", "$kind is given twice"),
        ("// > memory_ids  list<string>  the memory\n", "", "memory_ids"),
        ("list<string>  the memory", "set  the memory", "unknown type"),
        ("// > text", "// ? text", "has no known form"),
    ],
)
def test_a_header_that_lacks_something_is_refused_with_what(
    line: str, instead: str, problem: str
) -> None:
    assert line in FILE
    with pytest.raises(PatternDamaged, match=re.escape(problem)) as caught:
        header("things", FILE.replace(line, instead, 1))
    assert "cypher/patterns/things.cypher" in str(caught.value)
