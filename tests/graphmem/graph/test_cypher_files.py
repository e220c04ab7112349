"""Every query file: its header, its one declaration in Python, its plan on a real server."""

import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

import graphmem
from graphmem import resources
from graphmem.graph.driver import LISTED
from graphmem.graph.installation import DROP_VECTOR_INDEX
from graphmem.graph.query import Query, renamed
from graphmem.graph.schema import SchemaFile, schema_files, vector_index
from graphmem.model.side import SECOND
from graphmem.runtime import Runtime

FOLDER = resources.folder("cypher")
FILES = {
    path.relative_to(FOLDER).with_suffix("").as_posix(): path
    for path in sorted(FOLDER.rglob("*"))
    if path.is_file()
}

TEXTS = {name: path.read_text(encoding="utf-8") for name, path in FILES.items()}
SCHEMA = {name for name in FILES if name.startswith("schema/")}
PATTERNS = {name for name in FILES if name.startswith("patterns/")}
"""Their headers say more, and are tested with the catalogue; none is declared in Python."""

BORROWING = {name for name in PATTERNS if re.search(r"^// query +\S+$", TEXTS[name], re.MULTILINE)}
"""Patterns that run another's query hold none."""

EXAMPLES: dict[str, Any] = {
    "string": "x",
    "string?": "x",
    "int": 1,
    "float": 0.5,
    "boolean": True,
    "datetime": datetime(2026, 3, 1, tzinfo=UTC),
    "list<string>": ["x"],
    "list<float>": [0.1] * 384,
    "list<map>": [{}],
    "map": {},
}
"""The closed list of a parameter's types, with a value of each."""

HEADER_LINE = re.compile(r"^// \$(?P<name>\w+)\s+(?P<type>\S+)\s+(?P<meaning>\S.*)$")
COMMENT = re.compile(r"//.*$", re.MULTILINE)
LITERAL = re.compile(r"'[^']*'")
SIMILARITY = re.compile(r"vector\.similarity\.\w+\([^()]*\)")
ADMINISTRATION = {"graph/server_version", "graph/drop_vector_index"}
"""What calls a procedure of the server alone, or changes the schema, counts as administration."""
SEARCHES = sorted(name for name, text in TEXTS.items() if renamed(text, SECOND) != text)
WRITING_OPERATORS = re.compile(r"^(Create|Delete|DetachDelete|Set[LNPR]|Merge|Remove|Foreach)")


def header(text: str) -> list[str]:
    """Return the comment lines that a file begins with, after the language version."""
    lines = text.splitlines()[1:]
    body_at = (place for place, line in enumerate(lines) if not line.startswith("//"))
    return lines[: next(body_at, len(lines))]


def parameters(text: str) -> dict[str, str]:
    """Return the parameters that a header declares, with their types."""
    found = (HEADER_LINE.match(line) for line in header(text))
    return {line["name"]: line["type"] for line in found if line}


def body(text: str) -> str:
    """Return a file's Cypher without comments and literals."""
    return LITERAL.sub("''", COMMENT.sub("", text))


def declarations() -> dict[int, tuple[str, Query[Any]]]:
    """Return every query that a module of graphmem holds, with the constant's name."""
    found = {}
    for module in pkgutil.walk_packages(graphmem.__path__, "graphmem."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, Query):
                found[id(value)] = (name, value)
    return found


DECLARED = declarations()
QUERIES = {query.name: query for _, query in DECLARED.values()}


class Plan(msgspec.Struct, frozen=True):
    """What EXPLAIN says of a statement."""

    query_type: str
    columns: tuple[str, ...]
    operators: list[tuple[str, str]]


EXPLAINED: dict[str, Plan] = {}


async def explained(runtime: Runtime, name: str) -> Plan:
    """EXPLAIN a file, once, with parameters of the types that its header declares."""
    if name not in EXPLAINED:
        EXPLAINED[name] = await explain(runtime, TEXTS[name])
    return EXPLAINED[name]


async def explain(runtime: Runtime, text: str) -> Plan:
    values = {name: EXAMPLES[kind] for name, kind in parameters(text).items()}
    async with runtime.graph.driver.session(database=runtime.graph.database) as session:
        result = await session.run(f"EXPLAIN {text}", values)
        summary = await result.consume()
    assert summary.plan is not None
    return Plan(summary.query_type, tuple(result.keys()), list(operators(summary.plan)))


