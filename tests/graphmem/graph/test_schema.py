"""Migrating: on a private Neo4j of this module's own, since its schema is dropped again and again."""

import asyncio
import hashlib
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import neo4j
import pytest
from neo4j.exceptions import Forbidden

from graphmem import config
from graphmem.artifacts.model import BUNDLED
from graphmem.errors import DiskFull, ModelMismatch, SchemaError
from graphmem.graph import schema
from graphmem.graph.driver import Graph, connect
from graphmem.graph.installation import STORED_INSTALLATION, Installation, agree
from graphmem.graph.schema import (
    AppliedFile,
    Migrated,
    SchemaFile,
    ServerVersion,
    check_server,
    migrate,
    pending,
    schema_files,
)
from graphmem.model.progress import silent
from graphmem.server.private import PrivateServer, private_server
from tests.scripted import ScriptedGraph

NAMES = [file.name for file in schema_files()]
OURS = Installation("model", "a" * 64, 384, "o200k_base")

HOLDER = """
import asyncio, sys
from graphmem.graph.driver import connect
from graphmem.graph.schema import _lock

async def hold():
    graph = await connect(sys.argv[1], sys.argv[2], sys.argv[3], "neo4j")
    async with _lock(graph):
        print("held", flush=True)
        await asyncio.sleep(600)

asyncio.run(hold())
"""

MIGRATOR = """
import asyncio, sys
from graphmem.graph.driver import connect
from graphmem.graph.schema import migrate
from graphmem.model.progress import silent

async def start():
    graph = await connect(sys.argv[1], sys.argv[2], sys.argv[3], "neo4j")
    print(len((await migrate(graph, dimensions=384, progress=silent)).applied))
    await graph.close()

asyncio.run(start())
"""


@pytest.fixture(scope="module")
async def server(
    tmp_path_factory: pytest.TempPathFactory, own_server: None
) -> AsyncIterator[PrivateServer]:
    """One private server for the module."""
    settings = config.load(
        data_dir=tmp_path_factory.mktemp("schema") / "data",
        neo4j_heap="512m",
        neo4j_page_cache="64m",
    )
    async with private_server(settings) as started:
        yield started


@pytest.fixture
async def connected(server: PrivateServer) -> AsyncIterator[Callable]:
    """Return what makes another connection, as another process has one."""
    graphs = []

    async def another() -> Graph:
        graphs.append(await connect(server.uri, server.user, server.password, "neo4j"))
        return graphs[-1]

    yield another
    for graph in graphs:
        await graph.close()


@pytest.fixture
async def fresh(connected: Callable) -> Graph:
    """A database that nothing was ever written to."""
    graph = await connected()
    await graph.execute("MATCH (node) DETACH DELETE node")
    for row in await graph.execute("SHOW CONSTRAINTS YIELD name"):
        await graph.execute(f"DROP CONSTRAINT `{row['name']}`")
    for row in await graph.execute("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP'"):
        await graph.execute(f"DROP INDEX `{row['name']}`")
    return graph


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the schema's files, to be changed."""
    return Path(shutil.copytree(config.folder("cypher") / "schema", tmp_path / "schema"))


async def migrated(graph: Graph, folder: Path | None = None) -> list[str]:
    done = await migrate(graph, dimensions=384, progress=silent, folder=folder)
    return [file.name for file in done.applied]


async def recorded(graph: Graph) -> list[AppliedFile]:
    return await graph.rows(schema.APPLIED_MIGRATIONS)


async def indexes(graph: Graph) -> dict[str, str]:
    rows = await graph.execute("SHOW INDEXES YIELD name, state, type WHERE type <> 'LOOKUP'")
    return {row["name"]: row["state"] for row in rows}


async def test_a_fresh_database_gets_every_file_in_order_with_its_hash(fresh: Graph):
    assert await migrated(fresh) == NAMES

    folder = config.folder("cypher") / "schema"
    hashes = [hashlib.sha256((folder / f"{n}.cypher").read_bytes()).hexdigest() for n in NAMES]
    records = await recorded(fresh)
    assert [(record.name, record.sha256) for record in records] == list(
        zip(NAMES, hashes, strict=True)
    )
    assert [record.number for record in records] == list(range(1, len(NAMES) + 1))
    times = await fresh.execute(
        "MATCH (m:Migration) WHERE m.number > 0 RETURN m.applied_at AS at ORDER BY m.number"
    )
    assert [row["at"] for row in times] == sorted(row["at"] for row in times)
    found = await indexes(fresh)
    assert {"memory_embedding", "memory_text", "memory_id", "migration_number"} <= set(found)
    assert set(found.values()) == {"ONLINE"}


