"""Requests of a client: sent again where that is safe and not elsewhere, and their failures named."""

import asyncio
import gc
import itertools
import json
import math
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any
from uuid import UUID

import httpx
import pytest

import graphmem
from graphmem.remote import connection

Answer = httpx.Response | Exception


def problem(status: int, code: str, **headers: str) -> httpx.Response:
    """Return a failure as the service describes it."""
    body = {"detail": f"{code} happened", "code": code, "status": status}
    return httpx.Response(status, json=body, headers=headers)


BUSY = {"Retry-After": "3"}
CATEGORIES = {"categories": ["general"]}
FINE = httpx.Response(200, json=CATEGORIES)


class Service:
    """A service that gives these answers one after the other, and the pauses between the requests."""

    def __init__(self, *answers: Answer) -> None:
        self.answers: Iterator[Answer] = iter(answers)
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []

    def client(self, **arguments: Any) -> graphmem.AsyncClient:
        """Return a client of this service."""
        transport = httpx.MockTransport(self.answer)
        return graphmem.AsyncClient("http://service/base", transport=transport, **arguments)

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Give the next answer."""
        self.requests.append(request)
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def pause(self, seconds: float) -> None:
        """Note a pause instead of making it."""
        self.pauses.append(seconds)


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Service]:
    """A function that returns a service with these answers."""

    def make(*answers: Answer) -> Service:
        service = Service(*answers)
        monkeypatch.setattr(connection, "sleep", service.pause)
        return service

    return make


READS: list[Callable[[Any], Any]] = [
    lambda client: client.categories(),
    lambda client: client.recall("boats"),
    lambda client: client.remember("c", [{"role": "user", "content": "x", "external_id": "1"}]),
    lambda client: client.remember(
        "c", iter([graphmem.NewMessage(role="user", content="x", external_id="1")])
    ),
    lambda client: client.open_conversation("c"),
    lambda client: client.runs().write("r", type="log", content="x", operation_id="1"),
    lambda client: client.annotate("m", tags=["a"]),
]
WRITES: list[Callable[[Any], Any]] = [
    lambda client: client.remember("c", [{"role": "user", "content": "x"}]),
    lambda client: client.remember(
        "c",
        [
            {"role": "user", "content": "x", "external_id": "1"},
            {"role": "user", "content": "y"},
        ],
    ),
    lambda client: client.open_conversation(),
    lambda client: client.remember_fact("x"),
    lambda client: client.runs().write("r", type="log", content="x"),
    lambda client: client.delete_memory("m"),
    lambda client: client.forget(tags=["a"]),
]


@pytest.mark.parametrize("ask", READS)
@pytest.mark.parametrize(
    "failure",
    [
        problem(503, "unavailable", **BUSY),
        problem(503, "deadline_exceeded", **BUSY),
        httpx.ReadError("cut"),
        httpx.ReadTimeout("late"),
        httpx.Response(502, text="<html>"),
    ],
    ids=str,
)
async def test_what_repeats_safely_is_sent_again_unchanged(
    ask: Callable[[Any], Any], failure: Answer, serving: Callable[..., Service]
) -> None:
    service = serving(failure, failure, problem(404, "memory_not_found"))
    with pytest.raises(graphmem.MemoryNotFound):
        await ask(service.client())
    assert len({(one.method, one.url, one.content) for one in service.requests}) == 1
    assert len(service.requests) == 3


@pytest.mark.parametrize("ask", WRITES)
@pytest.mark.parametrize(
    "failure",
    [problem(503, "unavailable", **BUSY), httpx.ReadError("cut"), httpx.Response(502)],
    ids=str,
)
async def test_what_might_be_done_twice_is_sent_once(
    ask: Callable[[Any], Any], failure: Answer, serving: Callable[..., Service]
) -> None:
    service = serving(failure, FINE)
    with pytest.raises(graphmem.Unavailable):
        await ask(service.client())
    assert len(service.requests) == 1


@pytest.mark.parametrize("ask", WRITES)
@pytest.mark.parametrize(
    "failure",
    [
        problem(503, "overloaded", **BUSY),
        problem(429, "too_many_requests", **BUSY),
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("late"),
    ],
    ids=str,
)
async def test_what_was_not_begun_is_always_sent_again(
    ask: Callable[[Any], Any], failure: Answer, serving: Callable[..., Service]
) -> None:
    service = serving(failure, problem(404, "not_found"))
    with pytest.raises(graphmem.NotFound):
        await ask(service.client())
    assert len(service.requests) == 2


async def test_the_pause_is_that_of_the_service(serving: Callable[..., Service]) -> None:
    cut = httpx.ReadError("cut")
    service = serving(problem(503, "overloaded", **BUSY), cut, cut, FINE)
    assert (await service.client().categories()).categories == ["general"]
    assert service.pauses == [3, 0.5, 1]


async def test_a_long_pause_or_the_last_attempt_is_an_error(
    serving: Callable[..., Service],
) -> None:
    far = {"Retry-After": "600"}
    service = serving(problem(503, "unavailable", **far))
    with pytest.raises(graphmem.Unavailable) as caught:
        await service.client().categories()
    assert caught.value.retry_after == 600

    service = serving(*itertools.repeat(problem(503, "overloaded", **BUSY), 3))
    with pytest.raises(graphmem.Overloaded):
        await service.client(retries=2).categories()
    assert service.pauses == [3, 6]


async def test_each_pause_is_twice_as_long_up_to_a_minute(serving: Callable[..., Service]) -> None:
    """Many requests that are refused together come back together, so that all would fail again."""
    service = serving(*[problem(429, "too_many_requests", **{"Retry-After": "1"})] * 8, FINE)
    assert (await service.client(retries=8).categories()).categories == ["general"]
    assert service.pauses == [1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.parametrize(
    "code", ["too_many_runs", "disk_full", "store_damaged", "record_damaged", "model_failed"]
)
async def test_what_waiting_does_not_help_is_an_error(
    code: str, serving: Callable[..., Service]
) -> None:
    service = serving(problem(503, code, **BUSY), FINE)
    with pytest.raises(graphmem.GraphmemError) as caught:
        await service.client().consolidate("c")
    assert caught.value.code == code


async def test_a_problem_is_the_error_that_the_service_raised(
    serving: Callable[..., Service],
) -> None:
    place = {"line": 1, "column": 2, "offset": 1}
    body = {"detail": "query: no", "code": "cypher_write", "place": place, "new": 1}
    service = serving(
        httpx.Response(403, json=body),
        problem(401, "unauthorized"),
        httpx.Response(500, text="<html>a proxy</html>"),
        problem(418, "from_the_future"),
    )
    client = service.client()
    with pytest.raises(graphmem.CypherRefused, match="query: no") as caught:
        await client.cypher("CREATE ()")
    assert (caught.value.rule, caught.value.line, caught.value.column) == ("cypher_write", 1, 2)
    with pytest.raises(graphmem.Unauthorized):
        await client.categories()
    with pytest.raises(graphmem.GraphmemError, match=r"http://service/base/.* answered 500"):
        await client.categories()
    with pytest.raises(graphmem.GraphmemError, match="from_the_future happened"):
        await client.categories()


async def test_the_key_and_the_client_are_sent(serving: Callable[..., Service]) -> None:
    service = serving(FINE, FINE, FINE, httpx.Response(204))
    await service.client(key="secret").categories()
    await service.client(client_id="ada").categories()
    operator = service.client(key="secret").for_client("ada")
    await operator.categories()
    await operator.end_hold()
    sent = [
        (one.headers.get("Authorization"), one.headers.get("X-Client-Id"))
        for one in service.requests
    ]
    assert sent == [
        ("Bearer secret", None),
        (None, "ada"),
        ("Bearer secret", "ada"),
        ("Bearer secret", None),
    ]
    assert service.requests[-1].url.path == "/base/api/v0/clients/ada/hold"
    with pytest.raises(graphmem.InvalidInput, match="name the client"):
        await service.client(key="secret").forget_client()
    with pytest.raises(graphmem.InvalidInput):
        service.client(client_id="two words")


@pytest.mark.parametrize("key", ["ключ", "“sesame”", "bücher", "two\nlines", "sesame "])
def test_a_key_that_no_header_can_have_is_refused_before_anything_is_sent(key: str) -> None:
    with pytest.raises(graphmem.InvalidInput) as refused:
        graphmem.AsyncClient(key=key)
    assert refused.value.field == "key"
    assert key not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *(
            ("url", wrong)
            for wrong in ("", "127.0.0.1:8000", "ftp://a", "http://", "http://h\0", None, 5)
        ),
        *(("key", wrong) for wrong in ("", 5)),
        *(("retries", wrong) for wrong in (-1, 1.5, "3", None)),
        *(("timeout", wrong) for wrong in (0, -1, "3")),
    ],
)
def test_what_no_client_can_use_is_refused_before_anything_is_sent(name: str, wrong: Any) -> None:
    with pytest.raises(graphmem.InvalidInput) as refused:
        graphmem.AsyncClient(**{name: wrong})
    assert refused.value.field == name


async def test_no_error_shows_a_password_in_the_address(serving: Callable[..., Service]) -> None:
    service = serving(httpx.ReadError("cut"), httpx.Response(502), httpx.Response(404))
    transport = httpx.MockTransport(service.answer)
    client = graphmem.AsyncClient("http://ada:secret@service", transport=transport, retries=0)
    for _ in range(3):
        with pytest.raises(graphmem.GraphmemError, match="http://service") as failed:
            await client.categories()
        assert "secret" not in str(failed.value)
    with pytest.raises(graphmem.InvalidInput) as refused:
        graphmem.AsyncClient("ada:secret@service")
    assert "secret" not in str(refused.value)


async def test_an_id_stays_one_part_of_the_path(serving: Callable[..., Service]) -> None:
    service = serving(*itertools.repeat(problem(404, "memory_not_found"), 3))
    client = service.client()
    for id in ("a?b#c", "..", "é %"):
        with pytest.raises(graphmem.MemoryNotFound):
            await client.memory(id)
    assert [one.url.raw_path for one in service.requests] == [
        b"/base/api/v0/memories/a%3Fb%23c",
        b"/base/api/v0/memories/%2E%2E",
        b"/base/api/v0/memories/%C3%A9%20%25",
    ]
    with pytest.raises(graphmem.InvalidInput, match="memory_id: is empty"):
        await client.memory("")
    with pytest.raises(graphmem.InvalidInput, match="comma"):
        await client.memories(tags=["a,b"])
    with pytest.raises(graphmem.InvalidInput, match="on_access"):
        client.runs(on_access=print)
    with pytest.raises(TypeError, match="max_token"):
        await client.recall("x", max_token=5)  # type: ignore[call-arg]


NOT_IDS: list[tuple[object, str]] = [
    (None, "expected a text, got null"),
    (5, "expected a text, got a whole number"),
    ("a/b", "does not have the form that it must have"),
]
ID_FORM = "; 1–128 of letters, digits, `.`, `_`, `:` and `-`"


@pytest.mark.parametrize(("id", "said"), NOT_IDS)
async def test_what_is_no_id_is_not_sent(
    id: Any, said: str, serving: Callable[..., Service]
) -> None:
    service = serving()
    client = service.client()
    calls: dict[str, list[Any]] = {
        "conversation_id": [
            client.remember(id, [{"role": "user", "content": "x"}], create=True),
            client.delete_conversation(id),
        ],
        "memory_id": [client.memory(id), client.delete_memory(id)],
        "run_id": [client.runs().show(id)],
    }
    for name, asked in calls.items():
        for call in asked:
            with pytest.raises(graphmem.InvalidInput) as refused:
                await call
            assert str(refused.value) == f"{name}: {said}{ID_FORM}"
    assert not service.requests


@pytest.mark.parametrize("messages", [None, 5, "hello", ["hello"]])
async def test_what_is_no_list_of_messages_is_sent_once(
    messages: Any, serving: Callable[..., Service]
) -> None:
    service = serving(httpx.ReadError("cut"))
    with pytest.raises(graphmem.Unavailable):
        await service.client().remember("c", messages)
    assert len(service.requests) == 1


async def test_what_is_not_json_is_refused_where_it_is(serving: Callable[..., Service]) -> None:
    service = serving()
    client = service.client()
    deep: dict[str, Any] = {}
    for _ in range(2_000):
        deep = {"a": deep}
    odd: Any = [object()]
    calls = {
        "messages[0].metadata.o": client.remember(
            "c", [{"role": "user", "content": "x", "metadata": {"o": object()}}]
        ),
        "messages[0]": client.remember("c", odd),
        "metadata.a": client.open_conversation(metadata={"a": object()}),
        "metadata": client.open_conversation(metadata=deep),
        "new[0].metadata.a": client.remember_facts([{"fact": "x", "metadata": {"a": object()}}]),
        "parameters.a": client.pattern("timeline", {"a": object()}),
        "cursor": client.memories(cursor=odd[0]),
        "messages[0].content": client.remember("c", [{"role": "user", "content": b"x"}]),
        "messages[0].occurred_at": client.remember(
            "c", [{"role": "user", "content": "x", "occurred_at": math.nan}]
        ),
        "min_relevance": client.recall("x", min_relevance=math.nan),
        "metadata.b": client.open_conversation(metadata={"b": math.inf}),
        "query": client.runs().retrieve("r", query=[0.5, math.inf], max_tokens=5),
        "title": client.open_conversation(title="half \ud83d"),
        "memory_id": client.memory("\ud83d"),
        "tags[0]": client.conversations(tags=["\ud83d"]),
    }
    for field, call in calls.items():
        with pytest.raises(graphmem.InvalidInput) as refused:
            await call
        assert refused.value.field.removesuffix("[1]") == field
    assert not service.requests


async def test_a_uuid_is_an_id_and_a_name_of_an_entity_may_contain_a_slash(
    serving: Callable[..., Service],
) -> None:
    service = serving(*itertools.repeat(problem(404, "not_found"), 2))
    id: Any = UUID(int=5)
    with pytest.raises(graphmem.NotFound):
        await service.client().delete_conversation(id)
    with pytest.raises(graphmem.NotFound):
        await service.client().neighbourhood("entity:src/main")
    assert [one.url.raw_path for one in service.requests] == [
        f"/base/api/v0/conversations/{id}".encode(),
        b"/base/api/v0/graph/entity%3Asrc%2Fmain",
    ]


async def test_a_time_and_a_list_are_texts_in_a_query_string(
    serving: Callable[..., Service],
) -> None:
    service = serving(problem(404, "not_found"))
    moment = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
    with pytest.raises(graphmem.NotFound):
        await service.client().memories(as_of=moment, tags=["a", "b"], include_superseded=True)
    [asked] = service.requests
    assert dict(asked.url.params) == {
        "as_of": "2026-03-02T09:30:00Z",
        "tags": "a,b",
        "include_superseded": "true",
    }


def marked(bookmark: str) -> httpx.Response:
    """Return an answer of a service whose database is a cluster's."""
    return httpx.Response(200, json=CATEGORIES, headers={connection.BOOKMARK: bookmark})


