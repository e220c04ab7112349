"""A real server on a real port: it starts, answers, and ends in order."""

import asyncio
import contextlib
import gc
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import graphmem_api.serve
import httpx
import pytest
from graphmem_api.serve import (
    HEADER_BYTES,
    OTHER_FILES,
    Refusals,
    connections_within_files,
    listener,
    responsive,
    serve,
)
from litestar import Litestar
from msgspec.structs import replace
from prometheus_client import REGISTRY

from graphmem import background, config
from graphmem.background import Background
from graphmem.client import Graphmem
from graphmem.config import Settings
from graphmem.errors import SettingError, Unavailable
from graphmem.llm import LanguageModel
from graphmem.recall.types import Recalled
from graphmem.runtime import Runtime
from tests.api.test_admission import NOTHING
from tests.scripted import ScriptedGraph

TURNS_PREPARED = ("graphmem_api.serve.prepare_turns", "graphmem.hypotheses.ask.prepare_turns")
"""What prepares turns before the first answer, and beside it."""


def have_running(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, *, warm_seconds: int = 0
) -> None:
    """Have what is served be a graphmem that is running already, and prepare its answers for so long."""

    @asynccontextmanager
    async def already(settings: Settings, progress: object) -> AsyncIterator[Runtime]:
        yield replace(runtime, settings=replace(settings, warm_seconds=warm_seconds))

    monkeypatch.setattr(graphmem_api.serve, "running", already)


@pytest.fixture
def running(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings to serve the tests' graphmem on any free port."""
    have_running(runtime, monkeypatch)
    return config.load({}, port=0)


@pytest.fixture
def offline_running(offline: Runtime, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings to serve a graphmem without a database on any free port."""
    have_running(offline, monkeypatch)
    return config.load({}, port=0, jobs="off")


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[tuple[str, asyncio.Task[None]]]:
    """Have a server for the length of the block."""
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve(settings, on_ready=ready.set_result))
    waited: list[asyncio.Future[Any]] = [task, ready]
    await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED, timeout=300)
    try:
        yield ready.result(), task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_served_graphmem_remembers_and_recalls(running: Settings, memory: Graphmem) -> None:
    async with served(running) as (url, _):
        assert url.startswith("http://127.0.0.1:")
        assert not url.endswith(":0")
        headers = {"X-Client-Id": memory.client_id}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=300) as http:
            made = await http.post("/api/v0/conversations", json={"title": "served"})
            message = {"session_id": "s", "role": "user", "content": "The pump is blue."}
            written = await http.post(
                f"/api/v0/conversations/{made.json()['id']}/messages", json={"messages": [message]}
            )
            assert written.status_code == 201
            answer = await http.post("/api/v0/recall", json={"query": "pump colour"})
            assert "The pump is blue." in answer.json()["context"]
            assert "server" not in answer.headers


async def test_jobs_are_done_beside_the_api_from_when_it_answers_until_it_ends(
    running: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    class Recorded(Background):
        def start(self) -> None:
            seen.append("started")
            super().start()

        def stop(self) -> None:
            seen.append("stopped")
            super().stop()

        async def end(self) -> None:
            await super().end()
            assert not [task for task in asyncio.all_tasks() if task.get_name() == "worker"]
            seen.append("ended")

    monkeypatch.setattr(background, "Background", Recorded)
    async with served(running):
        # `on_ready` was heard in the same step, just before.
        assert seen == ["started"]
        assert [task for task in asyncio.all_tasks() if task.get_name() == "worker"]
    assert (seen[1], seen[-1]) == ("stopped", "ended")
    seen.clear()
    async with served(replace(running, jobs="off")):
        assert seen == []
    assert seen == []


async def test_what_no_task_waited_for_is_logged_without_its_message(
    offline_running: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    async def failing() -> None:
        raise RuntimeError("sesame-4711")

    async with served(offline_running):
        task = asyncio.create_task(failing())
        await asyncio.wait([task])
        del task
        gc.collect()
    assert "RuntimeError" in caplog.text
    assert "sesame" not in caplog.text


async def exchange(url: str, *sent: bytes) -> bytes:
    """Send bytes and return what comes back until the server hangs up."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        for piece in sent:
            writer.write(piece)
            await writer.drain()
        return await asyncio.wait_for(reader.read(), 30)
    finally:
        writer.close()


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /health/live HTTP/1.1\r\nHost: x\r\nX-Long: "
        + b"a" * HEADER_BYTES * 64
        + b"\r\n\r\n",
        b"GET /" + b"a" * HEADER_BYTES * 64 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"no http at all\r\n\r\n",
        b"GET /health/live HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET /health/live HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "GET /api/v0/entities?name=Jürgen HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
    ],
    ids=["long header", "long path", "no http", "negative length", "two lengths", "address"],
)
async def test_what_is_no_request_gets_a_problem_too(
    request_bytes: bytes, offline_running: Settings
) -> None:
    async with served(offline_running) as (url, _):
        answer = await exchange(url, request_bytes)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"application/problem+json" in answer
    assert b'"code":"bad_request"' in answer
    assert "has a character that is not ASCII (send `ü` as `%C3%BC`)".encode() in answer


