"""The schema: the classes' declarations, and numbered files, applied in order, once, and never changed."""

import hashlib
import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import neo4j
from msgspec import Struct
from neo4j.exceptions import ClientError, DatabaseError, Forbidden, Neo4jError

from graphmem import config
from graphmem.errors import SchemaError, Unavailable
from graphmem.graph.driver import Graph
from graphmem.graph.installation import Installation, installation
from graphmem.graph.query import Query, renamed
from graphmem.model.progress import Progress
from graphmem.model.vocabulary import FIRST, Side, other

OLDEST_SERVER = (2026, 9)
"""The oldest Neo4j that is known to answer all queries correctly (2026.08.0 does not)."""

INDEX_SECONDS = 600
"""The time limit for the indexes of a restored store to come online."""

CREATED = re.compile(
    r"CREATE (?P<kind>CONSTRAINT|(?:RANGE |VECTOR |FULLTEXT )?INDEX) (?P<name>\w+) IF NOT EXISTS\s+"
    r"FOR \((?P<variable>\w+):(?P<label>\w+)\)\s+(?P<rest>.+)",
    re.DOTALL,
)
DROPPED = re.compile(r"DROP (?:CONSTRAINT|INDEX) (?P<name>\w+) IF EXISTS")
SEARCHED = re.compile(r"CREATE (VECTOR|FULLTEXT) INDEX ")

ONLINE, POPULATING = "ONLINE", "POPULATING"

log = logging.getLogger(__name__)


class SchemaFile(Struct, frozen=True):
    """One numbered file of the schema."""

    number: int
    name: str
    text: str

    @property
    def sha256(self) -> str:
        """The recorded hash, which reveals changed history."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def statements(self) -> list[str]:
        """The statements, each with its own language version."""
        body = self.text.removeprefix("CYPHER 25\n")
        return [f"CYPHER 25\n{part}" for part in body.split(";\n") if part.strip()]


class AppliedFile(Struct, frozen=True):
    """A schema file that was applied to the database."""

    number: int
    name: str
    sha256: str


class Creation(Struct, frozen=True, kw_only=True):
    """A statement that creates an index or a constraint, and its file."""

    name: str
    statement: str
    file: str
    is_constraint: bool


class IndexState(Struct, frozen=True):
    """An index, its state, and the constraint that it serves."""

    name: str
    state: str
    owner: str | None = None


class Migrated(Struct, frozen=True, kw_only=True):
    """The files that were applied; the indexes and constraints that were missing and were created.

    `missing` are those that could not be created; the log says why.
    """

    applied: list[SchemaFile]
    created: list[str]
    missing: list[str]


class ServerVersion(Struct, frozen=True):
    """The server's version."""

    version: str


APPLIED_MIGRATIONS = Query("graph/applied_migrations", AppliedFile)
RECORD_MIGRATION = Query("graph/record_migration", AppliedFile, writes=True)
SERVER_VERSION = Query("graph/server_version", ServerVersion)
INDEX_STATES = Query("graph/index_states", IndexState)


def schema_files(folder: Path | None = None) -> list[SchemaFile]:
    """Return the schema files in their order."""
    folder = folder or config.folder("cypher") / "schema"
    return [
        SchemaFile(int(path.name[:3]), path.stem, path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("[0-9][0-9][0-9]_*.cypher"))
    ]


