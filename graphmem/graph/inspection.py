"""Looking at a database without changing it: its schema, its settings, and what does not fit."""

from typing import Any

from msgspec import Struct
from neo4j.exceptions import Neo4jError

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query


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
    """A setting of the server; None where it was not set and has no fixed default."""

    name: str
    value: str | None


class Counted(Struct, frozen=True):
    """How many memories there are."""

    memories: int


class Defect(Struct, frozen=True):
    """How many nodes or edges do not fit, and the ids of some."""

    found: int
    examples: list[str]


class KnownNames(Struct, frozen=True):
    """The names that a database has ever known, each list in order."""

    labels: list[str]
    edge_types: list[str]
    keys: list[str]


class Lines(Struct, frozen=True):
    """How many lines were loaded."""

    lines: int


SHOWN_INDEXES = Query("graph/shown_indexes", ShownIndex)
SHOWN_CONSTRAINTS = Query("graph/shown_constraints", ShownConstraint)
SERVER_SETTINGS = Query("graph/server_settings", ServerSetting)
KNOWN_NAMES = Query("graph/known_names", KnownNames)
COUNTED_MEMORIES = Query("graph/counted_memories", Counted)
MEMORIES_NOT_EMBEDDED = Query("graph/memories_not_embedded", Counted)
REACHED_ADDRESS = Query("graph/reached_address", Lines)
MESSAGES_WITHOUT_SESSION = Query("graph/messages_without_session", Defect)
SESSIONS_WITHOUT_CONVERSATION = Query("graph/sessions_without_conversation", Defect)
MEMORIES_WITHOUT_CONVERSATION = Query("graph/memories_without_conversation", Defect)
BROKEN_CHAINS = Query("graph/broken_chains", Defect)
EDGES_BETWEEN_CLIENTS = Query("graph/edges_between_clients", Defect)
MEMORIES_WITHOUT_FILTERS = Query("graph/memories_without_filters", Defect)
MEMORIES_WITHOUT_EMBEDDING = Query("graph/memories_without_embedding", Defect)


async def reaches_addresses(graph: Graph) -> bool:
    """Tell whether LOAD CSV may reach the network from the server."""
    try:
        await graph.rows(REACHED_ADDRESS)
    except Neo4jError as problem:
        return "cypher_ip_blocklist" not in (problem.message or "")
    return True