async def test_a_request_with_a_length_and_parts_is_refused(offline_running: Settings) -> None:
    """Two readings of where it ends would let a request hide behind another."""
    hidden = b"GET /schema HTTP/1.1\r\nHost: localhost\r\n\r\n"
    begin = LIVE + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with served(offline_running) as (url, _):
        answer = await exchange(url, begin, b"0\r\n\r\n" + hidden)
        behind = await exchange(url, LIVE + b"\r\n" + begin + b"0\r\n\r\n" + hidden)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"both Content-Length and Transfer-Encoding" in answer
    assert answer.count(b"HTTP/1.1 ") == 1
    assert behind.startswith(b"HTTP/1.1 200")
    assert behind.count(b"HTTP/1.1 ") == 2


NOWHERE = b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
LIVE = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize("before", [b"", LIVE + b"\r\n"], ids=["first", "second"])
@pytest.mark.parametrize("begun", [b"", LIVE], ids=["nothing", "half a header"])
async def test_headers_that_do_not_arrive_are_given_up(
    begun: bytes, before: bytes, offline_running: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphmem_api.serve, "HEADER_SECONDS", 0.5)
    monkeypatch.setattr(graphmem_api.serve, "IDLE_SECONDS", 1)
    async with served(offline_running) as (url, _):
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        if before:
            writer.write(before)
            await reader.readuntil(b'"live"}')
        writer.write(begun)
        answer = await asyncio.wait_for(reader.read(), 30)
        writer.close()
    if before and not begun:
        # An idle connection is closed without a word.
        assert answer == b""
    else:
        assert answer.startswith(b"HTTP/1.1 408")
        assert b'"code":"request_late"' in answer


