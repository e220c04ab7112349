"""Every defect is really made, on a server of this module's own, and the doctor names it."""

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.config import Settings, load
from graphmem.doctor import examination
from graphmem.doctor.examination import examine
from graphmem.doctor.findings import Examination, Finding
from graphmem.doctor.integrity import check_span_texts
from graphmem.graph.schema import vector_index
from graphmem.model.vocabulary import FIRST
from graphmem.retrieval.understanding import Vocabulary
from graphmem.runtime import Runtime, running
from graphmem.server import folder, private
from graphmem.server.folder import Record
from graphmem.server.process import servers

SAID = [
    {"session_id": session, "role": "user", "content": f"Note {number} of {session}."}
    for session in ("monday", "tuesday")
    for number in range(4)
]
VECTOR = """CYPHER 25
CREATE VECTOR INDEX memory_embedding FOR (memory:Memory) ON memory.embedding
WITH [memory.client_id]
OPTIONS {indexConfig: {`vector.dimensions`: 8, `vector.similarity_function`: 'euclidean',
  `vector.quantization.type`: 'scalar'}}"""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory, own_server: None) -> Settings:
    data_dir = tmp_path_factory.mktemp("doctor") / "data"
    return load(data_dir=data_dir, neo4j_heap="512m", neo4j_page_cache="64m", neo4j_uri=None)


@pytest.fixture(scope="module")
async def runtime(settings: Settings) -> AsyncIterator[Runtime]:
    """A graphmem with a server of its own, and two sessions in it."""
    async with running(settings) as runtime:
        memory = Graphmem(runtime, "acme")
        await memory.open_conversation("c")
        await memory.remember("c", SAID)
        yield runtime


@pytest.fixture
def broken(runtime: Runtime) -> Callable[..., object]:
    """Break the database for the length of a block."""

    @asynccontextmanager
    async def breaking(harm: str, mend: str) -> AsyncIterator[None]:
        await runtime.graph.execute(f"CYPHER 25 {harm}")
        try:
            yield
        finally:
            await runtime.graph.execute(f"CYPHER 25 {mend}")

    return breaking


async def odd(settings: Settings) -> list[Finding]:
    """Return what is wrong with the database; notes are not."""
    examined = await examine(settings)
    assert examined.healthy == (not severe(examined))
    return [one for one in examined.findings if one.severity in {"warning", "problem"}]


def severe(examined: Examination) -> list[Finding]:
    return [one for one in examined.findings if one.severity == "problem"]


async def test_a_graphmem_in_order_has_nothing_wrong(settings: Settings, runtime: Runtime):
    examined = await examine(settings)

    assert await odd(settings) == []
    assert examined.healthy
    subjects = {one.subject for one in examined.findings if one.severity == "ok"}
    assert {
        "java",
        "server",
        "migrations",
        "schema",
        "embedding model",
        "graph",
        "integrity",
    } <= subjects


async def test_it_says_how_to_connect_and_never_the_password(settings: Settings, runtime: Runtime):
    examined = await examine(settings)

    found = private.status(settings.data_dir)
    assert found is not None
    assert examined.connection is not None
    assert examined.connection.uri == f"bolt://127.0.0.1:{found.port}"
    assert examined.connection.credentials == str(settings.data_dir.resolve() / "password")
    assert (settings.data_dir / "password").read_text().strip() not in str(examined)


