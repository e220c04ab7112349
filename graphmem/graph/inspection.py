"""Inspection of a database without changing it: its pulse, schema, settings, content and defects."""

import asyncio
import time
from datetime import datetime
from typing import Any

from msgspec import Struct
from neo4j.exceptions import DatabaseError, Neo4jError

from graphmem.errors import GraphmemError, Unavailable
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.observing.logs import causes


class ShownIndex(Struct, frozen=True, kw_only=True):
    """An index as the server shows it; `owner` is the constraint that it serves."""

    name: str
    type: str
    state: str
    labels: list[str]
    properties: list[str]
    options: dict[str, Any]
    failure: str
    owner: str | None = None


class ShownConstraint(Struct, frozen=True, kw_only=True):
    """A constraint as the server shows it."""

    name: str
    type: str
    labels: list[str]
    properties: list[str]


class ServerSetting(Struct, frozen=True):
    """A setting of the server; None if it is not set and has no fixed default."""

    name: str
    value: str | None


class ConversationCount(Struct, frozen=True):
    """The number of conversations."""

    conversations: int


class ServerTime(Struct, frozen=True):
    """The time of the server's clock."""

    now: datetime


class MemoryCount(Struct, frozen=True):
    """The number of memories."""

    memories: int


class PassageCount(Struct, frozen=True):
    """The number of passages."""

    passages: int


class Defect(Struct, frozen=True):
    """The number of nodes or edges that break a rule, and the ids of some."""

    found: int
    examples: list[str]


class SpanToHash(Struct, frozen=True):
    """A span with a text, and the length of that."""

    client_id: str
    id: str
    characters: int


class HashedSpan(Struct, frozen=True):
    """The text of a span, and the hash that is stored."""

    id: str
    text: str
    sha256: str


class KnownNames(Struct, frozen=True):
    """The labels and types of edges in use, and all property keys ever used, each list in order."""

    labels: list[str]
    edge_types: list[str]
    keys: list[str]


class StoredProperty(Struct, frozen=True):
    """A property, the types of its values as `valueType()` names them, and the number of values."""

    name: str
    types: list[str]
    present: int


class StoredNodes(Struct, frozen=True):
    """The first nodes of a label: their number, their sets of labels, and their properties."""

    label: str
    nodes: int
    combinations: list[list[str]]
    properties: list[StoredProperty]


class StoredEdges(Struct, frozen=True):
    """Some edges of a type between nodes with these labels, and their properties."""

    type: str
    from_labels: list[str]
    to_labels: list[str]
    edges: int
    properties: list[StoredProperty]


class LinesLoaded(Struct, frozen=True):
    """The number of lines that LOAD CSV has read."""

    lines: int


SHOWN_INDEXES = Query("graph/shown_indexes", ShownIndex)
SHOWN_CONSTRAINTS = Query("graph/shown_constraints", ShownConstraint)
SERVER_SETTINGS = Query("graph/server_settings", ServerSetting)
SERVER_TIME = Query("graph/server_time", ServerTime)
KNOWN_NAMES = Query("graph/known_names", KnownNames)
STORED_NODES = Query("graph/stored_nodes", StoredNodes)
STORED_EDGES = Query("graph/stored_edges", StoredEdges)
COUNTED_MEMORIES = Query("graph/counted_memories", MemoryCount)
COUNTED_PASSAGES = Query("graph/counted_passages", PassageCount)
MEMORIES_TO_CUT = Query("graph/memories_to_cut", MemoryCount)
MEMORIES_TO_NAME = Query("graph/memories_to_name", MemoryCount)
CONVERSATIONS_TO_WORK_ON = Query("graph/conversations_to_work_on", ConversationCount)
MEMORIES_NOT_EMBEDDED = Query("graph/memories_not_embedded", MemoryCount)
REACHED_ADDRESS = Query("graph/reached_address", LinesLoaded)
MESSAGES_WITHOUT_SESSION = Query("graph/messages_without_session", Defect)
SESSIONS_WITHOUT_CONVERSATION = Query("graph/sessions_without_conversation", Defect)
MEMORIES_WITHOUT_CONVERSATION = Query("graph/memories_without_conversation", Defect)
BROKEN_CHAINS = Query("graph/broken_chains", Defect)
EDGES_BETWEEN_CLIENTS = Query("graph/edges_between_clients", Defect)
MEMORIES_WITHOUT_FILTERS = Query("graph/memories_without_filters", Defect)
MEMORIES_WITHOUT_EMBEDDING = Query("graph/memories_without_embedding", Defect)
PASSAGES_WITHOUT_MEMORY = Query("graph/passages_without_memory", Defect)
PASSAGES_WITHOUT_EMBEDDING = Query("graph/passages_without_embedding", Defect)
SUPERSEDED_WITHOUT_VERSION = Query("graph/superseded_without_version", Defect)
FACTS_WITHOUT_PREDECESSOR = Query("graph/facts_without_predecessor", Defect)
SUMMARIES_WITHOUT_SESSION = Query("graph/summaries_without_session", Defect)
SPANS_TO_HASH = Query("graph/spans_to_hash", SpanToHash)
HASHED_SPANS = Query("graph/hashed_spans", HashedSpan)