def marks(service: Service) -> list[str | None]:
    """Return the bookmark of each request that the service has got."""
    return [request.headers.get(connection.BOOKMARK) for request in service.requests]


async def test_the_bookmark_of_an_answer_is_on_the_next_request_of_the_same_client(
    serving: Callable[..., Service],
) -> None:
    service = serving(marked("one"), marked("two"), FINE, FINE)
    client = service.client(client_id="ada")
    for one in (client, client.for_client("ada"), client, client.for_client("bob")):
        await one.categories()
    assert marks(service) == [None, "one", "two", None]


async def test_a_bookmark_that_the_service_does_not_know_is_left_out_once(
    serving: Callable[..., Service],
) -> None:
    body = {"detail": "no", "code": "invalid_input", "field": connection.BOOKMARK, "status": 400}
    service = serving(marked("old"), httpx.Response(400, json=body), FINE)
    client = service.client()
    await client.categories()
    await client.categories()
    assert marks(service) == [None, "old", None]
    assert service.pauses == []


async def test_the_bookmarks_of_the_latest_clients_are_kept(
    serving: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MOST_CLIENTS", 1)
    service = serving(marked("one"), marked("two"), FINE, FINE)
    client = service.client()
    for name in ("ada", "bob", "ada", "bob"):
        await client.for_client(name).categories()
    assert marks(service) == [None, None, None, "two"]


@pytest.mark.parametrize(
    "other",
    [
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json={"categories": 5}),
        httpx.Response(200, text='{"categories": ['),
        httpx.Response(200, content=b'{"categories": ["\xff"]}'),
        httpx.Response(200),
    ],
    ids=str,
)
async def test_a_success_of_another_program_is_an_error_of_graphmem(
    other: httpx.Response, serving: Callable[..., Service]
) -> None:
    with pytest.raises(graphmem.GraphmemError, match="answered 200 OK with what") as caught:
        await serving(other).client().categories()
    assert "check the address, and the version of the service" in str(caught.value)