async def test_a_new_store_is_not_mended(fresh: Graph, monkeypatch: pytest.MonkeyPatch):
    sent: list[str] = []
    execute = Graph.execute

    async def noted(graph: Graph, text: str, **parameters: Any) -> Any:
        sent.append(text)
        return await execute(graph, text, **parameters)

    monkeypatch.setattr(Graph, "execute", noted)
    await migrated(fresh)

    assert len(sent) > 60
    assert [text for text in sent if "IN TRANSACTIONS" in text] == []


async def test_the_vector_index_has_the_length_of_the_installation_s_embeddings(fresh: Graph):
    await migrate(fresh, dimensions=17, progress=silent)

    assert (await lengths(fresh))["memory_embedding"] == 17


async def test_again_nothing_is_left_to_do(fresh: Graph):
    await migrated(fresh)
    before = await fresh.execute("MATCH (m:Migration) RETURN m ORDER BY m.number")

    assert await migrated(fresh) == []
    assert await fresh.execute("MATCH (m:Migration) RETURN m ORDER BY m.number") == before


async def repaired(graph: Graph) -> Migrated:
    done = await migrate(graph, dimensions=384, progress=silent)
    assert done.applied == []
    return done


@pytest.mark.parametrize(
    ("harm", "name"),
    [
        ("DROP INDEX memory_text", "memory_text"),
        ("DROP INDEX memory_embedding", "memory_embedding"),
        ("DROP INDEX job_due", "job_due"),
        ("DROP CONSTRAINT job_key", "job_key"),
        ("DROP CONSTRAINT migration_number", "migration_number"),
    ],
)
async def test_what_is_missing_is_created_again_and_told(
    fresh: Graph, caplog: pytest.LogCaptureFixture, harm: str, name: str
):
    await migrated(fresh)
    before = await indexes(fresh)
    await fresh.execute(harm)

    assert (await repaired(fresh)).created == [name]

    assert await indexes(fresh) == before
    assert set(before.values()) == {"ONLINE"}
    assert f"created what was missing of the schema: {name}" in caplog.messages
    assert (await repaired(fresh)).created == []


async def test_the_vector_indexes_of_the_installation_s_side_are_created_again(fresh: Graph):
    await fresh.execute(
        "CREATE (:Installation {id: 'installation', embedding_model: 'm', embedding_sha256: 'a', "
        "dimensions: 17, tokenizer: 'o200k_base', embeddings: ['embedding_2']})"
    )
    await migrated(fresh)
    await fresh.execute("DROP INDEX memory_embedding_2")

    assert (await repaired(fresh)).created == ["memory_embedding_2"]

    assert await lengths(fresh) == {"memory_embedding_2": 17, "passage_embedding_2": 17}


async def test_during_a_change_of_the_model_those_of_the_other_side_are_too(fresh: Graph):
    await fresh.execute(
        "CREATE (:Installation {id: 'installation', embedding_model: 'm', embedding_sha256: 'a', "
        "dimensions: 17, tokenizer: 'o200k_base', embeddings: ['embedding', 'embedding_2'], "
        "change_id: 'c', change_state: 'embedding', change_at: datetime(), change_done: 0, "
        "change_total: 1, wanted_model: 'w', wanted_sha256: 'b', wanted_dimensions: 9, "
        "wanted_low: .5, wanted_high: .8})"
    )
    await migrated(fresh)
    assert set(await lengths(fresh)) == {"memory_embedding", "passage_embedding"}

    await fresh.execute("MATCH (one:Installation) SET one.change_indexed = true")

    assert (await repaired(fresh)).created == ["memory_embedding_2", "passage_embedding_2"]
    assert (await lengths(fresh))["memory_embedding_2"] == 9


async def lengths(graph: Graph) -> dict[str, int]:
    rows = await graph.execute("SHOW VECTOR INDEXES YIELD name, options")
    return {row["name"]: row["options"]["indexConfig"]["vector.dimensions"] for row in rows}


