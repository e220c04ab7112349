"""The API's description: an OpenAPI document, and a page of it that needs nothing from outside."""

import re
from collections.abc import Iterator
from html import escape
from typing import Any

import msgspec
from litestar import Request, Response, Router
from litestar.enums import OpenAPIMediaType
from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import OpenAPIRenderPlugin
from litestar.openapi.spec import Components, SecurityRequirement, SecurityScheme, Tag
from litestar.serialization import default_serializer, encode_json

from graphmem_api.clients import HEADER, Guard
from graphmem_api.document import DocumentConfig, Structs

PATH = "/schema"
DOCUMENT = f"{PATH}/openapi.json"

SECURITY: list[SecurityRequirement] = [{"key": []}, {"client": []}, {}]
"""A key; or, without a keys file, the client's name or nothing."""

ABOUT = f"""\
A memory service for agents: it stores messages and facts in a graph, and returns the best context for a
question within a token budget.

**Authentication.** With a keys file, `Authorization: Bearer <key>` decides client and role; `{HEADER}` is
omitted, or names the same client (else 401). Without one, only requests from this machine are accepted,
and `{HEADER}` names the client (`default` if it is missing). Data of other clients appear not to exist.

**Bodies** are JSON in UTF-8, at most 32 MiB. Times have a zone.

**Failures** are `application/problem+json` with a machine-readable `code`. A request may have an
`X-Request-Id`; every answer has one.
"""

SCHEMES = Components(
    security_schemes={
        "key": SecurityScheme(
            type="http", scheme="bearer", description="a key from the keys file; decides the client"
        ),
        "client": SecurityScheme(
            type="apiKey",
            name=HEADER,
            security_scheme_in="header",
            description="without a keys file: the client's name",
        ),
    }
)

WAYS = "docs/ways-of-asking.md says when each of the others earns its place"

TAGS = [
    Tag(
        "conversations",
        "Durable memory spaces between an agent and a user. Begin here: to remember messages "
        f"and to recall is all that you need at first ({WAYS})",
    ),
    Tag("facts", "Distilled statements, and the categories that they may have"),
    Tag("episodes", "Coherent runs of messages, and the facts made of them"),
    Tag("memories", "Single memories"),
    Tag(
        "forgetting", "Deleting for good: by a selection, with a receipt and its proof; legal holds"
    ),
    Tag("references", "The catalogue cards of sources, and their contents"),
    Tag("summaries", "Versioned digests of threads, plans and sessions"),
    Tag("sessions", "The summaries of sessions (sittings of a conversation), and related sessions"),
    Tag("spans", "Byte ranges of sources"),
    Tag("links", "Links between memories"),
    Tag("entities", "The names that memories mention, and their aliases"),
    Tag(
        "contexts",
        "When a prompt is composed on the server: parts of memories that an agent collects for "
        "its model, within a budget",
    ),
    Tag("recall", f"The best context for a question within a budget: ask here first ({WAYS})"),
    Tag(
        "contextual",
        "When the question is about a talk: sessions first, then their messages, then more of these",
    ),
    Tag(
        "search",
        "When a person browses: memories that match a query, with scores and reasons, along links "
        "if requested",
    ),
    Tag(
        "retrieve memory",
        "When episodes should fade and prove useful again: facts and episodes of one conversation",
    ),
    Tag("reviews", "Episodes in answers, and their ratings"),
    Tag("patterns", "When you count and compare: patterns across sessions"),
    Tag("graph", "The graph itself: the neighbourhood of a node, and the schema"),
    Tag("cypher", "The whole graph, of all clients, for operators"),
    Tag("runs", "When agents read on their own: runs with a budget, under /rlm/sessions"),
    Tag("jobs", "Background work"),
    Tag("clients", "The clients of the whole store, for operators"),
    Tag("metrics", "Metrics for Prometheus"),
    Tag("health", "Liveness and readiness"),
]

REFERENCE = re.compile(r"#/components/schemas/([\w.-]+)")

STYLE = """
body {font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem}
code, pre {font: 14px/1.4 ui-monospace, monospace}
pre {background: #8881; padding: .6rem; overflow: auto; white-space: pre-wrap}
summary {cursor: pointer} details {border-top: 1px solid #8884; padding: .4rem 0}
b.method {display: inline-block; min-width: 4.5rem}
"""


