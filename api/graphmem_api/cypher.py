"""Cypher over HTTP: for operators only, since it sees every client."""

from typing import Annotated

from litestar import Router, get, post
from litestar.di import NamedDependency
from litestar.exceptions import PermissionDeniedException
from litestar.handlers import BaseRouteHandler
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg

from graphmem.config import Settings
from graphmem.context import Context
from graphmem.exploring.running import explore, show_audit
from graphmem.exploring.types import Audit, AuditAsked, CypherAsked, Table
from graphmem_api.admission import LONG_WORK
from graphmem_api.clients import Connection
from graphmem_api.problems import failures
from graphmem_api.queries import query

OFF = "Cypher is off here: GRAPHMEM_CYPHER=keys turns it on for operators' keys"
NO_KEYS = (
    "Cypher sees every client, and without a keys file anybody on this machine could ask: set "
    "GRAPHMEM_CYPHER=on, or name a keys file with an operator's key in GRAPHMEM_KEYS_FILE"
)

COUNTED = Example(
    summary="How many memories of each kind there are",
    value={
        "query": "MATCH (memory:Memory) RETURN memory.kind AS kind, count(*) AS memories "
        "ORDER BY memories DESC"
    },
)
CHAIN = Example(
    summary="The former version of a fact, with parameters",
    value={
        "query": "MATCH path = (head:Fact {id: $id})-[:SUPERSEDES]->+(:Fact) RETURN path",
        "parameters": {"id": "3f0c9a52-5d0e-4c63-8f5e-1c2b7a0f6d11"},
        "max_rows": 100,
        "timeout_ms": 2000,
    },
)


class OperatorsOnly:
    """Admits operators with keys and, if the settings allow it, callers on this machine without keys."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def __call__(self, _: Connection, handler: BaseRouteHandler) -> None:
        """Raise 403 for callers that may not see all clients."""
        if self._settings.cypher == "off":
            raise PermissionDeniedException(OFF)
        if self._settings.keys_file is None and self._settings.cypher != "on":
            raise PermissionDeniedException(NO_KEYS)


@post(
    "/",
    opt=LONG_WORK,
    summary="Ask the graph in Cypher",
    status_code=200,
    response_description="The rows, as maps, and the plan",
    responses=failures(408, 413, 415, 429),
)
async def ask_cypher(
    data: Annotated[CypherAsked, BodyKwarg(examples=[COUNTED, CHAIN])],
    context: NamedDependency[Context],
) -> Table:
    """Query the graph of all clients in Cypher; a statement that may do more than read is refused.

    The database's plan decides, not the text: a 403 names the rule in `code` and the `place` in the text, a
    400 contains Neo4j's message about a mistake. `CYPHER 25` may precede the statement, `;` may follow it.
    Statements that the database could not interrupt are refused too: deep nesting (`cypher_nesting`), long
    loops inside an expression (`cypher_range`), and regular expressions that may backtrack for ever
    (`cypher_regex`, `cypher_fulltext`); the message says what is allowed.

    A row is a map, with `columns` in their order. A node is `{id, labels, properties}`, a relationship
    `{id, type, start, end, properties}`, a path `{nodes, relationships}`; times and durations are ISO 8601,
    bytes Base64, a point `{srid, x, y}` or `{srid, longitude, latitude}`, and NaN and Infinity texts.
    Embeddings are omitted from nodes and maps, and null as separate values; so is every list of 64 or more
    fractions of length 1, whatever its origin.

    The answer ends at `max_rows` or 8 MiB of rows, with `truncated`; at `timeout_ms`, or the server's limit
    of memory, the statement ends with 408. Every statement is recorded in the audit. Hanging up cancels it.

    The database runs a few statements of all operators at a time, including those that were cut off and do
    not end (`GRAPHMEM_CYPHER_AT_ONCE`, by default one for each processor, at most 4). One more gets 429 with
    `Retry-After`, and no audit entry.
    """
    return await explore(data, context, via="http")


@get(
    "/audit",
    summary="List the audit of Cypher statements",
    response_description="A page of entries",
    responses=failures(),
    **query(AuditAsked),
)
async def list_cypher_audit(
    context: NamedDependency[Context],
    asked: NamedDependency[AuditAsked],
) -> Audit:
    """List the statements of all clients with their senders and outcomes, newest first.

    An entry has the text as it was sent and the names of its parameters; `still_running` marks a statement
    that the database still works on after its caller has got an answer. An entry is deleted after 90 days, or
    when there are more than 100,000.
    """
    return await show_audit(asked, context)


def cypher(settings: Settings) -> Router:
    """Return the routes, with access as the settings say."""
    return Router(
        "/cypher",
        route_handlers=[ask_cypher, list_cypher_audit],
        guards=[OperatorsOnly(settings)],
        tags=["cypher"],
    )