@pytest.mark.parametrize(
    ("harm", "mend", "told"),
    [
        (
            "MATCH (:Session {external_id: 'monday'})<-[edge:PART_OF]-(m:Message {idx: 0}) "
            "DELETE edge",
            "MATCH (m:Message {idx: 0}), (s:Session {external_id: 'monday', id: m.session_id}) "
            "MERGE (m)-[:PART_OF]->(s)",
            "1 message outside any session",
        ),
        (
            "MATCH (:Session {external_id: 'monday'})-[edge:PART_OF]->(:Conversation) DELETE edge",
            "MATCH (s:Session {external_id: 'monday'}), (c:Conversation) MERGE (s)-[:PART_OF]->(c)",
            "1 session outside any conversation",
        ),
        (
            "MATCH (m:Message {idx: 0}) WITH m LIMIT 1 SET m.conversation_id = 'gone'",
            "MATCH (m:Message {conversation_id: 'gone'}) SET m.conversation_id = 'c'",
            "1 memory in a conversation that does not exist",
        ),
        (
            "MATCH (:Message {idx: 1})-[edge:NEXT]->(:Message {idx: 2}) "
            "WITH edge LIMIT 1 DELETE edge",
            "MATCH (a:Message {idx: 1}), (b:Message {idx: 2, session_id: a.session_id}) "
            "MERGE (a)-[:NEXT]->(b)",
            "1 session with messages that are not one chain",
        ),
        (
            "MATCH (a:Message {idx: 0}), (b:Message {idx: 2, session_id: a.session_id}) "
            "CREATE (a)-[:NEXT {fork: true}]->(b)",
            "MATCH ()-[edge:NEXT {fork: true}]->() DELETE edge",
            "2 sessions with messages that are not one chain",
        ),
        (
            "MATCH (m:Message {idx: 0}) WITH m LIMIT 1 "
            "CREATE (m)<-[:HOLDS]-(:Context {client_id: 'rival', id: 'e', max_tokens: 9, "
            "reserved_for_response: 1, created_at: datetime(), expires_at: datetime()})",
            "MATCH (c:Context {client_id: 'rival'}) DETACH DELETE c",
            "1 edge between two clients, such as e HOLDS",
        ),
        (
            "MATCH (m:Message {idx: 0}) WITH m LIMIT 1 SET m.category = null",
            "MATCH (m:Message) SET m.category = ''",
            "1 memory without a property that searches filter on",
        ),
        (
            "MATCH (m:Message {idx: 0}) WITH m LIMIT 1 SET m.kept = m.embedding, m.embedding = null",
            "MATCH (m:Message) WHERE m.kept IS NOT NULL "
            "CALL db.create.setNodeVectorProperty(m, 'embedding', m.kept) SET m.kept = null",
            "1 memory without an embedding",
        ),
        (
            "MATCH (m:Message {idx: 0}) WITH m LIMIT 1 SET m.importance = toString(m.importance)",
            "MATCH (m:Message) SET m.importance = toFloat(m.importance)",
            "Message.importance has values of the type STRING instead of FLOAT",
        ),
        (
            "MATCH (m:Message {idx: 0}) WITH m LIMIT 1 SET m.text = null",
            "MATCH (m:Message) WHERE m.text IS NULL SET m.text = m.search_text",
            "some of 8 Message nodes lack required properties: text (1)",
        ),
        (
            "MATCH (m:Message) WITH m LIMIT 1 "
            "CREATE (bare) SET bare = properties(m), bare.id = 'bare' SET bare:Memory",
            "MATCH (bare:Memory {id: 'bare'}) DELETE bare",
            "there are nodes with no labels but Memory",
        ),
        (
            "MATCH (m:Message), (c:Conversation) WITH m, c LIMIT 1 CREATE (m)-[:SUMMARIZES]->(c)",
            "MATCH (:Message)-[edge:SUMMARIZES]->(:Conversation) DELETE edge",
            "1 SUMMARIZES edge leads from Memory, Message to Conversation, which graphmem never writes",
        ),
        ("DROP INDEX job_due", "CREATE INDEX job_due FOR (j:Job) ON (j.state, j.run_at)",
         "the index job_due is missing"),
        ("DROP CONSTRAINT job_key", "CREATE CONSTRAINT job_key FOR (j:Job) "
         "REQUIRE (j.client_id, j.kind, j.key) IS UNIQUE", "the constraint job_key is missing"),
        ("CREATE INDEX mine FOR (m:Memory) ON (m.text)", "DROP INDEX mine",
         "the index mine on Memory is not ours"),
        ("MATCH (i:Installation) SET i.kept = i.embedding_sha256, i.embedding_sha256 = 'beef'",
         "MATCH (i:Installation) SET i.embedding_sha256 = i.kept, i.kept = null",
         "(sha256 beef…, 384 dimensions), not with"),
        ("MATCH (i:Installation) SET i.tokenizer = 'cl100k_base'",
         "MATCH (i:Installation) SET i.tokenizer = 'o200k_base'",
         "were counted with 'cl100k_base'"),
        ("MATCH (m:Migration {number: 2}) SET m.kept = m.sha256, m.sha256 = 'beef'",
         "MATCH (m:Migration {number: 2}) SET m.sha256 = m.kept, m.kept = null",
         "schema file 002_memories is not the one that was applied"),
        ("CREATE (:Migration {number: 900, name: '900_later', sha256: 'x'})",
         "MATCH (m:Migration {number: 900}) DELETE m", "has seen schema file 900_later"),
    ],
)  # fmt: skip
async def test_what_is_broken_is_named(settings: Settings, broken, harm: str, mend: str, told: str):
    async with broken(harm, mend):
        found = await odd(settings)
    assert [told in one.what for one in found] == [True], found
    assert all(one.remedy for one in found)
    assert await odd(settings) == []


