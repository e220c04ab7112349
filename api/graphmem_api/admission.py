"""Back-pressure: how many requests are worked on at once, whose turn it is, and when each one ends.

Requests take turns by client, and one client has a part of the turns: one with many waiting requests delays
another's by one. A request is refused where too many wait, first those of the client that has the most; it
ends at its deadline, when its caller hangs up, and when the service ends.
"""

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any

from litestar.connection import ASGIConnection
from litestar.enums import ScopeType
from litestar.handlers import BaseRouteHandler
from litestar.types import ASGIApp, Message, Receive, ReceiveMessage, Scope, Send

from graphmem.errors import (
    BodyLate,
    DeadlineExceeded,
    Overloaded,
    TooManyRequests,
    Unavailable,
)
from graphmem.observing.metrics import REQUESTS_IN_PROGRESS, count_refusal
from graphmem_api.problems import send_problem

HELD_BYTES = 256 * 1024 * 1024
"""The maximum length of the bodies of all requests in progress together; one client has a quarter of it."""

MORE_TIME_BYTES = 100_000
"""The length of a body for which a request has its time once more: a batch takes longer than a question."""

BEGUN_AT_ONCE = 4
"""The requests that begin in one round of the event loop; each of them takes a millisecond or two."""

LEAST_OF_ONE = 4
"""The requests of one client that are worked on at once in any case, if as many are of all: a client alone
should keep the processors of a small machine busy."""

AT_LEAST = "at_least_seconds"
"""The option of a route whose work takes longer than a question: the time that it has in any case."""

LONG_WORK = {AT_LEAST: 300.0}
"""The options of a route that works through a whole conversation, or has a limit of time of its own."""

STREAMS = "streams"
"""The option of a route that sends its answer part by part: it has its turn until the caller has read all."""

STREAMED = {STREAMS: True}
"""The options of a route that streams its answer."""

STATE = "visit"
"""The name of a request's visit in the state of its scope."""


class CallerLeft(asyncio.CancelledError):
    """The caller has hung up: its work was cancelled, and nobody waits for an answer."""


