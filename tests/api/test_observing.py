"""What is seen from outside of requests and jobs, and what is never seen: a text."""

import asyncio
import logging
import uuid
from datetime import UTC, datetime

import httpx
import pytest
from graphmem_api.access import protected
from graphmem_api.app import create_app
from msgspec.structs import replace
from neo4j.exceptions import ServiceUnavailable
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from graphmem.background import Background
from graphmem.client import Graphmem
from graphmem.embedding import Embedder
from graphmem.errors import Unavailable
from graphmem.graph.schema import SERVER_VERSION
from graphmem.jobs.outbox import Claim, enqueue
from graphmem.observing.logs import JsonFormatter, TextFormatter
from graphmem.runtime import Runtime

SECRET = "sesamequince"
MESSAGE = {"session_id": "s", "role": "user", "name": SECRET, "content": f"The word is {SECRET}."}


class Quoting:
    """A model, and a graph, that fail as no one foresaw and quote what they were given."""

    name, sha256, dimensions = "quoting", "0", 384

    def embed(self, texts: list[str]) -> list[list[float]]:
        raise RuntimeError(f"cannot embed {texts}")

    def truncates(self, text: str) -> bool:
        return False

    async def rows(self, _query, **parameters):
        raise ValueError(f"cannot run {parameters}") from KeyError(SECRET)

    write = rows


async def exercised(http: httpx.AsyncClient, runtime: Runtime, asking) -> None:
    """Remember, recall and fail in every way, with the secret in every text."""
    made = await http.post("/api/v0/conversations", json={"title": SECRET})
    path = f"/api/v0/conversations/{made.json()['id']}/messages"
    assert (await http.post(path, json={"messages": [MESSAGE]})).status_code == 201
    found = await http.post("/api/v0/recall", json={"query": f"which {SECRET}?", "explain": True})
    assert SECRET in found.json()["context"]
    assert (await http.get(f"/api/v0/memories/{SECRET}")).status_code == 404
    assert (await http.get(f"/api/v0/jobs?state={SECRET}")).status_code == 400
    assert (await http.get("/api/v0/jobs", params={"kind": SECRET})).status_code == 200
    for body in ({"query": SECRET, "ranking": SECRET}, {SECRET: 1}, [SECRET]):
        assert (await http.post("/api/v0/recall", json=body)).status_code == 400
    embedder = Embedder(Quoting())
    try:
        async with asking(create_app(replace(runtime, embedder=embedder))) as worse:
            answer = await worse.post("/api/v0/recall", json={"query": SECRET})
            assert answer.json()["degraded"] == ["no_vector"]
    finally:
        await embedder.close()
    async with asking(create_app(replace(runtime, graph=Quoting()))) as worst:
        assert (await worst.post("/api/v0/recall", json={"query": SECRET})).status_code == 500


async def test_no_text_ever_stands_in_the_log(
    http: httpx.AsyncClient, runtime: Runtime, asking, log_lines: list[str]
) -> None:
    await exercised(http, runtime, asking)
    assert len([line for line in log_lines if " graphmem_api.access: " in line]) >= 10
    assert [line for line in log_lines if " ERROR " in line]
    assert [line for line in log_lines if " WARNING graphmem.retrieval.understanding: " in line]
    assert not [line for line in log_lines if SECRET in line]


async def test_every_line_of_a_request_names_it(
    http: httpx.AsyncClient, runtime: Runtime, asking, memory: Graphmem, log_lines: list[str]
) -> None:
    embedder = Embedder(Quoting())
    headers = {"x_request_id": "line:1", "x_client_id": memory.client_id}
    try:
        async with asking(create_app(replace(runtime, embedder=embedder)), **headers) as worse:
            await worse.post("/api/v0/recall", json={"query": "anything"})
    finally:
        await embedder.close()
    ours = [line for line in log_lines if " graphmem." in line or " graphmem_api." in line]
    assert {line.split()[2] for line in ours} == {
        "graphmem.retrieval.understanding:",
        "graphmem_api.access:",
    }
    for line in ours:
        assert line.endswith(f" request_id=line:1 client={memory.client_id}")


