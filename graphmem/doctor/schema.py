"""The schema in the database against the schema files: missing, different, extra, or not online."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from graphmem.doctor.findings import Finding, note, ok, problem, refused, warning
from graphmem.errors import SchemaError
from graphmem.graph.driver import Graph
from graphmem.graph.inspection import (
    SHOWN_CONSTRAINTS,
    SHOWN_INDEXES,
    ShownConstraint,
    ShownIndex,
)
from graphmem.graph.installation import installation
from graphmem.graph.query import renamed
from graphmem.graph.schema import (
    APPLIED_MIGRATIONS,
    CREATED,
    DROPPED,
    MEMORY,
    ONLINE,
    POPULATING,
    SchemaFile,
    creations,
    declared_nodes,
    pending,
    schema_files,
)
from graphmem.model.vocabulary import FIRST, Side, other

OPTION = re.compile(r"`(?P<name>[\w.]+)`:\s*(?:'(?P<text>[^']*)'|(?P<value>[\w.$]+))")
UNIQUE = "NODE_PROPERTY_UNIQUENESS"

AGAIN = "run its statement in cypher/schema/{file}.cypher again, as the database's administrator"
MISSING = (
    "`graphmem migrate` creates it, as every start does; where the database's user may not, or its log says "
    "that the data is in the way, {again}, which tells the nodes"
)


class SchemaItem(Struct, frozen=True, kw_only=True):
    """An index or a constraint as a schema file makes it."""

    name: str
    type: str
    label: str
    properties: list[str]
    options: dict[str, Any]
    file: str

    @property
    def is_constraint(self) -> bool:
        """Whether it is a constraint, which has an index of its own with the same name."""
        return self.type == UNIQUE


async def migrations(graph: Graph) -> list[Finding]:
    """Compare the database's record of applied schema files with the files."""
    files = schema_files()
    applied = await graph.rows(APPLIED_MIGRATIONS)
    if not applied:
        remedy = "nothing: the next start prepares it, as `graphmem migrate` does"
        return [note("migrations", "this database was never used by graphmem", remedy)]
    try:
        missing = pending(files, applied)
    except SchemaError as error:
        return [refused("migrations", error)]
    if missing:
        names = ", ".join(file.name for file in missing)
        remedy = "nothing: the next start applies them, as `graphmem migrate` does"
        return [note("migrations", f"not applied yet: {names}", remedy)]
    return [ok("migrations", f"all {len(files)} schema files are applied")]


async def drift(graph: Graph, *, dimensions: int) -> list[Finding]:
    """Compare the database's indexes and constraints with those of the applied files."""
    seen = {record.number for record in await graph.rows(APPLIED_MIGRATIONS)}
    files = [file for file in schema_files() if file.number in seen]
    if not files:
        return []
    # Of the files that are not recorded, some statements may have run before the migration was killed.
    later = _named([file for file in schema_files() if file.number not in seen], graph.side)
    made = [
        one
        for one in wanted(files, dimensions=dimensions, side=graph.side)
        if one.name not in later
    ]
    # While the embedding model is changed the vector indexes of both sides exist, which is correct.
    spare = (other(graph.side).index, other(graph.side).passage_index)
    indexes = [
        index
        for index in await graph.rows(SHOWN_INDEXES)
        if index.name not in later and (index.name not in spare or not await _is_changing(graph))
    ]
    constraints = [one for one in await graph.rows(SHOWN_CONSTRAINTS) if one.name not in later]
    found = list(compare(made, indexes, constraints))
    return found or [ok("schema", f"all {len(made)} indexes and constraints are as they should be")]


def _named(files: Sequence[SchemaFile], side: Side) -> set[str]:
    """Return the names of the indexes and constraints that files create or drop."""
    statements = [renamed(one, side) for file in files for one in file.statements]
    found = [CREATED.search(one) or DROPPED.search(one) for one in statements]
    return {one["name"] for one in found if one}


async def _is_changing(graph: Graph) -> bool:
    stored = await installation(graph)
    return stored is not None and stored.change is not None


def wanted(files: Sequence[SchemaFile], *, dimensions: int, side: Side = FIRST) -> list[SchemaItem]:
    """Return the result of all files: their statements in order, on a side of the embeddings."""
    return [
        _wanted(created, one.file, dimensions)
        for one in creations(files, side)
        if (created := CREATED.search(one.statement))
    ]