class DocumentPage(OpenAPIRenderPlugin):
    """The description as one page of plain HTML: no script, no font, no network."""

    _rendered = b""

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        """Return the page, which is made once."""
        self._rendered = self._rendered or "".join(page(openapi_schema)).encode()
        return self._rendered


def description(version: str, structs: Structs, guard: Guard) -> OpenAPIConfig:
    """Return the configuration of the API's description: a browser gets the page, a program the document."""
    return DocumentConfig(
        structs=structs,
        title="graphmem",
        version=version,
        description=ABOUT,
        components=SCHEMES,
        tags=TAGS,
        use_handler_docstrings=True,
        operation_id_creator=_operation_id,
        render_plugins=[DocumentPage(path="/")],
        openapi_router=Router(
            PATH,
            route_handlers=[],
            guards=[guard.refuse_foreign_pages],
            include_in_schema=False,
            before_request=_for_programs,
        ),
    )


def page(document: dict[str, Any]) -> Iterator[str]:
    """Yield the page's HTML, piece by piece."""
    info = document["info"]
    yield "<!doctype html><html lang=en><meta charset=utf-8>"
    yield f"<title>{escape(info['title'])}</title><style>{STYLE}</style>"
    yield f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>"
    yield f"<p><a href={DOCUMENT}>openapi.json</a></p>{_prose(info['description'])}"
    for tag in document["tags"]:
        yield f"<h2>{escape(tag['name'])}</h2><p>{escape(tag['description'])}</p>"
        for path, item in document["paths"].items():
            for method, operation in item.items():
                if tag["name"] in operation.get("tags", []):
                    yield from _operation(method, path, operation)
    yield "<h2>Shapes</h2>"
    for name, shape in document["components"]["schemas"].items():
        yield f"<details id={_anchor(name)} open><summary><code>{escape(name)}</code></summary>"
        yield f"{_json(shape)}</details>"


def _operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"<details id={_anchor(operation['operationId'])}><summary>"
    yield f"<b class=method>{method.upper()}</b> <code>{escape(path)}</code> "
    yield f"{escape(operation['summary'])}</summary>"
    yield _prose(operation.get("description", ""))
    for parameter in operation.get("parameters", []):
        yield f"<p><code>{escape(parameter['name'])}</code>, in the {escape(parameter['in'])}: "
        yield f"{escape(parameter.get('description', ''))}</p>"
    if "requestBody" in operation:
        yield f"<h4>Body</h4>{_json(operation['requestBody']['content'])}"
    for status, response in operation["responses"].items():
        yield f"<h4>{escape(status)} {escape(response['description'])}</h4>"
        yield _json(response.get("content", {}))
    yield "</details>"


def _prose(text: str) -> str:
    """Return paragraphs with `code` and **weight**."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    text = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", text)
    return "".join(f"<p>{paragraph}</p>" for paragraph in text.split("\n\n"))


def _json(value: Any) -> str:
    """Return JSON to be read, its references as links to the shapes."""
    text = msgspec.json.format(encode_json(value, default_serializer), indent=2).decode()
    return f"<pre>{REFERENCE.sub(_link, escape(text, quote=False))}</pre>"


def _link(reference: re.Match[str]) -> str:
    return f"<a href=#{_anchor(reference[1])}>{reference[1]}</a>"


def _anchor(name: str) -> str:
    return re.sub(r"[^\w-]", "-", name)


def _operation_id(handler: HTTPRouteHandler, method: object, path: object) -> str:
    return handler.handler_name.rpartition(".")[2]


def _for_programs(request: Request[Any, Any, Any]) -> Response[bytes] | None:
    """Return the document unless the request asks for HTML; raise for an unknown path."""
    if request.scope["path"] not in {PATH, DOCUMENT}:
        raise NotFoundException
    if "text/html" in request.headers.get("accept", ""):
        return None
    document: Any = request.app.openapi_schema
    return Response(document.encoded, media_type=OpenAPIMediaType.OPENAPI_JSON)