async def test_a_request_leaves_nothing_of_itself_to_the_next(
    http: httpx.AsyncClient, log_lines: list[str]
) -> None:
    await http.get("/api/v0/memories/x", headers={"X-Request-Id": "first"})
    await http.get("/health/live", headers={"X-Request-Id": "second"})
    assert log_lines[-1].endswith(" request_id=second")


async def test_a_recall_shows_as_a_tree_of_a_request_and_its_queries(
    http: httpx.AsyncClient, spans
) -> None:  # B8
    made = await http.post("/api/v0/conversations", json={})
    path = f"/api/v0/conversations/{made.json()['id']}/messages"
    await http.post(path, json={"messages": [MESSAGE]})
    spans.clear()
    answer = await http.post("/api/v0/recall", json={"query": f"which {SECRET}?"})
    *children, root = spans.get_finished_spans()
    assert (root.name, root.kind, root.parent) == ("POST /api/v0/recall", SpanKind.SERVER, None)
    assert root.attributes == {
        "graphmem.request_id": answer.headers["x-request-id"],
        "http.request.method": "POST",
        "http.route": "/api/v0/recall",
        "http.response.status_code": 200,
    }
    assert {child.parent.span_id for child in children} == {root.context.span_id}
    queries = {child.name: child for child in children if child.kind is SpanKind.CLIENT}
    assert "recall/texts" in queries
    assert [name for name in queries if name.startswith("retrieval/found")]
    assert {child.name for child in children} - queries.keys() == {"embed question"}
    for child in queries.values():
        assert child.attributes.keys() == {"db.system", "graphmem.rows", "graphmem.retries"}
        assert child.attributes["db.system"] == "neo4j"
    assert queries["recall/texts"].attributes["graphmem.rows"] == 1


async def test_a_write_shows_as_a_transaction_of_queries(http: httpx.AsyncClient, spans) -> None:
    made = await http.post("/api/v0/conversations", json={})
    spans.clear()
    path = f"/api/v0/conversations/{made.json()['id']}/messages"
    await http.post(path, json={"messages": [MESSAGE]})
    shown = {one.name: one for one in spans.get_finished_spans()}
    transaction = shown["transaction"]
    assert (
        transaction.parent.span_id
        == shown[next(n for n in shown if n.startswith("POST"))].context.span_id
    )
    assert shown["memories/write_memories"].parent.span_id == transaction.context.span_id
    assert shown["embed passages"].attributes == {"graphmem.texts": 1}


async def test_no_span_ever_holds_a_text(
    http: httpx.AsyncClient, runtime: Runtime, asking, spans
) -> None:
    await exercised(http, runtime, asking)
    shown = spans.get_finished_spans()
    assert SECRET not in "".join(one.to_json() for one in shown)
    failed = [one for one in shown if one.status.status_code is StatusCode.ERROR]
    assert failed
    assert not [one for one in shown if one.events]


async def test_a_caller_s_trace_goes_on(
    refusing: httpx.AsyncClient, spans: InMemorySpanExporter
) -> None:
    trace_id, span_id = uuid.uuid4().hex, "00f067aa0ba902b7"
    await refusing.get("/health/live", headers={"traceparent": f"00-{trace_id}-{span_id}-01"})
    [shown] = spans.get_finished_spans()
    assert shown.context is not None
    assert shown.parent is not None
    assert f"{shown.context.trace_id:032x}" == trace_id
    assert f"{shown.parent.span_id:016x}" == span_id