async def migrate(
    graph: Graph, *, dimensions: int, progress: Progress, folder: Path | None = None
) -> Migrated:
    """Bring the database's schema up to date, create its missing parts, and wait for its indexes.

    Safe when several processes start at once: one applies, the others wait. Raises `SchemaError` if the
    server is too old, an applied file has changed, a newer graphmem has migrated the database, or the
    database's user may not create the missing parts. Statements about the vector indexes apply to those of
    the installation's side; `dimensions` is the length of the embeddings of a new installation.
    """
    await check_server(graph)
    files = schema_files(folder)
    begun = await _bootstrap(graph, creations(files[:1]))
    async with _lock(graph) as lock:
        # Under the lock: meanwhile another process may have changed the model, and with it the side.
        stored = await installation(graph)
        graph, dimensions = (
            (graph.on(stored.side), stored.dimensions) if stored else (graph, dimensions)
        )
        missing = pending(files, await graph.rows(APPLIED_MIGRATIONS))
        is_new = len(missing) == len(files) and stored is None
        for number, file in enumerate(missing):
            progress("preparing the schema", number, len(missing))
            # A new store has nothing to mend, and statements that mend take long to plan.
            await _apply(graph, file, dimensions, mends=not is_new)
        created, left = await _repair(graph, _needed(files, stored, graph.side, dimensions))
        # In the lock's transaction, which is exempt from the server's time limit for transactions.
        await (await lock.run(f"CALL db.awaitIndexes({INDEX_SECONDS})")).consume()
    if missing:
        progress("preparing the schema", len(missing), len(missing))
    done = Migrated(applied=missing, created=[*([] if is_new else begun), *created], missing=left)
    _log_repairs(done)
    return done


def creations(files: Sequence[SchemaFile], side: Side = FIRST) -> list[Creation]:
    """Return the statements that create the schema of all files together, on a side of the embeddings."""
    made: dict[str, Creation] = {}
    for file in files:
        for statement in (renamed(one, side) for one in file.statements):
            if dropped := DROPPED.search(statement):
                made.pop(dropped["name"], None)
            elif created := CREATED.search(statement):
                made[created["name"]] = Creation(
                    name=created["name"],
                    statement=statement,
                    file=file.name,
                    is_constraint=created["kind"] == "CONSTRAINT",
                )
    return list(made.values())


@cache
def searched_indexes(side: Side) -> tuple[str, ...]:
    """Return the names of the indexes without which no question is answered on a side."""
    made = creations(schema_files(), side)
    return tuple(one.name for one in made if SEARCHED.search(one.statement))


async def unanswerable(graph: Graph) -> str | None:
    """Return the reason for which questions cannot be answered; None if all indexes of searches are online.

    Raises `Unavailable`.
    """
    states = {one.name: one.state for one in await graph.rows(INDEX_STATES)}
    for name in searched_indexes(graph.side):
        state = states.get(name)
        if state is None:
            return (
                f"the index {name} is missing: `graphmem migrate` creates it, as every start does"
            )
        if state == POPULATING:
            return f"the index {name} is still being filled: wait"
        if state != ONLINE:
            return f"the index {name} is {state.lower()}: `graphmem doctor` says what to do"
    return None


def vector_index(side: Side) -> str:
    """Return the statement that creates a side's index of memories: the schema's last, so all are alike."""
    return _creating(side.index, side)


def passage_index(side: Side) -> str:
    """Return the statement that creates a side's index of passages."""
    return _creating(side.passage_index, side)


def _creating(index: str, side: Side) -> str:
    return next(one.statement for one in creations(schema_files(), side) if one.name == index)


async def check_server(graph: Graph) -> str:
    """Return the server's version; raise `SchemaError` if it is older than `OLDEST_SERVER`."""
    version = (await graph.rows(SERVER_VERSION))[0].version
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST_SERVER:
        oldest = ".".join(f"{part:02d}" for part in OLDEST_SERVER)
        raise SchemaError(
            f"this Neo4j is {version}; graphmem needs {oldest} or newer: upgrade the server, "
            "or unset GRAPHMEM_NEO4J_URI to use a private one"
        )
    return version


def pending(files: list[SchemaFile], applied: list[AppliedFile]) -> list[SchemaFile]:
    """Return the files still to apply; raise `SchemaError` if the applied ones differ from them."""
    known = {file.number: file for file in files}
    for record in applied:
        file = known.get(record.number)
        if file is None:
            raise SchemaError(
                f"the database has seen schema file {record.name}, which this graphmem does not "
                "have: it was used by a newer version; upgrade graphmem"
            )
        if file.sha256 != record.sha256:
            raise SchemaError(
                f"schema file {record.name} is not the one that was applied to this database: "
                "restore it and put the change into a new file with the next number"
            )
    seen = {record.number for record in applied}
    return [file for file in files if file.number not in seen]


