"""A store of commit 55e6a760, opened with today's code: what that version did not make is made, once."""

import asyncio
import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from graphmem import config
from graphmem.background import Background
from graphmem.client import Graphmem
from graphmem.config import Settings
from graphmem.doctor import integrity
from graphmem.doctor.findings import Finding
from graphmem.graph.driver import Graph
from graphmem.graph.schema import migrate
from graphmem.graph.scope import scope_words
from graphmem.memories import write
from graphmem.memories.write import NAMED_AT_ONCE, find_due_names
from graphmem.model.progress import silent
from graphmem.model.times import END
from graphmem.runtime import Runtime, database, running

DIMENSIONS = 384
OLD_FILES = 4
"""The schema files of that version."""

SAID_AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
LONG = " ".join(
    f"On day {day} the crew of the Marlin logged wind force {day % 9} and a calm night."
    for day in range(60)
)
SAID = {
    "s": [
        "Ann Brastow sails the Marlin to Osaka in May.",
        "The Harbour Office (HO) keeps the papers of the Marlin.",
        "and then it rained, nobody minded",
        LONG,
    ],
    "t": ["Quillon repairs the valve.", "The HO pays Quillon in Lisbon."],
}

# The statements below are those of that version, without the locks.
OPEN = """CYPHER 25
CREATE (:Conversation {
  client_id: $client_id, id: $id, title: 'Old', created_at: $now, next_position: $positions
})"""

KEEP_SESSIONS = """CYPHER 25
MATCH (conversation:Conversation {client_id: $client_id, id: $conversation_id})
UNWIND $sessions AS row
CREATE (session:Session {
  client_id: $client_id, id: row.id, conversation_id: $conversation_id, external_id: row.id,
  started_at: $now, last_active_at: $now, next_idx: row.next_idx
})
CREATE (session)-[:PART_OF]->(conversation)"""

WRITE_MEMORIES = """CYPHER 25
UNWIND $rows AS row
CREATE (memory:Memory:$(row.label))
SET memory = row.properties, memory.client_id = $client_id
WITH memory, row
CALL db.create.setNodeVectorProperty(memory, 'embedding', row.embedding)
FINISH"""

LINK_MESSAGES = """CYPHER 25
UNWIND $rows AS row
MATCH (message:Memory {client_id: $client_id, id: row.id})
MATCH (session:Session {client_id: $client_id, id: row.session_id})
CREATE (message)-[:PART_OF]->(session)
WITH message, row
WHERE row.previous_id IS NOT NULL
MATCH (previous:Memory {client_id: $client_id, id: row.previous_id})
CREATE (previous)-[:NEXT]->(message)"""

NAMED = """CYPHER 25
MATCH (memory:Message {client_id: $client_id})
RETURN memory.text AS text,
  COLLECT { MATCH (memory)-[:MENTIONS]->(one:Entity) RETURN one.normalized ORDER BY one.normalized } AS names,
  COLLECT {
    MATCH (memory)-[form:SPELLS_OUT]->(one:Entity) RETURN one.normalized + ' ' + form.form
  } AS forms,
  COUNT { (memory)<-[:PASSAGE_OF]-(:Passage) } AS passages,
  COUNT { (memory)-[:PART_OF]->(:Episode) } AS episodes,
  memory.names_due AS names_due, memory.passages_due AS passages_due
ORDER BY text"""

WAITING = """CYPHER 25
MATCH (job:Job {client_id: $client_id})
WHERE job.state IN ['queued', 'running']
  AND job.kind IN ['names', 'passages', 'summarize', 'segment', 'aliases']
RETURN collect(job.kind) AS kinds"""


def old_row(client_id: str, session: str, idx: int, position: int, text: str) -> dict[str, Any]:
    """Return a message as that version wrote it."""
    moment = SAID_AT + timedelta(minutes=position)
    properties = {
        "id": f"message-{position}",
        "client_id": client_id,
        "kind": "message",
        "text": text,
        "search_text": text,
        "source_type": "message",
        "occurred_at": moment,
        "created_at": moment,
        "valid_at": moment,
        "invalid_at": END,
        "superseded_at": END,
        "active": True,
        "importance": 0.5,
        "source_id": session,
        "conversation_id": "c",
        "session_id": session,
        "category": "",
        "scope": "",
        "external_id": None,
        "idx": idx,
        "position": position,
        "role": "user",
        "name": None,
        "token_count": len(text) // 4,
        "embedding_truncated": False,
    }
    return {
        "label": "Message",
        "embedding": [1.0 if place == position else 0.0 for place in range(DIMENSIONS)],
        "properties": properties | {"scope_words": scope_words(client_id, properties)},
    }


