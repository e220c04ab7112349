"""Serving: graphmem and its API, from the start to a signal."""

import asyncio
import contextlib
import errno
import gc
import logging
import resource
import signal
import socket
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from typing import Any

import h11
import msgspec
import uvicorn
from litestar import MediaType
from msgspec import Struct
from uvicorn.protocols.http.h11_impl import H11Protocol

from graphmem.background import REST_SECONDS, Backgrounds
from graphmem.config import Settings, variable
from graphmem.errors import SettingError
from graphmem.hypotheses.ask import prepare_turns, preparing_turns
from graphmem.model.progress import Progress, silent
from graphmem.observing.logs import LostErrors
from graphmem.observing.metrics import Refusal, count_refusal
from graphmem.observing.spans import exporting
from graphmem.runtime import Runtime, running
from graphmem.warming import warm
from graphmem_api.access import protected
from graphmem_api.app import create_app
from graphmem_api.clients import Guard, check_listener
from graphmem_api.health import Closing, Health
from graphmem_api.mcp.endpoint import Endpoint
from graphmem_api.problems import HTTP_CODES, MEDIA_TYPE, Failure, problem

HEADER_BYTES = 64 * 1024
"""The maximum length of a request's line and headers."""

HEADER_SECONDS = 10.0
"""The time in which the line and the headers of a request must arrive."""

IDLE_SECONDS = 650
"""The time after which a connection without a request is closed. Proxies keep theirs for 60 s (nginx), 90 s
(those in Go), 600 s (Google Cloud): on one that is closed before, a request may be lost on its way."""

GRACE_SECONDS = 10
"""The time that requests in progress have to end after a signal."""

TOLD_SECONDS = 10.0
"""The time between two lines in the log about the same refusals."""

LINGER_SECONDS = 2.0
"""The time that a connection which is refused has for sending, and for reading the answer."""

UNREAD_SECONDS = 30.0
"""The time after which a connection is cut whose caller has read nothing more of an answer."""

UNSENT_BYTES = 128 * 1024
"""The length that the system takes of an answer before its caller reads on. By itself it takes megabytes, and
then says nothing of a slow caller for minutes."""

LIVENESS = b"GET /health/live "
"""The beginning of the request that is answered on every connection: a restart makes an overload worse."""

BACKLOG = 512

OTHER_FILES = 512
"""The open files that are left beside callers' connections: for those to the database, which grow with the
requests in progress, for those that are turned away, and for what libraries keep open."""

SWITCH_SECONDS = 0.0005
"""The time after which a thread that computes lets another one run. With Python's 5 ms the event loop, which
gives its turn away with each read and write of a socket, waits that long for it while texts are analysed."""

NEW_OBJECTS = 10_000
"""The number of new objects after which the garbage collector looks through them. After Python's 700 it would
look three times during each answer to a question, with which these objects go."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)

log = logging.getLogger(__name__)


async def serve(
    settings: Settings,
    progress: Progress = silent,
    on_ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until SIGINT or SIGTERM; call `on_ready` with the URL once requests are answered.

    A signal during the start gives it up; later it lets requests in progress end. Raises a
    `SetupError` whose sentence names the remedy.
    """
    check_listener(settings)
    # Before anything is started: the keys file must be one.
    Guard(settings)
    with (
        contextlib.closing(listener(settings.host, settings.port)) as listening,
        GracefulEnd() as ending,
    ):
        asyncio.get_running_loop().set_exception_handler(LostErrors().log)
        async with exporting(), running(settings, progress) as runtime:
            background = Backgrounds(runtime) if settings.jobs == "on" else None
            await _prepare(runtime, background, progress)
            async with _preparing_turns_later(runtime):
                await _serve(runtime, background, listening, ending, on_ready)
    log.info("the service has ended")


async def _serve(
    runtime: Runtime,
    background: Backgrounds | None,
    listening: socket.socket,
    ending: "GracefulEnd",
    on_ready: Callable[[str], None],
) -> None:
    """Answer requests, and do the background work, until a signal."""
    settings = runtime.settings
    app = create_app(runtime)
    server = Server(
        app,
        url(settings.host, listening),
        on_ready,
        background,
        connections=connections_within_files(settings.connections),
        endpoint=app.state["mcp"],
        draining=Draining(app.state["closing"], settings.drain_seconds),
    )
    ending.server = server
    try:
        with responsive():
            await server.serve([listening])
    finally:
        if background:
            await background.end()