async def reaches_addresses(graph: Graph) -> bool:
    """Tell whether LOAD CSV may reach the network from the server."""
    try:
        await graph.rows(REACHED_ADDRESS)
    except Neo4jError as problem:
        return "cypher_ip_blocklist" not in (problem.message or "")
    return True


LOOK_SECONDS = 5.0
"""The interval at which the database is asked, and the time that it has to answer."""

FAILED_SECONDS = 10.0
"""The time for which the database may say that it failed: it does not recover by itself."""

SILENT_SECONDS = 60.0
"""The time for which it may not answer at all: one that has too much to do is slow."""


CONFIRM_SECONDS = 15.0
"""The time that a database has to answer before it is restarted: one that was suspended is slow at first."""


class Answered(Struct, frozen=True):
    """The answer of a database that can read."""

    read: int


ANSWERS = Query("graph/answers", Answered)


class Pulse:
    """Notices a database that has failed, or has stopped answering; called repeatedly."""

    def __init__(self) -> None:
        self._next = 0.0
        self._since: dict[str, float] = {}

    async def lost(self, graph: Graph, now: float | None = None) -> str | None:
        """Return the reason to restart the database, None if there is none. Asks every few seconds."""
        now = time.monotonic() if now is None else now
        if now < self._next:
            return None
        self._next = now + LOOK_SECONDS
        state = await _state(graph, LOOK_SECONDS)
        self._since = {state: self._since.get(state, now)} if state else {}
        if state == "failed" and now - self._since[state] >= FAILED_SECONDS:
            return "its database has failed"
        if state == "silent" and now - self._since[state] >= SILENT_SECONDS:
            return f"its database has not answered for {SILENT_SECONDS:g} s"
        return None

    async def is_lost(self, graph: Graph) -> bool:
        """Tell whether the database still fails or is silent; earlier observations no longer count."""
        self._since = {}
        return await _state(graph, CONFIRM_SECONDS) is not None


async def unanswered(graph: Graph, seconds: float) -> str | None:
    """Return the reason for which a database does not answer within a time; None if it does."""
    try:
        async with asyncio.timeout(seconds):
            await graph.impatient().rows(ANSWERS)
    except TimeoutError:
        return f"its database does not answer within {seconds:g} s"
    except Exception as problem:
        return f"its database does not answer ({type(problem).__name__})"
    return None


async def _state(graph: Graph, seconds: float) -> str | None:
    """Return `failed` or `silent`; None if the database answers, or is just starting."""
    try:
        async with asyncio.timeout(seconds):
            await graph.impatient().rows(ANSWERS)
    except TimeoutError:
        return "silent"
    except Unavailable as problem:
        if isinstance(problem.__cause__, DatabaseError):
            return "failed"
        # A suspended one takes connections, and does not greet.
        timed_out = any(isinstance(cause, TimeoutError) for cause in causes(problem))
        return "silent" if timed_out else None
    except GraphmemError:
        return None
    return None
