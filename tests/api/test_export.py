"""A client's export over HTTP: the same lines as in Python, whole or continued, and nobody else's."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from litestar import Litestar

from graphmem.client import Graphmem
from graphmem.errors import Unavailable
from graphmem.exports.export import ExportAsked
from graphmem.exports.lines import Damaged, check
from graphmem.graph.driver import Graph
from graphmem.model.pages import listing

PATH = "/api/v0/export"
MARA: Any = {"category": "user_fact"}


async def in_python(memory: Graphmem, **asked: Any) -> list[bytes]:
    return [page async for page in await memory.export(**asked)]


async def test_the_stream_has_the_lines_of_the_file(
    http: httpx.AsyncClient, memory: Graphmem, rival: Graphmem, tmp_path: Path
) -> None:
    await rival.remember_fact("Mara sells stamps", **MARA)
    await memory.remember_fact("Mara keeps bees", **MARA)
    answer = await http.get(PATH)
    pages = await in_python(memory)

    assert answer.headers["content-type"].startswith("application/octet-stream")
    # The header has the time of the export, on which the hashes depend.
    kinds = (b'{"node"', b'{"edge"')
    lines = [line for line in b"".join(pages).splitlines() if line.startswith(kinds)]
    assert [line for line in answer.content.splitlines() if line.startswith(kinds)] == lines
    assert b"keeps bees" in answer.content
    assert b"stamps" not in answer.content
    whole = tmp_path / "whole.jsonl"
    whole.write_bytes(answer.content)
    assert check(whole).header.client_id == memory.client_id


@pytest.mark.parametrize(
    ("write", "told"), [("remember", True), ("delete", True), ("annotate", False)]
)
async def test_the_end_tells_of_added_and_deleted_memories_as_the_document_says(
    app: Litestar, memory: Graphmem, write: str, told: bool
) -> None:
    fact = await memory.remember_fact("Mara keeps bees", **MARA)
    stream = await memory.export()
    first = [await anext(stream), await anext(stream)]
    if write == "remember":
        await memory.remember_fact("Mara sells stamps", **MARA)
    elif write == "delete":
        await memory.delete_memory(fact.id)
    else:
        await memory.annotate(fact.id, tags=["bees"])
    lines = b"".join([*first, *[page async for page in stream]]).splitlines()
    description = app.openapi_schema.to_schema()["paths"][PATH]["get"]["description"]

    assert msgspec.json.decode(lines[-1])["end"]["changed"] is told
    said = " ".join(description.split())
    assert "if the numbers of memories and conversations, or the newest memory, are not" in said
    assert "does not tell of changed annotations" in said


async def test_a_stream_is_continued_by_the_cursor_of_its_last_page(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    await memory.remember_fact("Mara keeps bees", **MARA)
    pages = await in_python(memory, vectors=False)
    cursor = msgspec.json.decode(pages[1].splitlines()[-1])["page"]["cursor"]
    answer = await http.get(PATH, params={"cursor": cursor, "vectors": "false"})
    assert answer.content == b"".join(pages[2:])
    foreign = await http.get(PATH, params={"cursor": cursor})
    assert (foreign.status_code, foreign.json()["code"]) == (400, "invalid_input")


@pytest.mark.parametrize("forged", [{"limit": 50_000_000}, {"limit": -1}, {"label": "Audit"}])
async def test_a_forged_cursor_gets_400_before_the_stream_begins(
    http: httpx.AsyncClient, memory: Graphmem, forged: dict[str, Any]
) -> None:
    await memory.remember_fact("Mara keeps bees", **MARA)
    pages = await in_python(memory)
    listed = listing(ExportAsked(), memory.client_id)
    given = listed.opened(msgspec.json.decode(pages[1].splitlines()[-1])["page"]["cursor"])
    place = msgspec.json.encode(msgspec.json.decode(given) | forged).decode()
    answer = await http.get(PATH, params={"cursor": listed.sealed(place)})

    assert (answer.status_code, answer.json()["field"]) == (400, "cursor")


async def test_a_stream_of_another_embedding_model_is_not_continued(
    http: httpx.AsyncClient, memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.remember_fact("Mara keeps bees", **MARA)
    pages = await in_python(memory)
    cursor = msgspec.json.decode(pages[1].splitlines()[-1])["page"]["cursor"]
    monkeypatch.setattr(type(memory.runtime.embedder), "key", "another@model")
    answer = await http.get(PATH, params={"cursor": cursor})

    assert (answer.status_code, answer.json()["field"]) == (400, "cursor")
    assert "begin the export anew" in answer.json()["detail"]


async def test_a_stream_that_fails_in_the_middle_has_no_end(
    app: Litestar, memory: Graphmem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.remember_fact("Mara keeps bees", **MARA)
    rows = Graph.rows

    async def failing(self: Graph, query: Any, **parameters: Any) -> Any:
        if parameters.get("label") == "Entity":
            raise Unavailable("the database is away")
        return await rows(self, query, **parameters)

    monkeypatch.setattr(Graph, "rows", failing)
    sent: list[Any] = []

    async def keep(message: Any) -> None:
        sent.append(message)

    async def wait() -> Any:
        await asyncio.Event().wait()

    headers = [(b"x-client-id", memory.client_id.encode()), (b"host", b"localhost")]
    scope: Any = {
        "type": "http",
        "method": "GET",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
        "scheme": "http",
        "http_version": "1.1",
        "state": {},
    }
    await app(scope, wait, keep)

    # A server that gets no last message cuts the connection: the caller sees that the answer is not whole.
    assert sent[0]["status"] == 200
    assert all(message.get("more_body") for message in sent[1:])
    path = tmp_path / "part.jsonl"
    path.write_bytes(b"".join(message["body"] for message in sent[1:]))
    with pytest.raises(Damaged, match="no end"):
        check(path)