def connections_within_files(wanted: int) -> int:
    """Let this process open as many files as its connections need; return how many it can keep.

    Linux limits it to 1,024 unless it asks for more. A process that reaches its limit of open files neither
    accepts a connection nor opens one to the database.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    admitted = needed if hard == resource.RLIM_INFINITY else max(soft, min(needed, hard))
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (admitted, hard))
    except (OSError, ValueError):
        admitted = soft
    kept = min(wanted, max(admitted - OTHER_FILES, admitted // 2))
    if kept < wanted:
        log.warning(
            "this process may open %d files: it keeps %d connections, not %d; raise `ulimit -n` to %d",
            admitted,
            kept,
            wanted,
            needed,
        )
    return kept


@contextmanager
def responsive() -> Iterator[None]:
    """Keep pauses of the event loop short, for the length of the block.

    What exists now is left out of garbage collections: nothing is answered while they look through it, and it
    stays to the end anyway.
    """
    switch, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(NEW_OBJECTS, *thresholds[1:])
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(switch)


async def _prepare(runtime: Runtime, background: Backgrounds | None, progress: Progress) -> None:
    """Let a database that has just started plan the first queries in advance, and read its indexes.

    With a setting `warm_seconds` of 0 the start takes no time for it.
    """
    if not runtime.settings.warm_seconds:
        return
    progress("preparing the first answers")
    if background is not None:
        await background.prepare()
    await _warm_now_and_after_restarts(runtime)
    progress("preparing the first answers", 1, 1)
    if runtime.places is not None:
        await runtime.places.at_each(_warm_now_and_after_restarts)
    if runtime.llm is not None:
        await prepare_turns(runtime.context(client_id=""))


async def _warm_now_and_after_restarts(runtime: Runtime) -> None:
    """Warm a database, and have it plan everything again, beside the answers, whenever it was restarted."""

    async def prepare() -> None:
        await warm(runtime)
        await prepare_turns(runtime.context_here("", in_background=True))

    runtime.graph.when_back(partial(runtime.afterwards.do_once, "preparation of answers", prepare))
    await warm(runtime)


def _preparing_turns_later(runtime: Runtime) -> AbstractAsyncContextManager[None]:
    """Prepare turns beside the first answers where `_prepare` has not: without a language model.

    A turn may still search for its window then: soon is enough for that.
    """
    if runtime.llm is not None or not runtime.settings.warm_seconds:
        return contextlib.nullcontext()
    return preparing_turns(runtime.context_here("", in_background=True), rest=REST_SECONDS)


def listener(host: str, port: int) -> socket.socket:
    """Bind a port before anything slow is started. Raises `SettingError`."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as problem:
        raise SettingError(
            variable("host"), f"{host!r} is no address of this machine: try 127.0.0.1"
        ) from problem
    # `localhost` may be IPv4 and IPv6: more programs try IPv4.
    family, kind, protocol, _, address = min(found, key=lambda place: place[0] != socket.AF_INET)
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        # Two sockets may bind one port; only listening reserves it.
        listening.listen(BACKLOG)
        # Connections inherit it; Windows has none.
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    except OSError as problem:
        listening.close()
        raise _not_taken(problem, host, port) from problem
    listening.setblocking(False)
    return listening


def url(host: str, listening: socket.socket) -> str:
    """Return the URL of a socket, with its actual port."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"


class Refusals:
    """Counts the connections that are refused without a request, and logs them seldom."""

    def __init__(self) -> None:
        self._counted: Counter[tuple[Refusal, int]] = Counter()
        self._pausing: dict[tuple[Refusal, int], asyncio.TimerHandle] = {}

    def count(self, limit: Refusal, status: int) -> None:
        """Count one more; log the first at once, those of the next seconds together."""
        count_refusal(limit)
        self._counted[limit, status] += 1
        if (limit, status) not in self._pausing:
            self._log_again(limit, status)

    def end(self) -> None:
        """Log those that wait for the end of a pause."""
        while self._pausing:
            (limit, status), pause = self._pausing.popitem()
            pause.cancel()
            self._log(limit, status)

    def _log_again(self, limit: Refusal, status: int) -> None:
        """Log how many there were since the last line, and look again after a pause until there are none."""
        if self._log(limit, status):
            self._pausing[limit, status] = asyncio.get_running_loop().call_later(
                TOLD_SECONDS, self._log_again, limit, status
            )
        else:
            self._pausing.pop((limit, status), None)

    def _log(self, limit: Refusal, status: int) -> int:
        number = self._counted.pop((limit, status), 0)
        if number:
            log.warning(
                "refused without a request: limit=%s status=%d connections=%d",
                limit,
                status,
                number,
            )
        return number


class NoHttp(Exception):
    """What has arrived is no request that may be read."""


class Reader(h11.Connection):
    """Reads requests, but none whose end a proxy before the service may see elsewhere (RFC 9112, 6.1)."""

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return what has arrived. Raises `NoHttp`: uvicorn logs each error of h11."""
        try:
            event = super().next_event()
        except h11.RemoteProtocolError as problem:
            raise NoHttp from problem
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            if {b"content-length", b"transfer-encoding"} <= names:
                raise NoHttp("both Content-Length and Transfer-Encoding")
        return event