async def test_what_the_data_does_not_admit_stays_missing_and_is_told(
    fresh: Graph, caplog: pytest.LogCaptureFixture
):
    await migrated(fresh)
    await fresh.execute("DROP CONSTRAINT job_id")
    await fresh.execute("UNWIND [1, 2] AS n CREATE (:Job {client_id: 'x', id: 'twice'})")

    done = await repaired(fresh)

    assert (done.created, done.missing) == ([], ["job_id"])
    assert "job_id is missing and cannot be created: Neo." in caplog.text


async def test_an_index_that_another_one_keeps_out_stays_missing(fresh: Graph):
    await migrated(fresh)
    await fresh.execute("DROP INDEX job_due")
    await fresh.execute("CREATE INDEX mine FOR (job:Job) ON (job.state, job.run_at)")

    assert (await repaired(fresh)).missing == ["job_due"]


async def test_a_user_who_may_not_create_what_is_missing_is_told_the_statement(
    fresh: Graph, monkeypatch: pytest.MonkeyPatch
):
    await migrated(fresh)
    await fresh.execute("DROP INDEX memory_text")
    execute = fresh.execute

    async def forbidden(graph: Graph, statement: str, **parameters):
        raise Forbidden("Schema operations are not allowed")

    monkeypatch.setattr(Graph, "execute", forbidden)
    with pytest.raises(SchemaError) as raised:
        await repaired(fresh)
    monkeypatch.undo()

    assert str(raised.value) == (
        "the index memory_text is missing, and the database's user may not create it: run its statement in "
        "cypher/schema/003_search.cypher as the database's administrator, then start again"
    )
    assert "memory_text" not in {row["name"] for row in await execute("SHOW INDEXES YIELD name")}


async def test_a_file_that_came_later_is_applied_alone(fresh: Graph, copied: Path):
    last = copied / f"{NAMES[-1]}.cypher"
    kept = last.read_text()
    last.unlink()
    assert await migrated(fresh, copied) == NAMES[:-1]

    last.write_text(kept)
    assert await migrated(fresh, copied) == NAMES[-1:]


async def mended(fresh: Graph, copied: Path, file: str, stored: str) -> None:
    """Apply a file of the schema to a store of before, in which a statement has stored something."""
    mend = copied / f"{file}.cypher"
    kept = mend.read_text()
    mend.unlink()
    await migrated(fresh, copied)
    await fresh.execute(stored)

    mend.write_text(kept)
    await migrated(fresh, copied)


async def test_an_expiry_with_the_name_of_a_zone_is_stored_in_utc(fresh: Graph, copied: Path):
    await mended(
        fresh,
        copied,
        "020_expiries",
        "UNWIND ['2027-01-01T01:00:00+01:00', '2027-01-01T00:00:00[UTC]'] AS expiry "
        "CREATE (:Memory {client_id: 'x', id: expiry, expires_at: datetime(expiry)})",
    )

    rows = await fresh.execute("MATCH (one:Memory) RETURN toString(one.expires_at) AS at")
    assert {row["at"] for row in rows} == {"2027-01-01T01:00:00+01:00", "2027-01-01T00:00:00Z"}


async def test_a_version_that_a_later_correction_ends_earlier_gets_that_end(
    fresh: Graph, copied: Path
):
    await mended(
        fresh,
        copied,
        "021_ends",
        "UNWIND [[1, 3, false], [3, 3, false], [2, 9, true]] AS one "
        "CREATE (:Memory {client_id: 'x', id: toString(one[0]), active: one[2], "
        "valid_at: datetime({year: 2020 + one[0]}), invalid_at: datetime({year: 2020 + one[1]})}) "
        "WITH count(*) AS made "
        "MATCH (first:Memory {id: '1'}), (second:Memory {id: '3'}), (third:Memory {id: '2'}) "
        "CREATE (first)<-[:SUPERSEDES]-(second)<-[:SUPERSEDES]-(third)",
    )

    rows = await fresh.execute("MATCH (one:Memory) RETURN one.id AS id, one.invalid_at.year AS end")
    assert {row["id"]: row["end"] for row in rows} == {"1": 2022, "3": 2023, "2": 2029}


async def test_progress_counts_the_files(fresh: Graph):
    heard = []
    await migrate(
        fresh, dimensions=384, progress=lambda stage, done=0, total=0: heard.append((done, total))
    )

    assert heard == [(done, len(NAMES)) for done in range(len(NAMES) + 1)]


