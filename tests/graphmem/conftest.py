"""Shared by the tests of single concepts: clients, messages to write, the seed story, and stored data."""

import json
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from neo4j.exceptions import IncompleteCommit

from graphmem import config
from graphmem.client import Graphmem
from graphmem.graph.driver import Graph
from graphmem.retrieval.finding import Candidate
from graphmem.runtime import Runtime

MESSAGES = """CYPHER 25
MATCH (message:Message {client_id: $client_id, conversation_id: $id})
OPTIONAL MATCH (message)-[:PART_OF]->(session:Session {client_id: $client_id})
OPTIONAL MATCH (message)-[:NEXT]->(next:Message)
RETURN message.id AS id, message.text AS text, message.idx AS idx, message.position AS position,
  message.session_id AS session_id, message.external_id AS external_id,
  collect(DISTINCT session.id) AS sessions, collect(DISTINCT session.external_id) AS names,
  collect(DISTINCT next.id) AS next"""
SESSIONS = """CYPHER 25
MATCH (session:Session {client_id: $client_id, conversation_id: $id})
OPTIONAL MATCH (session)-[:PART_OF]->(conversation:Conversation {client_id: $client_id, id: $id})
RETURN session.id AS id, session.external_id AS name, session.next_idx AS next_idx,
  count(conversation) AS conversations"""
COUNT = "CYPHER 25 MATCH (node {client_id: $client_id}) RETURN count(node) AS nodes"


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A message in the database, with the edges around it."""

    id: str
    text: str
    idx: int
    position: int
    session_id: str
    external_id: str | None
    sessions: list[str]
    names: list[str]
    next: list[str]


class Shape(msgspec.Struct, frozen=True):
    """A conversation as stored in the database."""

    messages: list[Stored]
    sessions: list[dict[str, Any]]

    @property
    def by_session(self) -> dict[str, list[Stored]]:
        """The messages of each session by idx, under the caller's name of the session."""
        found = defaultdict(list)
        for message in sorted(self.messages, key=lambda message: message.idx):
            found[message.names[0]].append(message)
        return found

    def check(self, *, gaps: bool = False) -> None:
        """Assert that there are no forks and no duplicates, and no gaps unless messages were deleted."""
        positions = sorted(message.position for message in self.messages)
        assert len(set(positions)) == len(positions)
        external = [message.external_id for message in self.messages if message.external_id]
        assert len(set(external)) == len(external)
        if not gaps:
            assert positions == list(range(len(positions)))
        for messages in self.by_session.values():
            places = [message.idx for message in messages]
            assert len(set(places)) == len(places)
            assert gaps or places == list(range(len(places)))
            # By idx, each is joined only to the next one: one chain.
            followers = [[after.id] for after in messages[1:]] + [[]]
            assert [message.next for message in messages] == followers
            assert all(message.sessions == [message.session_id] for message in messages)
            order = [message.position for message in messages]
            assert order == sorted(order)
        assert len({session["name"] for session in self.sessions}) == len(self.sessions)
        assert all(session["conversations"] == 1 for session in self.sessions)


@pytest.fixture
def shape(runtime: Runtime) -> Callable[..., Awaitable[Shape]]:
    """Return a function that reads a conversation of a client from the database."""

    async def read(client_id: str, id: str = "c") -> Shape:
        rows = await runtime.graph.execute(MESSAGES, client_id=client_id, id=id)
        sessions = await runtime.graph.execute(SESSIONS, client_id=client_id, id=id)
        return Shape(msgspec.convert(rows, list[Stored]), sessions)

    return read


@pytest.fixture
def nodes_of(runtime: Runtime) -> Callable[[str], Awaitable[int]]:
    """Return a function that counts all nodes of a client."""

    async def count(client_id: str) -> int:
        return (await runtime.graph.execute(COUNT, client_id=client_id))[0]["nodes"]

    return count


@pytest.fixture
def lost_answers(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function from whose call on each write is done twice: the answer of its first try is lost."""
    retry = Graph._retry

    async def losing(graph: Graph, access: str, work: Any, *given: Any, **named: Any) -> Any:
        tries: list[object] = []

        async def lost(session: Any) -> Any:
            tries.append(session)
            answer = await work(session)
            if named.get("writes") and len(tries) == 1:
                raise IncompleteCommit("the connection broke")
            return answer

        return await retry(graph, access, lost, *given, **named)

    return lambda: monkeypatch.setattr(Graph, "_retry", losing)


@pytest.fixture(scope="session")
def say() -> Callable[..., dict[str, Any]]:
    """Return a function that makes a message to remember."""

    def message(content: str = "The harbour light is red.", session: str = "a", **more: Any):
        return {"session_id": session, "role": "user", "content": content, **more}

    return message


DELETED_AT_ONCE = 2_000
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


async def forget(graph: Graph, clients: list[str]) -> None:
    """Delete all data of clients."""
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
    """Name a client of this file's own; its data is deleted at the end."""
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


def lines(name: str) -> list[dict[str, Any]]:
    """Return a seed file's records."""
    path = config.folder("seed") / name
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
