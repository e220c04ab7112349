"""The seed story in a client of its own, loaded once for all tests of reading."""

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from graphmem import resources
from graphmem.runtime import Runtime
from graphmem.service import Graphmem


def lines(name: str) -> list[dict[str, Any]]:
    """Return a seed file's records."""
    path = resources.folder("seed") / name
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest_asyncio.fixture(scope="session")
async def story(runtime: Runtime) -> AsyncIterator[Graphmem]:
    """A client that remembers the seed story, and nothing else."""
    graphmem = Graphmem(runtime, f"story-{uuid.uuid4().hex}")
    records = lines("messages.jsonl")
    conversation_id = records[0]["conversation_id"]
    await graphmem.open_conversation(conversation_id)
    for record in records:
        assert record.pop("conversation_id") == conversation_id
    await graphmem.remember(conversation_id, records)
    yield graphmem
    await graphmem.delete_conversation(conversation_id)


@pytest_asyncio.fixture(scope="session")
async def said(story: Graphmem) -> dict[str, dict[str, Any]]:
    """The story's messages by their external ids."""
    return {record["external_id"]: record for record in lines("messages.jsonl")}