@pytest.mark.parametrize(
    ("lost", "rules"),
    [
        (["search_text", "embedding"], ["a property that searches filter on", "an embedding"]),
        (["text"], ["lack required properties: text (1)"]),
    ],
)
async def test_a_memory_without_its_texts_is_named_and_questions_are_answered(
    settings: Settings, runtime: Runtime, broken, lost: list[str], rules: list[str]
):
    keep = ", ".join(f"m.kept_{name} = m.{name}" for name in lost)
    remove = ", ".join(f"m.{name}" for name in lost)
    back = ", ".join(f"m.{name} = m.kept_{name}, m.kept_{name} = null" for name in lost)
    rows = await runtime.graph.execute("MATCH (m:Message) RETURN m.id AS id ORDER BY m.idx")
    row = rows[0]
    memory = Graphmem(replace(runtime, vocabulary=Vocabulary(runtime.graph)), "acme")
    one = f"MATCH (m:Message {{id: '{row['id']}'}})"
    async with broken(f"{one} SET {keep} REMOVE {remove}", f"{one} SET {back}"):
        found = await odd(settings)
        recalled = await memory.recall("What does note 0 of monday say?", explain=True)
        searched = await memory.search("note 0 of monday")
        around = await memory.search_contextual("note 0 of monday")
    assert [rule in one.what for one, rule in zip(found, rules, strict=True)] == [True] * len(rules)
    assert all(row["id"] in one.what or "MATCH (n:Message)" in one.remedy for one in found)
    others = {one["id"] for one in rows} - {row["id"]}
    assert others <= {one.id for one in recalled.items}
    assert others <= {one.id for one in searched.items}
    assert around.contexts or around.items


@pytest.fixture(scope="module")
async def versioned(runtime: Runtime) -> dict[str, str]:
    """A fact of two versions, a summary of a session, and a span with a text; their ids."""
    memory = Graphmem(runtime, "acme")
    [first] = await memory.remember_facts([{"fact": "The pump runs on Monday."}])
    second = await memory.supersede_fact(first.id, "The pump runs on Tuesday.")
    [session, *_] = await runtime.graph.execute("MATCH (s:Session) RETURN s.id AS id")
    summary, elsewhere = [
        await memory.add_summary(
            type="plan",
            target_id=target_id,
            plan_type="build",
            total_nodes=1,
            completed_nodes=1,
            pending_nodes=0,
            failed_nodes=0,
            key_milestones=["done"],
            current_phase="done",
        )
        for target_id in (session["id"], "no-session")
    ]
    text = "The pump is in hall 3."
    span = await memory.register_span(
        source_type="knowledge_base", source_id="d", start_byte=0, end_byte=len(text), content=text
    )
    return {
        "first": first.id,
        "second": second.id,
        "summary": summary.id,
        "elsewhere": elsewhere.id,
        "span": span.id,
    }