async def test_several_that_start_at_once_apply_it_once(fresh: Graph, connected: Callable):
    graphs = [await connected() for _ in range(5)]
    applied = await asyncio.gather(*(migrated(graph) for graph in graphs))

    assert sorted(applied, key=len) == [[]] * 4 + [NAMES]
    assert len(await recorded(fresh)) == len(NAMES)


async def test_two_processes_that_start_at_once_apply_it_once(fresh: Graph, server: PrivateServer):
    processes = [
        await asyncio.create_subprocess_exec(
            *program(MIGRATOR, server), cwd=ROOT, stdout=subprocess.PIPE
        )
        for _ in range(2)
    ]
    answers = await asyncio.gather(*(process.communicate() for process in processes))

    assert sorted(int(out) for out, _ in answers) == [0, len(NAMES)]
    assert len(await recorded(fresh)) == len(NAMES)


@pytest.mark.parametrize("statements", [1, 5])
async def test_what_a_crash_left_half_done_is_finished_by_the_next_start(
    fresh: Graph, monkeypatch: pytest.MonkeyPatch, statements: int
):
    execute, left = fresh.execute, [statements]

    async def crashing(statement: str, **parameters):
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        return await execute(statement, **parameters)

    monkeypatch.setattr(fresh, "execute", crashing)
    with pytest.raises(KeyboardInterrupt):
        await migrated(fresh)
    monkeypatch.undo()
    before = [record.name for record in await recorded(fresh)]

    assert before + await migrated(fresh) == NAMES
    assert set((await indexes(fresh)).values()) == {"ONLINE"}


async def test_the_lock_keeps_others_out_until_its_holder_is_killed(
    fresh: Graph, server: PrivateServer
):
    await migrated(fresh)
    holder = await asyncio.create_subprocess_exec(
        *program(HOLDER, server), cwd=ROOT, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert await holder.stdout.readline() == b"held\n"
        waiting = asyncio.create_task(migrated(fresh))
        done, _ = await asyncio.wait({waiting}, timeout=1.0)
        assert not done

        holder.send_signal(signal.SIGKILL)
        async with asyncio.timeout(300):
            assert await waiting == []
    finally:
        if holder.returncode is None:
            holder.kill()
        await holder.communicate()


async def test_the_lock_outlives_the_server_s_limit_for_transactions(
    fresh: Graph, monkeypatch: pytest.MonkeyPatch
):
    """Indexes may take longer to build than any transaction may last: 0 is no limit."""
    limits = []
    begin = neo4j.AsyncSession.begin_transaction

    async def heard(session, *args, **options):
        limits.append(options.get("timeout"))
        return await begin(session, *args, **options)

    monkeypatch.setattr(neo4j.AsyncSession, "begin_transaction", heard)
    async with schema._lock(fresh):
        pass
    assert limits == [0]


async def test_changed_history_is_refused(fresh: Graph, copied: Path):
    await migrated(fresh, copied)
    changed = copied / f"{NAMES[1]}.cypher"
    changed.write_text(changed.read_text() + "\n// a thought that came later\n")

    with pytest.raises(SchemaError) as raised:
        await migrated(fresh, copied)
    assert str(raised.value) == (
        f"schema file {NAMES[1]} is not the one that was applied to this database: "
        "restore it and put the change into a new file with the next number"
    )


async def test_a_database_that_a_newer_graphmem_has_used_is_refused(fresh: Graph, copied: Path):
    (copied / "900_from_the_future.cypher").write_text(
        "CYPHER 25\n// Tomorrow.\nCREATE INDEX tomorrow IF NOT EXISTS FOR (n:Tomorrow) ON (n.id);\n"
    )
    await migrated(fresh, copied)

    with pytest.raises(SchemaError, match=r"has seen schema file 900_from_the_future, .* upgrade"):
        await migrated(fresh)


@pytest.mark.parametrize("version", ["2026.08.0", "2025.12.1", "5.26.0", "4.4.30", "5.26-aura"])
async def test_a_server_that_is_too_old_is_refused(version: str):
    graph = ScriptedGraph({"graph/server_version": [ServerVersion(version)]})

    with pytest.raises(SchemaError) as raised:
        await migrate(graph, dimensions=384, progress=silent)
    assert str(raised.value).startswith(f"this Neo4j is {version}; graphmem needs 2026.09 or newer")
    assert graph.names == ["graph/server_version"], "nothing was written"


@pytest.mark.parametrize("version", ["2026.09.0", "2026.10.0", "2026.12-aura", "2027.01.0"])
async def test_a_server_that_is_new_enough_is_taken(version: str):
    graph = ScriptedGraph({"graph/server_version": [ServerVersion(version)]})

    assert await check_server(graph) == version


def test_only_what_is_missing_is_pending():
    files = [SchemaFile(number, f"00{number}_x", str(number)) for number in (1, 2, 3)]
    seen = [AppliedFile(file.number, file.name, file.sha256) for file in files[:2]]

    assert pending(files, seen) == files[2:]
    assert pending(files, []) == files
    assert pending(files, [seen[1]]) == [files[0], files[2]], "a gap is filled"


def test_each_statement_of_a_file_has_the_language_version():
    file = SchemaFile(1, "001_x", "CYPHER 25\n// Two.\nCREATE a;\n\nCREATE b;\n")

    assert [s.splitlines()[0] for s in file.statements] == ["CYPHER 25"] * 2
    assert [s.splitlines()[-1] for s in file.statements] == ["CREATE a", "CREATE b"]


async def test_the_first_to_come_decides_model_and_tokenizer(fresh: Graph):
    await agree(fresh, OURS)
    await agree(fresh, OURS)

    rows = await fresh.execute("MATCH (i:Installation) RETURN i.embedding_model AS model")
    assert rows == [{"model": "model"}]


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (Installation("model", "b" * 64, 384, "o200k_base"), "embedded with 'model' .sha256 aaaa"),
        (Installation("other", "a" * 64, 384, "o200k_base"), "not with 'other' "),
        (Installation("model", "a" * 64, 768, "o200k_base"), "384 dimensions.*768"),
        (Installation("model", "a" * 64, 384, "cl100k_base"), "counted with 'o200k_base', .*cl100"),
    ],
)
async def test_another_model_or_tokenizer_is_refused_and_changes_nothing(
    fresh: Graph, other: Installation, sentence: str
):
    await agree(fresh, OURS)

    with pytest.raises(ModelMismatch, match=sentence):
        await agree(fresh, other)
    await agree(fresh, OURS)


