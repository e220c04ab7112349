"""What the tests of remembering share: messages to write, and the shape of what was written."""

from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

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
    """A conversation as it stands in the database."""

    messages: list[Stored]
    sessions: list[dict[str, Any]]

    @property
    def by_session(self) -> dict[str, list[Stored]]:
        """The messages of each session by idx, under the caller's name of it."""
        found = defaultdict(list)
        for message in sorted(self.messages, key=lambda message: message.idx):
            found[message.names[0]].append(message)
        return found

    def check(self, *, gaps: bool = False) -> None:
        """Assert that there is no fork and no duplicate, and where nothing was deleted no gap."""
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
            # By idx, each is joined to the one after it and to nothing else: one chain.
            followers = [[after.id] for after in messages[1:]] + [[]]
            assert [message.next for message in messages] == followers
            assert all(message.sessions == [message.session_id] for message in messages)
            order = [message.position for message in messages]
            assert order == sorted(order)
        assert len({session["name"] for session in self.sessions}) == len(self.sessions)
        assert all(session["conversations"] == 1 for session in self.sessions)


@pytest.fixture
def shape(runtime: Runtime) -> Callable[..., Awaitable[Shape]]:
    """Return what reads a conversation of a client from the database."""

    async def read(client_id: str, id: str = "c") -> Shape:
        rows = await runtime.graph.execute(MESSAGES, client_id=client_id, id=id)
        sessions = await runtime.graph.execute(SESSIONS, client_id=client_id, id=id)
        return Shape(msgspec.convert(rows, list[Stored]), sessions)

    return read


@pytest.fixture
def nodes_of(runtime: Runtime) -> Callable[[str], Awaitable[int]]:
    """Return what counts all nodes of a client."""

    async def count(client_id: str) -> int:
        return (await runtime.graph.execute(COUNT, client_id=client_id))[0]["nodes"]

    return count


@pytest.fixture(scope="session")
def say() -> Callable[..., dict[str, Any]]:
    """Return what makes a message to remember."""

    def message(content: str = "The harbour light is red.", session: str = "a", **more: Any):
        return {"session_id": session, "role": "user", "content": content, **more}

    return message