@pytest.mark.parametrize(
    ("harm", "mend", "told", "named"),
    [
        (
            "MATCH (:Fact)-[edge:SUPERSEDES]->(:Fact) DELETE edge",
            "MATCH (a:Fact {version: 2}), (b:Fact {version: 1}) "
            "CREATE (a)-[:SUPERSEDES {created_at: a.created_at}]->(b)",
            "1 memory ended by a newer version that does not supersede it",
            "first",
        ),
        (
            "MATCH (:Summary)-[edge:SUMMARIZES]->(:Session) DELETE edge",
            "MATCH (a:Summary), (b:Session {id: a.session_id}) CREATE (a)-[:SUMMARIZES]->(b)",
            "1 summary of a session to which it is not joined by SUMMARIZES",
            "summary",
        ),
        (
            "MATCH (span:Span) SET span.kept = span.text, span.text = 'The pump is in hall 4.'",
            "MATCH (span:Span) SET span.text = span.kept, span.kept = null",
            "1 span with another text than that of the stored SHA-256",
            "span",
        ),
    ],
)
async def test_a_broken_version_summary_or_span_is_named(
    settings: Settings,
    versioned: dict[str, str],
    broken,
    harm: str,
    mend: str,
    told: str,
    named: str,
):
    assert await odd(settings) == []
    async with broken(harm, mend):
        [finding] = await odd(settings)
    assert finding.severity == "problem"
    assert f"{told}, such as {versioned[named]}" in finding.what
    assert finding.remedy
    assert await odd(settings) == []


async def test_a_later_version_whose_earlier_one_went_with_its_conversation_is_a_note(
    settings: Settings, runtime: Runtime
):
    memory = Graphmem(runtime, "parted")
    for conversation in ("old", "new"):
        await memory.open_conversation(conversation)
    [first] = await memory.remember_facts([{"fact": "Ada has the key.", "conversation_id": "old"}])
    second = await memory.supersede_fact(first.id, "Ines has the key.", conversation_id="new")
    await memory.delete_conversation("old")
    try:
        examined = await examine(settings)
    finally:
        await memory.delete_conversation("new")
    assert severe(examined) == []
    [told] = [one for one in examined.findings if "supersedes none" in one.what]
    assert told.severity == "note"
    assert (
        f"1 fact of a second or later version that supersedes none, such as {second.id}"
        in told.what
    )


async def test_only_so_many_texts_of_spans_are_hashed(
    runtime: Runtime, versioned: dict[str, str], monkeypatch
):
    memory = Graphmem(runtime, "acme")
    for number in range(3):
        await memory.register_span(
            source_type="knowledge_base",
            source_id="e",
            start_byte=0,
            end_byte=1,
            content=str(number),
        )
    monkeypatch.setattr("graphmem.doctor.integrity.HASHED_AT_ONCE", 1)
    assert await check_span_texts(runtime.graph) == []
    [told] = await check_span_texts(runtime.graph, hashed=2)
    assert (told.severity, "only the texts of 2 spans" in told.what) == ("note", True)


async def test_an_index_with_other_options_is_named(settings: Settings, runtime: Runtime):
    again = vector_index(FIRST)
    await runtime.graph.execute("CYPHER 25 DROP INDEX memory_embedding")
    await runtime.graph.execute(VECTOR)
    await runtime.graph.execute("CALL db.awaitIndexes(60)")
    try:
        [finding] = await odd(settings)
    finally:
        await runtime.graph.execute("CYPHER 25 DROP INDEX memory_embedding")
        await runtime.graph.execute(again, dimensions=384)
        await runtime.graph.execute("CALL db.awaitIndexes(60)")
    for told in ("vector.dimensions 8 instead of 384", "euclidean", "scalar instead of none"):
        assert told in finding.what
    assert "013_vectors" in finding.remedy
    assert await odd(settings) == []


async def test_the_whole_of_a_store_is_counted_up_to_a_limit(
    settings: Settings, runtime: Runtime, broken, monkeypatch
):
    monkeypatch.setattr("graphmem.doctor.integrity.MOST", 5)
    async with broken(
        "MATCH (m:Message) SET m.conversation_id = 'gone'",
        "MATCH (m:Message) SET m.conversation_id = 'c'",
    ):
        [finding] = await odd(settings)
    assert "at least 5 memories in a conversation" in finding.what


async def test_a_password_that_the_server_does_not_take_is_a_problem(
    settings: Settings, runtime: Runtime
):
    password = settings.data_dir / "password"
    kept = password.read_text()
    password.write_text("another\n")
    try:
        [finding] = await odd(settings)
    finally:
        password.write_text(kept)
    assert (finding.severity, finding.subject) == ("problem", "connection")
    assert "does not let the user 'neo4j' in" in finding.what