class Protocol(H11Protocol):
    """HTTP/1.1 with limits of number and time; what is wrong with it is answered as a problem, too."""

    most_connections = 1_000
    refusals: Refusals
    idle: "dict[Protocol, None]"
    """The connections of the server without a request, the one that waits longest first."""
    _is_beyond = False
    _answered = False
    _headers_due: asyncio.TimerHandle | None = None
    _reading_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, for that of one without a request; if none is, only to turn it away soon."""
        super().connection_made(transport)
        self.conn = Reader(h11.SERVER, HEADER_BYTES)
        # `pause_writing` and `resume_writing` tell then of every byte that waits for its caller.
        transport.set_write_buffer_limits(high=0)
        if len(self.connections) > self.most_connections and not self._end_idle():
            self._is_beyond = True
            self._headers_due = self.loop.call_later(LINGER_SECONDS, self._turn_away, b"")
        else:
            self._time_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self.idle.pop(self, None)
        self._forget_headers()
        self._forget_reading()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if self.timeout_keep_alive_task is not None and self.cycle.response_complete:
            self.idle[self] = None

    def pause_writing(self) -> None:
        """Give a caller who does not read as fast as is written a limited time to read on."""
        super().pause_writing()
        self._time_reading()

    def resume_writing(self) -> None:
        """Note that the caller has read on."""
        self._forget_reading()
        super().resume_writing()

    def handle_events(self) -> None:
        """Begin the next request; answer an invalid one, such as one with too long headers, and hang up."""
        try:
            super().handle_events()
        except NoHttp:
            self._refuse(
                400,
                "this is no HTTP, its address has a character that is not ASCII (send `ü` as `%C3%BC`), its "
                f"headers are longer than {HEADER_BYTES:,} bytes, or it has both Content-Length and "
                "Transfer-Encoding",
                "headers",
            )

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: a request that asks for another protocol is answered as any other."""

    def data_received(self, data: bytes) -> None:
        """Take data; after a refusal only to let the caller finish sending and read the answer."""
        if self._answered:
            return
        self.idle.pop(self, None)
        if self._is_beyond:
            self._turn_away(data)
        else:
            super().data_received(data)
            self._time_headers()

    def _end_idle(self) -> bool:
        """Close the connection that has been without a request for longest; False if each has one."""
        for one in self.idle:
            # What its caller has not read yet would keep it.
            if not one.transport.get_write_buffer_size():
                del self.idle[one]
                one.shutdown()
                return True
        return False

    def _time_reading(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._reading_due = self.loop.call_later(UNREAD_SECONDS, self._check_reading, unread)

    def _forget_reading(self) -> None:
        if self._reading_due is not None:
            self._reading_due.cancel()
            self._reading_due = None

    def _check_reading(self, unread: int) -> None:
        """Cut the connection if as many bytes wait as before; a close would wait until they are read."""
        if self.transport.get_write_buffer_size() < unread:
            self._time_reading()
        else:
            count_refusal("unread")
            self.transport.abort()

    def _turn_away(self, asked: bytes) -> None:
        """Answer on a connection beyond the limit: that the service lives if that is asked, else 503."""
        if asked.startswith(LIVENESS):
            self._answer(200, MediaType.JSON, msgspec.json.encode(Health("live")), uuid.uuid4().hex)
        else:
            self._refuse(
                503,
                "the service has as many connections as it keeps open; try again soon",
                "connections",
            )

    def _time_headers(self) -> None:
        """Give the line and the headers of a request that has not begun a limited time."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget_headers()
        elif self._headers_due is None and not self._answered:
            self._headers_due = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _forget_headers(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _give_up(self) -> None:
        self._headers_due = None
        if self.cycle is not None and not self.cycle.response_complete:
            return
        if self.conn.our_state is h11.IDLE and not self.transport.is_closing():
            self._refuse(408, f"the headers did not arrive within {HEADER_SECONDS:g} s", "headers")
        else:
            self.transport.close()

    def _refuse(self, status: int, detail: str, limit: Refusal) -> None:
        """Answer with a problem, and count it."""
        self.refusals.count(limit, status)
        failure = Failure(status=status, code=HTTP_CODES[status], detail=detail)
        request_id = uuid.uuid4().hex
        body = msgspec.json.encode(problem(failure, "", request_id))
        self._answer(status, MEDIA_TYPE, body, request_id, retry_after=1 if status == 503 else None)

    def _answer(
        self,
        status: int,
        media_type: str,
        body: bytes,
        request_id: str,
        *,
        retry_after: int | None = None,
    ) -> None:
        """Answer without the application, and hang up."""
        headers = [
            ("content-type", media_type),
            ("content-length", str(len(body))),
            ("x-request-id", request_id),
            ("connection", "close"),
            *([("retry-after", str(retry_after))] if retry_after else []),
        ]
        protecting = protected([(name.encode(), value.encode()) for name, value in headers])
        for event in (
            h11.Response(status_code=status, headers=protecting),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self._answered = True
        self._forget_headers()
        self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)


class Draining(Struct, frozen=True):
    """What happens between a signal and the close of the port: `ready` says no for some seconds."""

    closing: Closing
    seconds: float = 0.0


class Server(uvicorn.Server):
    """A uvicorn inside the running loop: quiet, and leaving signals to `GracefulEnd`."""

    def __init__(
        self,
        app: Any,
        url: str,
        on_ready: Callable[[str], None],
        background: Backgrounds | None = None,
        *,
        connections: int = Protocol.most_connections,
        endpoint: Endpoint | None = None,
        draining: Draining | None = None,
    ) -> None:
        self._refusals = Refusals()
        super().__init__(
            uvicorn.Config(
                app,
                http=type(
                    "Limited",
                    (Protocol,),
                    {"most_connections": connections, "refusals": self._refusals, "idle": {}},
                ),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=BACKLOG,
                timeout_keep_alive=IDLE_SECONDS,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        self._url = url
        self._on_ready = on_ready
        self._background = background
        self._endpoint = endpoint
        self._draining = draining

    def end(self, number: signal.Signals) -> None:
        """Stop answering, after the time for draining; a second signal ends that at once."""
        draining = self._draining
        if draining is None or not draining.seconds or draining.closing.is_ending:
            log.info("%s received: requests have %d s to end", number.name, GRACE_SECONDS)
            self.handle_exit(number, None)
            return
        log.info("%s received: draining begins and takes %g s", number.name, draining.seconds)
        draining.closing.is_ending = True
        # A caller opens its next connection where the load balancer sends it. From the configuration the
        # headers are taken anew each second.
        self.config.encoded_headers = [*self.config.encoded_headers, (b"connection", b"close")]
        asyncio.get_running_loop().call_later(draining.seconds, self.handle_exit, number, None)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, report it, and then start the background work."""
        await super().startup(sockets)
        self._on_ready(self._url)
        if self._background:
            await self._background.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests in progress and background work end at the same time."""
        if self._background:
            self._background.stop()
        closing = asyncio.create_task(self._endpoint.close()) if self._endpoint else None
        try:
            await super().shutdown(sockets)
        finally:
            self._refusals.end()
        if closing:
            await closing

    async def main_loop(self) -> None:
        """Answer until told to end; end just as gracefully if the task is cancelled."""
        try:
            await super().main_loop()
        except asyncio.CancelledError:
            await self.shutdown()
            raise

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to `GracefulEnd`, which handles them before the server starts and after it ends."""
        yield


class GracefulEnd:
    """Turns SIGINT and SIGTERM into an orderly end of the block.

    Not `SignalEnd` of the command line, which cancels a task and exits with 128 + the signal: a server that
    is asked to stop answers the requests in progress and exits with 0, also without the command line.
    """

    def __init__(self) -> None:
        self.server: Server | None = None
        self._task: asyncio.Task[Any] | None = None
        self._given_up = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "GracefulEnd":
        """Begin to handle signals; they only arrive in the main thread."""
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            before = signal.getsignal(number)
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self._end, number)
                self._before[number] = before
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        """Restore the signal handlers; a start that was given up is no error."""
        loop = asyncio.get_running_loop()
        for number, before in self._before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, before)
        if self._given_up and kind is asyncio.CancelledError and self._task is not None:
            self._task.uncancel()
            return True
        return False

    def _end(self, number: signal.Signals) -> None:
        if self.server is not None:
            self.server.end(number)
        elif self._task is not None and not self._given_up:
            log.info("%s received: the start is given up", number.name)
            self._given_up = True
            self._task.cancel()


def _not_taken(problem: OSError, host: str, port: int) -> SettingError:
    if problem.errno == errno.EADDRINUSE:
        return SettingError(
            variable("port"),
            f"another program listens on port {port}: name another one, or 0 for any that is free",
        )
    if problem.errno == errno.EACCES:
        return SettingError(variable("port"), f"port {port} may not be taken: name one above 1023")
    return SettingError(variable("host"), f"{host!r} is no address of this machine: try 127.0.0.1")