def searched_properties() -> frozenset[str]:
    """Return the properties of memories in the indexes that searches use: no memory may lack one."""
    return frozenset(
        name
        for one in wanted(schema_files(), dimensions=0)
        if one.label == MEMORY and one.type in {"VECTOR", "FULLTEXT"}
        for name in one.properties
    )


def compare(
    made: Sequence[SchemaItem],
    indexes: Sequence[ShownIndex],
    constraints: Sequence[ShownConstraint],
) -> Iterator[Finding]:
    """Return the differences between the database and the wanted schema."""
    by_name = {index.name: index for index in indexes}
    constrained = {constraint.name: constraint for constraint in constraints}
    for one in made:
        shown = constrained.get(one.name) if one.is_constraint else by_name.get(one.name)
        yield from _differences(one, shown)
        if one.name in by_name:
            yield from _state(one, by_name[one.name])
    yield from _extra(made, indexes, constraints)


def _wanted(created: re.Match[str], file: str, dimensions: int) -> SchemaItem:
    rest = created["rest"]
    kind = created["kind"].removesuffix("INDEX").strip() or "RANGE"
    return SchemaItem(
        name=created["name"],
        type=UNIQUE if kind == "CONSTRAINT" else kind,
        label=created["label"],
        properties=re.findall(rf"\b{created['variable']}\.(\w+)", rest),
        options={
            option["name"]: option["text"] or _value(option["value"], dimensions)
            for option in OPTION.finditer(rest)
        },
        file=file,
    )


def _value(literal: str, dimensions: int) -> Any:
    """Return a number or a truth value from its literal in a statement."""
    return dimensions if literal == "$dimensions" else msgspec.json.decode(literal)


def _differences(one: SchemaItem, shown: ShownIndex | ShownConstraint | None) -> Iterator[Finding]:
    kind = "constraint" if one.is_constraint else "index"
    again = AGAIN.format(file=one.file)
    if shown is None:
        remedy = MISSING.format(again=again)
        yield problem("schema", f"the {kind} {one.name} is missing", remedy)
        return
    other = [
        f"{what} {_told(is_now)} instead of {_told(should)}"
        for what, is_now, should in _compared(one, shown)
        if not _same(is_now, should)
    ]
    if other:
        yield problem(
            "schema",
            f"the {kind} {one.name} has {', '.join(other)}",
            f"drop it, then {again}; an index of many memories takes minutes to fill",
        )


def _compared(
    one: SchemaItem, shown: ShownIndex | ShownConstraint
) -> Iterator[tuple[str, Any, Any]]:
    yield "the type", shown.type, one.type
    yield "the label", shown.labels, [one.label]
    # In the order of the files: a range index serves its first properties first.
    yield "the properties", shown.properties, one.properties
    options = shown.options if isinstance(shown, ShownIndex) else {}
    for name, value in one.options.items():
        yield name, options.get(name), value


def _same(is_now: Any, should: Any) -> bool:
    if isinstance(is_now, str) and isinstance(should, str):
        return is_now.lower() == should.lower()
    return bool(is_now == should)


def _told(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value).lower()


def _state(one: SchemaItem, index: ShownIndex) -> Iterator[Finding]:
    if index.state == POPULATING:
        remedy = "wait: until then searches find less than there is"
        yield warning("schema", f"the index {one.name} is still being filled", remedy)
    elif index.state != ONLINE:
        yield problem(
            "schema",
            f"the index {one.name} is {index.state.lower()} ({index.failure or 'no reason given'})",
            f"drop it, then {AGAIN.format(file=one.file)}",
        )


def _extra(
    made: Sequence[SchemaItem],
    indexes: Sequence[ShownIndex],
    constraints: Sequence[ShownConstraint],
) -> Iterator[Finding]:
    names, labels = {one.name for one in made}, {MEMORY, *declared_nodes()}
    for constraint in constraints:
        if constraint.name not in names and labels & set(constraint.labels):
            yield warning(
                "schema",
                f"the constraint {constraint.name} on {_told(constraint.labels)} is not ours and may "
                "refuse what graphmem writes",
                f"DROP CONSTRAINT {constraint.name}, unless you know what it is for",
            )
    for index in indexes:
        if index.name not in names and index.owner is None and labels & set(index.labels):
            yield warning(
                "schema",
                f"the index {index.name} on {_told(index.labels)} is not ours and makes writing slower",
                f"DROP INDEX {index.name}, unless you know what it is for",
            )
