"""Every query file as a text: its header, its one declaration in Python. No server is needed.

A rule is a function that says what is wrong with a text; its test names all files that break it.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import graphmem
from graphmem.graph.query import expanded
from graphmem.graph.schema import schema_files
from tests.graphmem.graph.query_files import (
    BORROWING,
    DECLARED,
    EXAMPLES,
    FOLDER,
    FRAGMENTS,
    PATTERNS,
    QUERIES,
    SCHEMA,
    TEXTS,
    WRITTEN,
    body,
    header,
    offenders,
    parameters,
)

Rule = Callable[[str, str], Iterator[str]]

EXPORTING = "exports/exported_nodes"

_NESTED = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
SIMILARITY = re.compile(rf"vector(?:\.similarity\.\w+|_distance){_NESTED}")


def beginning(name: str, text: str) -> Iterator[str]:
    """Say where a text does not begin with the language and a sentence, or is not plain."""
    lines = header(text)
    sentence = " ".join(
        line.removeprefix("//").strip() for line in lines[: (*lines, "//").index("//")]
    )
    if not text.startswith("CYPHER 25\n// "):
        yield "it does not begin with CYPHER 25 and a comment"
    if not re.fullmatch(r"[A-Z][^$]+[.]", sentence):
        yield f"its first comment is no sentence: {sentence!r}"
    if not text.endswith("\n"):
        yield "its last line does not end"
    if "\t" in text:
        yield "it holds a tab"


def declared(name: str, text: str) -> Iterator[str]:
    """Say which parameters the header and the text, or the Python, do not agree on."""
    listed = parameters(text)
    used = set(re.findall(r"\$(\w+)", body(text)))
    # What a detector alone uses does not stand in the query.
    detected = name in PATTERNS and "\n// detector " in text
    if missing := used - set(listed):
        yield f"its header does not declare {sorted(missing)}"
    if not detected and (idle := set(listed) - used):
        yield f"its text does not use {sorted(idle)}"
    if unknown := set(listed.values()) - set(EXAMPLES):
        yield f"it uses types that are not in the list: {sorted(unknown)}"
    lines = [line for line in header(text) if line.startswith("// $")]
    if len(lines) != len(listed):
        yield "it has not one line for each parameter, with name, type and meaning"
    if name in QUERIES and QUERIES[name].parameters != set(listed):
        yield f"Python sees {sorted(QUERIES[name].parameters)}, the header {sorted(listed)}"


def client(name: str, text: str) -> Iterator[str]:
    """Say whether a text neither names its client nor says that it is of any client, or does both."""
    if name.startswith(("schema/", "graph/")) or name in BORROWING:
        return
    named = "$client_id" in body(text)
    everybody_s = "of any client" in " ".join(header(text))
    if not named and not everybody_s:
        yield "it does not name its client, and does not say that it is of any client"
    if named and everybody_s:
        yield "it names its client, and says that it is of any client"


WHATEVER_ENDS = {
    "forgetting/erase_memories": "its dry run deletes the edges that DETACH DELETE would",
    "forgetting/found_places": "it looks for what is left, on every edge of the client's nodes",
    "memories/delete_unmentioned": "a node is deleted after all of its edges",
}
"""The queries that look at edges to whatever there is, and why: no property of the other end is read."""

EDGE = re.compile(r"-(?:\[[^\]]*\])?-")
DEGREE = re.compile(r"COUNT \{ \(\w+\)<?-(?:\[[^\]]*\])?->?\(\) \}")
"""The number of a node's edges, which stands in the node."""
WAY = re.compile(
    r"(\w+) = \([^{}]*?\)\s+WHERE all\(one IN nodes\(\1\) WHERE one\.client_id = \$client_id\)"
)
"""A path whose every node is tested."""


def hops(name: str, text: str) -> Iterator[str]:
    """Say which nodes at the end of an edge are of any client: not bound before, and not tested."""
    everybody_s = "of any client" in " ".join(header(text))
    if name.startswith(("schema/", "graph/")) or name in BORROWING or everybody_s:
        return
    cypher = re.sub(r"//.*|'[^'\n]*'", "", WAY.sub("", DEGREE.sub("", body(text))))
    for edge in EDGE.finditer(cypher):
        # The first node of a quantified path is one before it, or the last of the round before.
        ends = (
            re.search(r"(?<!\()\(([^()]*)\)\s*<?$", cypher[: edge.start()]),
            re.match(r">?\s*\(([^()]*)\)", cypher[edge.end() :]),
        )
        for place, node in ((0, ends[0]), (edge.end(), ends[1])):
            if node is None or re.search(r"client_id: ", node[1]):
                continue
            before, variable = cypher[: place + node.start()], re.split(r"\W", node[1])[0]
            is_bound = re.search(rf"(?<![.:$\w]){variable}\b", before)
            is_tested = re.search(rf"(?<![.\w]){variable}\.client_id = ", cypher)
            if not variable or not (is_bound or is_tested or before.endswith("}")):
                yield f"({node[1]}) may be of any client"