def operators(plan: dict[str, Any]):
    """Yield a plan's operators with their details."""
    yield plan["operatorType"].removesuffix("@neo4j"), str(plan["args"].get("Details", ""))
    for child in plan.get("children", []):
        yield from operators(child)


def test_there_is_nothing_but_query_files():
    assert {path.suffix for path in FILES.values()} == {".cypher"}


@pytest.mark.parametrize("name", FILES)
def test_it_begins_with_the_language_and_a_sentence(name: str):
    text = TEXTS[name]
    lines = header(text)
    sentence = " ".join(
        line.removeprefix("//").strip() for line in lines[: (*lines, "//").index("//")]
    )

    assert text.startswith("CYPHER 25\n// ")
    assert re.fullmatch(r"[A-Z][^$]+[.]", sentence), sentence
    assert text.endswith("\n")
    assert "\t" not in text


@pytest.mark.parametrize("name", FILES)
def test_the_header_declares_what_the_text_uses_with_a_type_of_the_closed_list(name: str):
    declared = parameters(TEXTS[name])

    used = set(re.findall(r"\$(\w+)", body(TEXTS[name])))
    # What a detector alone uses does not stand in the query.
    detected = name in PATTERNS and "\n// detector " in TEXTS[name]
    assert used <= set(declared) if detected else used == set(declared)
    assert set(declared.values()) <= set(EXAMPLES)
    listed = [line for line in header(TEXTS[name]) if line.startswith("// $")]
    assert len(listed) == len(declared), "one line for each parameter, with name, type and meaning"
    if name in QUERIES:
        assert QUERIES[name].parameters == set(declared)


@pytest.mark.parametrize("name", FILES)
def test_it_names_its_client(name: str):
    """What belongs to no client, or works for all of them, says so."""
    if name.startswith(("schema/", "graph/")) or name in BORROWING:
        return
    everybody_s = "of any client" in " ".join(header(TEXTS[name]))

    assert ("$client_id" in body(TEXTS[name])) != everybody_s


@pytest.mark.parametrize("name", FILES)
def test_it_returns_no_embedding(name: str):
    text = SIMILARITY.sub("", body(TEXTS[name]))
    _, *returned = re.split(r"\bRETURN\b", text)

    assert not [part for part in returned if re.search(r"\.embedding\b|\{\s*\.\*", part)]


def test_every_file_is_declared_once_and_every_declaration_has_its_file():
    named = Counter(query.name for _, query in DECLARED.values())

    assert set(named) == set(FILES) - SCHEMA - PATTERNS
    assert [name for name, count in named.items() if count > 1] == []


def test_the_constant_has_the_name_of_its_file():
    names = {(constant, query.name) for constant, query in DECLARED.values()}

    assert [pair for pair in names if pair[0] != pair[1].rpartition("/")[2].upper()] == []


def test_the_schema_s_files_are_numbered_without_a_gap():
    files = schema_files()

    assert [file.number for file in files] == list(range(1, len(files) + 1))
    assert {f"schema/{file.name}" for file in files} == SCHEMA


def test_a_pattern_holds_a_query_or_names_one():
    assert {name for name in PATTERNS if "RETURN" not in body(TEXTS[name])} == BORROWING


@pytest.mark.parametrize("name", sorted(set(FILES) - SCHEMA - BORROWING))
async def test_its_plan_writes_only_where_it_says_so(name: str, runtime: Runtime):
    plan = await explained(runtime, name)

    if name in ADMINISTRATION:
        assert plan.query_type == "s"
    elif name not in PATTERNS and QUERIES[name].writes:
        assert plan.query_type in {"w", "rw"}
    else:
        assert plan.query_type == "r"
        assert not [kind for kind, _ in plan.operators if WRITING_OPERATORS.search(kind)]


@pytest.mark.parametrize("name", sorted(set(FILES) - SCHEMA - PATTERNS))
async def test_its_columns_are_the_fields_of_its_row(name: str, runtime: Runtime):
    plan = await explained(runtime, name)
    listed = plan.columns == (LISTED,)
    columns = projected(body(TEXTS[name])) if listed else set(plan.columns)
    fields = {field.encode_name: field.required for field in fields_of(QUERIES[name])}

    assert columns <= set(fields)
    assert {field for field, required in fields.items() if required} <= columns


