"""Includes: what a line `// include NAME` becomes, and what is refused."""

from pathlib import Path

import pytest

from graphmem import config
from graphmem.graph.query import expanded, names

WORDS = """\
// `memory` shares words.
//
// $client_id  string  whose
// $words      string  the words
MATCH (memory:Memory {client_id: $client_id})
WHERE memory.text CONTAINS $words
  // the memory itself
"""
NESTED = """\
// `memory` is in a scope, too.
//
// $scopes  list<string>  the scopes
// include words
  AND memory.scope IN $scopes
"""
QUERY = """\
CYPHER 25
// Facts by their words.
//
// $client_id  string  whose facts
// $n  int  how many
CALL () {
  // include words(fact)
  RETURN fact AS memory
}
RETURN memory.id
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `cypher` with two fragments."""
    fragments = tmp_path / "fragments"
    fragments.mkdir()
    (fragments / "words.cypher").write_text(WORDS)
    (fragments / "nested.cypher").write_text(NESTED)
    monkeypatch.setattr(config, "folder", lambda name: tmp_path)
    return tmp_path


def test_a_text_without_includes_stays_as_it_is() -> None:
    text = "CYPHER 25\n// A sentence.\n//\n// $n int  a number\nRETURN $n // include nothing\n"

    assert expanded("facts/x", text) == text


def test_an_include_is_the_fragment_about_another_node_with_its_parameters() -> None:
    whole = """\
CYPHER 25
// Facts by their words.
//
// $client_id  string  whose facts
// $n          int     how many
// $words      string  the words
CALL () {
  MATCH (fact:Memory {client_id: $client_id})
  WHERE fact.text CONTAINS $words
    // the memory itself
  RETURN fact AS memory
}
RETURN memory.id
"""
    assert expanded("facts/x", QUERY) == whole


def test_a_fragment_includes_another_about_the_same_node() -> None:
    text = "CYPHER 25\n// A sentence.\n// include nested(fact)\nRETURN fact.id\n"

    whole = """\
CYPHER 25
// A sentence.
//
// $scopes     list<string>  the scopes
// $client_id  string        whose
// $words      string        the words
MATCH (fact:Memory {client_id: $client_id})
WHERE fact.text CONTAINS $words
  // the memory itself
  AND fact.scope IN $scopes
RETURN fact.id
"""
    assert expanded("facts/x", text) == whole


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            "// include held",
            "facts/x includes 'held', and there is no cypher/fragments/held.cypher",
        ),
        ("// include words(fact) too", "is not `// include NAME` or `// include NAME(node)`"),
        ("// include words(fact, other)", "'// include words(fact, other)' is not"),
        ("// include ../facts/secret", "is not `// include NAME`"),
        ("// include words(Fact {id: 1})", "is not `// include NAME`"),
        ("// include", "is not `// include NAME`"),
    ],
)
def test_another_line_is_refused(line: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        expanded("facts/x", f"CYPHER 25\n// A sentence.\nMATCH (n)\n  {line}\nRETURN n\n")

    assert reason in str(caught.value)


def test_a_fragment_that_includes_itself_is_refused(folder: Path) -> None:
    (folder / "fragments" / "words.cypher").write_text("// Words.\nMATCH (n)\n// include nested\n")
    (folder / "fragments" / "nested.cypher").write_text("// Nested.\nMATCH (n)\n// include words\n")

    with pytest.raises(ValueError, match="'words' includes itself"):
        expanded("facts/x", QUERY)


def test_fragments_are_no_queries(folder: Path) -> None:
    (folder / "facts").mkdir()
    (folder / "facts" / "near.cypher").write_text(QUERY)

    assert names() == ["facts/near"]
