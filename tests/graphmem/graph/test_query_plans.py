"""Every query file on a real server: each is explained once, and every rule is about its plan.

A rule is a function that says what is wrong with a plan; its test names all files that break it.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from neo4j.exceptions import Neo4jError

from graphmem.graph.driver import LISTED
from graphmem.graph.installation import DROP_PASSAGE_INDEX, DROP_VECTOR_INDEX
from graphmem.graph.query import Query, renamed
from graphmem.graph.schema import declared_nodes, passage_index, schema_files, vector_index
from graphmem.model.vocabulary import SECOND
from graphmem.runtime import Runtime
from tests.graphmem.graph.query_files import (
    BORROWING,
    PATTERNS,
    QUERIES,
    SCHEMA,
    TEXTS,
    body,
    examples,
    offenders,
)

AT_ONCE = 4
"""How many statements the server plans at a time."""

ADMINISTRATION = {
    "graph/server_version",
    "graph/drop_vector_index",
    "graph/drop_passage_index",
}
"""What calls a procedure of the server alone, or changes the schema, counts as administration."""

PLANNED = set(TEXTS) - SCHEMA - BORROWING
SEARCHES = {
    name for name in PLANNED - ADMINISTRATION if renamed(TEXTS[name], SECOND) != TEXTS[name]
}
"""What names the vector index or an embedding."""

WRITING_OPERATORS = re.compile(r"^(Create|Delete|DetachDelete|Set[LNPR]|Merge|Remove|Foreach)")
SCANS = {"AllNodesScan", "NodeByLabelScan", "UnionNodeByLabelsScan"}


class Plan(msgspec.Struct, frozen=True):
    """What EXPLAIN says of a statement."""

    query_type: str
    columns: tuple[str, ...]
    operators: list[tuple[str, str]]


Plans = dict[str, Plan]
Rule = Callable[[str, Plan], Iterator[str]]


async def explained(runtime: Runtime, texts: Mapping[str, str]) -> Plans:
    """EXPLAIN texts, with parameters of the types that their headers declare; all must be understood."""
    free = asyncio.Semaphore(AT_ONCE)

    async def explain(text: str) -> Plan | Neo4jError:
        graph = runtime.graph
        async with free, graph.driver.session(database=graph.database) as session:
            try:
                result = await session.run(f"EXPLAIN {text}", examples(text))
                summary = await result.consume()
            except Neo4jError as problem:
                return problem
        assert summary.plan is not None
        columns = tuple(result.keys())
        return Plan(summary.query_type or "", columns, list(operators(summary.plan)))

    found = dict(zip(texts, await asyncio.gather(*map(explain, texts.values())), strict=True))
    wrong = [f"{name}: {one}" for name, one in found.items() if not isinstance(one, Plan)]
    assert not wrong, "\n".join(wrong)
    return {name: one for name, one in found.items() if isinstance(one, Plan)}


def operators(plan: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a plan's operators with their details."""
    yield plan["operatorType"].removesuffix("@neo4j"), str(plan["args"].get("Details", ""))
    for child in plan.get("children", []):
        yield from operators(child)


@pytest_asyncio.fixture(scope="module")
async def crowd(runtime: Runtime) -> AsyncIterator[None]:
    """Thousands of nodes of each kind: where there are three of a kind, to scan them costs least."""
    execute = runtime.graph.driver.execute_query
    for node in declared_nodes().values():
        await execute(
            f"UNWIND range(1, 2000) AS at CREATE (node:{':'.join(sorted(node.labels))}) "
            f"SET node.client_id = 'crowd-{node.label}-' + at, node.id = toString(at)"
        )
    await execute(
        "MATCH (node:Memory) WHERE node.client_id STARTS WITH 'crowd-' SET node += {active: true, "
        "kind: 'message', occurred_at: datetime(), source_type: '', source_id: '', conversation_id: '', "
        "importance: 0.5}"
    )
    yield
    await execute("MATCH (node) WHERE node.client_id STARTS WITH 'crowd-' DELETE node")


@pytest_asyncio.fixture(scope="module")
async def plans(runtime: Runtime, every_query: None, crowd: None) -> Plans:
    """The plan of each file, by its name."""
    # Plans that were made while the store was empty are kept.
    await runtime.graph.execute("CALL db.clearQueryCaches()")
    return await explained(runtime, {name: TEXTS[name] for name in sorted(PLANNED)})


@pytest_asyncio.fixture(scope="module")
async def other_plans(runtime: Runtime) -> AsyncIterator[Plans]:
    """The plans of what searches, on the other vector index: there, and empty, while the model is changed."""
    for index in (vector_index(SECOND), passage_index(SECOND)):
        await runtime.graph.execute(index, dimensions=384)
    try:
        await runtime.graph.execute("CALL db.awaitIndexes(60)")
        yield await explained(runtime, {name: renamed(TEXTS[name], SECOND) for name in SEARCHES})
    finally:
        for drop in (DROP_VECTOR_INDEX, DROP_PASSAGE_INDEX):
            await runtime.graph.on(SECOND).change(drop)