def returned_embeddings(name: str, text: str) -> Iterator[str]:
    """Say which parts of a text return an embedding, or all properties of a node, as an export alone does."""
    if name == EXPORTING:
        return
    _, *returned = re.split(r"\bRETURN\b", SIMILARITY.sub("", body(text)))
    for part in returned:
        if found := re.search(r"\.embedding\b|\{\s*\.\*", part):
            yield f"it returns {found[0]}"


def renamed_rows(name: str, text: str) -> Iterator[str]:
    """Say which keys `embedding` are not a memory's: they are renamed with the side and not found then."""
    owners = set(re.findall(r"(\$?\w+)\.embedding\b", body(text)))
    for owner in sorted(owners):
        if owner.startswith("$") or owner in {"row", "one"}:
            yield f"{owner}.embedding would be renamed with the side"


def fragment(name: str, text: str) -> Iterator[str]:
    """Say where a fragment has no sentence, or its own parameters are not those that it declares."""
    lines = [line.removeprefix("//").strip() for line in header(f"\n{text}")]
    sentence = " ".join(lines[: (*lines, "").index("")])
    if not re.fullmatch(r"[A-Z`][^$]+[.]", sentence):
        yield f"its first comment is no sentence: {sentence!r}"
    query = expanded(name, f"CYPHER 25\n{text}")
    yield from declared(name, query)


def breaking(rule: Rule) -> list[str]:
    """Return all files that break a rule, each with the reason."""
    return offenders(TEXTS, lambda name: rule(name, TEXTS[name]))


def test_there_is_nothing_but_query_files() -> None:
    assert len(TEXTS) > 200
    assert {path.suffix for path in FOLDER.rglob("*") if path.is_file()} == {".cypher"}


def test_each_begins_with_the_language_and_a_sentence() -> None:
    wrong = breaking(beginning)
    assert not wrong, "\n".join(wrong)


def test_a_header_declares_what_the_text_uses_with_a_type_of_the_closed_list() -> None:
    wrong = breaking(declared)
    assert not wrong, "\n".join(wrong)


def test_each_names_its_client() -> None:
    """What belongs to no client, or works for all of them, says so."""
    wrong = breaking(client)
    assert not wrong, "\n".join(wrong)


def test_each_names_its_client_at_every_hop() -> None:
    wrong = breaking(hops)
    assert {one.partition(":")[0] for one in wrong} == set(WHATEVER_ENDS), "\n".join(wrong)


def test_none_returns_an_embedding() -> None:
    wrong = breaking(returned_embeddings)
    assert not wrong, "\n".join(wrong)


def test_only_a_memory_has_what_is_renamed_with_the_side() -> None:
    wrong = breaking(renamed_rows)
    assert not wrong, "\n".join(wrong)


def test_a_fragment_says_what_it_tests_and_declares_its_parameters() -> None:
    wrong = offenders(FRAGMENTS, lambda name: fragment(name, WRITTEN[name]))
    assert not wrong, "\n".join(wrong)


def test_a_fragment_is_what_several_queries_share() -> None:
    included = Counter(
        one for text in WRITTEN.values() for one in set(re.findall(r"// include (\w+)", text))
    )

    assert {f"fragments/{name}" for name in included} == FRAGMENTS
    assert [name for name, count in included.items() if count < 2] == []


def test_which_version_held_is_decided_in_one_file() -> None:
    deciding = {name for name, text in WRITTEN.items() if re.search(r"NOT \$ending", text)}

    assert deciding == {"fragments/held_then"}


KEPT = """\
CYPHER 25
// The texts of a client's memories.
//
// $client_id  string       whose memories
// $near       list<float>  an embedding
MATCH (memory:Memory {client_id: $client_id})-[:PART_OF]->(session:Session {client_id: $client_id})
RETURN memory.id AS id, vector.similarity.cosine(memory.embedding, $near) AS score
"""
"""A text that keeps every rule."""


@pytest.mark.parametrize(
    "rule", [beginning, declared, client, hops, returned_embeddings, renamed_rows]
)
def test_a_text_that_keeps_a_rule_is_not_named(rule: Rule) -> None:
    assert list(rule("facts/kept", KEPT)) == []