async def _bootstrap(graph: Graph, first: Sequence[Creation]) -> list[str]:
    """Create the constraints that the lock depends on, if they are missing; return their names.

    Two processes may do so at once.
    """
    lacking = await _lacking(graph, first)
    for one in lacking:
        try:
            await graph.execute(one.statement)
        except Forbidden as problem:
            raise _forbidden(one) from problem
        except ClientError as problem:
            if "AlreadyExists" not in (problem.code or ""):
                raise
    return [one.name for one in lacking]


def _needed(
    files: Sequence[SchemaFile], stored: Installation | None, side: Side, dimensions: int
) -> list[tuple[Creation, int]]:
    """Return the statements that create the whole schema, with the length of embeddings.

    While the model is changed it includes the vector indexes of the other side, once they exist.
    """
    needed = {one.name: (one, dimensions) for one in creations(files, side)}
    if stored and stored.change and stored.change.indexed and stored.beside:
        for one in creations(files, other(side)):
            needed.setdefault(one.name, (one, stored.beside.dimensions))
    return list(needed.values())


async def _repair(
    graph: Graph, needed: Sequence[tuple[Creation, int]]
) -> tuple[list[str], list[str]]:
    """Create the missing parts; return the names of the created ones, and of those that could not be."""
    lengths = {one.name: dimensions for one, dimensions in needed}
    lacking = await _lacking(graph, [one for one, _ in needed])
    if not lacking:
        return [], []
    for one in lacking:
        await _create(graph, one, lengths[one.name])
    # A statement does nothing where another index has the same properties.
    left = [one.name for one in await _lacking(graph, lacking)]
    return [one.name for one in lacking if one.name not in left], left


async def _lacking(graph: Graph, wanted: Sequence[Creation]) -> list[Creation]:
    there = {(one.name, one.owner is not None) for one in await graph.rows(INDEX_STATES)}
    return [one for one in wanted if (one.name, one.is_constraint) not in there]


async def _create(graph: Graph, one: Creation, dimensions: int) -> None:
    """Create an index or a constraint; log the reason if the stored data is in its way."""
    try:
        await graph.execute(one.statement, dimensions=dimensions)
    except (Neo4jError, Unavailable) as problem:
        reason = problem if isinstance(problem, Neo4jError) else problem.__cause__
        if isinstance(reason, Forbidden):
            raise _forbidden(one) from problem
        if not isinstance(reason, ClientError | DatabaseError):
            raise
        log.error("%s is missing and cannot be created: %s", one.name, reason.code)


def _forbidden(one: Creation) -> SchemaError:
    kind = "constraint" if one.is_constraint else "index"
    return SchemaError(
        f"the {kind} {one.name} is missing, and the database's user may not create it: run its statement in "
        f"cypher/schema/{one.file}.cypher as the database's administrator, then start again"
    )


def _log_repairs(done: Migrated) -> None:
    """Log the missing parts of the schema."""
    if done.created:
        log.warning("created what was missing of the schema: %s", ", ".join(done.created))
    if done.missing:
        log.error(
            "still missing of the schema: %s; `graphmem doctor` says what to do",
            ", ".join(done.missing),
        )


@asynccontextmanager
async def _lock(graph: Graph) -> AsyncIterator[neo4j.AsyncTransaction]:
    """Hold the write lock on migration 0, a node of no file, until the end or this process's death."""
    async with (
        graph.driver.session(
            database=graph.database, default_access_mode=neo4j.WRITE_ACCESS
        ) as session,
        await session.begin_transaction(timeout=0) as transaction,
    ):
        await (
            await transaction.run(
                "CYPHER 25 MERGE (lock:Migration {number: 0}) SET lock.locked = true"
            )
        ).consume()
        yield transaction
        await transaction.commit()


