"""Clients that clean up behind them, and candidates made of a few words."""

import uuid
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from graphmem.graph.driver import Graph
from graphmem.retrieval.candidates import Candidate
from graphmem.runtime import Runtime

DELETED_AT_ONCE = 2_000
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


async def forget(graph: Graph, clients: list[str]) -> None:
    """Delete everything that clients have."""
    for label in ("Memory", "Session", "Conversation"):
        statement = f"""
            UNWIND $clients AS client
            MATCH (node:{label} {{client_id: client}}) WHERE node.id IS NOT NULL
            WITH node LIMIT {DELETED_AT_ONCE}
            DETACH DELETE node
            RETURN count(*) AS deleted
        """
        while (await graph.execute(statement, clients=clients))[0]["deleted"] == DELETED_AT_ONCE:
            pass


@pytest_asyncio.fixture(scope="module")
async def new_client(runtime: Runtime) -> AsyncIterator[Callable[[], str]]:
    """Name a client of this file's own; what it has is deleted at the end."""
    clients: list[str] = []

    def named() -> str:
        clients.append(f"retrieval-{uuid.uuid4().hex}")
        return clients[-1]

    yield named
    await forget(runtime.graph, clients)


@pytest.fixture(scope="session")
def candidate() -> Callable[..., Candidate]:
    """Make a candidate: a message of one session that the words leg has not found."""

    def made(id: str, **given: Any) -> Candidate:
        plain = {
            "id": id,
            "external_id": None,
            "kind": "message",
            "role": "user",
            "name": None,
            "occurred_at": NOON,
            "conversation_id": "talk",
            "session_id": "",
            "idx": None,
            "importance": 0.5,
            "token_count": 10,
            "cosine": None,
            "bm25": None,
            "by_vector": given.get("cosine") is not None,
        }
        return Candidate(**(plain | given))

    return made