def writing(name: str, plan: Plan) -> Iterator[str]:
    """Say whether a plan writes where its declaration does not, or the other way round."""
    if name in ADMINISTRATION:
        expected = {"s"}
    elif name not in PATTERNS and QUERIES[name].writes:
        expected = {"w", "rw"}
    else:
        expected = {"r"}
        if written := {kind for kind, _ in plan.operators if WRITING_OPERATORS.search(kind)}:
            yield f"it only reads, and its plan has {sorted(written)}"
    if plan.query_type not in expected:
        yield f"its plan is of the type {plan.query_type!r}, not of {sorted(expected)}"


def columns(name: str, plan: Plan) -> Iterator[str]:
    """Say which columns are no fields of the row, and which fields have no column."""
    if QUERIES[name].row.__struct_config__.array_like:
        given_places, wanted = places(body(TEXTS[name])), len(fields_of(QUERIES[name]))
        if given_places != wanted:
            yield f"its row has {given_places} places for {wanted} fields"
        return
    listed = plan.columns == (LISTED,)
    given = projected(body(TEXTS[name])) if listed else set(plan.columns)
    fields = {field.encode_name: field.required for field in fields_of(QUERIES[name])}
    if strange := given - set(fields):
        yield f"its row has no field for {sorted(strange)}"
    if missing := {field for field, required in fields.items() if required} - given:
        yield f"it has no column for {sorted(missing)}"