@pytest.mark.parametrize(
    ("rule", "old", "new", "reason"),
    [
        (beginning, "CYPHER 25", "CYPHER 5", "does not begin with CYPHER 25"),
        (beginning, "memories.", "memories", 'no sentence: "The texts of a client\'s memories"'),
        (beginning, "The texts", "the texts", "no sentence"),
        (beginning, " AS score\n", " AS score", "last line"),
        (beginning, "MATCH ", "MATCH\t", "a tab"),
        (declared, "$near)", "$vector)", "does not declare ['vector']"),
        (declared, "$near)", "[1.0])", "does not use ['near']"),
        (declared, "list<float>", "vector<float>", "not in the list: ['vector<float>']"),
        (declared, "  an embedding", "", "not one line for each parameter"),
        (client, "{client_id: $client_id}", "", "does not name its client"),
        (hops, "(session:Session {client_id: $client_id})", "(session:Session)", "any client"),
        (hops, "(session:Session {client_id: $client_id})", "()", "() may be of any client"),
        (hops, "(memory:Memory {client_id: $client_id})", "(memory:Memory)", "(memory:Memory) may"),
        (client, "a client's memories", "memories of any client", "it names its client, and says"),
        (returned_embeddings, "memory.id", "memory.embedding", "returns .embedding"),
        (returned_embeddings, "memory.id", "memory {.*}", "returns {.*"),
        (renamed_rows, "memory.embedding", "row.embedding", "row.embedding would be renamed"),
        (renamed_rows, "memory.embedding", "$one.embedding", "$one.embedding would be renamed"),
    ],
)
def test_a_text_that_breaks_a_rule_is_named(rule: Rule, old: str, new: str, reason: str) -> None:
    assert old in KEPT
    assert reason in "\n".join(rule("facts/broken", KEPT.replace(old, new)))


def test_every_file_is_declared_once_and_every_declaration_has_its_file() -> None:
    named = Counter(query.name for _, query in DECLARED.values())

    assert set(named) == set(TEXTS) - SCHEMA - PATTERNS
    assert [name for name, count in named.items() if count > 1] == []


def test_the_constant_has_the_name_of_its_file() -> None:
    names = {(constant, query.name) for constant, query in DECLARED.values()}

    assert [pair for pair in names if pair[0] != pair[1].rpartition("/")[2].upper()] == []


def test_the_schema_s_files_are_numbered_without_a_gap() -> None:
    files = schema_files()

    assert [file.number for file in files] == list(range(1, len(files) + 1))
    assert {f"schema/{file.name}" for file in files} == SCHEMA


def test_a_statement_of_the_schema_may_be_repeated() -> None:
    wrong = [
        f"{file.name}: {statement}"
        for file in schema_files()
        for statement in file.statements
        if not re.search(r"\bIF (NOT )?EXISTS\b", statement)
        # A mark that is set again has no effect: the job that it is for finds nothing to do.
        and not re.search(r"^  SET memory\.\w+_due = true$", statement, re.MULTILINE)
        # A job that is there already is not changed.
        and not re.search(r"^  MERGE \(job:Job .*\n  ON CREATE SET$", statement, re.MULTILINE)
        # A word that is there already is not added again.
        and not re.search(
            r"NOT span\.scope_words CONTAINS '( \w+)'.* \+ '\1'", statement, re.DOTALL
        )
        # A time without the name of a zone is left as it is.
        and not re.search(r"ENDS WITH ']'.* timezone: 'Z'", statement, re.DOTALL)
        # An end that is early enough is left as it is.
        and not re.search(
            r"newer.valid_at < memory.invalid_at.* SET memory.invalid_at", statement, re.DOTALL
        )
    ]
    assert not wrong, "\n".join(wrong)


def test_a_pattern_holds_a_query_or_names_one() -> None:
    assert {name for name in PATTERNS if "RETURN" not in body(TEXTS[name])} == BORROWING


def test_a_query_stands_in_the_folder_of_the_python_that_declares_it() -> None:
    """`cypher/facts/` is declared in `graphmem/facts/`; a query of a module is in a folder of its name."""
    package = Path(graphmem.__file__).parent
    declared = {
        name: path.relative_to(package).with_suffix("").parts[0]
        for path in package.rglob("*.py")
        for name in re.findall(r'\bQuery\(\s*"([a-z_/]+)"', path.read_text(encoding="utf-8"))
    }

    assert len(declared) > 150
    assert [name for name, home in declared.items() if name.partition("/")[0] != home] == []