async def test_a_success_of_another_program_is_not_taken_for_a_deletion(
    serving: Callable[..., Service],
) -> None:
    service = serving(httpx.Response(200, text="<html>"), httpx.Response(204))
    with pytest.raises(graphmem.GraphmemError, match="answered 200 OK with what"):
        await service.client().end_hold()
    await service.client().end_hold()


class Cut(httpx.AsyncByteStream):
    """An answer that breaks off."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"{}\n"
        raise httpx.RemoteProtocolError("cut")


async def test_an_export_that_breaks_off_is_an_error_of_graphmem(
    serving: Callable[..., Service],
) -> None:
    parts = await serving(httpx.Response(200, stream=Cut())).client().export()
    assert await anext(parts) == b"{}\n"
    with pytest.raises(graphmem.Unavailable, match="is lost \\(RemoteProtocolError\\)"):
        await anext(parts)


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (httpx.ReadError("cut"), r"is lost \(ReadError\): what was asked for may have been done"),
        (httpx.ReadTimeout("late"), r"is lost \(ReadTimeout\): what was asked for may have"),
        (httpx.ConnectError("refused"), r"does not answer \(ConnectError\); check the address"),
    ],
    ids=str,
)
async def test_a_lost_answer_is_told_from_a_service_that_was_not_reached(
    failure: httpx.TransportError, said: str, serving: Callable[..., Service]
) -> None:
    service = serving(failure)
    with pytest.raises(graphmem.Unavailable, match=said):
        await service.client(retries=0).remember_fact("The lamp is red.")


async def test_a_lost_answer_to_what_may_be_asked_again_is_told_so(
    serving: Callable[..., Service],
) -> None:
    service = serving(httpx.ReadError("cut"))
    with pytest.raises(graphmem.Unavailable, match=r"is lost \(ReadError\): ask again"):
        await service.client(retries=0).categories()


@pytest.mark.parametrize("failed", [False, True])
async def test_a_page_is_no_text_and_no_export(
    failed: bool, serving: Callable[..., Service]
) -> None:
    html = httpx.Response(200, html="<p>log in</p>")
    wrong = {"detail": "\xff", "code": "x"}
    problem = httpx.Response(500, content=json.dumps(wrong, ensure_ascii=False).encode("latin-1"))
    client = serving(*[problem if failed else html] * 2).client()
    with pytest.raises(graphmem.GraphmemError, match="check the address"):
        await client.compose_context("c")
    with pytest.raises(graphmem.GraphmemError, match="check the address"):
        await client.export()


async def test_an_export_of_nothing_is_none(serving: Callable[..., Service]) -> None:
    with pytest.raises(graphmem.GraphmemError, match="answered nothing; check the address"):
        await serving(httpx.Response(200)).client().export()


async def test_no_end_of_time_is_no_limit(serving: Callable[..., Service]) -> None:
    client = serving(FINE).client(timeout=math.inf)
    assert (await client.categories()).categories == ["general"]


async def test_a_client_closes_the_connections_of_all_event_loops(
    serving: Callable[..., Service],
) -> None:
    client = serving(FINE, FINE).client()
    await client.categories()
    used, done = Event(), Event()
    elsewhere: list[httpx.AsyncClient] = []

    async def use() -> None:
        await client.categories()
        elsewhere.append(client._connection.connections.current().http)
        used.set()
        async with asyncio.timeout(60):
            while not elsewhere[0].is_closed:
                await asyncio.sleep(0.01)
        done.set()

    thread = Thread(target=asyncio.run, args=[use()])
    thread.start()
    await asyncio.to_thread(used.wait, 60)
    await client.close()
    await asyncio.to_thread(thread.join)
    assert done.is_set()


class KeptAlive(BaseHTTPRequestHandler):
    """Answers requests, and keeps their connections open."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Give an answer."""
        body = b'{"categories": ["general"]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@pytest.fixture
