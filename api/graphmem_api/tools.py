"""The tools that agents call by MCP: decode, call one use case, answer."""

import logging
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Annotated, Any

import msgspec
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from msgspec import Meta, Struct

from graphmem.context import Context
from graphmem.contextual import ask
from graphmem.contextual.types import ContextualQuery, ContextualResult
from graphmem.errors import GraphmemError, Unavailable
from graphmem.model.validation import validated
from graphmem.observing.logs import traced

SEARCH_CONTEXTUAL = "search_contextual"

TEXT_TOKENS = 4_096
"""The default length of a tool's text, in tokens: the text fills the agent's own context."""

INSTRUCTIONS = """\
This is a long-term memory of earlier sessions. Call search_contextual whenever an answer may depend on what \
was said, decided, tried or fixed before, and before asking the user for what they may have told already.\
"""

DESCRIPTION = """\
Find what was said in earlier sessions: first the sessions that have to do with a question, then the \
messages in them that answer it, with what was said just before and after, and the sessions related to these.

Use it when the user refers to the past ("what was that auth bug?", "as we decided"), when a task goes on \
that was begun earlier, or when you would otherwise guess at a preference, a decision or its reason. Ask in \
plain words, names and identifiers included; one question a call. Do not use it for general knowledge, or \
for what already stands in this conversation.

Every message has its time (`occurred_at`, UTC): say when something was. Set `as_of` to learn what was true \
on a day, `known_as_of` what was known then. With `fallback` = "global" no session was relevant enough, and \
the text holds what a search over everything found: trust it less. Nothing found means that it was not \
remembered, not that it never happened.\
"""

NOTHING = "Nothing was found."
FALLBACK = "No session was relevant enough: this is what a search over everything has found."
FAILED = "something went wrong here, not in what was sent; graphmem's log says where"

Opened = Callable[[], Awaitable[Context]]
"""Waits until graphmem is running, and returns the context of one client."""

log = logging.getLogger(__name__)


class ToolQuery(ContextualQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent's question to its earlier sessions, and the length of the answer."""

    max_tokens: Annotated[int, Meta(ge=1, le=200_000, description="maximum tokens of the text")] = (
        TEXT_TOKENS
    )


def tools(opened: Opened) -> Server:
    """Return a server that offers agents the tools."""

    async def listed(context: Any, asked: types.PaginatedRequestParams | None) -> Any:
        return types.ListToolsResult(tools=[search_tool()])

    async def called(context: Any, asked: types.CallToolRequestParams) -> types.CallToolResult:
        if asked.name != SEARCH_CONTEXTUAL:
            known = f"there is no tool {asked.name[:80]!r}; the one there is: {SEARCH_CONTEXTUAL}"
            raise MCPError(types.INVALID_PARAMS, known)
        try:
            return await search_contextual(asked.arguments or {}, opened)
        except Exception as problem:
            return _refused(problem)

    return Server(
        "graphmem",
        title="graphmem",
        version=version("graphmem"),
        instructions=INSTRUCTIONS,
        on_list_tools=listed,
        on_call_tool=called,
    )


def search_tool() -> types.Tool:
    """Return the description of the tool, with its schemas."""
    return types.Tool(
        name=SEARCH_CONTEXTUAL,
        title="Search earlier sessions",
        description=DESCRIPTION,
        input_schema=_schema(ToolQuery),
        output_schema=_schema(ContextualResult),
        annotations=types.ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )


async def search_contextual(arguments: dict[str, Any], opened: Opened) -> types.CallToolResult:
    """Return the prompt as text, and the same answer as over HTTP.

    Raises `InvalidInput`, `Unavailable`, and the error that keeps graphmem from running.
    """
    asked = validated(arguments, ToolQuery)
    found = await ask.search_contextual(asked, await opened())
    said = [found.prompt or NOTHING]
    if found.fallback and found.items:
        said.append(FALLBACK)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text) for text in said],
        structured_content=msgspec.to_builtins(found),
    )


def _refused(problem: Exception) -> types.CallToolResult:
    """Return an error that an agent can act on; an unexpected one is logged, and not described."""
    if isinstance(problem, GraphmemError):
        said = str(problem)
        if isinstance(problem, Unavailable):
            said += f"; try again in {problem.retry_after} seconds"
    else:
        log.error("failed: %s", traced(problem))
        said = FAILED
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)], is_error=True)


def _schema(struct: type[Struct]) -> dict[str, Any]:
    """Return a struct's JSON schema with the struct itself on top, as MCP requires."""
    schema = msgspec.json.schema(struct)
    others = schema["$defs"]
    top: dict[str, Any] = others.pop(struct.__name__)
    return top | {"$defs": others} if others else top
