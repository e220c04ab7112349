"""Back-pressure, on the application without a database: a slow use case stands for the work."""

import asyncio
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from graphmem_api import admission
from graphmem_api.admission import Pace, Turns
from graphmem_api.app import create_app
from litestar import Litestar
from msgspec.structs import replace
from prometheus_client import REGISTRY

from graphmem.clients import LimitsOfClients
from graphmem.errors import Overloaded, TooManyRequests
from graphmem.recall.types import Recalled
from graphmem.runtime import Runtime
from tests.api.conftest import client_of

RECALL = "/api/v0/recall"
EXPORT = "/api/v0/export"
QUESTION = {"query": "a"}

SLOW = re.compile(
    r"WARNING .*method=POST route=/api/v0/recall status=200 ms=[0-9.]+"
    r" slow=true waited_ms=(?P<waited>[0-9.]+) body_bytes=13( \w+=[\w.-]+)*$"
)

NOTHING = Recalled(
    items=[],
    context="",
    tokens_used=0,
    omitted=[],
    omitted_total=0,
    abstained=False,
    degraded=[],
)


class Slow:
    """A question that is answered once it is told so."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.begun: list[str] = []
        self.cancelled = 0

    async def __call__(self, asked: Any, context: Any) -> Any:
        self.begun.append(context.client_id)
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return NOTHING


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    """The work of every question of recall."""
    work = Slow()
    monkeypatch.setattr("graphmem.recall.ask.recall", work)
    return work


@pytest.fixture
def limited(offline: Runtime) -> Callable[..., Litestar]:
    """A function that returns the application with other limits."""

    def app(**limits: int) -> Litestar:
        settings = replace(offline.settings, **limits)
        return create_app(replace(offline, settings=settings, limits=LimitsOfClients(settings)))

    return app


def waiting() -> int:
    """Return the number of requests that wait for their turn."""
    sample = REGISTRY.get_sample_value("graphmem_http_requests_in_progress", {"state": "waiting"})
    return int(sample or 0)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)


@asynccontextmanager
async def asking(app: Litestar, number: int, client: str = "a") -> AsyncIterator[list[Any]]:
    """Ask several questions at once, and return their answers at the end of the block."""
    async with client_of(app, x_client_id=client) as http:
        asked = [asyncio.create_task(http.post(RECALL, json=QUESTION)) for _ in range(number)]
        answers: list[Any] = []
        yield answers
        answers += await asyncio.gather(*asked)


async def test_only_so_many_are_worked_on_and_the_others_wait(
    slow: Slow, limited: Callable[..., Litestar]
):
    async with asking(limited(requests_at_once=2), 5) as answers:
        await until(lambda: len(slow.begun) == 2)
        await asyncio.sleep(0.02)
        assert len(slow.begun) == 2
        slow.open.set()
    assert [one.status_code for one in answers] == [200] * 5


async def test_beyond_those_that_wait_the_next_is_refused_at_once(
    slow: Slow, limited: Callable[..., Litestar]
):
    app = limited(requests_at_once=1, requests_waiting=1)
    async with asking(app, 2), client_of(app, x_client_id="b") as http:
        await until(lambda: slow.begun)
        refused = await http.post(RECALL, json=QUESTION)
        live = await http.get("/health/live")
        slow.open.set()
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json()["code"] == "overloaded"
    assert "2 requests" in refused.json()["detail"]
    assert live.status_code == 200


async def test_one_client_cannot_take_all_places(slow: Slow, limited: Callable[..., Litestar]):
    app = limited(client_requests=2)
    async with asking(app, 2), client_of(app, x_client_id="b") as other:
        await until(lambda: len(slow.begun) == 2)
        async with client_of(app, x_client_id="a") as http:
            refused = await http.post(RECALL, json=QUESTION)
        admitted = asyncio.create_task(other.post(RECALL, json=QUESTION))
        await until(lambda: "b" in slow.begun)
        slow.open.set()
        assert (await admitted).status_code == 200
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert (refused.json()["code"], refused.json()["limit"]) == ("too_many_requests", 2)


async def test_exports_that_nobody_reads_leave_the_client_and_others_their_turns(
    slow: Slow, limited: Callable[..., Litestar], monkeypatch: pytest.MonkeyPatch
):
    unread = asyncio.Event()

    async def export(asked: Any, context: Any) -> AsyncIterator[bytes]:
        async def lines() -> AsyncIterator[bytes]:
            yield b"{}\n"
            await unread.wait()

        return lines()

    monkeypatch.setattr("graphmem.exports.export.export", export)
    slow.open.set()
    app = limited(requests_at_once=8)
    async with (
        asyncio.timeout(60),
        client_of(app, x_client_id="a") as one,
        client_of(app, x_client_id="b") as other,
    ):
        exports = [asyncio.create_task(one.get(EXPORT)) for _ in range(8)]
        refused = [await exports.pop() for _ in range(6)]
        asked = [await http.post(RECALL, json=QUESTION) for http in (one, other)]
        unread.set()
        whole = await asyncio.gather(*exports)
        again = await one.get(EXPORT)
    assert [one.status_code for one in (*asked, *whole, again)] == [200] * 5
    assert {one.status_code for one in refused} == {429}
    assert refused[0].headers["retry-after"] == "1"
    told = refused[0].json()
    assert (told["code"], told["limit"]) == ("too_many_requests", 2)
    assert "2 of this client are in progress" in told["detail"]
    assert "read one to its end" in told["detail"]


async def test_a_request_ends_at_its_deadline(slow: Slow, limited: Callable[..., Litestar]):
    async with asking(limited(request_seconds=1), 1) as answers:
        pass
    [answer] = answers
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "deadline_exceeded"
    assert "1 s" in answer.json()["detail"]
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert slow.cancelled == 1


async def test_the_wait_for_a_turn_counts(slow: Slow, limited: Callable[..., Litestar]):
    async with asking(limited(request_seconds=1, requests_at_once=1), 3) as answers:
        pass
    assert {one.json()["code"] for one in answers} == {"deadline_exceeded"}
    assert slow.cancelled >= 1


def scope_of(path: str, *headers: tuple[bytes, bytes], method: str = "POST") -> dict[str, Any]:
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), (b"host", b"localhost"), *headers],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
        "scheme": "http",
        "state": {},
    }


class Caller:
    """A caller who sends parts of a body, and then waits or hangs up."""

    def __init__(self, *parts: bytes, whole: bool = True) -> None:
        self._parts = list(parts)
        self._whole = whole
        self.leaves = asyncio.Event()
        self.answers: list[Any] = []

    async def receive(self) -> dict[str, Any]:
        if self._parts:
            body = self._parts.pop(0)
            return {
                "type": "http.request",
                "body": body,
                "more_body": bool(self._parts) or not self._whole,
            }
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.answers.append(message)


async def ask(app: Any, caller: Caller, path: str = RECALL, method: str = "POST") -> None:
    await app(scope_of(path, method=method), caller.receive, caller.send)


async def test_a_caller_who_hangs_up_cancels_the_work(
    slow: Slow, limited: Callable[..., Litestar], log_lines: list[str]
):
    caller = Caller(b'{"query": ', b'"a"}')
    asked = asyncio.create_task(ask(limited(), caller))
    await until(lambda: slow.begun)
    caller.leaves.set()
    async with asyncio.timeout(60):
        await asked
    assert slow.cancelled == 1
    assert caller.answers == []
    [line] = [one for one in log_lines if "route=" in one]
    assert "status=0" in line


async def test_a_request_that_the_end_of_the_service_cuts_off_is_answered(
    slow: Slow, limited: Callable[..., Litestar]
):
    caller = Caller(b'{"query": "a"}')
    asked = asyncio.create_task(ask(limited(), caller))
    await until(lambda: slow.begun)
    asked.cancel()
    async with asyncio.timeout(60):
        await asked
    assert slow.cancelled == 1
    start, body = caller.answers
    assert start["status"] == 503
    assert (b"retry-after", b"2") in start["headers"]
    assert b"the service has ended" in body["body"]


async def test_a_caller_who_hangs_up_while_it_waits_leaves_its_place(
    slow: Slow, limited: Callable[..., Litestar]
):
    app = limited(requests_at_once=1, requests_waiting=1)
    async with asking(app, 1) as answers:
        await until(lambda: slow.begun)
        caller = Caller(b'{"query": "a"}')
        asked = asyncio.create_task(ask(app, caller))
        await asyncio.sleep(0.02)
        caller.leaves.set()
        async with asyncio.timeout(60):
            await asked
        async with asking(app, 1, "b") as others:
            await asyncio.sleep(0.02)
            slow.open.set()
    assert [one.status_code for one in (*answers, *others)] == [200, 200]
    assert slow.begun == ["a", "b"]


@pytest.mark.parametrize("body", [b"", b"{}"])
@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("POST", "/api/v0/conversations/c/segment", "graphmem.episodes.segment.segment"),
        ("DELETE", "/api/v0/contexts/x", "graphmem.contexts.context.delete_context"),
    ],
)
async def test_a_request_without_a_struct_is_read_before_it_waits(
    method: str,
    path: str,
    name: str,
    body: bytes,
    slow: Slow,
    limited: Callable[..., Litestar],
    monkeypatch: pytest.MonkeyPatch,
):
    async def work(id: str, context: Any, **_: Any) -> Any:
        return await slow(id, context)

    monkeypatch.setattr(name, work)
    app = limited(requests_at_once=1)
    async with asking(app, 1):
        await until(lambda: slow.begun)
        caller = Caller(body)
        asked = asyncio.create_task(ask(app, caller, path, method))
        await asyncio.sleep(0.02)
        slow.open.set()
        async with asyncio.timeout(60):
            await asked
    assert caller.answers[0]["status"] < 300, caller.answers
    assert len(slow.begun) == 2


async def test_half_a_body_is_given_up_at_the_deadline(limited: Callable[..., Litestar]):
    caller = Caller(b'{"query": ', whole=False)
    await ask(limited(request_seconds=1), caller)
    start, body = caller.answers
    assert start["status"] == 408
    assert b"body_late" in body["body"]


async def test_a_long_body_has_more_time(
    slow: Slow, limited: Callable[..., Litestar], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(admission, "MORE_TIME_BYTES", 10)
    app = limited(request_seconds=1)
    async with client_of(app, x_client_id="a") as http:
        short = asyncio.create_task(http.post(RECALL, json=QUESTION))
        long = asyncio.create_task(http.post(RECALL, json={"query": "a" * 10_000}))
        late = await short
        assert late.status_code == 503
        assert "within 2 s and was cut off (GRAPHMEM_REQUEST_SECONDS)" in late.json()["detail"]
        slow.open.set()
        assert (await long).status_code == 200


async def test_the_bodies_of_all_requests_together_have_a_limit(
    slow: Slow, limited: Callable[..., Litestar], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(admission, "HELD_BYTES", 1_000)
    app = limited()
    long = {"query": "a" * 220}
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(client_of(app, x_client_id=name)) for name in "abcde"
        ]
        first = [asyncio.create_task(http.post(RECALL, json=long)) for http in clients[:4]]
        await until(lambda: len(slow.begun) == 4)
        refused = await clients[4].post(RECALL, json=long)
        slow.open.set()
        assert [(await one).status_code for one in first] == [200] * 4
        assert (await clients[4].post(RECALL, json=long)).status_code == 200
    assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
    assert "1,000 bytes" in refused.json()["detail"]


async def test_one_client_has_a_quarter_of_the_bytes_of_bodies(
    slow: Slow, limited: Callable[..., Litestar], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(admission, "HELD_BYTES", 4_000)
    app = limited()
    long = {"query": "a" * 600}
    async with (
        client_of(app, x_client_id="a") as one,
        client_of(app, x_client_id="b") as other,
    ):
        first = asyncio.create_task(one.post(RECALL, json=long))
        await until(lambda: slow.begun)
        refused = await one.post(RECALL, json=long)
        admitted = asyncio.create_task(other.post(RECALL, json=long))
        await until(lambda: "b" in slow.begun)
        slow.open.set()
        assert {(await first).status_code, (await admitted).status_code} == {200}
        assert (await one.post(RECALL, json=long)).status_code == 200
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert (refused.json()["code"], refused.json()["limit"]) == ("too_many_requests", 1_000)
    assert "1,000 of this client" in refused.json()["detail"]


async def test_clients_take_turns():
    turns = Turns(at_once=1, waiting=100, of_client=lambda _: 100)
    order: list[str] = []
    all_wait = asyncio.Event()

    async def visit(client_id: str) -> None:
        await turns.take(client_id)
        order.append(client_id)
        await all_wait.wait()
        turns.give_back(client_id)

    async with asyncio.TaskGroup() as group:
        for client_id in "aaaaabbc":
            group.create_task(visit(client_id))
            await asyncio.sleep(0)
        all_wait.set()
    assert "".join(order) == "aabcabaa"


class Visitors:
    """Requests of clients that have a turn until they are told to end it."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.working: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.ending = asyncio.Event()

    async def come(self, clients: str) -> "list[asyncio.Task[None]]":
        tasks = []
        for client_id in clients:
            tasks.append(asyncio.create_task(self._visit(client_id)))
            await asyncio.sleep(0)
        await steps(3)
        return tasks

    async def _visit(self, client_id: str) -> None:
        try:
            await self.turns.take(client_id)
        except Overloaded:
            self.refused[client_id] += 1
            return
        self.working[client_id] += 1
        await self.ending.wait()
        self.turns.give_back(client_id)