async def test_a_job_is_a_trace_of_its_own_and_waiting_for_one_is_none(
    memory: Graphmem, spans, log_lines: list[str]
) -> None:
    kind = f"kind-{uuid.uuid4().hex}"
    done = asyncio.Event()

    async def work(held: Claim, runtime: Runtime) -> None:
        await runtime.graph.rows(SERVER_VERSION)
        done.set()
        raise RuntimeError(held.payload)

    background = Background(memory.runtime, {kind: work})
    background.start()
    await asyncio.sleep(0.3)
    assert not spans.get_finished_spans()
    async with asyncio.timeout(300):
        await memory.runtime.graph.write(
            lambda transaction: enqueue(
                transaction,
                client_id=memory.client_id,
                id=str(uuid.uuid4()),
                kind=kind,
                key="k",
                payload={"text": SECRET},
                now=datetime.now(UTC),
            )
        )
        await done.wait()
        await background.end()
    shown = {one.name: one for one in spans.get_finished_spans()}
    job = shown[f"job {kind}"]
    # Neither the sweep nor looking for work began a trace.
    assert {one.context.trace_id for one in shown.values()} == {job.context.trace_id}
    assert job.parent is None
    assert job.attributes["graphmem.outcome"] == "failed"
    assert shown["graph/server_version"].parent.span_id == job.context.span_id
    assert SECRET not in "".join(one.to_json() for one in shown.values())
    [line] = [line for line in log_lines if "failed: RuntimeError" in line]
    assert line.endswith(f"client={memory.client_id}")
    assert not [line for line in log_lines if SECRET in line]


async def test_health_is_logged_only_when_it_fails(
    refusing: httpx.AsyncClient, log_lines: list[str]
) -> None:
    logging.getLogger("graphmem_api").setLevel(logging.INFO)
    for path in ("/health/live", "/health/ready"):
        await refusing.get(path)
    [told] = [line for line in log_lines if "method=" in line]
    assert "route=/health/ready" in told


class Away:
    """A graph whose database is away."""

    async def rows(self, _query, **_):
        raise Unavailable("the database does not answer") from ServiceUnavailable(SECRET)

    write = rows


@pytest.mark.parametrize("form", [TextFormatter, JsonFormatter])
async def test_the_line_of_a_problem_has_its_code_and_the_class_of_its_cause(
    form: type[logging.Formatter], offline: Runtime, asking, log_lines: list[str], caplog
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.handler.setFormatter(form())
    async with asking(create_app(replace(offline, graph=Away())), x_client_id="c") as http:
        for path in ("/api/v0/memories/x", "/health/ready", "/api/v0/nothing"):
            await http.get(path)
        await http.post("/api/v0/recall", json={"limit": SECRET})
        await http.get("/health/live", headers={"X-Graphmem-Bookmark": SECRET})
    async with asking(create_app(replace(offline, graph=Quoting())), x_client_id="c") as http:
        await http.get("/api/v0/memories/x")
    told = [one for one in caplog.handler.stream.getvalue().splitlines() if "method=" in one]
    expected = [
        ("warning", "status=503", "code=unavailable cause=ServiceUnavailable"),
        ("warning", "status=503", "code=unavailable cause=ServiceUnavailable"),
        ("info", "status=404", "code=not_found"),
        ("info", "status=400", "code=invalid_input cause=ValidationError"),
        ("info", "status=400", "code=invalid_input"),
        ("warning", "status=500", "code=internal_error cause=ValueError"),
    ]
    assert len(told) == len(expected)
    for line, (level, *parts) in zip(told, expected, strict=True):
        assert level in line.lower()
        assert [part for part in parts if f" {part}" not in line] == []
        assert SECRET not in line


@pytest.mark.parametrize(
    ("path", "policy"),
    [
        ("/health/live", "default-src 'none'; frame-ancestors 'none'"),
        ("/api/v0/nothing", "default-src 'none'; frame-ancestors 'none'"),
        ("/schema", "style-src 'unsafe-inline'"),
    ],
)
async def test_every_answer_protects_itself(
    path: str, policy: str, refusing: httpx.AsyncClient
) -> None:
    headers = (await refusing.get(path, headers={"Accept": "text/html"})).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert policy in headers["content-security-policy"]
    assert "script" not in headers["content-security-policy"]


def test_an_answer_that_says_otherwise_is_left_alone() -> None:
    own = [(b"Cache-Control", b"max-age=60"), (b"content-security-policy", b"img-src 'self'")]
    shown = protected(own)
    assert shown[:2] == own
    assert [name for name, _ in shown].count(b"content-security-policy") == 1
    assert b"cache-control" not in [name for name, _ in shown]