async def _apply(graph: Graph, file: SchemaFile, dimensions: int, *, mends: bool) -> None:
    """Apply a file, with or without the statements that mend stored data, and record it."""
    for statement in file.statements:
        if mends or DROPPED.search(statement) or CREATED.search(statement):
            await graph.execute(renamed(statement, graph.side), dimensions=dimensions)
    await graph.write(
        lambda transaction: transaction.rows(
            RECORD_MIGRATION, number=file.number, name=file.name, sha256=file.sha256
        )
    )


MEMORY = "Memory"

_TYPES = {
    "StringProperty": "STRING NOT NULL",
    "IntegerProperty": "INTEGER NOT NULL",
    "FloatProperty": "FLOAT NOT NULL",
    "BooleanProperty": "BOOLEAN NOT NULL",
    "DateTimeNeo4jFormatProperty": "ZONED DATETIME NOT NULL",
}
"""The type of a value in the database, as `valueType()` names it, by neomodel's class."""

_EMPTY_LIST = "LIST<NOTHING> NOT NULL"


class DeclaredProperty(Struct, frozen=True):
    """A property: the types that its values may have, and whether every node has it."""

    types: frozenset[str]
    required: bool


class DeclaredEdge(Struct, frozen=True):
    """A type of edge between two labels, and the properties of such an edge."""

    type: str
    from_label: str
    to_label: str
    properties: Mapping[str, DeclaredProperty]


class DeclaredNode(Struct, frozen=True):
    """A class of nodes: all labels of such a node, its properties, and the edges that begin at it."""

    label: str
    labels: frozenset[str]
    properties: Mapping[str, DeclaredProperty]
    edges: tuple[DeclaredEdge, ...]

    @property
    def is_memory(self) -> bool:
        """Whether such nodes are memories."""
        return MEMORY in self.labels


@cache
def declared_nodes() -> Mapping[str, DeclaredNode]:
    """Return the classes of nodes by label, in the order of `nodes.py`; `Memory` is never alone."""
    from neomodel import AsyncStructuredNode

    from graphmem.graph import nodes

    found = [
        value
        for value in vars(nodes).values()
        if isinstance(value, type)
        and issubclass(value, AsyncStructuredNode)
        and value is not AsyncStructuredNode
        and not value.__subclasses__()
    ]
    return {node.__label__: _node(node) for node in found}


@cache
def edge_sources() -> Mapping[str, frozenset[str]]:
    """Return the labels of the nodes at which edges of each type begin."""
    edges = [edge for node in declared_nodes().values() for edge in node.edges]
    return {
        type: frozenset(edge.from_label for edge in edges if edge.type == type)
        for type in sorted({edge.type for edge in edges})
    }


def _node(node: Any) -> DeclaredNode:
    relationships = node.defined_properties(properties=False, aliases=False).values()
    return DeclaredNode(
        label=node.__label__,
        labels=frozenset(node.inherited_labels()),
        properties=_properties(node),
        edges=tuple(_edge(node.__label__, relationship) for relationship in relationships),
    )


def _edge(from_label: str, relationship: Any) -> DeclaredEdge:
    relationship.lookup_node_class()
    definition = relationship.definition
    return DeclaredEdge(
        type=definition["relation_type"],
        from_label=from_label,
        to_label=definition["node_class"].__label__,
        properties=_properties(definition["model"]) if definition["model"] else {},
    )


def _properties(declaring: Any) -> dict[str, DeclaredProperty]:
    """Return the properties that a class declares, by their names in the database."""
    return {
        value.get_db_property_name(name): DeclaredProperty(_types(value), value.required)
        for name, value in declaring.defined_properties(aliases=False, rels=False).items()
    }


def _types(value: Any) -> frozenset[str]:
    if type(value).__name__ != "ArrayProperty":
        return frozenset({_TYPES[type(value).__name__]})
    item = _TYPES[type(value.base_property).__name__]
    return frozenset({f"LIST<{item}> NOT NULL", _EMPTY_LIST})