def listening() -> Iterator[str]:
    """The address of a service behind a real socket."""
    with ThreadingHTTPServer(("127.0.0.1", 0), KeptAlive) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


CANCELLING = """
import asyncio, sys, httpx, graphmem
from functools import partial

httpx.AsyncClient = partial(httpx.AsyncClient, limits=httpx.Limits(max_connections=8))

async def main():
    async with graphmem.AsyncClient(sys.argv[1], timeout=5, retries=0) as client:
        # Wherever a request may be interrupted, ten times.
        for steps in [*range(60)] * 10:
            task = asyncio.create_task(client.categories())
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        print((await client.categories()).categories)

asyncio.run(main())
"""


def test_cancelled_requests_do_not_use_up_the_connections(
    listening: str, whole_program: None
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", CANCELLING, listening],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert ended.stdout == "['general']\n"


async def test_connections_are_closed_once_the_last_request_has_given_them_back() -> None:
    made: list[httpx.AsyncClient] = []

    def make() -> httpx.AsyncClient:
        made.append(httpx.AsyncClient(transport=httpx.MockTransport(lambda _: FINE)))
        return made[-1]

    connections = connection.Connections(make, most_cancelled=2)

    async def wait() -> None:
        async with connections.lend():
            await asyncio.sleep(60)

    requests = [asyncio.create_task(wait()) for _ in range(3)]
    for request in requests:
        await asyncio.sleep(0)
        assert connections.current().http is made[-1]
        request.cancel()
        await asyncio.wait([request])
    assert [one.is_closed for one in made] == [True, False]
    await connections.close()


# Nobody can close the connections of an event loop that has ended.
@pytest.mark.filterwarnings("ignore:unclosed transport:ResourceWarning")
def test_a_client_may_be_used_in_one_event_loop_after_the_other(listening: str) -> None:
    client = graphmem.AsyncClient(listening)
    for _ in range(3):
        assert asyncio.run(client.categories()).categories == ["general"]
    asyncio.run(client.close())
    gc.collect()


async def test_a_closed_client_says_so(serving: Callable[..., Service]) -> None:
    client = serving(FINE).client()
    other = client.for_client("other")
    await client.close()
    await client.close()
    for one in (client, other):
        with pytest.raises(RuntimeError, match="the client is closed: make another one"):
            await one.categories()