@pytest.mark.parametrize(("at_once", "of_one"), [(3, 3), (8, 4), (64, 16)])
async def test_one_client_leaves_turns_to_others_before_these_come(at_once: int, of_one: int):
    visitors = Visitors(Turns(at_once=at_once, waiting=200, of_client=lambda _: 100))
    tasks = await visitors.come("a" * 80)
    assert visitors.working == {"a": of_one}
    tasks += await visitors.come("bcdef" * 80)
    assert visitors.working.total() == at_once
    assert max(visitors.working.values()) == of_one
    visitors.ending.set()
    await asyncio.gather(*tasks)
    assert visitors.working + visitors.refused == {"a": 80} | dict.fromkeys("bcdef", 80)


async def test_where_too_many_wait_the_client_with_the_most_is_refused():
    visitors = Visitors(Turns(at_once=1, waiting=5, of_client=lambda _: 100))
    tasks = await visitors.come("aaaaaa")
    assert not visitors.refused
    tasks += await visitors.come("bcb")
    assert (visitors.refused, visitors.turns.waiting) == ({"a": 3}, 5)
    tasks += await visitors.come("acb")
    assert (visitors.refused, visitors.turns.waiting) == ({"a": 4, "c": 1, "b": 1}, 5)
    visitors.ending.set()
    await asyncio.gather(*tasks)
    assert visitors.working == {"a": 3, "b": 2, "c": 1}


