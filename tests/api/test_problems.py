"""Every failure has a status and the one shape, and tells nothing that it should not."""

from typing import Any

import httpx
import msgspec
import pytest
from graphmem_api.access import ObservedApp
from graphmem_api.app import create_app
from graphmem_api.problems import STATUS, Problem, status_of
from msgspec.structs import replace

from graphmem import errors
from graphmem.embedding import Embedder
from graphmem.errors import GraphmemError
from graphmem.retrieval.understanding import Vocabulary
from graphmem.runtime import Runtime

TABLE = {
    errors.InvalidInput: 400,
    errors.TooLarge: 413,
    errors.NotFound: 404,
    errors.MemoryNotFound: 404,
    errors.ItemNotFound: 404,
    errors.ContextNotFound: 404,
    errors.ConversationNotFound: 404,
    errors.SessionNotFound: 404,
    errors.Conflict: 409,
    errors.NotHead: 409,
    errors.RunNotFound: 404,
    errors.BudgetExhausted: 409,
    errors.RunEnded: 409,
    errors.RunTimeout: 409,
    errors.TooDeep: 409,
    errors.ChildlessBudget: 409,
    errors.OperationReused: 409,
    errors.TooManyRuns: 429,
    errors.TooManyStatements: 429,
    errors.TookTooLong: 408,
    errors.TookTooMuch: 408,
    errors.CypherRefused: 403,
    errors.CypherMistake: 400,
    errors.PatternNotFound: 404,
    errors.NodeNotFound: 404,
    errors.ContentChanged: 409,
    errors.ContentDamaged: 409,
    errors.LegalHold: 409,
    errors.IdTaken: 409,
    errors.PartOfContent: 409,
    errors.SpanNotFound: 404,
    errors.EntityNotFound: 404,
    errors.LinkNotFound: 404,
    errors.AliasNotFound: 404,
    errors.Unauthorized: 401,
    errors.Unavailable: 503,
    errors.ModelFailed: 503,
    errors.StoreDamaged: 503,
    errors.RecordDamaged: 503,
}


def every(error: type[GraphmemError]) -> list[type[GraphmemError]]:
    return [error, *(below for child in error.__subclasses__() for below in every(child))]


@pytest.mark.parametrize("error", every(GraphmemError), ids=lambda error: error.code)
def test_every_error_has_a_status(error: type[GraphmemError]) -> None:
    named = [ancestor for ancestor in error.__mro__[:-1] if ancestor in STATUS]
    assert named[0] is not GraphmemError or error is GraphmemError
    expected = 500 if issubclass(error, errors.SetupError) else TABLE.get(error)
    assert expected is None or status_of(error) == expected


async def check_shape(
    method: str, path: str, status: int, code: str, http: httpx.AsyncClient
) -> None:
    """Assert that what is answered to a request is a problem of the one shape."""
    answer = await http.request(method, path, headers={"X-Request-Id": "test:1"})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = msgspec.json.decode(answer.content, type=Problem)
    assert (problem.status, problem.code, problem.instance) == (status, code, path)
    assert problem.type == f"urn:graphmem:problem:{code}"
    assert problem.request_id == answer.headers["x-request-id"] == "test:1"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("GET", "/api/v0/nothing", 404, "not_found"),
        ("GET", "/schema/nothing.json", 404, "not_found"),
        ("GET", "/api/v0/recall", 405, "method_not_allowed"),
        ("PUT", "/health/live", 405, "method_not_allowed"),
    ],
)
async def test_every_failure_has_the_same_shape(
    method: str, path: str, status: int, code: str, refusing: httpx.AsyncClient
) -> None:
    await check_shape(method, path, status, code, refusing)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/v0/nothing", 404, "not_found"),
        ("GET", "/api/v0/recall", 405, "method_not_allowed"),
        ("GET", "/api/v0/memories/none", 404, "memory_not_found"),
        ("DELETE", "/api/v0/conversations/none", 404, "conversation_not_found"),
    ],
)
async def test_beside_a_database_it_has_the_same_shape(
    method: str, path: str, status: int, code: str, http: httpx.AsyncClient
) -> None:
    await check_shape(method, path, status, code, http)


async def test_a_method_that_is_not_taken_is_told_which_are(refusing: httpx.AsyncClient) -> None:
    answer = await refusing.get("/api/v0/recall")
    assert "POST" in answer.headers["allow"]
    assert "POST" in answer.json()["detail"]


@pytest.mark.parametrize("given", ["a b", "", "x" * 129, "a\tb", "é"])
async def test_a_request_id_that_is_not_sane_is_replaced(
    given: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.get("/health/live", headers={b"X-Request-Id": given.encode()})
    assert len(answer.headers["x-request-id"]) == 32


async def test_every_request_leaves_one_line_without_what_it_said(
    http: httpx.AsyncClient, memory, log_lines: list[str]
) -> None:
    await http.post(
        "/api/v0/recall", json={"query": "sesame-4711"}, headers={"X-Request-Id": "line:1"}
    )
    await http.get("/api/v0/memories/quince")
    lines = [line for line in log_lines if " graphmem_api.access: " in line]
    assert len(lines) == 2
    for part in ("method=POST", "route=/api/v0/recall", "status=200", "request_id=line:1"):
        assert part in lines[0]
    assert f"client={memory.client_id}" in lines[0]
    assert "route=/api/v0/memories/{memory_id" in lines[1]
    assert not [line for line in log_lines if "sesame" in line or "quince" in line]


class Broken:
    """A model that fails as no one foresaw, quoting what it was given."""

    name, sha256, dimensions = "broken", "0", 384

    def embed(self, texts: list[str]) -> list[list[float]]:
        raise RuntimeError(f"cannot embed {texts}")

    def truncates(self, text: str) -> bool:
        return False


async def test_an_embedder_that_fails_is_unavailable(runtime: Runtime, asking) -> None:
    embedder = Embedder(Broken())
    try:
        async with asking(create_app(replace(runtime, embedder=embedder))) as http:
            made = await http.post("/api/v0/conversations", json={})
            answer = await http.post(
                f"/api/v0/conversations/{made.json()['id']}/messages",
                json={"messages": [{"session_id": "s", "role": "user", "content": "pear"}]},
            )
    finally:
        await embedder.close()
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "2"
    assert "pear" not in answer.text


class Crashing:
    """A graph whose every call fails as no one foresaw, quoting the parameters."""

    async def rows(self, _query: Any, **parameters: Any) -> Any:
        raise RuntimeError(f"secret {parameters}")

    write = rows


async def test_what_nobody_foresaw_says_nothing_of_itself(
    offline: Runtime, asking: Any, log_lines: list[str]
) -> None:
    graph: Any = Crashing()
    crashing = create_app(replace(offline, graph=graph, vocabulary=Vocabulary(graph)))
    async with asking(crashing) as http:
        answer = await http.post("/api/v0/recall", json={"query": "sesame-4711"})
    assert answer.status_code == 500
    problem = msgspec.json.decode(answer.content, type=Problem)
    assert problem.code == "internal_error"
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    [line] = [line for line in log_lines if "ERROR" in line]
    for part in (f"request_id={problem.request_id}", "RuntimeError", "in rows"):
        assert part in line
    assert not [line for line in log_lines if "sesame" in line]


async def test_an_error_outside_every_route_is_answered_too(asking: Any) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("secret")

    async with asking(ObservedApp(broken)) as http:
        answer = await http.get("/anything")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