def fields_of(query: Query[Any]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(query.row)


def projected(text: str) -> set[str]:
    """Return the keys of the map that a query collects as its rows."""
    last = text[text.rindex("RETURN collect(") :]
    inner = re.search(r"RETURN collect\(\s*\w*\s*\{(.*)\}\s*\)\s*AS rows", last, re.DOTALL)
    assert inner is not None
    outermost, nested = inner[1], ""
    while nested != outermost:
        nested, outermost = outermost, re.sub(r"\([^()]*\)|\{[^{}]*\}", "", outermost)
    return {re.split(r"[\s:]", part.strip().lstrip("."))[0] for part in outermost.split(",")}


@pytest.mark.parametrize("name", sorted(set(FILES) - SCHEMA - BORROWING))
async def test_it_finds_its_nodes_by_an_index(name: str, runtime: Runtime):
    plan = await explained(runtime, name)
    searched = re.findall(r"(VECTOR|FULLTEXT) INDEX (\w+)", body(TEXTS[name]))
    searching = [
        (kind.upper(), details) for kind, details in plan.operators if "IndexSearch" in kind
    ]

    assert len(searching) == len(searched)
    for kind, index in searched:
        assert [d for operator, d in searching if kind in operator and f"{kind} INDEX {index}" in d]
    if not name.startswith("graph/"):
        scans = {"AllNodesScan", "NodeByLabelScan", "UnionNodeByLabelsScan"}
        assert not scans & {kind for kind, _ in plan.operators}


@pytest.fixture(scope="module")
async def stand_in(runtime: Runtime) -> AsyncIterator[None]:
    """Have the other vector index, empty, as while the embedding model is changed."""
    await runtime.graph.execute(vector_index(SECOND), dimensions=384)
    await runtime.graph.execute("CALL db.awaitIndexes(60)")
    yield
    await runtime.graph.on(SECOND).change(DROP_VECTOR_INDEX)


@pytest.mark.parametrize("name", sorted(set(SEARCHES) - SCHEMA - ADMINISTRATION))
async def test_on_the_other_side_it_searches_that_side_s_index_and_vectors_alone(
    name: str, runtime: Runtime, stand_in: None
):
    text = renamed(TEXTS[name], SECOND)
    first, second = await explained(runtime, name), await explain(runtime, text)

    assert not re.search(r"memory_embedding\b|\.embedding\b", text)
    assert second.columns == first.columns
    indexes = [details for kind, details in second.operators if "VectorIndexSearch" in kind]
    assert all(f"VECTOR INDEX {SECOND.index}" in details for details in indexes)
    assert len(indexes) == len(re.findall(r"VECTOR INDEX", body(text)))


@pytest.mark.parametrize("name", FILES)
def test_only_a_memory_has_what_is_renamed_with_the_side(name: str):
    """A row or a parameter with a key `embedding` would be renamed too, and not be found."""
    owners = set(re.findall(r"(\$?\w+)\.embedding\b", body(TEXTS[name])))

    assert not {owner for owner in owners if owner.startswith("$") or owner in {"row", "one"}}


@pytest.mark.parametrize("file", schema_files(), ids=lambda file: file.name)
async def test_a_schema_file_holds_statements_that_may_be_repeated(
    file: SchemaFile, runtime: Runtime
):
    values = {name: EXAMPLES[kind] for name, kind in parameters(file.text).items()}
    async with runtime.graph.driver.session(database=runtime.graph.database) as session:
        for statement in file.statements:
            summary = await (await session.run(f"EXPLAIN {statement}", values)).consume()
            assert summary.query_type == "s"
            assert re.search(r"\bIF (NOT )?EXISTS\b", statement)


def test_the_words_of_a_path_are_a_folder_of_python_and_a_file():
    """`cypher/writing/` is run from `graphmem/writing/`."""
    package = Path(graphmem.__file__).parent

    folders = {name.partition("/")[0] for name in set(FILES) - SCHEMA}
    assert [name for name in folders if not (package / name).is_dir()] == []