async def test_who_hangs_up_when_it_is_refused_for_another_gives_back_no_turn():
    visitors = Visitors(Turns(at_once=1, waiting=2, of_client=lambda _: 100))
    tasks = await visitors.come("aaa")
    tasks.append(asyncio.create_task(visitors.turns.take("b")))
    await asyncio.sleep(0)
    tasks[2].cancel()
    await steps(3)
    assert (visitors.working, visitors.turns.waiting) == ({"a": 1}, 2)
    tasks[3].cancel()
    visitors.ending.set()
    await asyncio.gather(*tasks, return_exceptions=True)


async def steps(number: int) -> None:
    """Let other tasks go on several times."""
    for _ in range(number):
        await asyncio.sleep(0)


@pytest.mark.parametrize("seed", range(20))
async def test_turns_balance_whatever_callers_do(seed: int):
    chance = random.Random(seed)
    turns = Turns(at_once=6, waiting=5, of_client=lambda _: 7)
    at_work: Counter[str] = Counter()
    most = most_of_one = 0

    async def visit(client_id: str) -> None:
        nonlocal most, most_of_one
        try:
            await turns.take(client_id)
        except (Overloaded, TooManyRequests):
            return
        at_work[client_id] += 1
        most = max(most, at_work.total())
        most_of_one = max(most_of_one, at_work[client_id])
        try:
            await steps(chance.randrange(20))
        finally:
            at_work[client_id] -= 1
            turns.give_back(client_id)

    tasks = []
    for _ in range(60):
        tasks.append(asyncio.create_task(visit(chance.choice("aaaabc"))))
        await steps(chance.randrange(3))
        if chance.random() < 0.3:
            chance.choice(tasks).cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (turns.waiting, at_work.total(), most, most_of_one) == (0, 0, 6, 4)
    await asyncio.gather(*(turns.take(one) for one in "aaaabb"))


