"""The API describes itself: every route, with examples and problems, and how to say who asks."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import httpx
import msgspec
import pytest
from graphmem_api import schema
from graphmem_api.app import create_app
from graphmem_api.bodies import decoded
from graphmem_api.conversations import BATCH, NEW
from graphmem_api.document import Document, DocumentConfig, Structs
from graphmem_api.recall import QUESTION
from litestar import Litestar, get
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Example

from graphmem.conversations.types import Batch, NewConversation
from graphmem.recall.types import Question
from graphmem.runtime import Runtime
from tests.api.conftest import client_of

ROUTES = {
    ("post", "/api/v0/conversations"),
    ("post", "/api/v0/conversations/{conversation_id}/messages"),
    ("delete", "/api/v0/conversations/{conversation_id}"),
    ("get", "/api/v0/memories/{memory_id}"),
    ("delete", "/api/v0/memories/{memory_id}"),
    ("post", "/api/v0/recall"),
    ("get", "/api/v0/jobs"),
    ("get", "/metrics"),
    ("get", "/health/live"),
    ("get", "/health/ready"),
}


@pytest.fixture(scope="session")
def document(offline_app: Litestar) -> dict[str, Any]:
    return json.loads(json.dumps(offline_app.openapi_schema.to_schema()))


def operations(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method, path): operation
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }


def is_page(path: str) -> bool:
    """Tell whether a route is a page or a file of one, for people."""
    return path == "/" or path.startswith(("/schema", "/explorer/"))


def test_every_route_is_described(document: dict[str, Any], offline_app: Litestar) -> None:  # B1
    assert document["openapi"].startswith("3.1")
    assert operations(document).keys() >= ROUTES
    served = {
        (method.lower(), route.path_format)
        for route in offline_app.routes
        for method in route.methods
        if method not in {"OPTIONS", "HEAD"} and not is_page(route.path)
    }
    assert operations(document).keys() == served


def test_every_success_shows_an_answer(document: dict[str, Any]) -> None:
    for operation in operations(document).values():
        for status, response in operation["responses"].items():
            for content in response.get("content", {}).values() if status < "300" else ():
                assert "example" in content, (operation["operationId"], status)


def test_bounds_are_shown_where_null_is_allowed(document: dict[str, Any]) -> None:
    shapes = document["components"]["schemas"]
    least = {"type": "null"}, {"type": "number", "minimum": 0.0, "maximum": 1.0}
    for name in ("SearchQuery", "SpanQuery", "RunQuestion"):
        choices = shapes[name]["properties"]["min_relevance"]["anyOf"]
        assert all(choice in choices for choice in least), name
    text, vector = shapes["RunQuestion"]["properties"]["query"]["anyOf"]
    assert {"minLength", "maxLength"} <= text.keys()
    assert {"minItems", "maxItems"} <= vector.keys()


def test_two_structs_of_one_name_are_a_mistake() -> None:
    first, second = (msgspec.defstruct("Same", [], module=name) for name in ("one", "other"))

    def answering(path: str, wanted: type) -> HTTPRouteHandler:
        async def handler() -> Any: ...

        handler.__annotations__["return"] = wanted
        return get(path)(handler)

    structs = Structs()
    config = DocumentConfig(title="two", version="1", structs=structs)
    app = Litestar(
        [answering("/a", first), answering("/b", second)], plugins=[structs], openapi_config=config
    )
    with pytest.raises(TypeError, match="two structs of the API are called 'Same'"):
        _ = app.openapi_schema


def test_operation_ids_are_unique_and_summaries_are_sentences(document: dict[str, Any]) -> None:
    described = operations(document).values()
    assert len({operation["operationId"] for operation in described}) == len(described)
    for operation in described:
        assert " " in operation["summary"]
        assert operation["description"]
        assert operation["tags"]


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    references = re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document))
    assert references
    assert set(references) <= document["components"]["schemas"].keys()


def test_every_failure_is_described_as_a_problem(document: dict[str, Any]) -> None:
    for (_, path), operation in operations(document).items():
        failures = {status: r for status, r in operation["responses"].items() if status >= "400"}
        if path.startswith("/api/"):
            assert failures.keys() >= {"400", "401", "500", "503"}
        for status, response in failures.items():
            content = response["content"]["application/problem+json"]
            assert list(response["content"]) == ["application/problem+json"]
            assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
            examples = [example["value"] for example in content["examples"].values()]
            assert {example["status"] for example in examples} == {int(status)}


def test_both_ways_of_saying_who_asks_are_described(document: dict[str, Any]) -> None:
    schemes = document["components"]["securitySchemes"]
    assert schemes["key"] | {"description": ""} == {
        "type": "http",
        "scheme": "bearer",
        "description": "",
    }
    assert (schemes["client"]["in"], schemes["client"]["name"]) == ("header", "X-Client-Id")
    for (_, path), operation in operations(document).items():
        assert ("security" in operation) == path.startswith(("/api/", "/metrics"))


@pytest.mark.parametrize(
    ("example", "wanted"), [(NEW, NewConversation), (BATCH, Batch), (QUESTION, Question)]
)
def test_every_example_can_be_sent(example: Example, wanted: type) -> None:
    assert decoded(msgspec.json.encode(example.value), wanted)


def test_every_pattern_is_one_that_json_schema_knows(document: dict[str, Any]) -> None:
    patterns = re.findall(r'"pattern": "((?:[^"\\]|\\.)*)"', json.dumps(document))
    assert patterns
    assert not any(r"\Z" in pattern or r"\A" in pattern for pattern in patterns)


async def test_a_program_gets_the_document_and_a_browser_a_page(
    refusing: httpx.AsyncClient,
) -> None:
    document = await refusing.get("/schema")
    assert document.headers["content-type"].startswith("application/vnd.oai.openapi+json")
    assert document.json() == (await refusing.get("/schema/openapi.json")).json()
    page = await refusing.get("/schema", headers={"Accept": "text/html,application/xhtml+xml"})
    assert page.headers["content-type"].startswith("text/html")
    for _, path in ROUTES:
        assert path in page.text


async def test_the_document_and_its_page_are_made_once(
    offline: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(what: str, make: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def making(given: Any) -> Any:
            made.append(what)
            return make(given)

        return making

    monkeypatch.setattr(Document, "to_schema", counted("document", Document.to_schema))
    monkeypatch.setattr(schema, "page", counted("page", schema.page))
    async with client_of(create_app(offline)) as client:
        for _ in range(2):
            for path in ("/schema", "/schema/openapi.json"):
                assert (await client.get(path)).json()["openapi"]
            assert "<h1>" in (await client.get("/schema", headers={"Accept": "text/html"})).text
    # Litestar keeps the one for the page.
    assert sorted(made) == ["document", "document", "page"]


class Links(HTMLParser):
    """Collects what a page loads or links to, and what can be linked to."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs) -> None:
        given = dict(attrs)
        assert tag not in {"script", "link", "img", "iframe"}
        self.targets += [given[name] for name in ("href", "src") if name in given]
        if "id" in given:
            self.anchors.add(given["id"])


async def test_the_page_needs_nothing_from_outside(refusing: httpx.AsyncClient) -> None:
    page = await refusing.get("/schema", headers={"Accept": "text/html"})
    links = Links()
    links.feed(page.text)
    inside = {target[1:] for target in links.targets if target.startswith("#")}
    assert inside <= links.anchors
    assert {target for target in links.targets if not target.startswith("#")} == {
        "/schema/openapi.json"
    }
    assert "@import" not in page.text
    assert "url(" not in page.text
