"""Conversations with facts and episodes, written at the writing boundary as their use cases do."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import asdict

from graphmem.client import Graphmem
from graphmem.graph.scope import scope_word
from graphmem.retrieval.decay import born
from tests.planted import join, plant


async def talk(memory: Graphmem, id: str | None = None) -> str:
    """Open a conversation whose id is a UUID, and return the id."""
    return (await memory.open_conversation(id or str(uuid.uuid4()))).id


async def episode(
    memory: Graphmem,
    conversation_id: str,
    summary: str,
    *,
    said: Sequence[tuple[str, str, str]] = (),
    days_ago: float = 1.0,
    surprise: float = 0.3,
    **other: Any,
) -> str:
    """Write an episode that ended some days ago; `said` lists (session, role, content)."""
    end_at = datetime.now(UTC) - timedelta(days=days_ago)
    row = {
        "kind": "episode",
        "text": summary,
        "conversation_id": conversation_id,
        "title": f"About {summary.partition(' ')[0]}",
        "start_at": end_at - timedelta(minutes=5),
        "end_at": end_at,
        "occurred_at": end_at,
        "created_at": end_at,
        "surprise": surprise,
    }
    [id] = await plant(memory, row | asdict(born(surprise, end_at)) | other)
    if said:
        messages = [
            {"session_id": session, "role": role, "content": content}
            for session, role, content in said
        ]
        remembered = await memory.remember(conversation_id, messages)
        await join(memory, "PART_OF", *((message, id) for message in remembered.ids))
    return id


async def facts(
    memory: Graphmem,
    conversation_id: str,
    *texts: str,
    category: str = "preference",
    keywords: Sequence[str] = (),
    sources: Sequence[str] = (),
    **other: Any,
) -> list[str]:
    """Write facts, derived from some memories, and return their ids."""
    ids = await plant(
        memory,
        *(
            {
                "kind": "fact",
                "text": text,
                "search_text": " ".join([text, *keywords]),
                "embedded_text": " ".join([text, *keywords]),
                "conversation_id": conversation_id,
                "category": category,
                "keywords": list(keywords),
                "version": 1,
                "reinforced": 0,
            }
            | other
            for text in texts
        ),
    )
    await join(memory, "DERIVED_FROM", *((id, source) for id in ids for source in sources))
    return ids


async def stored(memory: Graphmem, id: str) -> dict[str, Any]:
    """Return a memory's properties as stored in the database, without its vector."""
    [row] = await memory.runtime.graph.execute(
        "CYPHER 25 MATCH (m:Memory {client_id: $client, id: $id}) "
        "RETURN m {.*, embedding: null, locked: null} AS properties",
        client=memory.client_id,
        id=id,
    )
    return dict(row["properties"])


async def ended(memory: Graphmem, id: str, by: str, how: str = "SUPERSEDES") -> None:
    """Supersede or contradict a memory by another, now; a superseded one is no longer active."""
    now = datetime.now(UTC)
    await memory.runtime.graph.execute(
        "MATCH (old:Memory {client_id: $client, id: $id}) "
        "MATCH (new:Memory {client_id: $client, id: $by}) "
        f"CREATE (new)-[:{how} {{created_at: $now}}]->(old) "
        "SET old.active = $how <> 'SUPERSEDES', "
        "old.scope_words = CASE WHEN $how = 'SUPERSEDES' "
        "THEN replace(old.scope_words, $word, '') ELSE old.scope_words END",
        client=memory.client_id,
        id=id,
        by=by,
        how=how,
        now=now,
        word=scope_word(memory.client_id, "active"),
    )
