"""The schema: numbered files, applied in order, once, and never changed afterwards."""

import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import neo4j
from msgspec import Struct
from neo4j.exceptions import ClientError

from graphmem import resources
from graphmem.errors import SchemaError
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query, renamed
from graphmem.model.progress import Progress
from graphmem.model.side import FIRST, Side

OLDEST_SERVER = (2026, 9)
"""The oldest Neo4j that is known to answer all queries correctly (2026.08.0 does not)."""

INDEX_SECONDS = 600
"""The time limit for the indexes of a restored store to come online."""


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


class ServerVersion(Struct, frozen=True):
    """The server's version."""

    version: str


APPLIED_MIGRATIONS = Query("graph/applied_migrations", AppliedFile)
RECORD_MIGRATION = Query("graph/record_migration", AppliedFile, writes=True)
SERVER_VERSION = Query("graph/server_version", ServerVersion)


def schema_files(folder: Path | None = None) -> list[SchemaFile]:
    """Return the schema files in their order."""
    folder = folder or resources.folder("cypher") / "schema"
    return [
        SchemaFile(int(path.name[:3]), path.stem, path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("[0-9][0-9][0-9]_*.cypher"))
    ]


async def migrate(
    graph: Graph, *, dimensions: int, progress: Progress, folder: Path | None = None
) -> list[SchemaFile]:
    """Bring the database's schema up to date and wait for its indexes; return the applied files.

    Safe when several processes start at once: one applies, the others wait. Raises `SchemaError` if the
    server is too old, an applied file has changed, or a newer graphmem has migrated the database.
    Statements about the vector index apply to that of the graph's side.
    """
    await check_server(graph)
    files = schema_files(folder)
    await _bootstrap(graph, files[0])
    async with _lock(graph) as lock:
        missing = pending(files, await graph.rows(APPLIED_MIGRATIONS))
        for done, file in enumerate(missing):
            progress("preparing the schema", done, len(missing))
            await _apply(graph, file, dimensions)
        # In the lock's transaction, which is exempt from the server's time limit for transactions.
        await (await lock.run(f"CALL db.awaitIndexes({INDEX_SECONDS})")).consume()
    if missing:
        progress("preparing the schema", len(missing), len(missing))
    return missing


def vector_index(side: Side) -> str:
    """Return the statement that creates a side's index of memories: the schema's last, so all are alike."""
    return _creating(FIRST.index, side)


def passage_index(side: Side) -> str:
    """Return the statement that creates a side's index of passages."""
    return _creating(FIRST.passage_index, side)


def _creating(index: str, side: Side) -> str:
    made = f"CREATE VECTOR INDEX {index} "
    statements = [one for file in schema_files() for one in file.statements if made in one]
    return renamed(statements[-1], side)


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


async def _bootstrap(graph: Graph, first: SchemaFile) -> None:
    """Create the constraint that the lock depends on; two processes may do so at once."""
    for statement in first.statements:
        try:
            await graph.execute(statement)
        except ClientError as problem:
            if "AlreadyExists" not in (problem.code or ""):
                raise


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


async def _apply(graph: Graph, file: SchemaFile, dimensions: int) -> None:
    for statement in file.statements:
        await graph.execute(renamed(statement, graph.side), dimensions=dimensions)
    await graph.write(
        lambda transaction: transaction.rows(
            RECORD_MIGRATION, number=file.number, name=file.name, sha256=file.sha256
        )
    )