def fields_of(query: Query[Any]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(query.row)


def projected(text: str) -> set[str]:
    """Return the keys of the map that a query collects as its rows."""
    last = text[text.rindex("RETURN collect(") :]
    # Of a row that may be shorter the longer form.
    form = r"RETURN collect\((?:CASE\b.*\bELSE\b)?\s*\w*\s*\{(.*)\}\s*(?:END)?\s*\)\s*AS rows"
    inner = re.search(form, last, re.DOTALL)
    assert inner is not None, text
    return {re.split(r"[\s:]", part.strip().lstrip("."))[0] for part in outermost(inner[1])}


def places(text: str) -> int:
    """Return the number of entries of the list that a query collects as its rows."""
    inner = re.search(r"RETURN collect\(\[(.*)\]\) AS rows", text, re.DOTALL)
    assert inner is not None, text
    return len(outermost(inner[1]))


def outermost(text: str) -> list[str]:
    """Return the parts of a list or a map, without what is nested in them."""
    nested = ""
    while nested != text:
        nested, text = text, re.sub(r"\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]", "", text)
    return text.split(",")


def indexes(name: str, plan: Plan) -> Iterator[str]:
    """Say which indexes a text names and its plan does not search, and which nodes are found by a scan."""
    searched = re.findall(r"(VECTOR|FULLTEXT) INDEX (\w+)", body(TEXTS[name]))
    searching = [
        (kind.upper(), details) for kind, details in plan.operators if "IndexSearch" in kind
    ]
    if len(searching) != len(searched):
        yield f"its plan searches {len(searching)} indexes, its text {len(searched)}"
    for kind, index in searched:
        if not [
            d for operator, d in searching if kind in operator and f"{kind} INDEX {index}" in d
        ]:
            yield f"its plan does not search {index}"
    scans = SCANS & {kind for kind, _ in plan.operators}
    if scans and not name.startswith("graph/") and name != "forgetting/found_places":
        yield f"it finds nodes by {sorted(scans)}"


INDEXED_ORDER = re.compile(r"// As in the index\.\n\s*ORDER BY\s+(\w+\.\w+)")


def ordering(name: str, plan: Plan) -> Iterator[str]:
    """Say where a page is sorted that an index has in this order, so that all after it is read for each page.

    The planner takes the order of an index if all its properties are named, and may split an OR of two of
    them into two searches without an order.
    """
    text = TEXTS[name]
    if re.search(r"\bOR \(?\w+\.\w+ [^()]*\$(?:before|after|place)_id", text):
        yield "it tells the place of a page with OR"
    for first in INDEXED_ORDER.findall(text):
        for kind, details in plan.operators:
            if kind in {"Top", "Sort"} and details.startswith((f"`{first}`", first)):
                yield f"its plan sorts by {first}"


def other_side(name: str, plan: Plan, first: Plan) -> Iterator[str]:
    """Say where a text that means the other side still means this one, or is another query."""
    text = renamed(TEXTS[name], SECOND)
    if re.search(r"(?:memory|passage)_embedding\b|\.embedding\b", text):
        yield "its text names this side"
    if plan.columns != first.columns:
        yield f"its columns are {plan.columns}, not {first.columns}"
    searched = [details for kind, details in plan.operators if "VectorIndexSearch" in kind]
    ours = (SECOND.index, SECOND.passage_index)
    if not all(any(f"VECTOR INDEX {one}" in details for one in ours) for details in searched):
        yield f"its plan searches another index: {searched}"
    if len(searched) != len(re.findall(r"VECTOR INDEX", body(text))):
        yield f"its plan searches {len(searched)} vector indexes"


async def test_a_plan_writes_only_where_its_file_is_declared_to(plans: Plans) -> None:
    wrong = offenders(PLANNED, lambda name: writing(name, plans[name]))
    assert not wrong, "\n".join(wrong)


async def test_the_columns_are_the_fields_of_the_row(plans: Plans) -> None:
    wrong = offenders(PLANNED - PATTERNS, lambda name: columns(name, plans[name]))
    assert not wrong, "\n".join(wrong)


async def test_nodes_are_found_by_an_index(plans: Plans) -> None:
    wrong = offenders(PLANNED, lambda name: indexes(name, plans[name]))
    assert not wrong, "\n".join(wrong)


async def test_a_page_is_read_in_the_order_of_its_index(plans: Plans) -> None:
    assert len([name for name in PLANNED if INDEXED_ORDER.search(TEXTS[name])]) > 20
    wrong = offenders(PLANNED, lambda name: ordering(name, plans[name]))
    assert not wrong, "\n".join(wrong)


async def test_on_the_other_side_that_side_s_index_and_vectors_alone_are_searched(
    plans: Plans, other_plans: Plans
) -> None:
    assert len(SEARCHES) > 15
    wrong = offenders(SEARCHES, lambda name: other_side(name, other_plans[name], plans[name]))
    assert not wrong, "\n".join(wrong)


async def test_the_schema_s_files_hold_administration_marks_for_jobs_and_repairs_alone(
    runtime: Runtime,
) -> None:
    statements = {
        f"{file.name} {place}": (file.text, statement)
        for file in schema_files()
        for place, statement in enumerate(file.statements)
    }
    wrong = []
    async with runtime.graph.driver.session(database=runtime.graph.database) as session:
        for name, (text, statement) in statements.items():
            explained = await session.run(f"EXPLAIN {statement}", examples(text))
            marks = re.search(
                r"_due = true|NOT span\.scope_words CONTAINS|MERGE \(job:Job|timezone: 'Z'"
                r"|SET memory\.invalid_at",
                statement,
            )
            expected = "w" if marks else "s"
            if (kind := (await explained.consume()).query_type) != expected:
                wrong.append(f"{name}: {kind}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("rule", "name", "plan", "reason"),
    [
        (writing, "contextual/turns", Plan("rw", (), []), "'rw', not of ['r']"),
        (writing, "contextual/turns", Plan("r", (), [("SetLabels", "")]), "has ['SetLabels']"),
        (writing, "patterns/bridges", Plan("w", (), []), "'w', not of ['r']"),
        (writing, "memories/relate", Plan("r", (), []), "'r', not of ['rw', 'w']"),
        (writing, "graph/server_version", Plan("r", (), []), "'r', not of ['s']"),
        (columns, "graph/server_version", Plan("s", (), []), "no column for ['version']"),
        (columns, "graph/server_version", Plan("s", ("version", "x"), []), "no field for ['x']"),
        (indexes, "retrieval/hop", Plan("r", (), [("IndexSearch", "")]), "searches 1 indexes"),
        (indexes, "retrieval/hop", Plan("r", (), [("AllNodesScan", "n")]), "by ['AllNodesScan']"),
        (
            indexes,
            "retrieval/found_in_client",
            Plan("r", (), [("NodeVectorIndexSearch", "VECTOR INDEX another")]),
            "does not search memory_embedding",
        ),
        (
            ordering,
            "jobs/claim",
            Plan("rw", (), [("Top", "`job.state` ASC, `job.run_at` ASC LIMIT 8")]),
            "sorts by job.state",
        ),
    ],
)
def test_a_plan_that_breaks_a_rule_is_named(rule: Rule, name: str, plan: Plan, reason: str) -> None:
    assert reason in "\n".join(rule(name, plan))


def test_a_plan_of_this_side_is_named_where_the_other_is_meant() -> None:
    name = "retrieval/found_in_client"
    this = Plan("r", ("rows",), [("NodeVectorIndexSearch", "VECTOR INDEX memory_embedding")])
    none = Plan("r", ("row",), [])

    assert list(other_side(name, this, this)) == [
        "its plan searches another index: ['VECTOR INDEX memory_embedding']"
    ]
    assert list(other_side(name, none, this)) == [
        "its columns are ('row',), not ('rows',)",
        "its plan searches 0 vector indexes",
    ]