async def test_a_start_on_a_full_disk_writes_nothing_and_goes_on(fresh: Graph):
    await migrated(fresh)
    stored = await agree(fresh, OURS)
    fresh.refuse_writes(DiskFull(12, 256))
    try:
        assert await migrated(fresh) == []
        assert await agree(fresh, OURS) == stored
    finally:
        fresh.refuse_writes(None)


async def test_of_two_models_at_once_one_wins(fresh: Graph, connected: Callable):
    await migrated(fresh)
    theirs = Installation("other", "b" * 64, 384, "o200k_base")
    graphs = [await connected() for _ in range(6)]
    answers = await asyncio.gather(
        *(agree(graph, (OURS, theirs)[place % 2]) for place, graph in enumerate(graphs)),
        return_exceptions=True,
    )

    assert sum(isinstance(answer, ModelMismatch) for answer in answers) == 3
    assert len(await fresh.execute("MATCH (i:Installation) RETURN i.id")) == 1


BUNDLED_ONE = Installation(BUNDLED, "b" * 64, 384, "o200k_base")
URL = "http://127.0.0.1:1/v1#fake"
OF_URL = Installation("url/fake", "c" * 64, 256, "o200k_base", URL)


@pytest.mark.parametrize(
    ("stored", "other", "sentence"),
    [
        (OURS, OF_URL, "names: set GRAPHMEM_EMBEDDING_MODEL to model, embed them anew"),
        (OF_URL, OURS, f"names: set GRAPHMEM_EMBEDDING_MODEL to {URL}, embed them anew"),
        (
            OF_URL,
            BUNDLED_ONE,
            "since GRAPHMEM_EMBEDDING_MODEL is not set: set GRAPHMEM_EMBEDDING_MODEL to http",
        ),
        (BUNDLED_ONE, OF_URL, "names: unset GRAPHMEM_EMBEDDING_MODEL, embed them anew"),
    ],
)
async def test_what_is_stored_decides_not_what_is_asked(
    stored: Installation, other: Installation, sentence: str
):
    graph = ScriptedGraph({STORED_INSTALLATION.name: [stored]})

    await agree(graph, stored)
    with pytest.raises(ModelMismatch, match=sentence):
        await agree(graph, other)


ROOT = Path(__file__).parents[3]


def program(text: str, server: PrivateServer) -> list[str]:
    return [sys.executable, "-c", text, server.uri, server.user, server.password]