@pytest.mark.parametrize("seconds", [1.0, examination.CONNECT_SECONDS], ids=["doctor", "driver"])
async def test_a_server_that_takes_connections_and_says_nothing_is_a_problem(
    settings: Settings, runtime: Runtime, monkeypatch, seconds: float
):
    """Whether the doctor or the driver loses patience first."""
    found = private.status(settings.data_dir)
    assert found is not None
    monkeypatch.setattr(examination, "CONNECT_SECONDS", seconds)
    os.kill(found.pid, signal.SIGSTOP)
    try:
        [finding] = await odd(settings)
    finally:
        os.kill(found.pid, signal.SIGCONT)
    assert (finding.severity, finding.subject) == ("problem", "connection")
    assert finding.what == "the server takes connections and does not answer"
    assert "`graphmem serve` starts it anew" in finding.remedy
    assert "`graphmem stop` ends it" in finding.remedy


async def test_a_private_server_that_has_just_died_is_told_without_a_setting_that_is_not_set(
    tmp_path: Path, unused_tcp_port: int
):
    folder.create(tmp_path)
    folder.password(tmp_path)
    own = psutil.Process()
    # A process that lives, as one that is just dying, and listens no more.
    folder.write_record(tmp_path, Record(own.pid, own.create_time(), unused_tcp_port, "2026.09.0"))
    examined = await examine(load(data_dir=tmp_path, neo4j_uri=None))
    [finding] = [one for one in examined.findings if one.subject == "connection"]
    assert finding.what == f"no Neo4j answers at bolt://127.0.0.1:{unused_tcp_port}"
    assert "GRAPHMEM_NEO4J_URI" not in finding.remedy
    assert "`graphmem serve` starts it anew" in finding.remedy


async def test_a_record_file_of_another_process_hides_nothing(settings: Settings, runtime: Runtime):
    found = private.status(settings.data_dir)
    assert found is not None
    stale = folder.Record(2**22 - 1, 1.0, found.port, found.version)
    folder.write_record(settings.data_dir, stale)
    try:
        examined = await examine(settings)
    finally:
        folder.write_record(settings.data_dir, found)
    told = {one.subject: one.what for one in examined.findings if one.severity != "ok"}
    assert "is not this folder's server any more" in told["record"]
    assert f"process {found.pid} is a Neo4j of this folder" in told["private server"]
    assert "another program has taken port" in told["port"]


async def test_another_server_is_examined_by_its_address(settings: Settings, runtime: Runtime):
    found = private.status(settings.data_dir)
    assert found is not None
    given = load(
        neo4j_uri=f"bolt://127.0.0.1:{found.port}",
        neo4j_password=(settings.data_dir / "password").read_text().strip(),
    )
    examined = await examine(given)
    assert examined.healthy
    assert examined.connection is not None
    assert examined.connection.credentials == "GRAPHMEM_NEO4J_PASSWORD"
    assert "java" not in {one.subject for one in examined.findings}


async def test_nothing_is_started_unless_asked(tmp_path: Path, own_server: None) -> None:
    idle = load(data_dir=tmp_path / "data", neo4j_heap="512m", neo4j_page_cache="64m")
    examined = await examine(idle)
    assert examined.healthy
    assert examined.connection is None
    assert not (tmp_path / "data").exists()

    examined = await examine(idle, start=True)

    assert examined.healthy
    assert examined.connection is not None
    told = {one.subject: one.what for one in examined.findings}
    assert "never used by graphmem" in told["migrations"]
    assert not [one for one in psutil.process_iter() if one in servers(tmp_path / "data")]


async def test_an_old_server_is_told_and_asked_nothing_else(
    settings: Settings, runtime: Runtime, monkeypatch
):
    monkeypatch.setattr("graphmem.graph.schema.OLDEST_SERVER", (2030, 1))
    [finding] = await odd(settings)
    assert (finding.severity, finding.subject) == ("problem", "server")
    assert "graphmem needs 2030.01 or newer" in finding.what


async def test_a_check_that_fails_does_not_keep_the_others_from_being_done(
    settings: Settings, runtime: Runtime, monkeypatch
):
    async def fails(*arguments: object) -> list[Finding]:
        raise RuntimeError("odd")

    monkeypatch.setattr("graphmem.doctor.server.settings", fails)
    [finding] = await odd(settings)
    assert (finding.severity, finding.what) == (
        "warning",
        "this could not be looked at (RuntimeError)",
    )