class Bodies:
    """The bodies of all requests in progress, and their length together and by client."""

    def __init__(self) -> None:
        self.held = 0
        self._of_client: Counter[str] = Counter()

    def take(self, length: int, client_id: str) -> None:
        """Count a part that has arrived; `give_back` takes it off. Raises `TooManyRequests`, `Overloaded`."""
        self.held += length
        self._of_client[client_id] += length
        if self._of_client[client_id] > HELD_BYTES // 4:
            count_refusal("bytes")
            raise TooManyRequests(HELD_BYTES // 4, "bytes of bodies")
        if self.held > HELD_BYTES:
            count_refusal("bytes")
            raise Overloaded(HELD_BYTES, "bytes of bodies")

    def give_back(self, length: int, client_id: str) -> None:
        """Count the end of a body's request."""
        self.held -= length
        self._of_client[client_id] -= length
        if not self._of_client[client_id]:
            del self._of_client[client_id]


class Pace:
    """Lets a few requests begin in each round of the event loop.

    A round ends when all that was ready has run: if hundreds of requests arrive together, the probes of
    health and the answers of others would wait for all of them to begin.
    """

    def __init__(self, at_once: int = BEGUN_AT_ONCE) -> None:
        self._at_once = self._left = at_once
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_counting = False

    async def begin(self) -> None:
        """Wait for a round with fewer beginnings."""
        loop = asyncio.get_running_loop()
        if not self._is_counting:
            self._is_counting = True
            loop.call_soon(self._next_round)
        if self._left and not self._waiting:
            self._left -= 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next_round(self) -> None:
        self._left = self._at_once
        while self._waiting and self._left:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._left -= 1
        self._is_counting = self._left < self._at_once
        if self._is_counting:
            asyncio.get_running_loop().call_soon(self._next_round)


class Turns:
    """Admits requests, `at_once` at a time; the waiting clients take turns.

    One client has a quarter of the turns, since whatever it has begun slows the work of others and is not
    interrupted; half of these for streams, since nobody knows how slowly it reads them.
    """

    def __init__(self, *, at_once: int, waiting: int, of_client: Callable[[str], int]) -> None:
        self._at_once, self._most_waiting, self._of_client = at_once, waiting, of_client
        self._most_of_one = min(at_once, max(LEAST_OF_ONE, at_once // 4))
        self._most_streams = max(1, self._most_of_one // 2)
        self._working: Counter[str] = Counter()
        self._in_progress: Counter[str] = Counter()
        self._streams: Counter[str] = Counter()
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return sum(map(len, self._queues.values()))

    async def take(self, client_id: str, *, streams: bool = False) -> None:
        """Wait for a turn; `give_back` ends it, or `end_work` and `leave`.

        Raises `TooManyRequests`, `Overloaded`.
        """
        most = self._of_client(client_id)
        if self._in_progress[client_id] >= most:
            count_refusal("client")
            raise TooManyRequests(most)
        if streams and self._streams[client_id] >= self._most_streams:
            count_refusal("client")
            raise TooManyRequests(
                self._most_streams, "exports", "read one to its end before you begin another"
            )
        if self._next([client_id]) is None and self.waiting >= self._most_waiting:
            self._make_room(client_id)
        self._in_progress[client_id] += 1
        self._streams[client_id] += streams
        try:
            await self._wait(client_id)
        except BaseException:
            self.leave(client_id, streams=streams)
            raise

    def give_back(self, client_id: str) -> None:
        """End a turn, and the request: the turn goes to the next waiting client."""
        self.end_work(client_id)
        self.leave(client_id)

    def end_work(self, client_id: str) -> None:
        """End a turn: it goes to the next waiting client; the request is in progress until it leaves."""
        self._working[client_id] -= 1
        if not self._working[client_id]:
            del self._working[client_id]
        self._grant()

    def leave(self, client_id: str, *, streams: bool = False) -> None:
        """End a request that has no turn any more."""
        self._streams[client_id] -= streams
        self._in_progress[client_id] -= 1
        if not self._in_progress[client_id]:
            del self._in_progress[client_id], self._streams[client_id]

    def _next(self, clients: Iterable[str]) -> str | None:
        """Return the first of some clients that may have a turn now; None if there is none."""
        if self._working.total() >= self._at_once:
            return None
        return next((one for one in clients if self._working[one] < self._most_of_one), None)

    def _make_room(self, client_id: str) -> None:
        """Refuse the last waiting request of the client that has the most, for one of a client with fewer.

        Raises `Overloaded` if no client has more: then that one is refused.
        """
        count_refusal("all")
        refusal = Overloaded(self._at_once + self._most_waiting)
        longest = max(self._queues.values(), key=len, default=deque())
        if len(longest) <= 1 + len(self._queues.get(client_id, ())):
            raise refusal
        turn = longest.pop()
        if not turn.done():
            turn.set_exception(refusal)

    async def _wait(self, client_id: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client_id, deque()).append(turn)
        self._grant()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._withdraw(client_id, turn)
            elif turn.exception() is None:
                self.end_work(client_id)
            raise

    def _withdraw(self, client_id: str, turn: "asyncio.Future[None]") -> None:
        queue = self._queues.get(client_id, deque())
        if turn in queue:
            queue.remove(turn)
            if not queue:
                del self._queues[client_id]

    def _grant(self) -> None:
        """Give free turns to the waiting clients in rotation."""
        while (client_id := self._next(self._queues)) is not None:
            queue = self._queues.pop(client_id)
            turn = queue.popleft()
            if queue:
                self._queues[client_id] = queue
            # One that was cancelled is still here until its task goes on.
            if not turn.done():
                turn.set_result(None)
                self._working[client_id] += 1
        REQUESTS_IN_PROGRESS.labels("working").set(self._working.total())
        REQUESTS_IN_PROGRESS.labels("waiting").set(self.waiting)


class Visit:
    """One request in progress: its turn, its deadline, and the length of its body."""

    def __init__(self, admission: "Admission", receive: Receive, send: Send) -> None:
        self._admission = admission
        self._receive = receive
        self._send = send
        self._task = asyncio.current_task()
        self._is_admitted = self._has_turn = self._streams = False
        self._leaving: asyncio.Task[None] | None = None
        self.client_id = ""
        """Its client, from its authentication on."""
        self.body_bytes = 0
        self.waited = 0.0
        """The seconds until its turn."""
        self.seconds = admission.seconds
        """The time that it has: at first for its body, then for the work."""
        self._least = 0.0
        """The time that its work has whatever the setting."""
        self.deadline = asyncio.timeout(self.seconds)
        self.caller_left = False
        self.has_begun = False
        self.has_answer = False

    async def begin(self, handler: BaseRouteHandler) -> None:
        """Wait for the client's turn, once the body has arrived; from now on the time of the work counts.

        Raises `TooManyRequests`, `Overloaded`.
        """
        self.has_begun = True
        self._streams = STREAMS in handler.opt
        self.seconds *= 1 + self.body_bytes // MORE_TIME_BYTES
        self._least = handler.opt.get(AT_LEAST, 0.0)
        self.seconds = max(self.seconds, self._least)
        self.deadline.reschedule(asyncio.get_running_loop().time() + self.seconds)
        self._leaving = asyncio.create_task(self._notice_leaving())
        came = time.perf_counter()
        try:
            await self._admission.turns.take(self.client_id, streams=self._streams)
        finally:
            self.waited = time.perf_counter() - came
        self._is_admitted = self._has_turn = True

    async def receive(self) -> ReceiveMessage:
        """Return the next part of the body, counted. Raises `TooManyRequests`, `Overloaded`."""
        message = await self._receive()
        if message["type"] == "http.request":
            length = len(message["body"])
            self.body_bytes += length
            self._admission.bodies.take(length, self.client_id)
        return message

    async def answer(self, message: Message) -> None:
        """Send a part of the answer: its first ends the deadline, since the caller's reading takes time.

        It ends the turn, too, unless the answer is made part by part: only its sending is left.
        """
        self.has_answer = True
        if not self._streams:
            self.end_turn()
        if not self.deadline.expired():
            self.deadline.reschedule(None)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self._stop_watching()
        await self._send(message)

    def late(self) -> BodyLate | DeadlineExceeded:
        """Return the error of a request that is cut off now."""
        if self.has_begun:
            return DeadlineExceeded(self.seconds, is_set=self.seconds > self._least)
        return BodyLate(self.seconds)

    def end(self) -> None:
        """Give everything back."""
        self._admission.bodies.give_back(self.body_bytes, self.client_id)
        self._stop_watching()
        self.end_turn()
        if self._is_admitted:
            self._admission.turns.leave(self.client_id, streams=self._streams)

    def end_turn(self) -> None:
        """Let another request be worked on: of this one nothing is left but to send its answer."""
        if self._has_turn:
            self._has_turn = False
            self._admission.turns.end_work(self.client_id)

    def _stop_watching(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()

    async def _notice_leaving(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.caller_left = True
        if self._task is not None:
            self._task.cancel()


class Admission:
    """Wraps the application: gives each request of a client a visit, and ends it in time."""

    def __init__(
        self, app: ASGIApp, turns: Turns, bodies: Bodies, prefix: str, *, seconds: float
    ) -> None:
        self._app = app
        self._prefix = prefix
        self._pace = Pace()
        self.turns = turns
        self.bodies = bodies
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; those about the service itself are always answered."""
        if scope["type"] != ScopeType.HTTP or not scope["path"].startswith(self._prefix):
            await self._app(scope, receive, send)
            return
        visit = scope["state"][STATE] = Visit(self, receive, send)
        try:
            async with visit.deadline:
                await self._pace.begin()
                await self._app(scope, visit.receive, visit.answer)
        except TimeoutError:
            if visit.has_answer:
                raise
            visit.end_turn()
            await send_problem(visit.late(), scope, send)
        except asyncio.CancelledError:
            if visit.caller_left:
                raise CallerLeft from None
            if visit.has_answer:
                raise
            # The service ends, and the request has not ended within its grace.
            await send_problem(Unavailable("the service has ended: send it again"), scope, send)
        finally:
            visit.end()


def visit_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Visit | None:
    """Return the visit of a request; None for one about the service itself."""
    visit: Visit | None = connection.scope["state"].get(STATE)
    return visit