async def write_as_then(graph: Graph, client_id: str) -> None:
    """Write a client as that version did."""
    rows: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    for session, texts in SAID.items():
        for idx, text in enumerate(texts):
            position = len(rows)
            rows.append(old_row(client_id, session, idx, position, text))
            previous = f"message-{position - 1}" if idx else None
            links.append(
                {"id": f"message-{position}", "session_id": session, "previous_id": previous}
            )
    sessions = [{"id": session, "next_idx": len(texts)} for session, texts in SAID.items()]
    told = {"client_id": client_id, "now": SAID_AT}
    await graph.execute(OPEN, id="c", positions=len(rows), **told)
    await graph.execute(KEEP_SESSIONS, conversation_id="c", sessions=sessions, **told)
    await graph.execute(WRITE_MEMORIES, client_id=client_id, rows=rows)
    await graph.execute(LINK_MESSAGES, client_id=client_id, rows=links)


@pytest.fixture
def old(tmp_path: Path, own_server: None) -> Settings:
    """Settings of a small private Neo4j of the test's own."""
    return config.load(
        data_dir=tmp_path / "data",
        neo4j_heap="512m",
        neo4j_page_cache="64m",
        neo4j_start_seconds=600,
    )


async def named(runtime: Runtime, client_id: str) -> list[dict[str, Any]]:
    return await runtime.graph.execute(NAMED, client_id=client_id)


async def unfinished(runtime: Runtime) -> dict[str, Finding]:
    """Return the notes of `graphmem doctor` about work that is left, by the job that does it."""
    notes = await integrity.unfinished(runtime.graph)
    return {str(one.remedy).split("`")[1]: one for one in notes}


async def until_done(runtime: Runtime, client_id: str) -> None:
    """Let the jobs run until none of them waits."""
    background = Background(runtime)
    background.start()
    try:
        async with asyncio.timeout(300):
            while True:
                await asyncio.sleep(0.5)
                rows = await named(runtime, client_id)
                [waiting] = await runtime.graph.execute(WAITING, client_id=client_id)
                if not waiting["kinds"] and not any(
                    row["names_due"] or row["passages_due"] for row in rows
                ):
                    return
    finally:
        await background.end()


class Killed(Exception):
    """The job ended in the middle of its transaction."""


async def test_an_old_store_gets_names_summaries_passages_and_episodes_once(
    old: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tmp_path / "schema"
    files.mkdir()
    for path in sorted((config.folder("cypher") / "schema").glob("*.cypher"))[:OLD_FILES]:
        shutil.copy(path, files)
    async with database(old, silent) as graph:
        await migrate(graph, dimensions=DIMENSIONS, progress=silent, folder=files)
        await write_as_then(graph, "old")

    async with running(old) as runtime:
        assert {
            job: one.severity for job, one in (await unfinished(runtime)).items()
        } == dict.fromkeys(("names", "passages", "summarize", "segment"), "note")
        messages = sum(map(len, SAID.values()))
        assert str(messages) in (await unfinished(runtime))["names"].what

        await end_in_the_middle(runtime, monkeypatch)
        monkeypatch.setattr(write, "NAMED_AT_ONCE", 2)
        context = runtime.context("old")
        # A piece of the job at a time, and two processes at once.
        await asyncio.gather(*(find_due_names(context, seconds=0.01) for _ in range(3)))
        monkeypatch.setattr(write, "NAMED_AT_ONCE", NAMED_AT_ONCE)
        await until_done(runtime, "old")

        found = await named(runtime, "old")
        assert [one for row in found for one in Counter(row["names"]).values() if one > 1] == []
        assert [row["text"] for row in found if row["episodes"] != 1] == []
        assert found_by_name(found) == found_by_name(await written_today(runtime))
        await check_summaries(Graphmem(runtime, "old"))
        assert await unfinished(runtime) == {}
        again = found
        await until_done(runtime, "old")
        assert await named(runtime, "old") == again


async def end_in_the_middle(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """End the job after its marks are removed and before its names are written: nothing has happened."""
    before = await named(runtime, "old")

    def kill(_: Any) -> list[dict[str, Any]]:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(write, "_mentions", kill)
        with pytest.raises(Killed):
            await find_due_names(runtime.context("old"))
    assert await named(runtime, "old") == before
    assert all(row["names_due"] for row in before)


def found_by_name(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {row["text"]: (row["names"], row["forms"], row["passages"]) for row in rows}


async def written_today(runtime: Runtime) -> list[dict[str, Any]]:
    """Write the same messages as today; return what is made of them."""
    memory = Graphmem(runtime, "new")
    await memory.open_conversation("c")
    for session, texts in SAID.items():
        said = [{"session_id": session, "role": "user", "content": text} for text in texts]
        await memory.remember("c", said)
    rows = await named(runtime, "new")
    assert sum(len(row["names"]) for row in rows) > 8
    assert max(row["passages"] for row in rows) > 3
    return rows


async def check_summaries(memory: Graphmem) -> None:
    """Expect one summary of each session, of one version."""
    listed = (await memory.memories(kinds=["summary"], limit=50)).memories
    assert sorted(str(one.source_id) for one in listed) == sorted(SAID)
    for one in listed:
        assert len((await memory.versions(one.id)).versions) == 1
