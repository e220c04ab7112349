import re
from typing import Any

import pytest

from graphmem.doctor.findings import Finding
from graphmem.doctor.schema import SchemaItem, compare, drift, migrations, wanted
from graphmem.graph.inspection import (
    MEMORIES_WITHOUT_FILTERS,
    SHOWN_CONSTRAINTS,
    SHOWN_INDEXES,
    ShownConstraint,
    ShownIndex,
)
from graphmem.graph.schema import (
    APPLIED_MIGRATIONS,
    CREATED,
    DROPPED,
    AppliedFile,
    SchemaFile,
    schema_files,
)
from tests.scripted import ScriptedGraph

FILES = schema_files()
MADE = wanted(FILES, dimensions=384)


def seeing(*applied: AppliedFile) -> ScriptedGraph:
    """Return a graph that has seen these files."""
    return ScriptedGraph({APPLIED_MIGRATIONS.name: applied})


def index(one: SchemaItem, **changed: Any) -> ShownIndex:
    shown = {
        "name": one.name,
        "type": "RANGE" if one.is_constraint else one.type,
        "state": "ONLINE",
        "labels": [one.label],
        "properties": one.properties,
        # The server shows words in capitals, and options that nobody gave.
        "options": {
            "vector.hnsw.m": 16,
            **{
                name: value.upper() if isinstance(value, str) else value
                for name, value in one.options.items()
            },
        },
        "failure": "",
        "owner": one.name if one.is_constraint else None,
    }
    return ShownIndex(**(shown | changed))


def constraint(one: SchemaItem) -> ShownConstraint:
    return ShownConstraint(
        name=one.name, type=one.type, labels=[one.label], properties=one.properties
    )


def compared(
    indexes: dict[str, ShownIndex | None] | None = None,
    constraints: dict[str, ShownConstraint | None] | None = None,
) -> list[Finding]:
    """Compare a database that is right but for what is given."""
    all_indexes = {one.name: index(one) for one in MADE} | (indexes or {})
    all_constraints: dict[str, ShownConstraint | None]
    all_constraints = {one.name: constraint(one) for one in MADE if one.is_constraint}
    all_constraints |= constraints or {}
    return list(
        compare(
            MADE,
            [one for one in all_indexes.values() if one],
            [one for one in all_constraints.values() if one],
        )
    )


def made(name: str) -> SchemaItem:
    [found] = [one for one in MADE if one.name == name]
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_statement_of_the_schema_is_understood(file: SchemaFile):
    for statement in file.statements:
        # What changes nodes, or queues jobs for them, makes nothing that could be missing.
        known = CREATED.search(statement) or DROPPED.search(statement) or " SET" in statement
        assert known, statement


def test_what_a_statement_makes_is_read_from_it():
    vector = made("memory_embedding")
    assert (vector.type, vector.label, vector.file) == ("VECTOR", "Memory", "013_vectors")
    assert vector.properties[:3] == ["embedding", "client_id", "kind"]
    assert vector.options == {
        "vector.dimensions": 384,
        "vector.similarity_function": "cosine",
        "vector.quantization.type": "none",
        "vector.default_search_expansion_factor": 1.0,
    }
    assert made("memory_text").options["fulltext.eventually_consistent"] is False
    assert made("memory_id").properties == ["client_id", "id"]


def test_a_later_file_can_drop_and_make_anew():
    text = (
        "CYPHER 25\nDROP INDEX job_due IF EXISTS;\n\n"
        "CREATE INDEX job_due IF NOT EXISTS\nFOR (job:Job) ON (job.run_at);\n"
    )
    again = wanted([*FILES, SchemaFile(99, "099_again", text)], dimensions=384)
    assert [one.properties for one in again if one.name == "job_due"] == [["run_at"]]


def test_what_a_later_file_drops_is_not_missed():
    dropping = SchemaFile(99, "099_drop", "CYPHER 25\nDROP INDEX job_due IF EXISTS;\n")
    left = wanted([*FILES, dropping], dimensions=384)
    assert {one.name for one in MADE} - {one.name for one in left} == {"job_due"}


def test_every_property_that_the_vector_index_filters_on_is_asked_for():
    asked = set(re.findall(r"memory\.(\w+) IS NULL", MEMORIES_WITHOUT_FILTERS.text))
    filtered = set(made("memory_embedding").properties) - {"embedding"}
    assert asked == filtered | set(made("memory_text").properties)


def test_a_database_that_is_right_has_no_finding():
    assert compared() == []


@pytest.mark.parametrize("one", MADE, ids=lambda one: one.name)
def test_what_is_missing_is_named_with_its_file(one: SchemaItem):
    kind = "constraint" if one.is_constraint else "index"
    [finding] = compared({one.name: None}, {one.name: None} if one.is_constraint else {})
    assert finding.severity == "problem"
    assert finding.what == f"the {kind} {one.name} is missing"
    assert f"{one.file}.cypher" in finding.remedy