async def test_a_slow_request_is_logged_with_its_wait_and_size_without_its_text(
    slow: Slow, limited: Callable[..., Litestar], log_lines: list[str]
) -> None:
    async with asking(limited(slow_ms=500, requests_at_once=1), 2):
        await until(lambda: slow.begun and waiting() == 1)
        await asyncio.sleep(1.0)
        slow.open.set()
    told = [SLOW.search(line) for line in log_lines if "route=/api/v0/recall" in line]
    first, second = (float(found["waited"]) for found in told if found)
    assert first < second >= 900


async def test_without_a_limit_no_request_is_slow(
    slow: Slow, limited: Callable[..., Litestar], log_lines: list[str]
) -> None:
    async with asking(limited(slow_ms=0), 1):
        await until(lambda: slow.begun)
        slow.open.set()
    [line] = [line for line in log_lines if "route=/api/v0/recall" in line]
    assert "slow=true" not in line


async def test_a_few_requests_begin_in_each_round_of_the_event_loop():
    pace = Pace(at_once=3)
    begun: list[int] = []
    rounds: list[int] = []

    async def begin(place: int) -> None:
        await pace.begin()
        begun.append(place)

    waiting = [asyncio.create_task(begin(place)) for place in range(20)]
    while len(begun) < 20:
        before = len(begun)
        await asyncio.sleep(0)
        rounds.append(len(begun) - before)
    await asyncio.gather(*waiting)

    assert begun == list(range(20))
    assert max(rounds) == 3


async def test_a_request_that_is_cancelled_before_it_begins_takes_no_place():
    pace = Pace(at_once=1)
    await pace.begin()
    gone = asyncio.create_task(pace.begin())
    stays = asyncio.create_task(pace.begin())
    await asyncio.sleep(0)
    gone.cancel()
    async with asyncio.timeout(60):
        await stays
        await pace.begin()


async def test_long_work_has_a_time_that_no_setting_tells(
    slow: Slow, limited: Callable[..., Litestar], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        "graphmem.episodes.segment.segment", lambda one, context, **_: slow(one, context)
    )
    app = limited(request_seconds=1)
    for route in app.routes:
        for handler in getattr(route, "route_handlers", []):
            if admission.AT_LEAST in handler.opt:
                monkeypatch.setitem(handler.opt, admission.AT_LEAST, 1.5)
    async with client_of(app, x_client_id="a") as http:
        late = await http.post("/api/v0/conversations/c/segment")
    assert late.status_code == 503
    assert "within 1.5 s and was cut off: a write" in late.json()["detail"]