async def test_a_request_may_take_longer_than_its_headers(
    offline_running: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphmem_api.serve, "HEADER_SECONDS", 0.3)
    head = (
        b"POST /api/v0/conversations HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        b"Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{"
    )
    async with served(offline_running) as (url, _):
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(head)
        await writer.drain()
        await asyncio.sleep(0.6)
        writer.write(b"}")
        answer = await asyncio.wait_for(reader.read(), 30)
        writer.close()
    assert answer.startswith(b"HTTP/1.1 415")


async def test_connections_beyond_the_limit_are_refused_until_one_ends(
    offline_running: Settings,
) -> None:
    async with served(replace(offline_running, connections=2)) as (url, _):
        host, port = url.removeprefix("http://").split(":")
        held = [await asyncio.open_connection(host, int(port)) for _ in range(2)]
        refused = await exchange(url, NOWHERE)
        held[0][1].close()
        await held[0][1].wait_closed()
        async with asyncio.timeout(30):
            while not (answer := await exchange(url, NOWHERE)).startswith(b"HTTP/1.1 404"):
                assert answer.startswith(b"HTTP/1.1 503")
        held[1][1].close()
    assert refused.startswith(b"HTTP/1.1 503")
    assert b'"code":"overloaded"' in refused
    assert b"\r\nretry-after: 1\r\n" in refused


async def test_a_connection_without_a_request_gives_its_place_to_a_new_one(
    offline_running: Settings,
) -> None:
    asking = LIVE + b"\r\n"
    async with (
        AsyncExitStack() as stack,
        served(replace(offline_running, connections=3)) as (url, _),
    ):
        host, port = url.removeprefix("http://").split(":")
        callers = [await asyncio.open_connection(host, int(port)) for _ in range(3)]
        for _, writer in callers:
            stack.callback(writer.close)
        (first, ask_first), (second, ask_second), (_, begin_third) = callers
        for reader, writer in ((second, ask_second), (first, ask_first), (second, ask_second)):
            writer.write(asking)
            await reader.readuntil(b'"live"}')
        begin_third.write(LIVE)
        # The first has waited for longest since its answer, the third has begun to ask.
        assert (await exchange(url, NOWHERE)).startswith(b"HTTP/1.1 404")
        assert await asyncio.wait_for(first.read(), 30) == b""
        ask_second.write(asking)
        assert (await second.readuntil(b'"live"}')).startswith(b"HTTP/1.1 200")


class Files:
    """The limits of open files of a process, which may not be raised beyond the second."""

    def __init__(self, soft: int, hard: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.limits = soft, hard
        monkeypatch.setattr(resource, "getrlimit", lambda _: self.limits)
        monkeypatch.setattr(resource, "setrlimit", self.set)

    def set(self, _: int, limits: tuple[int, int]) -> None:
        if limits[0] > self.limits[1] != resource.RLIM_INFINITY:
            raise ValueError("not allowed to raise maximum limit")
        self.limits = limits


@pytest.mark.parametrize(
    ("soft", "hard", "raised", "kept"),
    [
        (20_000, 20_000, 20_000, 1_000),
        (1_024, 524_288, 1_000 + OTHER_FILES, 1_000),
        (1_024, resource.RLIM_INFINITY, 1_000 + OTHER_FILES, 1_000),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, resource.RLIM_INFINITY, 1_000),
        (1_024, 1_024, 1_024, 1_024 - OTHER_FILES),
        (256, 256, 256, 128),
    ],
)
def test_a_process_keeps_no_more_connections_than_it_may_open_files(
    soft: int,
    hard: int,
    raised: int,
    kept: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    files = Files(soft, hard, monkeypatch)
    assert connections_within_files(1_000) == kept
    assert files.limits == (raised, hard)
    assert ("raise `ulimit -n` to 1512" in caplog.text) == (kept < 1_000)


async def test_a_service_says_that_it_may_open_too_few_files(
    offline_running: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Files(256, 256, monkeypatch)
    async with served(offline_running):
        assert "may open 256 files: it keeps 128 connections, not 1000" in caplog.text


def test_a_connection_is_kept_for_longer_than_proxies_keep_theirs() -> None:
    assert graphmem_api.serve.IDLE_SECONDS > 600


async def test_beyond_the_limit_of_connections_the_service_still_says_that_it_lives(
    offline_running: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphmem_api.serve, "LINGER_SECONDS", 0.2)
    async with served(replace(offline_running, connections=1)) as (url, _):
        host, port = url.removeprefix("http://").split(":")
        _, held = await asyncio.open_connection(host, int(port))
        lives = await exchange(url, LIVE + b"\r\n" + LIVE + b"\r\n")
        asked = await exchange(url, b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
        silent = await exchange(url)
        held.close()
    assert lives.startswith(b"HTTP/1.1 200")
    assert b"connection: close" in lives
    assert lives.endswith(b'{"status":"live"}')
    assert lives.count(b"HTTP/1.1") == 1
    assert asked.startswith(b"HTTP/1.1 503")
    assert silent.startswith(b"HTTP/1.1 503")


def counted(limit: str) -> float:
    return REGISTRY.get_sample_value("graphmem_http_refused_total", {"limit": limit}) or 0.0


async def test_connections_that_are_refused_are_counted_and_logged_seldom(
    offline_running: Settings, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphmem_api.serve, "HEADER_SECONDS", 5.0)
    before = {limit: counted(limit) for limit in ("connections", "headers")}
    async with served(replace(offline_running, connections=1)) as (url, _):
        host, port = url.removeprefix("http://").split(":")
        # Its headers do not arrive: the only place is taken until it gets 408.
        reader, writer = await asyncio.open_connection(host, int(port))
        refused = [await exchange(url, NOWHERE) for _ in range(3)]
        late = await asyncio.wait_for(reader.read(), 30)
        writer.close()
        monkeypatch.setattr(graphmem_api.serve, "TOLD_SECONDS", 0.0)
        async with asyncio.timeout(30):
            while not (await exchange(url, b"no http\r\n\r\n")).startswith(b"HTTP/1.1 400"):
                await asyncio.sleep(0.1)
    assert {one[:12] for one in refused} == {b"HTTP/1.1 503"}
    assert late.startswith(b"HTTP/1.1 408")
    refusals = counted("connections") - before["connections"]
    assert refusals >= 3
    assert counted("headers") - before["headers"] == 2
    told = [one.getMessage() for one in caplog.records if "refused without" in one.getMessage()]
    assert told[0] == "refused without a request: limit=connections status=503 connections=1"
    assert told[1] == "refused without a request: limit=headers status=408 connections=1"
    later = [one for one in told[2:] if "limit=connections" not in one]
    assert later == ["refused without a request: limit=headers status=400 connections=1"]
    logged = [int(one.rpartition("=")[2]) for one in told if "limit=connections" in one]
    assert sum(logged) == refusals


async def test_the_refusals_of_a_burst_are_all_logged_soon(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphmem_api.serve, "TOLD_SECONDS", 0.01)
    refusals = Refusals()
    for _ in range(4):
        refusals.count("connections", 503)
    refusals.count("headers", 400)
    refusals.count("headers", 408)
    sign = "refused without a request: "

    def told() -> list[str]:
        return [one.removeprefix(sign) for one in caplog.messages if one.startswith(sign)]

    async with asyncio.timeout(30):
        while len(told()) < 4:
            await asyncio.sleep(0.01)
    assert told() == [
        "limit=connections status=503 connections=1",
        "limit=headers status=400 connections=1",
        "limit=headers status=408 connections=1",
        "limit=connections status=503 connections=3",
    ]


async def test_the_refusals_before_the_end_of_a_service_are_logged_at_its_end(
    offline_running: Settings, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphmem_api.serve, "TOLD_SECONDS", 3_600.0)
    async with served(offline_running) as (url, _):
        for _ in range(3):
            answer = await exchange(url, b"no http\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 400")
        upgrade = b"Connection: upgrade, close\r\nUpgrade: websocket\r\n\r\n"
        lives = await exchange(url, LIVE + upgrade)
    assert lives.startswith(b"HTTP/1.1 200")
    told = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert told == [
        f"refused without a request: limit=headers status=400 connections={number}"
        for number in (1, 2)
    ]


class Export:
    """An export that is long, or ends once it is told so."""

    def __init__(self) -> None:
        self.pages = 1_000
        self.begun = 0

    async def __call__(self, *_: Any) -> AsyncIterator[bytes]:
        self.begun += 1
        # Read now: a line is made when its stream is first sent, which may be after `pages` has changed.
        return self._lines(self.pages)

    async def _lines(self, pages: int) -> AsyncIterator[bytes]:
        for _ in range(pages):
            yield b"a" * 100_000


@pytest.fixture
def export(monkeypatch: pytest.MonkeyPatch) -> Export:
    """What stands for every export."""
    made = Export()
    monkeypatch.setattr("graphmem_api.clients.exporting.export", made)
    return made


def unread(url: str, sent: bytes) -> socket.socket:
    """Send bytes on a connection whose answers are not read."""
    host, port = url.removeprefix("http://").split(":")
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    opened.connect((host, int(port)))
    opened.sendall(sent)
    return opened


EXPORT = b"GET /api/v0/export HTTP/1.1\r\nHost: localhost\r\n"


async def test_answers_that_are_not_read_give_back_their_turns(
    offline_running: Settings, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphmem_api.serve, "UNREAD_SECONDS", 1.0)
    before = counted("unread")
    async with served(replace(offline_running, requests_at_once=2)) as (url, _):
        # One client may not take both turns.
        held = [unread(url, EXPORT + b"X-Client-Id: %b\r\n\r\n" % one) for one in (b"a", b"b")]
        async with asyncio.timeout(30):
            while export.begun < 2:
                await asyncio.sleep(0.01)
            export.pages = 1
            answer = await exchange(url, EXPORT + b"Connection: close\r\n\r\n")
        for one in held:
            one.close()
    assert answer.startswith(b"HTTP/1.1 200")
    assert counted("unread") - before == 2


async def test_whole_answers_that_are_not_read_have_no_turns(
    offline_running: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = 0

    async def recall(*_: Any) -> Recalled:
        nonlocal begun
        begun += 1
        return replace(NOTHING, context="a" * (8_000_000 if begun <= 4 else 1))

    monkeypatch.setattr("graphmem.recall.ask.recall", recall)
    monkeypatch.setattr(graphmem_api.serve, "UNREAD_SECONDS", 300.0)
    async with (
        served(replace(offline_running, requests_at_once=2)) as (url, _),
        AsyncExitStack() as stack,
    ):
        for _ in range(2):
            # The second answer of a connection waits until the first one is read.
            stack.enter_context(contextlib.closing(unread(url, asked("X-Client-Id: a") * 2)))
        async with asyncio.timeout(30):
            while begun < 4:
                await asyncio.sleep(0.01)
            answer = await exchange(url, asked("X-Client-Id: b", "Connection: close"))
    assert answer.startswith(b"HTTP/1.1 200")


def asked(*headers: str) -> bytes:
    """Return a question to recall."""
    lines = (
        "POST /api/v0/recall HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        "Content-Length: 13",
        *headers,
    )
    return "\r\n".join((*lines, "", '{"query":"a"}')).encode()


async def test_whole_answers_that_are_not_read_do_not_keep_their_connection(
    offline_running: Settings, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphmem_api.serve, "UNREAD_SECONDS", 1.0)
    monkeypatch.setattr(graphmem_api.serve, "IDLE_SECONDS", 1)
    export.pages = 1
    schema = b"GET /schema HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with served(replace(offline_running, connections=1)) as (url, _):
        with contextlib.closing(unread(url, schema * 8)):
            async with asyncio.timeout(15):
                while not (await exchange(url, EXPORT + b"Connection: close\r\n\r\n")).startswith(
                    b"HTTP/1.1 200"
                ):
                    await asyncio.sleep(0.1)


async def test_an_answer_that_is_read_slowly_is_sent_whole(
    offline_running: Settings, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphmem_api.serve, "UNREAD_SECONDS", 1.0)
    export.pages = 30
    async with served(offline_running) as (url, _):
        with contextlib.closing(unread(url, EXPORT + b"Connection: close\r\n\r\n")) as caller:
            caller.setblocking(False)
            loop, received = asyncio.get_running_loop(), 0
            while part := await loop.sock_recv(caller, 100_000):
                received += len(part)
                await asyncio.sleep(0.005)
    assert received > 30 * 100_000


@pytest.mark.parametrize("path", ["%ED%A0%80", "%00", "%FF", "a%2Fb", "%zz", "a" * 30_000])
async def test_a_raw_path_that_cannot_be_is_not_found(path: str, running: Settings) -> None:
    async with served(running) as (url, _):
        for method in ("GET", "DELETE"):
            answer = await exchange(
                url,
                f"{method} /api/v0/memories/{path} HTTP/1.1\r\n".encode()
                + b"Host: localhost\r\nConnection: close\r\n\r\n",
            )
            assert answer.startswith(b"HTTP/1.1 404")
            assert b"application/problem+json" in answer


ROUTES = pytest.mark.parametrize(
    "path", [b"recall", b"conversations/c/segment"], ids=["of a struct", "without one"]
)


@ROUTES
async def test_a_chunked_body_beyond_the_limit_is_refused(
    path: bytes, offline_running: Settings
) -> None:
    head = (
        b"POST /api/v0/" + path + b" HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    async with served(offline_running) as (url, _):
        answer = await exchange(url, head, *[chunk] * 33, b"0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413")
    assert b'"field":"body"' in answer


@ROUTES
async def test_a_caller_that_leaves_disturbs_nobody(
    path: bytes, offline_running: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(offline_running) as (url, _):
        host, port = url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            b"POST /api/v0/" + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
            b'Content-Type: application/json\r\n\r\n{"query"'
        )
        await writer.drain()
        writer.close()
        await asyncio.sleep(0.3)
        async with httpx.AsyncClient(base_url=url) as http:
            assert (await http.get("/health/live")).status_code == 200
    assert "failed" not in caplog.text


async def test_a_port_that_is_taken_is_explained(offline_running: Settings) -> None:
    async with served(offline_running) as (url, _):
        port = int(url.rpartition(":")[2])
        with pytest.raises(SettingError, match=f"GRAPHMEM_PORT: .*port {port}.*name another"):
            await serve(replace(offline_running, port=port))


async def test_a_connection_during_the_start_is_answered_once_it_is_ready(
    offline: Runtime, monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    starting, going_on = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def slowly(settings: Settings, progress: object) -> AsyncIterator[Runtime]:
        starting.set()
        await going_on.wait()
        yield replace(offline, settings=settings)

    monkeypatch.setattr(graphmem_api.serve, "running", slowly)
    task = asyncio.create_task(serve(config.load({}, port=unused_tcp_port, jobs="off")))
    await asyncio.wait_for(starting.wait(), 30)
    url = f"http://127.0.0.1:{unused_tcp_port}"
    asking = asyncio.create_task(exchange(url, LIVE + b"Connection: close\r\n\r\n"))
    await asyncio.wait([asking], timeout=0.3)
    assert not asking.done()
    going_on.set()
    assert (await asking).startswith(b"HTTP/1.1 200")
    task.cancel()
    await asyncio.wait([task])


def test_a_port_is_taken_before_anything_else_starts(unused_tcp_port: int) -> None:
    with (
        listener("127.0.0.1", unused_tcp_port),
        pytest.raises(SettingError, match=f"port {unused_tcp_port}"),
    ):
        listener("127.0.0.1", unused_tcp_port)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.7", "a" * 70])
def test_a_host_that_is_not_ours_is_explained(host: str) -> None:
    with pytest.raises(SettingError, match=r"GRAPHMEM_HOST: .* is no address of this machine"):
        listener(host, 0)


async def test_without_keys_others_are_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(graphmem_api.serve, "running", lambda *_: pytest.fail("it started"))
    with pytest.raises(SettingError, match="loopback"):
        await serve(config.load({}, host="0.0.0.0", port=0))


@pytest.mark.parametrize("content", [None, "acme agent nothing\n"], ids=["missing", "mistake"])
async def test_a_keys_file_that_cannot_be_used_is_told_before_anything_starts(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphmem_api.serve, "running", lambda *_: pytest.fail("it started"))
    path = tmp_path / "keys.txt"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SettingError, match="GRAPHMEM_KEYS_FILE"):
        await serve(config.load({}, port=0, keys_file=path))


async def test_a_port_is_free_again_after_a_start_that_failed(
    monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    @asynccontextmanager
    async def failing(*_: object) -> AsyncIterator[None]:
        raise Unavailable("no")
        yield

    monkeypatch.setattr(graphmem_api.serve, "running", failing)
    settings = config.load({}, port=unused_tcp_port)
    for _ in range(2):
        with pytest.raises(Unavailable):
            await serve(settings)


async def test_both_loopbacks_can_be_listened_on() -> None:
    for host in ("127.0.0.1", "localhost"):
        with listener(host, 0) as listening:
            assert graphmem_api.serve.url(host, listening) == (
                f"http://{host}:{listening.getsockname()[1]}"
            )
    if socket.has_ipv6:
        try:
            six = listener("::1", 0)
        except SettingError:
            return
        with six:
            assert graphmem_api.serve.url("::1", six) == f"http://[::1]:{six.getsockname()[1]}"


PROGRAM = """
import asyncio, sys, graphmem_api.serve
from contextlib import asynccontextmanager
from graphmem import config
from graphmem.runtime import Runtime
from tests.scripted import ScriptedGraph

@asynccontextmanager
async def running(settings, progress):
    print("starting", flush=True)
    try:
        await asyncio.sleep({start})
        yield Runtime(settings, ScriptedGraph({{}}), *[None] * 4)
    finally:
        await asyncio.sleep(0.2)
        print("closed", flush=True)

graphmem_api.serve.running = running
settings = config.load({{}}, port=0, jobs="off")
asyncio.run(graphmem_api.serve.serve(settings, on_ready=lambda url: print(url, flush=True)))
print("returned", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("start", "lines"), [(0, 2), (60, 1)], ids=["serving", "starting"])
async def test_a_signal_closes_everything_in_order(
    number: signal.Signals, start: int, lines: int, repository: Path, whole_program: None
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM.format(start=start),
        cwd=repository,
        env=os.environ | {"PYTHONPATH": str(repository)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    for _ in range(lines):
        await asyncio.wait_for(process.stdout.readline(), 30)
    process.send_signal(number)
    out, err = await asyncio.wait_for(process.communicate(), 30)
    assert (out.decode().splitlines(), err.decode(), process.returncode) == (
        ["closed", "returned"],
        "",
        0,
    )


def test_while_it_serves_pauses_are_short_and_then_all_is_as_before() -> None:
    switch, frozen, thresholds = sys.getswitchinterval(), gc.get_freeze_count(), gc.get_threshold()
    with responsive():
        assert sys.getswitchinterval() < switch
        assert gc.get_freeze_count() > frozen
        assert gc.get_threshold() > thresholds
    assert (sys.getswitchinterval(), gc.get_freeze_count()) == (switch, 0)
    assert gc.get_threshold() == thresholds


async def test_no_garbage_collection_looks_through_the_application(
    offline_running: Settings,
) -> None:
    async with served(offline_running):
        assert Litestar not in map(type, gc.get_objects())


@pytest.mark.parametrize("thinks", [True, False])
@pytest.mark.parametrize("warm_seconds", [60, 0])
async def test_answers_and_turns_are_prepared_once_unless_the_start_may_take_no_time_for_it(
    offline: Runtime, monkeypatch: pytest.MonkeyPatch, thinks: bool, warm_seconds: int
) -> None:
    prepared: list[str] = []

    async def warm(runtime: Runtime) -> None:
        prepared.append("answers")

    async def prepare(context: Any) -> None:
        prepared.append(context.client_id)

    model = LanguageModel("http://localhost:1", "small") if thinks else None
    have_running(replace(offline, llm=model), monkeypatch, warm_seconds=warm_seconds)
    monkeypatch.setattr("graphmem_api.serve.warm", warm)
    for name in TURNS_PREPARED:
        monkeypatch.setattr(name, prepare)
    monkeypatch.setattr("graphmem_api.serve.REST_SECONDS", 0.0)
    async with served(config.load({}, port=0, jobs="off")):
        await asyncio.sleep(0.2)
    assert prepared == (["answers", ""] if warm_seconds else [])
    if model is not None:
        await model.close()


async def test_a_database_that_was_restarted_plans_its_queries_again(
    offline: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[str] = []

    async def warm(runtime: Runtime) -> None:
        prepared.append("answers")

    async def prepare(context: Any) -> None:
        prepared.append("turns")

    have_running(offline, monkeypatch, warm_seconds=60)
    monkeypatch.setattr("graphmem_api.serve.warm", warm)
    monkeypatch.setattr("graphmem_api.serve.prepare_turns", prepare)
    async with served(config.load({}, port=0, jobs="off")):
        assert prepared == ["answers"]
        assert isinstance(offline.graph, ScriptedGraph)
        assert offline.graph.begin_when_back is not None
        offline.graph.begin_when_back()
        await offline.afterwards.settle()
    assert prepared == ["answers", "answers", "turns"]


async def test_a_service_that_is_told_to_end_says_so_before_it_closes(
    offline_running: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "graphmem_api.serve")
    settings = replace(offline_running, drain_seconds=3_600)
    async with served(settings) as (url, task), httpx.AsyncClient(base_url=url) as http:
        assert (await http.get("/health/live")).headers.get("connection") is None
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(60):
            while (await http.get("/health/live")).headers.get("connection") != "close":
                await asyncio.sleep(0.005)
        ready = await http.get("/health/ready")
        assert (ready.status_code, "is ending" in ready.json()["detail"]) == (503, True)

        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(task, 60)
    assert [one.getMessage() for one in caplog.records if one.name == "graphmem_api.serve"] == [
        "SIGTERM received: draining begins and takes 3600 s",
        "SIGTERM received: requests have 10 s to end",
        "the service has ended",
    ]
