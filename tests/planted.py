"""Memories of every kind, written at the writing boundary as their use cases do."""

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from graphmem.client import Graphmem
from graphmem.facts.remember import AS_NEW
from graphmem.memories.write import Draft, prepare, write

WHEN = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


async def plant(memory: Graphmem, *rows: dict[str, Any]) -> list[str]:
    """Write memories of a client, and return their ids."""
    drafts = [draft(memory.client_id, **row) for row in rows]
    runtime = memory.runtime
    prepared = await prepare(drafts, embedder=runtime.embedder, tokens=runtime.tokens)
    await runtime.graph.write(lambda tx: write(tx, prepared, client_id=memory.client_id))
    return [one.id for one in drafts]


def draft(client_id: str, kind: Any, text: str, **properties: Any) -> Draft:
    """Return a memory with the properties that the index filters on; others belong to its kind."""
    known = {name for name in Draft.__struct_fields__ if name in properties}
    own = {name: value for name, value in properties.items() if name not in known}
    return Draft(
        **{
            "id": str(uuid.uuid4()),
            "client_id": client_id,
            "kind": kind,
            "text": text,
            "search_text": text,
            "embedded_text": text,
            "source_type": kind,
            "occurred_at": WHEN,
            "valid_at": WHEN,
            "created_at": WHEN,
            "own": {**(AS_NEW if kind == "fact" else {}), **own},
        }
        | {name: properties[name] for name in known}
    )


def thread(**other: Any) -> dict[str, Any]:
    """Return the specification's thread summary."""
    return {
        "kind": "summary",
        "source_type": "thread_summary",
        "source_id": "thread-1",
        "text": "Thread on instagram, 2 participants, 10 messages, positive. "
        "User asked about pricing. Interested in premium plan.",
        "version": 1,
        "platform": "instagram",
        "participant_count": 2,
        "message_count": 10,
        "key_points": ["User asked about pricing", "Interested in premium plan", "Wants a demo"],
        "sentiment": "positive",
        "last_activity_at": WHEN,
    } | other


def plan(**other: Any) -> dict[str, Any]:
    """Return the specification's plan summary."""
    return {
        "kind": "summary",
        "source_type": "plan_summary",
        "source_id": "plan-1",
        "text": "Plan content_calendar, execution: 5 of 10 done. Week 1 complete.",
        "version": 1,
        "plan_type": "content_calendar",
        "total_nodes": 10,
        "completed_nodes": 5,
        "pending_nodes": 5,
        "failed_nodes": 0,
        "key_milestones": ["Week 1 complete"],
        "current_phase": "execution",
    } | other


def reference(**other: Any) -> dict[str, Any]:
    """Return the specification's reference."""
    return {
        "kind": "reference",
        "source_type": "knowledge_base",
        "source_id": "kb-1",
        "text": "Frequently asked questions about pricing and features",
        "label": "Product FAQ",
        "description": "Frequently asked questions about pricing and features",
        "importance": 0.9,
        "version": 1,
        "metadata": json.dumps({"language": "en"}),
    } | other


async def plant_content(
    memory: Graphmem, content: str, cuts: Sequence[tuple[int, int]], **other: Any
) -> str:
    """Write a reference with content in spans of these bytes, and return the reference's id."""
    whole = content.encode()
    [id] = await plant(
        memory,
        reference(
            content_sha256=sha256(whole).hexdigest(),
            content_bytes=len(whole),
            content_tokens=memory.runtime.tokens.count(content),
            **other,
        ),
    )
    spans = await plant(
        memory,
        *(
            {
                "kind": "span",
                "source_type": "knowledge_base",
                "source_id": "kb-1",
                "text": whole[start:end].decode(),
                "start_byte": start,
                "end_byte": end,
                "sha256": sha256(whole[start:end]).hexdigest(),
            }
            for start, end in cuts
        ),
    )
    await join(memory, "PART_OF", *((span, id) for span in spans))
    return id


async def join(memory: Graphmem, kind: str, *pairs: tuple[str, str]) -> None:
    """Join memories of a client by edges of a kind."""
    await memory.runtime.graph.execute(
        "UNWIND $pairs AS pair "
        "MATCH (a:Memory {client_id: $client, id: pair[0]}) "
        "MATCH (b:Memory {client_id: $client, id: pair[1]}) "
        f"CREATE (a)-[:{kind}]->(b)",
        pairs=[list(pair) for pair in pairs],
        client=memory.client_id,
    )