@pytest.mark.parametrize(
    ("name", "changed", "told"),
    [
        ("memory_embedding", {"vector.dimensions": 8}, "vector.dimensions 8 instead of 384"),
        (
            "memory_embedding",
            {"vector.similarity_function": "EUCLIDEAN"},
            "euclidean instead of cosine",
        ),
        ("memory_embedding", {"vector.quantization.type": "BINARY"}, "binary instead of none"),
        ("memory_text", {"fulltext.analyzer": "standard"}, "standard instead of english"),
        ("memory_text", {"fulltext.eventually_consistent": True}, "true instead of false"),
    ],
)
def test_another_option_is_named(name, changed, told):
    one = made(name)
    [finding] = compared({name: index(one, options={**one.options, **changed})})
    assert finding.severity == "problem"
    assert told in finding.what


def test_a_filter_that_the_vector_index_lacks_is_named():
    one = made("memory_embedding")
    [finding] = compared({one.name: index(one, properties=one.properties[:-1])})
    assert "superseded_at instead" not in finding.what
    assert re.search("instead of .*superseded_at", finding.what)


@pytest.mark.parametrize(
    ("state", "severity"), [("FAILED", "problem"), ("POPULATING", "warning"), ("ONLINE", None)]
)
def test_an_index_that_is_not_online_is_named(state, severity):
    one = made("memory_text")
    found = compared({one.name: index(one, state=state, failure="disk full")})
    assert [finding.severity for finding in found] == ([severity] if severity else [])
    assert state != "FAILED" or "disk full" in found[0].what


def test_what_is_not_ours_on_our_labels_is_named():
    mine = index(made("job_due"), name="mine", options={})
    [finding] = compared({"mine": mine})
    assert (finding.severity, "DROP INDEX mine" in finding.remedy) == ("warning", True)
    stranger = ShownConstraint(
        name="strict", type="NODE_PROPERTY_UNIQUENESS", labels=["Memory"], properties=["text"]
    )
    [finding] = compared(
        {"strict": index(made("job_due"), name="strict", owner="strict")}, {"strict": stranger}
    )
    assert "DROP CONSTRAINT strict" in finding.remedy


def test_what_others_keep_in_the_same_database_is_not_our_business():
    assert compared({"theirs": index(made("job_due"), name="theirs", labels=["Invoice"])}) == []
    assert compared({"lookup": index(made("job_due"), name="lookup", labels=[])}) == []


def halted(applied: int, there: list[SchemaItem], *others: ShownIndex) -> ScriptedGraph:
    """Return a graph whose migration was killed after so many files; this is there by then."""
    seen = [AppliedFile(file.number, file.name, file.sha256) for file in FILES[:applied]]
    constraints = [constraint(one) for one in there if one.is_constraint]
    return ScriptedGraph(
        {
            APPLIED_MIGRATIONS.name: seen,
            SHOWN_INDEXES.name: [*(index(one) for one in there), *others],
            SHOWN_CONSTRAINTS.name: constraints,
        }
    )


@pytest.mark.parametrize("applied", range(1, len(FILES)), ids=lambda n: FILES[n].name)
async def test_what_a_killed_migration_made_or_dropped_is_no_difference(applied: int):
    # A file is recorded after its statements: those of the next one may have run.
    there = wanted(FILES[: applied + 1], dimensions=384)
    assert [one.severity for one in await drift(halted(applied, there), dimensions=384)] == ["ok"]
    without = [one for one in there if one.file != FILES[applied].name]
    assert [one.severity for one in await drift(halted(applied, without), dimensions=384)] == ["ok"]


async def test_what_is_missing_or_not_ours_is_named_after_a_killed_migration_too():
    there = [one for one in wanted(FILES[:5], dimensions=384) if one.name != "memory_text"]
    graph = halted(5, there, index(made("job_due"), name="mine"))
    found = [one.what for one in await drift(graph, dimensions=384)]
    assert len(found) == 2
    assert "memory_text is missing" in found[0]
    assert "mine on Job is not ours" in found[1]


async def test_migrations_that_changed_are_newer_or_pending_are_told_apart():
    seen = [AppliedFile(file.number, file.name, file.sha256) for file in FILES]
    [finding] = await migrations(seeing(*seen))
    assert finding.severity == "ok"
    [finding] = await migrations(seeing())
    assert (finding.severity, "never used" in finding.what) == ("note", True)
    [finding] = await migrations(seeing(*seen[:-1]))
    assert (finding.severity, FILES[-1].name in finding.what) == ("note", True)
    [finding] = await migrations(seeing(AppliedFile(1, "001_installation", "0" * 64), *seen[1:]))
    assert (finding.severity, "is not the one" in finding.what) == ("problem", True)
    [finding] = await migrations(seeing(*seen, AppliedFile(900, "900_later", "0" * 64)))
    assert (finding.severity, finding.remedy) == (
        "problem",
        "it was used by a newer version; upgrade graphmem",
    )
